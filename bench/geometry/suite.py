"""Exact geometry: separability, maximum margin and least absolute deviations, ours against the peers."""

import os

import measure
import summary as rows
from fits.calibration import rank
from geometry import hard_margin, lad, separation
from peers import scikit_learn, scipy, statsmodels, wstar

PARTS = {"separation": separation, "hard_margin": hard_margin, "lad": lad}
ROUNDS = 3


def run(quick):
    rounds = 1 if quick else ROUNDS
    versions = {peer.NAME: peer.version() for peer in (wstar, scipy, scikit_learn, statsmodels)}
    found = {name: part.run(quick, rounds) for name, part in PARTS.items()}
    # The suite runs for so long that the load of the machine can change.
    return {"versions": versions, "rounds": rounds, "load_at_end": round(os.getloadavg()[0], 2)} | found


def table(result):
    """The results as Markdown."""
    machine = result["machine"]
    lines = [
        f"{result['date']}, commit {machine['commit']}: {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gb']} GB, load {machine['load_at_start']} at the start and {result['load_at_end']} "
        f"at the end; medians of {result['rounds']} "
        f"interleaved rounds (one for a contender that needs more than {measure.PATIENCE} s); "
        + ", ".join(f"{name} {version}" for name, version in result["versions"].items())
        + ".",
    ]
    for name, part in PARTS.items():
        lines += ["", *part.table(result[name])]
    return "\n".join(lines)


def summary(result):
    """The rows of the table at the top of the README: those with a ratio to reach."""
    bandwidth = result["machine"].get("read_bytes_per_second")
    chosen = [
        ("separation", "thin", 0, "separability 100k × 50, separable", 20),
        ("separation", "thin", 1, "separability 100k × 50, five labels flipped", 20),
        ("hard_margin", None, 0, "hard margin 20k × 20", 2),
        ("lad", None, 0, "least absolute deviations 20k × 20", 20),
    ]
    lines = []
    for part, list_name, index, title, at_least in chosen:
        one = (result[part][list_name] if list_name else result[part])[index]
        ours = one["results"][wstar.NAME]
        peers = {name: compared(run, ours) for name, run in one["results"].items() if name != wstar.NAME}
        peer = min(peers, key=lambda name: rank(peers[name]))
        read_bytes = one["file"]["rows"] * one["file"]["features"] * 8
        lines.append(rows.row(title, peer, peers[peer], ours, at_least, read_bytes, bandwidth))
    return lines


def compared(theirs, ours):
    """The run of a peer with its relative distance from our objective; a verdict is right or wrong."""
    if "objective" not in ours:
        return theirs | {"above": 0.0}
    value = theirs["objective"]
    return theirs | {"above": float("inf") if value is None else value / ours["objective"] - 1}
