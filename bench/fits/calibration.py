"""The cheapest sufficient setting of each solver of each peer: determined once, stored, and only checked in later runs.

The tolerance of each solver is decreased until its objective is within WITHIN of the best known. The result is
stored in settings.json under the workload, with the versions and the set for which it is valid.
"""

import json
import pathlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import measure
import record

WITHIN = 1e-6
# Seconds of a process besides its fit (imports, compilation, loading, evaluation), and the limit of the first process.
ASIDE = 120
PATIENCE = 300
# A solver that needs this multiple of the best time known is not calibrated further.
HOPELESS = 3


def above(objective: list[float], best: list[float]) -> float:
    """The relative distance from the best objective; the largest one of a path."""
    return max((own - least) / max(abs(least), 1.0) for own, least in zip(objective, best))


class StoredSettings:
    """The file of settings. The file of the full sets is part of the repository, the file of quick runs is not."""

    def __init__(self, quick: bool) -> None:
        self.path = record.WORK / "quick/settings.json" if quick else pathlib.Path(__file__).with_name("settings.json")
        self.found = json.loads(self.path.read_text()) if self.path.exists() else {}

    def get(self, name: str, key: dict[str, Any]) -> dict[str, Any] | None:
        """The stored result for the same set, task and versions."""
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


# Runs a peer once at a setting, for at most a number of seconds.
Fit = Callable[[dict[str, Any], float | None], dict[str, Any]]


@dataclass(frozen=True)
class Peer:
    """The properties of a peer that calibration needs."""

    version: str
    ladders: list[dict[str, Any]]
    fit: Fit


def calibrated(
    name: str, key: dict[str, Any], peers: dict[str, Peer], reference: Callable[[], list[float]], quick: bool
) -> dict[str, Any]:
    """The best objective known and the best setting of each solver, from the file or by calibration.

    `key` identifies, with the versions, what the settings are valid for; `reference` computes the best objective known.
    """
    stored = StoredSettings(quick)
    key = key | {"versions": {name: peer.version for name, peer in peers.items()}}
    if found := stored.get(name, key):
        return found
    print(f"   calibrating {name}", flush=True)
    field = {name: quick_peer(peer) for name, peer in peers.items()} if quick else peers
    found = {"key": key} | calibrate(field, reference())
    stored.put(name, found)
    return found


def quick_peer(peer: Peer) -> Peer:
    """For a quick run: the first solver only, at tolerances that are usually sufficient."""
    ladders = peer.ladders[:1]
    return replace(peer, ladders=[one | {"tolerances": one["tolerances"][3:5] or one["tolerances"]} for one in ladders])


def calibrate(peers: dict[str, Peer], best: list[float]) -> dict[str, Any]:
    """The best setting of every solver, the best solver first."""
    settings: list[dict[str, Any]] = []
    fastest = float("inf")
    for name, peer in peers.items():
        for ladder in peer.ladders:
            if steps := climb(name, peer.fit, ladder, best, fastest):
                settings.append({"peer": name} | min(steps, key=rank))
                fastest = min([fastest, *(step["seconds"] for step in steps if step["above"] <= WITHIN)])
    return {"best": best, "settings": sorted(settings, key=rank)}


def rank(step: dict[str, Any]) -> tuple:
    """Sufficient settings by time; after them the others, by their distance from the best objective."""
    sufficient = step["above"] <= WITHIN
    return not sufficient, step["seconds"] if sufficient else step["above"]


def climb(name: str, fit: Fit, ladder: dict, best: list[float], fastest: float) -> list[dict[str, Any]]:
    """Decreases the tolerance of a solver until it is sufficient, too slow, or does not improve the objective."""
    steps: list[dict[str, Any]] = []
    patience = min(PATIENCE, ASIDE + 2 * HOPELESS * fastest)
    for tolerance in ladder["tolerances"]:
        setting = {"solver": ladder["solver"], "form": ladder["form"], "tolerance": tolerance}
        label = f"{name} {' '.join(setting.values())}"
        try:
            run = fit(setting, patience)
        except (measure.TooSlow, RuntimeError) as reason:
            # A solver that is too slow or fails at one tolerance does not improve at a smaller one.
            print(f"   {label:<48} {reason}", flush=True)
            break
        step = setting | {"seconds": round(run["seconds"], 4), "above": above(run["objective"], best)}
        print(f"   {label:<48} {step['seconds']:9.3f} s, above the best by {step['above']:.1e}", flush=True)
        stuck = steps and abs(step["above"] - steps[-1]["above"]) <= 1e-3 * abs(step["above"])
        steps.append(step)
        if step["above"] <= WITHIN or run["seconds"] > HOPELESS * fastest:
            break
        # The same objective twice in a row, at a tolerance that is no longer loose.
        if stuck and float(tolerance) <= 1e-6:
            break
    return steps
