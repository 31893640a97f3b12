"""celer: working sets from extrapolated dual points."""

import importlib.metadata
from typing import Any

from peers import arrays, fitting

NAME = "celer"


def version() -> str:
    return importlib.metadata.version("celer")


def ladders(task: dict, file: dict) -> list[dict]:
    form = "csc" if file["sparse"] else "columns"
    if "path" in task:
        return [fitting.ladder("celer_path", form, "1e-1", "1e-9")]
    if (task["loss"], task["penalty"]) != ("logistic", "l1"):
        return []
    return [fitting.ladder("celer-pn", form, "1e-1", "1e-9")]


def time_fit(path: str, *arguments: str) -> dict[str, Any]:
    from celer import LogisticRegression, celer_path

    task, setting = fitting.parsed(*arguments)
    tolerance = float(setting["tolerance"])

    def prepare(x, y):
        x = fitting.converted(x, setting["form"])
        return (x, y, arrays.penalties(x, y, task["path"])) if "path" in task else (x, y)

    def fit_path(x, y, alphas):
        return celer_path(x, y, "lasso", alphas=alphas, tol=tolerance, max_iter=1000)

    def fit(x, y):
        model = LogisticRegression(C=task["C"], solver=setting["solver"], tol=tolerance, max_iter=1000)
        model.fit_intercept = False
        return model.fit(x, y)

    if "path" in task:
        return fitting.clocked(path, task, prepare, fit_path, lambda found: (found[1].T, 0.0))
    return fitting.clocked(path, task, prepare, fit, lambda model: (model.coef_, 0.0))
