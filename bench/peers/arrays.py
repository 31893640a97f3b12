"""What a peer in Python is given: arrays in memory, from the .npz file beside a workload (loading is not timed).

And the judge of hyperplanes, ours and theirs by the same arithmetic.
"""

import json
import pathlib


def load(path):
    import numpy

    arrays = numpy.load(pathlib.Path(path).with_suffix(".npz"))
    return arrays["X"], arrays["y"]


def margin(x, y, weights):
    """Of the best hyperplane with this direction: ½‖w‖² once it is scaled to y(w·x + b) ≥ 1 on every row.

    A solver that stops at a tolerance leaves rows a little inside the margin, and its own ½‖w‖² then
    is below the least possible one: only the scaled value can be compared. None if nothing separates.
    """
    scores = x @ weights
    width = scores[y > 0].min() - scores[y < 0].max()
    return {"objective": float(2 * (weights @ weights) / width**2) if width > 0 else None}


def judge_margin(path, weights):
    """For weights that are written as JSON in a file."""
    import numpy

    with open(weights) as file:
        return margin(*load(path), numpy.array(json.load(file)))


def judge_lad(path, weights):
    """The sum of absolute deviations of (b, w₁, w₂, …)."""
    import numpy

    x, y = load(path)
    with open(weights) as file:
        intercept, *weights = json.load(file)
    return {"objective": float(abs(y - x @ numpy.array(weights) - intercept).sum())}
