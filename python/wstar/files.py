"""Model files, shared with the command line."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn.preprocessing import LabelBinarizer

from . import _engine
from .discriminant import LinearDiscriminantAnalysis
from .geometry import HardMarginClassifier, Kozinec, MinErrorClassifier
from .lasso import ElasticNet, Lasso
from .least_squares import LinearRegression
from .logistic import LogisticRegression
from .naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from .perceptron import AveragedPerceptron, Perceptron, PocketPerceptron, VotedPerceptron
from .quantile import QuantileRegressor
from .ridge import Ridge, RidgeClassifier
from .svm import LinearSVC

_CLASSES: dict[str, Any] = {
    "logistic": LogisticRegression,
    "softmax": LogisticRegression,
    "svm": LinearSVC,
    "lad": QuantileRegressor,
    "mse-classifier": RidgeClassifier,
    "perceptron": Perceptron,
    "online-perceptron": Perceptron,
    "voted-perceptron": VotedPerceptron,
    "averaged-perceptron": AveragedPerceptron,
    "pocket": PocketPerceptron,
    "kozinec": Kozinec,
    "hard-margin": HardMarginClassifier,
    "min-error": MinErrorClassifier,
    "lda": LinearDiscriminantAnalysis,
}
_SQUARES = {"none": LinearRegression, "l2": Ridge, "l1": Lasso, "elastic-net": ElasticNet}
_DENSITIES = {"gaussian": GaussianNB, "bernoulli": BernoulliNB, "multinomial": MultinomialNB}


def _labels(names: list[str]) -> np.ndarray:
    """Classes by their names: whole numbers, else numbers, else texts."""
    for kind in (int, float):
        try:
            return np.array([kind(name) for name in names])
        except ValueError:
            continue
    return np.array(names)


def _blank(model: _engine.Fitted, settings: dict[str, Any]) -> Any:
    """An estimator of the model's kind, with its parameters."""
    method = model.method
    if method == "least-squares":
        kind = _SQUARES[settings.get("penalty", "none")]
    elif method == "naive-bayes":
        kind = _DENSITIES[settings.get("density") or "gaussian"]
    elif method in _CLASSES:
        kind = _CLASSES[method]
    else:
        raise ValueError(f"a {method} model has no estimator in Python: use the command line")
    c, penalty = settings.get("C"), settings.get("penalty")
    wanted = {
        "tol": settings.get("tol"),
        "fit_intercept": not settings.get("no_intercept", False),
        "C": np.inf if penalty == "none" and kind is LogisticRegression else c,
        "alpha": settings.get("lambda"),
        "l1_ratio": {"l1": 1.0, "elastic-net": settings.get("l1_ratio") or 0.5}.get(penalty),
        "quantile": settings.get("quantile"),
        "eta0": settings.get("learning_rate"),
        "epsilon": settings.get("epsilon"),
        "loss": (settings.get("loss") or "hinge").replace("-", "_") if kind is LinearSVC else None,
    }
    if kind in (Ridge, RidgeClassifier) and c:
        wanted["alpha"] = 1.0 / c
    if kind in (BernoulliNB, MultinomialNB):
        wanted["alpha"] = settings.get("smoothing")
    known = kind().get_params()
    return kind(**{name: value for name, value in wanted.items() if name in known and value is not None})


def load(path: Any) -> Any:
    """Read a model file, written by `save` or by the command line.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        A fitted estimator of the model's kind. Labels are whole numbers, numbers or texts, as their names
        can be read.

    Examples
    --------
    >>> import tempfile, wstar
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wstar.LogisticRegression().fit(X, y).save(folder + "/iris.wstar.json")
    ...     model = wstar.load(folder + "/iris.wstar.json")
    >>> type(model).__name__, bool(model.verify(X, y))
    ('LogisticRegression', True)
    """
    model = _engine.Fitted.load(str(path))
    settings, schema = (json.loads(model.part(name)) for name in ("settings", "schema"))
    encodings = [column["encoding"] for column in schema["columns"]]
    if any("number" not in encoding for encoding in encodings):
        raise ValueError("the model encodes categories or texts itself: use the command line")
    predictor = json.loads(model.part("predictor"))
    if predictor.get("link") == "pairs":
        raise ValueError("a model of pairs of classes has no estimator in Python: use the command line")
    estimator = _blank(model, settings)
    estimator.n_features_in_ = schema["features"]
    names = model.feature_names
    if schema["origin"] == "table" and names != [f"x{j + 1}" for j in range(len(names))]:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator._target_name = schema.get("target") or "y"
    classes = json.loads(model.part("classes"))
    if classes:
        labels = _labels(classes)
        if isinstance(estimator, RidgeClassifier):
            estimator._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(labels)
        estimator.classes_ = labels
    planes = None if predictor["kind"] == "committee" else model.hyperplanes()
    if planes is not None:
        _set_planes(estimator, *planes, schema.get("scaling"))
    if predictor["kind"] == "bayes":
        _set_estimate(estimator, predictor["estimate"])
    estimator.model_ = model
    if hasattr(estimator, "max_iter"):
        estimator.n_iter_ = estimator._iterations()
    return estimator


def _set_planes(
    estimator: Any, weights: np.ndarray, intercepts: np.ndarray, scaling: dict[str, Any] | None
) -> None:
    if scaling:
        # Coefficients of the raw columns.
        weights = weights * np.array(scaling["factors"])
        if scaling["shifts"]:
            intercepts = intercepts - weights @ np.array(scaling["shifts"])
    single = not hasattr(estimator, "classes_")
    estimator.coef_ = weights[0] if single else weights
    estimator.intercept_ = float(intercepts[0]) if single else intercepts


def _set_estimate(estimator: Any, estimate: dict[str, Any]) -> None:
    if isinstance(estimator, GaussianNB):
        estimator._set_estimate(estimate)
        estimator.class_count_ = np.array(estimate["priors"])
    elif isinstance(estimator, (BernoulliNB, MultinomialNB)):
        estimator.class_count_ = np.array(estimate["totals"])
        estimator.feature_count_ = np.array(estimate["counts"])
        estimator._update_feature_log_prob(estimator.alpha)
        estimator._update_class_log_prior()
    else:
        estimator.means_ = np.array(estimate["means"])
        estimator.priors_ = np.array(estimate["priors"])
