"""What all adapters of fits share: one fit in a process of its own, timed, its objective judged.

A *task* says what is fitted: {"loss", "penalty", "C", "intercept"}, and "path" with the number of values of a
lasso path. A *setting* says how: {"solver", "form", "tolerance"}, where the form is that of X. An adapter has

- ladders(task, file): the settings worth trying, each with its "tolerances", loosest first;
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

# Rows of the fit before the one that counts: what a library sets up once in a process is not its speed.
WARM_UP = 500
# Rows from which a model whose predictions are timed is learnt.
PART = 20_000
# From the tolerance that no solver needs less of to the one below which rounding decides.
POWERS = ["1e-1", "1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7", "1e-8", "1e-9", "1e-10", "1e-12"]


def ladder(solver: str, form: str, loosest: str, tightest: str) -> dict[str, Any]:
    """A solver with its powers of ten."""
    tolerances = POWERS[POWERS.index(loosest) : POWERS.index(tightest) + 1]
    return {"solver": solver, "form": form, "tolerances": tolerances}


def fit(peer: ModuleType, path: Any, task: dict, setting: dict, patience: float | None = None) -> dict[str, Any]:
    """One fit of a peer in a process of its own."""
    arguments = [str(path), json.dumps(task), json.dumps(setting)]
    return measure.inside(peer.__name__, "time_fit", *arguments, patience=patience)


def told(task: str, setting: str) -> tuple[dict, dict]:
    """What the process was told."""
    return json.loads(task), json.loads(setting)


def formed(x: Any, form: str) -> Any:
    """X in the form that a peer likes best."""
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
    """Prepares the data, fits, judges; only the fit is timed.

    `prepare` gives what `fit` takes; `read` the weights and the intercept of what it returns.
    """
    import numpy

    warnings.simplefilter("ignore")
    x, y = arrays.load(path)
    # A path on many rows would be a long way.
    rows = WARM_UP // 10 if "path" in task else WARM_UP
    few = prepare(x[:rows], y[:rows])
    fit(*few)
    prepared = prepare(x, y)
    # Only the form that the peer works on counts as its memory.
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


def predictions(path: str, rows: int, model: Any) -> dict[str, Any]:
    """Labels of all rows at once, or of so many rows one at a time: then the seconds are those of one."""
    x, y = arrays.load(path)
    model.fit(x[:PART], y[:PART])
    model.predict(x[:1])
    if rows == 0:
        labels, seconds, peak = measure.watched(lambda: model.predict(x))
        return {"seconds": seconds, "peak_bytes": peak, "error": float((labels != y).mean())}
    one = [x[i : i + 1] for i in range(rows)]
    labels, seconds, peak = measure.watched(lambda: [model.predict(row)[0] for row in one])
    return {"seconds": seconds / rows, "peak_bytes": peak, "error": float((labels != y[:rows]).mean())}
