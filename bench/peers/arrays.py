"""What a peer in Python is given: arrays in memory, from the .npz file beside a workload (loading is not timed).

And the judge of what comes out, ours and theirs by the same arithmetic in float64.
"""

import json
import pathlib


def load(path):
    """X, dense or in compressed rows, and y."""
    import numpy

    arrays = numpy.load(pathlib.Path(path).with_suffix(".npz"))
    if "X" in arrays:
        return arrays["X"], arrays["y"]
    from scipy.sparse import csr_matrix

    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    return csr_matrix(parts, shape=tuple(arrays["shape"])), arrays["y"]


def objective(task, x, y, weights, intercept):
    """R(w) + C·Σ loss, with one row of weights for each class of a softmax."""
    import numpy

    scores = x @ weights.T + intercept
    margins = y * scores if task["loss"] != "softmax" else None
    losses = {
        "logistic": lambda: numpy.logaddexp(0, -margins),
        "hinge": lambda: numpy.maximum(0, 1 - margins),
        "squared-hinge": lambda: numpy.maximum(0, 1 - margins) ** 2,
        "squared": lambda: (y - scores) ** 2 / 2,
        "softmax": lambda: numpy.logaddexp.reduce(scores, axis=1) - scores[numpy.arange(len(y)), y],
    }[task["loss"]]()
    penalty = {
        "l2": lambda: (weights**2).sum() / 2,
        "l1": lambda: abs(weights).sum(),
        "none": lambda: 0.0,
    }[task["penalty"]]()
    return float(penalty + task["C"] * losses.sum())


def penalties(x, y, values):
    """The alphas of a lasso path: from the least at which nothing is chosen down to a hundredth of it."""
    import numpy

    largest = abs(x.T @ y).max() / len(y)
    return numpy.geomspace(largest, largest / 100, values)


def path_objectives(task, x, y, weights):
    """‖y − X·w‖²/(2n) + α‖w‖₁ for each α of a path, one row of weights each."""
    alphas = penalties(x, y, task["path"])
    residuals = y[:, None] - x @ weights.T
    fits = (residuals**2).sum(axis=0) / (2 * len(y))
    return [float(value) for value in fits + alphas * abs(weights).sum(axis=1)]


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


def judge_fit(path, weights, task):
    """The objective of a task without an intercept, for weights that are written as JSON in a file."""
    import numpy

    with open(weights) as file:
        return {"objective": objective(json.loads(task), *load(path), numpy.array(json.load(file)), 0.0)}
