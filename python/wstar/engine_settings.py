"""The estimator and its parameters that correspond to the engine's settings, for files without Python's section.

The engine minimises ``R(w) + C Σ ℓ``, and ``lambda`` is ``1/(n C)``. The formulas below follow from each estimator's
objective. n is the number of rows: the file does not have the sum of the weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .discriminant import LinearDiscriminantAnalysis
from .geometry import HardMarginClassifier, Kozinec, MinErrorClassifier
from .lasso import ElasticNet, Lasso
from .least_squares import LinearRegression
from .logistic import LogisticRegression
from .naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from .perceptron import AveragedPerceptron, Perceptron, PocketPerceptron, VotedPerceptron
from .quantile import QuantileRegressor
from .ridge import Ridge, RidgeClassifier
from .sgd import LOSSES, SGDClassifier
from .svm import LinearSVC

_CLASSIFIERS: dict[str, type] = {
    "logistic": LogisticRegression,
    "softmax": LogisticRegression,
    "svm": LinearSVC,
}
_PERCEPTRONS: dict[str, type] = {
    "perceptron": Perceptron,
    "online-perceptron": Perceptron,
    "voted-perceptron": VotedPerceptron,
    "averaged-perceptron": AveragedPerceptron,
    "pocket": PocketPerceptron,
}
_DENSITIES: dict[str, type] = {"gaussian": GaussianNB, "bernoulli": BernoulliNB, "multinomial": MultinomialNB}
_SQUARES: dict[str, type] = {"none": LinearRegression, "l2": Ridge, "l1": Lasso, "elastic-net": ElasticNet}
_PENALTIES = {"none": None, "l1": "l1", "l2": "l2", "elastic-net": "elasticnet"}

#: Settings that change the estimate and that have no corresponding parameter.
_UNKNOWN = ("firth", "penalize_intercept", "holdout", "vote", "penalties")


class _Problem:
    """Settings as a file has them, with the two forms of the penalty's strength."""

    def __init__(self, settings: dict[str, Any], rows: int, classes: int) -> None:
        self.given = settings
        self.rows = rows
        self.one_vs_rest = settings.get("multiclass") == "ovr" and classes > 2
        self.penalty = settings.get("penalty") or (
            "none" if self.method in ("least-squares", "lad") else "l2"
        )

    @property
    def method(self) -> str:
        return self.given["method"]

    @property
    def c(self) -> float:
        """C of the engine's objective."""
        if self.given.get("lambda"):
            return 1.0 / (self.rows * self.given["lambda"])
        return self.given.get("C") or 1.0

    @property
    def mean_strength(self) -> float:
        """The strength of the penalty relative to the mean loss: 0 without a penalty."""
        if self.penalty == "none":
            return 0.0
        return self.given.get("lambda") or 1.0 / (self.rows * self.c)

    @property
    def sum_strength(self) -> float:
        """The strength of the penalty relative to the sum of the losses: 0 without a penalty."""
        return 0.0 if self.penalty == "none" else 1.0 / self.c

    @property
    def l1_ratio(self) -> float:
        return {"l1": 1.0, "elastic-net": self.given.get("l1_ratio") or 0.5}.get(self.penalty, 0.0)


def estimator_for(
    method: str, settings: dict[str, Any], rows: int, labels: dict[str, Any]
) -> tuple[Any, list[str]]:
    """An unfitted estimator for settings, and the names of the settings without a corresponding parameter.

    `labels` are the classes by their names.
    """
    problem = _Problem({**settings, "method": method}, rows, len(labels))
    kind, parameters, lost = _choice(problem)
    common = {
        "tol": settings.get("tol"),
        "max_iter": settings.get("max_iter"),
        "fit_intercept": not settings.get("no_intercept", False),
        "random_state": settings.get("seed"),
        "class_weight": _class_weight(settings.get("class_weight"), labels),
    }
    known = kind().get_params()
    given = {
        name: value for name, value in {**common, **parameters}.items() if value is not None and name in known
    }
    lost += [name for name in _UNKNOWN if settings.get(name)]
    return kind(**given), lost


