"""skglm: working sets by violation, compiled by numba (not timed)."""

import importlib.metadata
from typing import Any

from peers import arrays, fitting

NAME = "skglm"


def version() -> str:
    return importlib.metadata.version("skglm")


def ladders(task: dict, file: dict) -> list[dict]:
    form = "csc" if file["sparse"] else "columns"
    if "path" in task:
        return [fitting.ladder("AndersonCD", form, "1e-1", "1e-10")]
    if (task["loss"], task["penalty"]) != ("logistic", "l1"):
        return []
    return [fitting.ladder("ProxNewton", form, "1e-1", "1e-10")]


def time_fit(path: str, *arguments: str) -> dict[str, Any]:
    from skglm import Lasso, SparseLogisticRegression

    task, setting = fitting.parsed(*arguments)
    options = {"tol": float(setting["tolerance"]), "fit_intercept": False, "max_iter": 1000}

    def prepare(x, y):
        x = fitting.converted(x, setting["form"])
        return (x, y, arrays.penalties(x, y, task["path"])) if "path" in task else (x, y)

    def fit_path(x, y, alphas):
        return Lasso(**options).path(x, y, alphas)

    def fit(x, y):
        return SparseLogisticRegression(alpha=1 / (task["C"] * len(y)), **options).fit(x, y)

    if "path" in task:
        return fitting.clocked(path, task, prepare, fit_path, lambda found: (found[1].T, 0.0))
    return fitting.clocked(path, task, prepare, fit, lambda model: (model.coef_, 0.0))
