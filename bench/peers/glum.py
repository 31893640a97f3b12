"""glum: iteratively reweighted least squares."""

import importlib.metadata
from typing import Any

from peers import fitting

NAME = "glum"


def version() -> str:
    return importlib.metadata.version("glum")


def ladders(task: dict, file: dict) -> list[dict]:
    if (task["loss"], task["penalty"]) != ("logistic", "l2") or file["features"] > 2_000:
        return []
    forms = ["csc", "split"] if file["sparse"] else ["columns"]
    return [fitting.ladder("irls-ls", form, "1e-1", "1e-9") for form in forms]


def time_fit(path: str, *arguments: str) -> dict[str, Any]:
    import numpy
    import tabmat
    from glum import GeneralizedLinearRegressor

    task, setting = fitting.parsed(*arguments)

    def prepare(x, y):
        # `split` stores sufficiently dense columns separately from the others.
        if setting["form"] == "split":
            design = tabmat.from_csc(fitting.converted(x, "csc"), threshold=0.1)
        elif setting["form"] == "csc":
            design = tabmat.SparseMatrix(fitting.converted(x, "csc"))
        else:
            design = tabmat.DenseMatrix(fitting.converted(x, "columns"))
        return design, numpy.where(y > 0, 1.0, 0.0)

    def fit(design, y):
        model = GeneralizedLinearRegressor(
            family="binomial",
            alpha=1 / (task["C"] * len(y)),
            l1_ratio=0,
            fit_intercept=task["intercept"],
            solver=setting["solver"],
            gradient_tol=float(setting["tolerance"]),
            max_iter=1000,
        )
        return model.fit(design, y)

    return fitting.clocked(path, task, prepare, fit, lambda model: (model.coef_, model.intercept_))