def _choice(problem: _Problem) -> tuple[type, dict[str, Any], list[str]]:
    """The class, its specific parameters, and the names of the settings that it cannot express."""
    method, settings = problem.method, problem.given
    if method in _CLASSIFIERS or method == "mse-classifier":
        return _classifier(problem)
    if method == "least-squares":
        strength = problem.sum_strength if problem.penalty == "l2" else problem.mean_strength
        return _SQUARES[problem.penalty], {"alpha": strength, "l1_ratio": problem.l1_ratio}, []
    if method == "lad":
        # The absolute deviation is twice the pinball loss of the median.
        factor = 1.0 if settings.get("quantile") else 0.5
        parameters = {"quantile": settings.get("quantile") or 0.5, "alpha": problem.mean_strength * factor}
        return QuantileRegressor, parameters, [] if problem.penalty in ("none", "l1") else ["penalty"]
    if method == "naive-bayes":
        kind = _DENSITIES[settings.get("density") or "gaussian"]
        name = "var_smoothing" if kind is GaussianNB else "alpha"
        return kind, {name: settings.get("smoothing")}, []
    if method == "lda":
        shrinkage = settings.get("shrinkage")
        return (
            LinearDiscriminantAnalysis,
            {"shrinkage": shrinkage, "solver": "lsqr" if shrinkage else None, "tol": 1e-4},
            [],
        )
    passes = settings.get("epochs")
    passes = None if passes is None else max(1, round(passes))
    if method in _PERCEPTRONS:
        parameters = {"max_iter": passes, "eta0": settings.get("learning_rate"), "tol": 1e-3}
        if settings.get("rule"):
            parameters["shuffle"] = settings["rule"] == "shuffled"
        return _PERCEPTRONS[method], parameters, ["rule"] if settings.get("rule") == "worst" else []
    if method == "kozinec":
        return Kozinec, {"epsilon": settings.get("epsilon"), "max_iter": passes}, []
    if method == "hard-margin":
        return HardMarginClassifier, {}, []
    if method == "min-error":
        return MinErrorClassifier, {"max_seconds": settings.get("max_seconds")}, []
    raise ValueError(f"a {method} model has no estimator in Python: use the command line")


def _classifier(problem: _Problem) -> tuple[type, dict[str, Any], list[str]]:
    """The class for a loss and a penalty: `SGDClassifier` if no other class has the combination."""
    method, penalty, settings = problem.method, problem.penalty, problem.given
    loss = settings.get("loss")
    if method in ("logistic", "softmax") and not problem.one_vs_rest:
        c = np.inf if penalty == "none" else problem.c
        return (
            LogisticRegression,
            {"C": c, "l1_ratio": problem.l1_ratio},
            ["loss"] if loss == "sigmoid-mse" else [],
        )
    if method == "svm" and penalty in ("l1", "l2") and loss != "modified-huber":
        name = (loss or "hinge").replace("-", "_")
        parameters = {"C": problem.c, "penalty": penalty, "loss": name}
        return LinearSVC, parameters, []
    if method == "mse-classifier" and penalty in ("none", "l2"):
        return RidgeClassifier, {"alpha": problem.sum_strength}, []
    wanted = (method, loss or {"svm": "hinge", "logistic": "logistic"}.get(method, "squared"))
    names = [name for name, settings_of in LOSSES.items() if settings_of == wanted]
    parameters = {
        "loss": names[0] if names else "log_loss",
        "penalty": _PENALTIES[penalty],
        "alpha": problem.mean_strength,
        "l1_ratio": problem.l1_ratio,
    }
    return SGDClassifier, parameters, [] if names else ["loss"]


def _class_weight(weights: Any, labels: dict[str, Any]) -> Any:
    """The weights of classes by their labels."""
    if not isinstance(weights, dict):
        return weights
    return {labels.get(name, name): weight for name, weight in weights["given"]}
