"""scikit-learn."""

import importlib.metadata

import measure

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
    """SVC with C so large that no slack pays."""
    return measure.inside("peers.scikit_learn", "time_hard_margin", str(path), str(tolerance))


def time_hard_margin(path, tolerance):
    from sklearn.svm import SVC

    from peers import arrays

    x, y = arrays.load(path)
    fit, seconds = measure.timed(lambda: SVC(kernel="linear", C=1e8, tol=float(tolerance)).fit(x, y))
    weights = fit.coef_[0]
    return {"seconds": seconds, "half_square": float(weights @ weights) / 2} | arrays.margin(x, y, weights)


def lad(path):
    return measure.inside("peers.scikit_learn", "time_lad", str(path))


def time_lad(path):
    from sklearn.linear_model import QuantileRegressor

    from peers import arrays

    x, y = arrays.load(path)
    model = QuantileRegressor(quantile=0.5, alpha=0, solver="highs")
    fit, seconds = measure.timed(lambda: model.fit(x, y))
    return {"seconds": seconds, "objective": float(abs(y - fit.predict(x)).sum())}


def count_separated(paths):
    """How many of the sets its linear classifiers separate: as they come, and with every chance given."""
    return measure.inside("peers.scikit_learn", "separated", *map(str, paths))


def separated(*paths):
    import warnings

    from sklearn.linear_model import Perceptron
    from sklearn.svm import LinearSVC

    from peers import arrays

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
