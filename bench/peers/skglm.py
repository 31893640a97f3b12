"""skglm: working sets by violation, compiled by numba (not timed)."""

import importlib.metadata
from typing import Any

from peers import fitting

NAME = "skglm"


def version() -> str:
    return importlib.metadata.version("skglm")


def ladders(task: dict, file: dict) -> list[dict]:
    return fitting.l1_ladders(task, file, "AndersonCD", "ProxNewton", "1e-10")


def time_fit(path: str, *arguments: str) -> dict[str, Any]:
    from skglm import Lasso, SparseLogisticRegression

    task, setting = fitting.parsed(*arguments)
    options = {"tol": float(setting["tolerance"]), "fit_intercept": False, "max_iter": 1000}

    def fit_path(x, y, alphas):
        return Lasso(**options).path(x, y, alphas)

    def fit(x, y):
        return SparseLogisticRegression(alpha=1 / (task["C"] * len(y)), **options).fit(x, y)

    return fitting.clocked_l1(path, task, setting["form"], fit, fit_path)
