"""Exact geometry: separability, maximum margin and least absolute deviations, ours against the peers."""

import os

import measure
from geometry import hard_margin, lad, separation
from peers import scikit_learn, scipy, statsmodels, wstar

PARTS = {"separation": separation, "hard_margin": hard_margin, "lad": lad}
ROUNDS = 3


def run(quick):
    rounds = 1 if quick else ROUNDS
    versions = {peer.NAME: peer.version() for peer in (wstar, scipy, scikit_learn, statsmodels)}
    found = {name: part.run(quick, rounds) for name, part in PARTS.items()}
    # The suite runs long enough for the machine to become busy on the way.
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
