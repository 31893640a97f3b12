"""The cost of certificates: next to the solver, a verification, the independent checker, and a plain pass over the rows."""

import json
import os
import statistics
from typing import Any

import data
import measure
import record
import summary as rows
from certificates.workloads import WORKLOADS, Workload
from peers import wstar

NAMES = [workload.name for workload in WORKLOADS]
CHECKER = record.ROOT / "target" / "release" / "wstar-check"
ROUNDS = 5
# Repetitions in each round of what is measured in memory.
REPEATS = 5
# The ratio of certificate and plain pass to reach.
AT_MOST = 1.3
# Seconds after which the independent checker is stopped.
PATIENCE = 900


def run(quick: bool, only: str | None = None) -> dict[str, Any]:
    found = {workload.name: measured(workload, quick) for workload in WORKLOADS if only in (None, workload.name)}
    return {"versions": {wstar.NAME: wstar.version()}, "workloads": found}


def measured(workload: Workload, quick: bool) -> dict[str, Any]:
    """Rounds of a fit and of what is measured in memory; medians of each."""
    path, file = workload.set(quick)
    data.warm(path)
    model = record.WORK / "certificate.wstar.json"
    rounds = 1 if quick else ROUNDS
    seconds: dict[str, list[float]] = {}
    facts: dict[str, Any] = {}
    for i in range(rounds):
        facts, times = fit(path, workload.options, model)
        within = measure.inside("certificates.in_memory", "time", str(path), str(model), str(REPEATS))
        facts |= {name: within[name] for name in ("verified", "objections", "outputs", "threads")}
        times |= {"verify": within["verify"], "plain": within["plain"]}
        for name, value in times.items():
            seconds.setdefault(name, []).append(value)
        print(f"   round {i + 1}: " + ", ".join(f"{name} {rows.duration(t)}" for name, t in times.items()), flush=True)
    title = f"{workload.title} (quick: {file['rows']:,} rows)" if quick else workload.title
    return {
        "title": title,
        "options": workload.options,
        "set": file,
        "commit": record.commit(),
        "rounds": rounds,
        "seconds": {name: statistics.median(values) for name, values in seconds.items()},
        "all_seconds": seconds,
        "independent": independent(path, model) if workload.independent else None,
        "load_at_end": round(os.getloadavg()[0], 2),
    } | facts


def fit(path: Any, options: list[str], model: Any) -> tuple[dict[str, Any], dict[str, float]]:
    """Trains, and then verifies the model file in a new process; what the commands report, and the seconds."""
    model.unlink(missing_ok=True)
    train = measure.command([wstar.BINARY, "train", path, *options, "--json", "--out", model], accept=(0, 1))
    said = json.loads(train["output"])
    verify = measure.command([wstar.BINARY, "verify", model, path, "--json"], accept=(0, 1))
    facts = {
        "status": said["status"],
        "solver": said["solver"],
        "passes": said["passes"],
        "relative_gap": said["certificate"]["relative_gap"],
        "holds": said["certificate"]["holds"] and json.loads(verify["output"])["holds"],
        "model_bytes": model.stat().st_size,
        "peak_bytes": {"train": train["peak_bytes"], "verify": verify["peak_bytes"]},
    }
    times = {"read": said["seconds"]["read"], "solve": said["seconds"]["solve"]}
    return facts, times | {"certify": said["seconds"]["certify"], "verify command": verify["wall"]}


def independent(path: Any, model: Any) -> dict[str, Any]:
    """The whole command of the independent checker, once."""
    try:
        run = measure.command([CHECKER, model, path, "--json"], accept=(0, 1, 2), patience=PATIENCE)
    except measure.TooSlow:
        return {"seconds": None, "proved": None, "peak_bytes": None}
    # Nothing is printed if the input is not readable, or the kind of claim is not checked.
    said = json.loads(run["output"]) if run["output"] else {"proved": None, "statements": []}
    print(f"   wstar-check {rows.duration(run['wall'])}, proved: {said['proved']}", flush=True)
    missing = [one["text"] for one in said["statements"] if not one["proved"]] + said.get("objections", [])
    return {"seconds": run["wall"], "proved": said["proved"], "missing": missing, "peak_bytes": run["peak_bytes"]}


def table(result: dict[str, Any]) -> str:
    """The results as Markdown; a ratio to a plain pass above the one to reach is in italics."""
    machine = result["machine"]
    workloads = list(result["workloads"].values())
    lines = [
        (
            f"{result['date']}, commit {machine['commit']}: {machine['processor']}, {machine['cores']} cores, load "
            f"{machine['load_at_start']} at the start; medians of {max(one['rounds'] for one in workloads)} rounds, "
            f"wstar-check once and with one thread."
        ),
        "",
        (
            "| workload | solver | certificate | plain pass | certificate / plain pass | certificate / solver "
            "| verify, in memory | `wstar verify` | `wstar-check` |"
        ),
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in workloads:
        seconds = one["seconds"]
        ratio = seconds["certify"] / seconds["plain"]
        cells = [
            one["title"] + remark(one),
            rows.duration(seconds["solve"]),
            rows.duration(seconds["certify"]),
            rows.duration(seconds["plain"]),
            f"**{ratio:.2f}**" if ratio <= AT_MOST else f"*{ratio:.2f}*",
            f"{seconds['certify'] / seconds['solve']:.2f}" if seconds["solve"] > 0 else "",
            rows.duration(seconds["verify"]),
            rows.duration(seconds["verify command"]),
            checker(one["independent"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines + (conclusions(workloads) if len(workloads) > 1 else []))


def conclusions(workloads: list[dict[str, Any]]) -> list[str]:
    """What all rows together say."""
    ratios = [one["seconds"]["certify"] / one["seconds"]["plain"] for one in workloads]
    reached = sum(ratio <= AT_MOST for ratio in ratios)
    checked = [one["independent"] for one in workloads if one["independent"]]
    proved = sum(one["proved"] is True for one in checked)
    return [
        "",
        (
            f"- the certificate takes at most {AT_MOST} plain passes in {reached} of {len(ratios)} workloads; the ratios "
            f"are {min(ratios):.2f} to {max(ratios):.2f}, with a median of {statistics.median(ratios):.2f}"
        ),
        f"- `wstar-check` proves {proved} of {len(checked)}",
    ]


def remark(one: dict[str, Any]) -> str:
    """What a reader of the row must know."""
    failed = [word for word, well in (("CERTIFICATE", one["holds"]), ("VERIFICATION", one["verified"])) if not well]
    return f" ({' AND '.join(failed)} DOES NOT HOLD)" if failed else ""


def checker(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    if found["seconds"] is None:
        return f"more than {PATIENCE} s"
    words = {True: "", False: ", NOT PROVED", None: ", NOT READABLE"}
    return rows.duration(found["seconds"]) + words[found["proved"]]
