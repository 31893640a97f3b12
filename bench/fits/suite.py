"""Fits of every kind with the same objective: ours against the best setting of the best peer."""

from typing import Any

import summary as rows
from fits.calibration import rank
from fits.race import race
from fits.workloads import WORKLOADS
from peers import wstar

NAMES = [workload.name for workload in WORKLOADS]


def run(quick: bool, only: str | None = None) -> dict[str, Any]:
    found = {}
    for workload in WORKLOADS:
        if only in (None, workload.name) and (measured := race(workload, quick)):
            found[workload.name] = measured
    return {"versions": {wstar.NAME: wstar.version()}, "workloads": found}


def best_peer(results: dict[str, Any]) -> str:
    """The fastest sufficient peer; if there is none, the one with the smallest objective."""
    peers = [name for name in results if name != wstar.NAME]
    return min(peers, key=lambda name: rank(results[name]))


def summary(result: dict[str, Any]) -> list[dict[str, Any]]:
    lines = []
    for one in result["workloads"].values():
        results = one["results"]
        if len(results) < 2:
            continue
        peer = best_peer(results)
        theirs, ours = results[peer], results[wstar.NAME]
        bandwidth = result["machine"]["read_bytes_per_second"]
        size = one["set"]["bytes"]
        lines.append(rows.row(one["title"], peer, theirs, ours, one["at_least"], size, bandwidth))
    return lines


def table(result: dict[str, Any]) -> str:
    """Every contender of every workload, in Markdown."""
    lines = [
        (
            "| workload | contender | setting | fitting, s | ours is faster by | above the best known | relative gap "
            "| peak memory, MB |"
        ),
        "|---|---|---|---:|---:|---:|---:|---:|",
    ]
    for one in result["workloads"].values():
        ours = one["results"][wstar.NAME]
        for name, run in one["results"].items():
            mine = name == wstar.NAME
            times = " (once)" if len(run["all_seconds"]) == 1 and one["rounds"] > 1 else ""
            cells = [
                one["title"] if mine else "",
                f"{name} {result['versions'][name]}" if mine else f"{run['setting']['peer']} {run['version']}",
                "default" if mine else setting(run["setting"]),
                f"{run['seconds']:.3f}{times}",
                "" if mine else f"{run['seconds'] / ours['seconds']:.1f} ×",
                f"{run['above']:.1e}",
                f"{run['relative_gap']:.1e}" if mine else "",
                f"{run['peak_bytes'] / 1e6:,.0f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
        for step in one["others"]:
            cells = [
                "",
                step["peer"],
                setting(step),
                f"{step['seconds']:.3f} (calibration)",
                "",
                f"{step['above']:.1e}",
                "",
                "",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def setting(step: dict[str, Any]) -> str:
    parts = [step["solver"], step["form"], f"tol {step['tolerance']}" if step["tolerance"] else ""]
    return ", ".join(part for part in parts if part)
