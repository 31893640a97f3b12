"""scikit-learn."""

import importlib.metadata
from typing import Any

import measure
from peers import arrays, fitting

NAME = "scikit-learn"


def version():
    return importlib.metadata.version("scikit-learn")


def read_svmlight(path):
    return measure.inside("peers.scikit_learn", "time_svmlight", path)


def time_svmlight(path):
    from sklearn.datasets import load_svmlight_file

    (design, _), seconds = measure.timed(lambda: load_svmlight_file(path))
    return {"seconds": seconds, "rows": design.shape[0], "features": design.shape[1]}


def hard_margin(path, tolerance):
    """SVC with a C so large that all slacks are 0."""
    return measure.inside("peers.scikit_learn", "time_hard_margin", str(path), str(tolerance))


def time_hard_margin(path, tolerance):
    from sklearn.svm import SVC

    x, y = arrays.load(path)
    fit, seconds = measure.timed(lambda: SVC(kernel="linear", C=1e8, tol=float(tolerance)).fit(x, y))
    weights = fit.coef_[0]
    return {"seconds": seconds, "half_square": float(weights @ weights) / 2} | arrays.margin(x, y, weights)


def lad(path):
    return measure.inside("peers.scikit_learn", "time_lad", str(path))


def time_lad(path):
    from sklearn.linear_model import QuantileRegressor

    x, y = arrays.load(path)
    model = QuantileRegressor(quantile=0.5, alpha=0, solver="highs")
    fit, seconds = measure.timed(lambda: model.fit(x, y))
    return {"seconds": seconds, "objective": float(abs(y - fit.predict(x)).sum())}


def count_separated(paths):
    """The number of sets that its linear classifiers separate, with default and with generous settings."""
    return measure.inside("peers.scikit_learn", "separated", *map(str, paths))


def separated(*paths):
    import warnings

    from sklearn.linear_model import Perceptron
    from sklearn.svm import LinearSVC

    warnings.simplefilter("ignore")
    primal = {"C": 1e8, "dual": False, "tol": 1e-10, "max_iter": 100_000}
    settings = {
        "LinearSVC()": lambda: LinearSVC(),
        "LinearSVC(C=1e6, max_iter=100_000)": lambda: LinearSVC(C=1e6, max_iter=100_000),
        "LinearSVC(C=1e8, dual=False, tol=1e-10, max_iter=100_000)": lambda: LinearSVC(**primal),
        "Perceptron()": lambda: Perceptron(),
        "Perceptron(max_iter=100_000, tol=None)": lambda: Perceptron(max_iter=100_000, tol=None),
    }
    sets = [arrays.load(path) for path in paths]
    counts, seconds = measure.timed(
        lambda: {
            name: sum(bool((make().fit(x, y).predict(x) == y).all()) for x, y in sets)
            for name, make in settings.items()
        }
    )
    return {"seconds": seconds, "separated": counts}


def ladders(task: dict, file: dict) -> list[dict]:
    """Newton's method first if there are few features, because it is its fastest solver then."""
    form = "csr" if file["sparse"] else "dense"
    kind = task["loss"], task["penalty"]
    if "path" in task:
        return [fitting.ladder("lasso_path", "csc" if file["sparse"] else "columns", "1e-1", "1e-9")]
    if kind == ("logistic", "l2"):
        newton = [fitting.ladder("newton-cholesky", form, "1e-1", "1e-9")] if file["features"] <= 2_000 else []
        # A set with few columns may be faster in dense form.
        if file["sparse"] and file["features"] <= 100:
            newton.append(fitting.ladder("newton-cholesky", "dense", "1e-1", "1e-9"))
        return [
            *newton,
            fitting.ladder("newton-cg", form, "1e-1", "1e-8"),
            fitting.ladder("lbfgs", form, "1e-1", "1e-9"),
        ]
    if kind == ("logistic", "l1"):
        return [fitting.ladder("saga", form, "1e-1", "1e-7")]
    if kind == ("softmax", "l2"):
        return [
            fitting.ladder("lbfgs", form, "1e-1", "1e-9"),
            fitting.ladder("newton-cg", form, "1e-1", "1e-7"),
        ]
    if kind == ("squared", "none"):
        return [{"solver": name, "form": form, "tolerances": [""]} for name in ("Ridge", "LinearRegression")]
    return []


def time_fit(path: str, *arguments: str) -> dict[str, Any]:
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, lasso_path

    task, setting = fitting.parsed(*arguments)

    def prepare(x, y):
        x = fitting.converted(x, setting["form"])
        return (x, y, arrays.penalties(x, y, task["path"])) if "path" in task else (x, y)

    def fit_path(x, y, alphas):
        return lasso_path(x, y, alphas=alphas, tol=float(setting["tolerance"]), max_iter=100_000)

    def fit(x, y):
        if task["loss"] == "squared":
            # Ridge without a penalty solves the normal equations.
            intercept = {"fit_intercept": task["intercept"]}
            exact = Ridge(alpha=0, solver="cholesky", **intercept) if setting["solver"] == "Ridge" else None
            return (exact or LinearRegression(**intercept)).fit(x, y)
        model = LogisticRegression(
            C=task["C"],
            l1_ratio=float(task["penalty"] == "l1"),
            fit_intercept=task["intercept"],
            solver=setting["solver"],
            tol=float(setting["tolerance"]),
            max_iter=100_000,
        )
        return model.fit(x, y)

    if "path" in task:
        return fitting.clocked(path, task, prepare, fit_path, lambda found: (found[1].T, 0.0))
    return fitting.clocked(path, task, prepare, fit, lambda model: (model.coef_, model.intercept_))


def time_predict(path: str, rows: str) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression

    return fitting.predictions(path, int(rows), LogisticRegression())
