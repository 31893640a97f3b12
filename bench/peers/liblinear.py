"""LIBLINEAR's own command line (Debian's liblinear-tools)."""

import pathlib
import subprocess
from typing import Any

import measure
import record
from peers import fitting

NAME = "liblinear-train"


def version():
    query = ["dpkg-query", "--show", "--showformat=${Version}", "liblinear-tools"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def read_svmlight(path):
    """It does not report the time of reading, so a very loose tolerance stops it after one pass over the rows."""
    run = measure.command(["liblinear-train", "-q", "-s", "1", "-e", "1e9", path, "/dev/null"])
    del run["output"]
    return run | {"seconds": run["wall"]}


def ladders() -> list[dict[str, Any]]:
    """The solvers of the squared hinge: dual coordinate descent and Newton's method."""
    return [fitting.ladder(solver, "", "1e-1", "1e-7") for solver in ("-s 1", "-s 2")]


def train_squared_hinge(path: Any, setting: dict[str, Any], patience: float | None = None) -> dict[str, Any]:
    """From a file to a model, the whole process."""
    model = record.WORK / "liblinear.model"
    options = ["-q", *setting["solver"].split(), "-e", setting["tolerance"]]
    run = measure.command(["liblinear-train", *options, path, model], patience=patience)
    del run["output"]
    return run | {"seconds": run["wall"], "weights": weights(model)}


def weights(model: pathlib.Path) -> list[float]:
    """The weights of the positive class; the file has those of the class that it lists first."""
    head, _, numbers = model.read_text().partition("\nw\n")
    first = float(next(line for line in head.splitlines() if line.startswith("label")).split()[1])
    return [float(number) if first > 0 else -float(number) for number in numbers.split()]
