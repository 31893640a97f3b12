"""statsmodels."""

import importlib.metadata
from typing import Any

import measure
from peers import fitting

NAME = "statsmodels"


def version():
    return importlib.metadata.version("statsmodels")


def lad(path, tolerance):
    return measure.inside("peers.statsmodels", "time_lad", str(path), str(tolerance))


def time_lad(path, tolerance):
    import numpy
    from statsmodels.regression.quantile_regression import QuantReg

    from peers import arrays

    x, y = arrays.load(path)
    design = numpy.column_stack([numpy.ones(len(x)), x])
    fit, seconds = measure.timed(lambda: QuantReg(y, design).fit(q=0.5, p_tol=float(tolerance)))
    return {"seconds": seconds, "objective": float(abs(y - design @ fit.params).sum())}


def ladders(task: dict, file: dict) -> list[dict]:
    if (task["loss"], task["penalty"]) != ("squared", "none"):
        return []
    return [{"solver": method, "form": "dense", "tolerances": [""]} for method in ("qr", "pinv")]


def time_fit(path: str, *arguments: str) -> dict[str, Any]:
    """Ordinary least squares."""
    import numpy
    from statsmodels.regression.linear_model import OLS

    task, setting = fitting.parsed(*arguments)

    def prepare(x, y):
        return numpy.column_stack([numpy.ones(len(x)), x]) if task["intercept"] else x, y

    def read(model):
        return (model.params[1:], model.params[0]) if task["intercept"] else (model.params, 0.0)

    return fitting.clocked(path, task, prepare, lambda x, y: OLS(y, x).fit(method=setting["solver"]), read)
