"""Snap ML: dual coordinate descent on all cores."""

import importlib.metadata
import os
from typing import Any

from peers import fitting

NAME = "snapml"


def version() -> str:
    return importlib.metadata.version("snapml")


def ladders(task: dict, file: dict) -> list[dict]:
    # It penalises the intercept, which is a different problem.
    if task["penalty"] != "l2" or task["intercept"] or task["loss"] not in ("logistic", "hinge", "squared-hinge"):
        return []
    form = "csr" if file["sparse"] else "dense"
    return [fitting.ladder(f"{os.cpu_count() or 1} threads", form, "1e-1", "1e-12")]


def time_fit(path: str, *arguments: str) -> dict[str, Any]:
    import numpy
    from snapml import LogisticRegression, SupportVectorMachine

    task, setting = fitting.parsed(*arguments)
    options = {
        "regularizer": 1 / task["C"],
        "max_iter": 100_000,
        "n_jobs": int(setting["solver"].split()[0]),
        "tol": float(setting["tolerance"]),
        "fit_intercept": False,
    }

    def prepare(x, y):
        return fitting.converted(x, setting["form"]), y.astype(numpy.float64)

    def fit(x, y):
        if task["loss"] == "logistic":
            return LogisticRegression(**options).fit(x, y)
        return SupportVectorMachine(loss=task["loss"].replace("-", "_"), **options).fit(x, y)

    return fitting.clocked(path, task, prepare, fit, lambda model: (model.coef_, 0.0))
