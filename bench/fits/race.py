"""Timed rounds of ours and the peers at their calibrated settings, interleaved."""

from collections.abc import Callable
from typing import Any

import measure
import record
from fits import calibration
from peers import fitting, wstar

ROUNDS = 3
# Maximum number of solvers in the timed rounds: the best by calibration, and others within its measurement error.
FIELD = 3
CLOSE = 2


def race(workload: Any, quick: bool, field: int = FIELD) -> dict[str, Any] | None:
    """One fit of arrays by ours and by the peers in Python; None if the set is absent."""
    made = workload.set(quick)
    if made is None:
        return None
    path, file = made
    task = workload.task

    def runner(peer: Any) -> calibration.Fit:
        return lambda setting, patience: fitting.fit(peer, path, task, setting, patience)

    def reference() -> list[float]:
        best = fitting.fit(wstar, path, task, wstar.TIGHT)["objective"]
        known = None if quick else workload.known
        return best if known is None else [min(best[0], known)]

    peers = {
        peer.NAME: calibration.Peer(peer.version(), peer.ladders(task, file), runner(peer)) for peer in workload.peers
    }

    def ours() -> dict[str, Any]:
        return fitting.fit(wstar, path, task, wstar.DEFAULT)

    title = f"{workload.title} (quick: {file['rows']:,} rows)" if quick else workload.title
    facts = {"title": title, "at_least": workload.at_least, "task": task, "set": file}
    return facts | contest(workload.name, task, file, peers, ours, reference, quick, field)


def contest(
    name: str,
    task: dict[str, Any],
    file: dict[str, Any],
    peers: dict[str, calibration.Peer],
    ours: Callable[[], dict[str, Any]],
    reference: Callable[[], list[float]],
    quick: bool,
    field: int = FIELD,
) -> dict[str, Any]:
    """Calibrates the peers that are not calibrated yet, then times the best of them and ours."""
    numbers = {fact: file[fact] for fact in ("rows", "features", "entries", "digest")}
    found = calibration.calibrated(name, {"task": task, "set": numbers}, peers, reference, quick)
    best, settings = found["best"], found["settings"]
    chosen = {label(step, file): step for step in settings[:field] if close(step, settings[0])}
    print(f"   {name}", flush=True)
    contenders = {wstar.NAME: lambda: judged(ours(), best)}
    for one, step in chosen.items():
        contenders[one] = lambda step=step: judged(peers[step["peer"]].fit(step, None), best)
    rounds = 1 if quick else ROUNDS
    runs = measure.interleaved(contenders, rounds, measure.PATIENCE)
    for one, step in chosen.items():
        runs[one] |= {"setting": step, "version": peers[step["peer"]].version}
        if step["above"] <= calibration.WITHIN < runs[one]["above"]:
            print(f"   {one} is no longer sufficient: the next run calibrates {name} again", flush=True)
            calibration.StoredSettings(quick).drop(name)
    return {
        "best": best if len(best) == 1 else None,
        "commit": record.commit(),
        "rounds": rounds,
        "load_at_end": record.load(),
        "results": runs,
        "others": [step for step in settings if step not in chosen.values()],
    }


def label(step: dict[str, Any], file: dict[str, Any]) -> str:
    """A peer and its solver, and the form of its data if there is a choice."""
    choice = file["sparse"] and step["form"] in ("split", "dense")
    return f"{step['peer']} {step['solver']}" + (f" ({step['form']})" if choice else "")


def close(step: dict[str, Any], first: dict[str, Any]) -> bool:
    """Whether a solver could be the fastest on an idle machine."""
    near = first["above"] > calibration.WITHIN or step["above"] <= calibration.WITHIN
    return step is first or (near and step["seconds"] <= CLOSE * first["seconds"])


def judged(run: dict[str, Any], best: list[float]) -> dict[str, Any]:
    """A run with its relative distance from the best objective; the objectives of a path are not stored."""
    run["above"] = calibration.above(run["objective"], best)
    if len(run["objective"]) > 1:
        del run["objective"]
    return run
