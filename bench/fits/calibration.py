"""The cheapest sufficient setting of every peer's solvers: found once, kept, and only checked in later runs.

A peer climbs the ladder of tolerances of each of its solvers until its objective is within WITHIN of the best
known. What it found is kept in settings.json under the workload, with the versions and the set it holds for.
"""

import json
import pathlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import measure
import record

WITHIN = 1e-6
# Seconds of a process beside its fit (imports, compilation, loading, judging), and of one before anything is known.
ASIDE = 120
PATIENCE = 300
# A solver that needs so many times the best time known is left alone.
HOPELESS = 3


def above(objective: list[float], best: list[float]) -> float:
    """How far above the best, relative; the worst of all values of a path."""
    return max((own - least) / max(abs(least), 1.0) for own, least in zip(objective, best))


class Kept:
    """The file of settings: that of the full sets is part of the repository, that of quick runs is not."""

    def __init__(self, quick: bool) -> None:
        self.path = record.WORK / "quick/settings.json" if quick else pathlib.Path(__file__).with_name("settings.json")
        self.found = json.loads(self.path.read_text()) if self.path.exists() else {}

    def get(self, name: str, key: dict[str, Any]) -> dict[str, Any] | None:
        """What was found for the same set, task and versions."""
        found = self.found.get(name)
        return found if found and found["key"] == key else None

    def put(self, name: str, found: dict[str, Any]) -> None:
        self.found[name] = found
        self.write()

    def drop(self, name: str) -> None:
        self.found.pop(name, None)
        self.write()

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(record.text(dict(sorted(self.found.items()))))


# Runs a peer once at a setting, for at most so many seconds.
Fit = Callable[[dict[str, Any], float | None], dict[str, Any]]


@dataclass(frozen=True)
class Peer:
    """What calibration must know of a peer."""

    version: str
    ladders: list[dict[str, Any]]
    fit: Fit


def calibrated(
    name: str, key: dict[str, Any], peers: dict[str, Peer], reference: Callable[[], list[float]], quick: bool
) -> dict[str, Any]:
    """The best objective known and the best setting of each solver, from the file or by trying.

    `key` says what the settings hold for, beside the versions; `reference` finds the best objective known.
    """
    kept = Kept(quick)
    key = key | {"versions": {name: peer.version for name, peer in peers.items()}}
    if found := kept.get(name, key):
        return found
    print(f"   calibrating {name}", flush=True)
    field = {name: hurried(peer) for name, peer in peers.items()} if quick else peers
    found = {"key": key} | calibrate(field, reference())
    kept.put(name, found)
    return found


def hurried(peer: Peer) -> Peer:
    """For a quick run: the first solver, at tolerances that often suffice."""
    ladders = peer.ladders[:1]
    return replace(peer, ladders=[one | {"tolerances": one["tolerances"][3:5] or one["tolerances"]} for one in ladders])


def calibrate(peers: dict[str, Peer], best: list[float]) -> dict[str, Any]:
    """The best step of every solver, the best solver first."""
    settings: list[dict[str, Any]] = []
    fastest = float("inf")
    for name, peer in peers.items():
        for ladder in peer.ladders:
            if steps := climb(name, peer.fit, ladder, best, fastest):
                settings.append({"peer": name} | min(steps, key=rank))
                fastest = min([fastest, *(step["seconds"] for step in steps if step["above"] <= WITHIN)])
    return {"best": best, "settings": sorted(settings, key=rank)}


def rank(step: dict[str, Any]) -> tuple:
    """Sufficient ones by time; the others, behind them, by how near they come."""
    sufficient = step["above"] <= WITHIN
    return not sufficient, step["seconds"] if sufficient else step["above"]


def climb(name: str, fit: Fit, ladder: dict, best: list[float], fastest: float) -> list[dict[str, Any]]:
    """Tightens one solver's tolerance until it is near enough, too slow, or no nearer than before."""
    steps: list[dict[str, Any]] = []
    patience = min(PATIENCE, ASIDE + 2 * HOPELESS * fastest)
    for tolerance in ladder["tolerances"]:
        setting = {"solver": ladder["solver"], "form": ladder["form"], "tolerance": tolerance}
        label = f"{name} {' '.join(setting.values())}"
        try:
            run = fit(setting, patience)
        except (measure.TooSlow, RuntimeError) as reason:
            # What is too slow or fails at one tolerance does no better at a tighter one.
            print(f"   {label:<48} {reason}", flush=True)
            break
        step = setting | {"seconds": round(run["seconds"], 4), "above": above(run["objective"], best)}
        print(f"   {label:<48} {step['seconds']:9.3f} s, above the best by {step['above']:.1e}", flush=True)
        stuck = steps and abs(step["above"] - steps[-1]["above"]) <= 1e-3 * abs(step["above"])
        steps.append(step)
        if step["above"] <= WITHIN or run["seconds"] > HOPELESS * fastest:
            break
        # The same place twice in a row, at a tolerance that is not loose any more.
        if stuck and float(tolerance) <= 1e-6:
            break
    return steps
