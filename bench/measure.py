"""Runs one contender in a separate process: seconds, peak memory, and the numbers that it reports.

A contender is a command (ours, LIBLINEAR) or a function of the adapter of a peer, which runs in a new
Python process (`inside`), so that runs do not share memory, caches or imports.
"""

import importlib
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import threading
import time

# Seconds above which a contender of a slow suite runs only once.
PATIENCE = 60


class TooSlow(Exception):
    """A contender that exceeded its time limit and was stopped."""


def command(arguments, accept=(0,), patience=None):
    """Runs a command; returns its wall-clock seconds, its peak memory in bytes and its output.

    It is stopped after `patience` seconds, which raises TooSlow.
    """
    start = time.perf_counter()
    # The peak that wait4 reports is at least that of the parent, so the parent must stay small.
    process = subprocess.Popen([str(a) for a in arguments], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    stop = threading.Timer(patience, process.kill) if patience else None
    if stop:
        stop.start()
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if stop:
        stop.cancel()
        if process.returncode == -9 and wall >= patience:
            raise TooSlow(f"stopped after {patience:.0f} s")
    if process.returncode not in accept:
        raise RuntimeError(f"{' '.join(map(str, arguments))} ended with {process.returncode}")
    return {"wall": wall, "peak_bytes": usage.ru_maxrss * 1024, "output": output.decode()}


def inside(module, function, *arguments, patience=None):
    """Runs module.function(*arguments) in a new Python process; its dictionary is added to the measurement.

    Only the last printed line is the result of the function.
    """
    run = command([sys.executable, __file__, module, function, *arguments], patience=patience)
    return run | json.loads(run.pop("output").splitlines()[-1])


def timed(call):
    """The result of a call and its seconds."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def watched(call):
    """The result of a call, its seconds, and the peak memory of the process during the call.

    Memory that was only needed to convert the data beforehand is not counted; the data themselves are.
    """
    try:
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        # On systems other than Linux only the peak since the start of the process is available.
        result, seconds = timed(call)
        return result, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result, seconds = timed(call)
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
    return result, seconds, peak


def interleaved(contenders, rounds, patience=float("inf")):
    """Runs every contender once per round, so that disturbances of the machine affect all of them equally.

    `contenders` maps a name to a function that returns {"seconds", "wall", "peak_bytes", ...}. A contender
    that needs more than `patience` seconds runs only once.
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
    """Medians, together with all measurements."""
    facts = {key: value for key, value in runs[0].items() if key not in ("seconds", "wall", "peak_bytes")}
    # The distance from the best objective: with threads it can differ from run to run.
    facts |= {"above": max(run["above"] for run in runs)} if "above" in facts else {}
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
