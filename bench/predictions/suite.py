"""Labels of new rows: a million at once, and one at a time as in a server."""

from functools import partial
from typing import Any

import measure
import summary as rows
from fits.workloads import WORKLOADS
from peers import scikit_learn, wstar

# Names for --only, titles, number of rows that are predicted one at a time (0: all at once), and the ratio to reach.
TASKS = {
    "predict-all": ("predict 1M × 50", 0, 2),
    "predict-one": ("predict one row at a time, 50 features", 3_000, 20),
}
NAMES = list(TASKS)
ROUNDS = 5
DENSE = next(workload for workload in WORKLOADS if workload.name == "dense-logistic")


def run(quick: bool, only: str | None = None) -> dict[str, Any]:
    path, file = DENSE.set(quick)
    found = {}
    for name, (title, count, at_least) in TASKS.items():
        if only not in (None, name):
            continue
        print(f"   {title}", flush=True)
        contenders = {
            peer.NAME: partial(measure.inside, peer.__name__, "time_predict", str(path), str(count))
            for peer in (wstar, scikit_learn)
        }
        runs = measure.interleaved(contenders, 1 if quick else ROUNDS)
        found[name] = {"title": title, "at_least": at_least, "set": file, "results": runs}
    versions = {peer.NAME: peer.version() for peer in (wstar, scikit_learn)}
    return {"versions": versions, "workloads": found}


def summary(result: dict[str, Any]) -> list[dict[str, Any]]:
    lines = []
    for name, one in result["workloads"].items():
        theirs, ours = one["results"][scikit_learn.NAME], one["results"][wstar.NAME]
        # A single row is in the cache, so there is no floor.
        read_bytes = one["set"]["bytes"] if name == "predict-all" else None
        bandwidth = result["machine"]["read_bytes_per_second"]
        lines.append(rows.row(one["title"], scikit_learn.NAME, theirs, ours, one["at_least"], read_bytes, bandwidth))
    return lines


def table(result: dict[str, Any]) -> str:
    lines = [
        "| task | contender | time | ours is faster by | training error | peak memory, MB |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for one in result["workloads"].values():
        ours = one["results"][wstar.NAME]
        for name, run in one["results"].items():
            mine = name == wstar.NAME
            cells = [
                one["title"] if mine else "",
                f"{name} {result['versions'][name]}",
                rows.duration(run["seconds"]),
                "" if mine else f"{run['seconds'] / ours['seconds']:.1f} ×",
                f"{run['error']:.4f}",
                f"{run['peak_bytes'] / 1e6:,.0f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
