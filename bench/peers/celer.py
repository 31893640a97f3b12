"""celer: working sets from extrapolated dual points."""

import importlib.metadata
from typing import Any

from peers import fitting

NAME = "celer"


def version() -> str:
    return importlib.metadata.version("celer")


def ladders(task: dict, file: dict) -> list[dict]:
    return fitting.l1_ladders(task, file, "celer_path", "celer-pn", "1e-9")


def time_fit(path: str, *arguments: str) -> dict[str, Any]:
    from celer import LogisticRegression, celer_path

    task, setting = fitting.parsed(*arguments)
    tolerance = float(setting["tolerance"])

    def fit_path(x, y, alphas):
        return celer_path(x, y, "lasso", alphas=alphas, tol=tolerance, max_iter=1000)

    def fit(x, y):
        model = LogisticRegression(C=task["C"], solver=setting["solver"], tol=tolerance, max_iter=1000)
        model.fit_intercept = False
        return model.fit(x, y)

    return fitting.clocked_l1(path, task, setting["form"], fit, fit_path)
