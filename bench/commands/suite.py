"""Command lines from a file to a model, whole processes: a certified fit, and one pass of an online learner."""

import json
from typing import Any

import data
import measure
import record
import summary as rows
from fits import race
from fits.calibration import Peer
from fits.suite import best_peer
from fits.workloads import SQUARED_HINGE, WORKLOADS
from peers import liblinear, vowpal_wabbit, wstar

TITLES = {
    "file-to-model": ("svmlight file → trained model, squared hinge", 4),
    "online-pass": ("one online pass over the same file", 3),
}
NAMES = list(TITLES)
TEXT = next(workload for workload in WORKLOADS if workload.name.startswith("rcv1"))


def run(quick: bool, only: str | None = None) -> dict[str, Any]:
    path, file = TEXT.set(quick)
    data.warm(path)
    data.warm(path.with_suffix(".vw"))
    parts = {"file-to-model": train, "online-pass": online}
    found = {}
    for name, part in parts.items():
        if only in (None, name):
            title, at_least = TITLES[name]
            title = f"{title}, {file['file_bytes'] / 1e6:.0f} MB"
            found[name] = {"title": title, "at_least": at_least, "set": file} | part(path, file, quick)
    versions = {peer.NAME: peer.version() for peer in (wstar, liblinear, vowpal_wabbit)}
    return {"versions": versions, "workloads": found}


def train(path: Any, file: dict[str, Any], quick: bool) -> dict[str, Any]:
    def fit(setting: dict[str, Any], patience: float | None) -> dict[str, Any]:
        return objective(path, liblinear.train_squared_hinge(path, setting, patience))

    def ours() -> dict[str, Any]:
        return objective(path, wstar.train_squared_hinge(path))

    def reference() -> list[float]:
        return objective(path, wstar.train_squared_hinge(path, "--tol", "1e-9"))["objective"]

    peers = {liblinear.NAME: Peer(liblinear.version(), liblinear.ladders(), fit)}
    return race.contest("file-to-model", SQUARED_HINGE, file, peers, ours, reference, quick)


def objective(path: Any, run: dict[str, Any]) -> dict[str, Any]:
    """A run in which the objective replaces the weights."""
    weights = record.WORK / "weights.json"
    weights.write_text(json.dumps(run.pop("weights")))
    arguments = [str(path), str(weights), json.dumps(SQUARED_HINGE)]
    return run | {"objective": [measure.inside("peers.arrays", "judge_fit", *arguments)["objective"]]}


def online(path: Any, file: dict[str, Any], quick: bool) -> dict[str, Any]:
    contenders = {peer.NAME: lambda peer=peer: peer.online_pass(path) for peer in (wstar, vowpal_wabbit)}
    rounds = 1 if quick else race.ROUNDS
    return {"rounds": rounds, "commit": record.commit(), "results": measure.interleaved(contenders, rounds)}


def summary(result: dict[str, Any]) -> list[dict[str, Any]]:
    lines = []
    for name, one in result["workloads"].items():
        results = one["results"]
        peer = best_peer(results) if name == "file-to-model" else vowpal_wabbit.NAME
        bandwidth = result["machine"]["read_bytes_per_second"]
        size = one["set"]["file_bytes"]
        lines.append(rows.row(one["title"], peer, results[peer], results[wstar.NAME], one["at_least"], size, bandwidth))
    return lines


def table(result: dict[str, Any]) -> str:
    lines = [
        "| task | contender | whole process, s | ours is faster by | above the best known | peak memory, MB |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for one in result["workloads"].values():
        ours = one["results"][wstar.NAME]
        for name, run in one["results"].items():
            mine = name == wstar.NAME
            peer = run["setting"]["peer"] if "setting" in run else name
            options = f", {setting['solver']} -e {setting['tolerance']}" if (setting := run.get("setting")) else ""
            cells = [
                one["title"] if mine else "",
                f"{peer} {result['versions'][peer]}{options}",
                f"{run['seconds']:.3f}",
                "" if mine else f"{run['seconds'] / ours['seconds']:.1f} ×",
                f"{run['above']:.1e}" if "above" in run else "",
                f"{run['peak_bytes'] / 1e6:,.0f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
