"""The input of peers in Python: arrays in memory, from the .npz file of a workload (loading is not timed).

Also the objectives of the results, for all contenders by the same arithmetic in float64.
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
    """R(w) + C·Σ loss; a softmax has one row of weights for each class."""
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
    """The alphas of a lasso path: from the smallest at which all weights are 0 to a hundredth of it."""
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
    """½‖w‖² of the best hyperplane with this direction, scaled to y(w·x + b) ≥ 1 on every row.

    A solver that stops at a tolerance leaves rows slightly inside the margin, so its own ½‖w‖² is below the
    optimum and only the scaled value can be compared. None if the direction does not separate.
    """
    scores = x @ weights
    width = scores[y > 0].min() - scores[y < 0].max()
    return {"objective": float(2 * (weights @ weights) / width**2) if width > 0 else None}


def judge_margin(path, weights):
    """The margin for weights in a JSON file."""
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
    """The objective of a task without an intercept, for weights in a JSON file."""
    import numpy

    with open(weights) as file:
        return {"objective": objective(json.loads(task), *load(path), numpy.array(json.load(file)), 0.0)}
