"""Functions of all adapters of fits: one timed fit in a separate process, and its objective.

A *task* is the problem: {"loss", "penalty", "C", "intercept"}, and "path" with the number of values of a
lasso path. A *setting* is {"solver", "form", "tolerance"}, where the form is that of X. An adapter has

- ladders(task, file): the settings to calibrate, each with its "tolerances", loosest first;
- time_fit(path, task, setting): one fit, by `clocked`.
"""

import json
import warnings
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import measure
from peers import arrays

# Rows of the fit before the timed one, so that one-time initialisation of a library is not measured.
WARM_UP = 500
# Training rows of the models whose predictions are timed.
PART = 20_000
# From a tolerance that is too loose for every solver to one at which rounding errors dominate.
POWERS = ["1e-1", "1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7", "1e-8", "1e-9", "1e-10", "1e-12"]


def ladder(solver: str, form: str, loosest: str, tightest: str) -> dict[str, Any]:
    """A solver with its tolerances, the powers of ten between two limits."""
    tolerances = POWERS[POWERS.index(loosest) : POWERS.index(tightest) + 1]
    return {"solver": solver, "form": form, "tolerances": tolerances}


def l1_ladders(task: dict, file: dict, path: str, logistic: str, tightest: str) -> list[dict]:
    """The settings of a peer that solves lasso paths and ℓ1-penalised logistic regression by these two solvers."""
    form = "csc" if file["sparse"] else "columns"
    if "path" in task:
        return [ladder(path, form, "1e-1", tightest)]
    if (task["loss"], task["penalty"]) != ("logistic", "l1"):
        return []
    return [ladder(logistic, form, "1e-1", tightest)]


def fit(peer: ModuleType, path: Any, task: dict, setting: dict, patience: float | None = None) -> dict[str, Any]:
    """One fit of a peer in a separate process."""
    arguments = [str(path), json.dumps(task), json.dumps(setting)]
    return measure.inside(peer.__name__, "time_fit", *arguments, patience=patience)


def parsed(task: str, setting: str) -> tuple[dict, dict]:
    """The task and the setting, from the arguments of the process."""
    return json.loads(task), json.loads(setting)


def converted(x: Any, form: str) -> Any:
    """X converted to a form."""
    import numpy
    import scipy.sparse

    if form in ("csr", "csc"):
        return scipy.sparse.csr_matrix(x) if form == "csr" else scipy.sparse.csc_matrix(x)
    dense = x.toarray() if scipy.sparse.issparse(x) else x
    return numpy.asfortranarray(dense) if form == "columns" else dense


def clocked(
    path: str,
    task: dict,
    prepare: Callable[[Any, Any], tuple],
    fit: Callable[..., Any],
    read: Callable[[Any], tuple[Any, Any]],
) -> dict[str, Any]:
    """Prepares the data, fits, and computes the objective; only the fit is timed.

    `prepare` returns the arguments of `fit`, and `read` returns the weights and the intercept of its result.
    """
    import numpy

    warnings.simplefilter("ignore")
    x, y = arrays.load(path)
    # The fit of a path to many rows would take long.
    rows = WARM_UP // 10 if "path" in task else WARM_UP
    few = prepare(x[:rows], y[:rows])
    fit(*few)
    prepared = prepare(x, y)
    # Only the converted data count as memory of the peer.
    del x, y, few
    model, seconds, peak = measure.watched(partial(fit, *prepared))
    del prepared
    weights, intercept = (numpy.asarray(part, dtype=numpy.float64) for part in read(model))
    x, y = arrays.load(path)
    if "path" in task:
        objective = arrays.path_objectives(task, x, y, weights)
    else:
        weights = weights if task["loss"] == "softmax" else weights.ravel()
        objective = [arrays.objective(task, x, y, weights, intercept)]
    return {"seconds": seconds, "peak_bytes": peak, "objective": objective}


def clocked_l1(
    path: str, task: dict, form: str, fit: Callable[..., Any], fit_path: Callable[..., Any]
) -> dict[str, Any]:
    """`clocked` for a lasso path, whose coefficients `fit_path` returns second, or for one fit without an intercept."""

    def prepare(x, y):
        x = converted(x, form)
        return (x, y, arrays.penalties(x, y, task["path"])) if "path" in task else (x, y)

    if "path" in task:
        return clocked(path, task, prepare, fit_path, lambda found: (found[1].T, 0.0))
    return clocked(path, task, prepare, fit, lambda model: (model.coef_, 0.0))


def predictions(path: str, rows: int, model: Any) -> dict[str, Any]:
    """Predicts all rows at once, or `rows` rows one at a time; then the seconds are those of one row."""
    x, y = arrays.load(path)
    model.fit(x[:PART], y[:PART])
    model.predict(x[:1])
    if rows == 0:
        labels, seconds, peak = measure.watched(lambda: model.predict(x))
        return {"seconds": seconds, "peak_bytes": peak, "error": float((labels != y).mean())}
    one = [x[i : i + 1] for i in range(rows)]
    labels, seconds, peak = measure.watched(lambda: [model.predict(row)[0] for row in one])
    return {"seconds": seconds / rows, "peak_bytes": peak, "error": float((labels != y[:rows]).mean())}
