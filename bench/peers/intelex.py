"""scikit-learn-intelex: scikit-learn's estimators on oneDAL."""

import importlib.metadata
from typing import Any

from peers import fitting

NAME = "scikit-learn-intelex"
# Bytes of the largest set that is converted to dense for it.
LARGEST = 2e9


def version() -> str:
    return importlib.metadata.version("scikit-learn-intelex")


def ladders(task: dict, file: dict) -> list[dict]:
    if task["loss"] == "squared" and task["penalty"] == "none":
        return [{"solver": "LinearRegression", "form": "dense", "tolerances": [""]}]
    if task["penalty"] != "l2" or task["loss"] not in ("logistic", "softmax"):
        return []
    if file["rows"] * file["features"] * 8 > LARGEST:
        return []
    solvers = ["lbfgs"] if task["loss"] == "softmax" else ["lbfgs", "newton-cg"]
    return [fitting.ladder(solver, "dense", "1e-1", "1e-9") for solver in solvers]


def time_fit(path: str, *arguments: str) -> dict[str, Any]:
    from sklearnex.linear_model import LinearRegression, LogisticRegression

    task, setting = fitting.parsed(*arguments)

    def prepare(x, y):
        return fitting.converted(x, setting["form"]), y

    def fit(x, y):
        if task["loss"] == "squared":
            return LinearRegression(fit_intercept=task["intercept"]).fit(x, y)
        options = {"solver": setting["solver"], "tol": float(setting["tolerance"]), "max_iter": 100_000}
        return LogisticRegression(C=task["C"], fit_intercept=task["intercept"], **options).fit(x, y)

    return fitting.clocked(path, task, prepare, fit, lambda model: (model.coef_, model.intercept_))
