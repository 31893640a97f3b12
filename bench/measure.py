"""Runs one contender in a process of its own: seconds, peak memory, and what it says about itself.

A contender is either a command (ours, LIBLINEAR) or a function of a peer's adapter, which then runs
in a fresh Python (`inside`), so that no run sees the memory, the caches or the imports of another.
"""

import importlib
import json
import os
import statistics
import subprocess
import sys
import time

# Seconds above which a suite with slow contenders runs one only once.
PATIENCE = 60


def command(arguments, accept=(0,)):
    """Runs a command; returns its wall-clock seconds, its peak memory in bytes and its output."""
    start = time.perf_counter()
    # The peak that wait4 reports is never below the parent's own: keep the parent small.
    process = subprocess.Popen([str(a) for a in arguments], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in accept:
        raise RuntimeError(f"{' '.join(map(str, arguments))} ended with {process.returncode}")
    return {"wall": wall, "peak_bytes": usage.ru_maxrss * 1024, "output": output.decode()}


def inside(module, function, *arguments):
    """Runs module.function(*arguments) in a fresh Python; its dictionary joins the measurement."""
    run = command([sys.executable, __file__, module, function, *arguments])
    return run | json.loads(run.pop("output"))


def timed(call):
    """The result of a call and its seconds."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def interleaved(contenders, rounds, patience=float("inf")):
    """Runs every contender once a round, so that a noisy minute falls on all of them alike.

    `contenders` maps a name to a function that returns {"seconds", "wall", "peak_bytes", ...}. One that
    needs more than `patience` seconds runs once only.
    """
    runs = {name: [] for name in contenders}
    for i in range(rounds):
        for name, contender in contenders.items():
            if runs[name] and runs[name][0]["seconds"] > patience:
                continue
            run = contender()
            runs[name].append(run)
            print(f"   round {i + 1}: {name:<16} {run['seconds']:8.3f} s", flush=True)
    return {name: summary(of_one) for name, of_one in runs.items()}


def summary(runs):
    """Medians, with every single measurement kept beside them."""
    facts = {key: value for key, value in runs[0].items() if key not in ("seconds", "wall", "peak_bytes")}
    return facts | {
        "seconds": statistics.median(run["seconds"] for run in runs),
        "wall": statistics.median(run["wall"] for run in runs),
        "peak_bytes": max(run["peak_bytes"] for run in runs),
        "all_seconds": [round(run["seconds"], 4) for run in runs],
        "all_wall": [round(run["wall"], 4) for run in runs],
    }


if __name__ == "__main__":
    module, function, *rest = sys.argv[1:]
    print(json.dumps(getattr(importlib.import_module(module), function)(*rest)))
