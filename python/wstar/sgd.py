"""The objectives of scikit-learn's stochastic gradient descent, minimised exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from sklearn import linear_model

from .arrays import validated
from .base import seed
from .classification import WeightedClasses
from .exceptions import warn
from .prediction import LinearClassifications
from .types import ClassWeight, Floats, RandomState

if TYPE_CHECKING:
    from typing_extensions import Self

#: The engine's method and loss for each of scikit-learn's losses.
LOSSES = {
    "hinge": ("svm", "hinge"),
    "squared_hinge": ("svm", "squared-hinge"),
    "modified_huber": ("svm", "modified-huber"),
    "log_loss": ("logistic", "logistic"),
    "squared_error": ("mse-classifier", "squared"),
}


#: The losses that scikit-learn's class accepts.
Loss: TypeAlias = Literal[
    "hinge",
    "log_loss",
    "modified_huber",
    "squared_hinge",
    "perceptron",
    "squared_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
]


class SGDClassifier(LinearClassifications, WeightedClasses, linear_model.SGDClassifier):
    """The minimum that stochastic gradient descent approximates, with a certificate.

    `fit` minimises ``sum_i s_i loss_i / n + alpha * R(w)``, the objective of scikit-learn's class of this name, by a
    deterministic solver instead of stochastic steps; n is the number of rows or the sum of their weights, weights of classes
    included. `partial_fit`, `early_stopping`, `average` and the losses of regression use scikit-learn's own stochastic
    steps, without a certificate.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "modified_huber", "log_loss", "squared_error"}, default="hinge"
        The loss. scikit-learn's others, which are losses of regression, have no certificate.
    penalty : {"l2", "l1", "elasticnet", None}, default="l2"
        The penalty.
    alpha : float, default=1e-4
        The strength of the penalty.
    l1_ratio : float, default=0.15
        The proportion of l1 in the elastic net.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    max_iter : int, default=1000
        The maximum number of iterations, over all problems of the fit; the default means no limit.
    tol : float or None, default=1e-8
        The relative duality gap to reach, of the objective over alpha; None is the default.
    early_stopping, average, shuffle, verbose, epsilon, learning_rate, eta0, power_t, validation_fraction, \
n_iter_no_change
        The first two select scikit-learn's own stochastic steps, which use the others; without them, the others are ignored.
    n_jobs : int, default=None
        The number of threads; None means all cores. The fit does not depend on it.
    random_state : int, RandomState instance or None, default=None
        The seed of solvers that shuffle rows.
    class_weight : dict or "balanced", default=None
        The weights of the classes.
    warm_start : bool, default=False
        Whether to start from the last fit.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, t_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        The certificate of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from wstar import SGDClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SGDClassifier(loss="log_loss", alpha=0.01).fit(X, y).certificate_.holds
    True
    """

    coef_: Floats
    intercept_: Floats
    n_iter_: int
    t_: float

    def __init__(
        self,
        loss: Loss = "hinge",
        *,
        penalty: Literal["l2", "l1", "elasticnet"] | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float | None = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-8,
        shuffle: bool = True,
        verbose: int = 0,
        epsilon: float = 0.1,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        learning_rate: Literal["constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"] = "optimal",
        eta0: float = 0.01,
        power_t: float = 0.5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: ClassWeight = None,
        warm_start: bool = False,
        average: bool | int = False,
    ) -> None:
        super().__init__(
            loss=loss,
            penalty=penalty,
            alpha=alpha,
            l1_ratio=l1_ratio,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            tol=tol,
            shuffle=shuffle,
            verbose=verbose,
            epsilon=epsilon,
            n_jobs=n_jobs,
            random_state=random_state,
            learning_rate=learning_rate,
            eta0=eta0,
            power_t=power_t,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            class_weight=class_weight,
            warm_start=warm_start,
            average=average,
        )

    def fit(
        self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        coef_init, intercept_init
            The starting point, for two classes; the optimum does not depend on it.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows; a weight of 2 is the same as the row twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        self._more_validate_params()
        if self._needs_sklearn():
            self._drop_models()
            super().fit(X, y, coef_init, intercept_init, sample_weight)
            return self
        self._store_target_name(y)
        X, y = validated(self, X, y)
        codes = self._labels(y)
        problems = self._problems()
        coef_init, intercept_init = start_of(self, X, coef_init, intercept_init)
        method, loss = LOSSES[self.loss]
        penalty = {"l2": "l2", "l1": "l1", "elasticnet": "elastic-net", None: "none"}[self.penalty]
        if self.alpha == 0:
            penalty = "none"
        settings: dict[str, Any] = {
            "method": method,
            "loss": loss,
            "penalty": penalty,
            "lambda": None if penalty == "none" else float(self.alpha),
            "l1_ratio": float(self.l1_ratio) if penalty == "elastic-net" else None,
            "tol": 1e-8 if self.tol is None or self.tol < 0 else max(float(self.tol), 1e-15),
            "max_iter": self._iteration_limit(),
            "no_intercept": not self.fit_intercept,
            "multiclass": None if problems == 1 else "ovr",
            "seed": seed(self.random_state),
        }
        if problems == 1:
            settings["start"] = flat_start(coef_init, intercept_init, 1, X.shape[1], self.fit_intercept)
        self._fit_hyperplanes(X, codes, sample_weight, settings)
        self.coef_ = self.coef_.astype(X.dtype, copy=False)
        self.intercept_ = self.intercept_.astype(X.dtype, copy=False)
        self.n_iter_ = self._iterations()
        self.t_ = 1.0 + self.n_iter_ * X.shape[0]
        if self.power_t < 0:
            warn(
                "Negative values for `power_t` are deprecated in version 1.8 and will raise an error in 1.10. "
                "Use values in the range [0.0, inf) instead.",
                FutureWarning,
            )
        return self

    def _needs_sklearn(self) -> bool:
        return bool(self.early_stopping or self.average) or self.loss not in LOSSES

    def _partial_fit(self, *args: Any, **how: Any) -> Self:
        # A stochastic step has no certificate.
        self._drop_models()
        super()._partial_fit(*args, **how)
        return self


def flat_start(
    coef: Any, intercept: Any, problems: int, features: int, fit_intercept: bool
) -> list[float] | None:
    """The starting point in the engine's form: the intercept and the weights of each hyperplane in turn."""
    if coef is None and intercept is None:
        return None
    start = np.zeros((problems, features + 1))
    if intercept is not None:
        start[:, 0] = np.ravel(intercept)
    if coef is not None:
        start[:, 1:] = np.reshape(coef, (problems, features))
    return start[:, 0 if fit_intercept else 1 :].ravel().tolist()


def start_of(estimator: Any, X: Any, coef: Any, intercept: Any) -> tuple[Any, Any]:
    """The starting point given to `fit`, or with `warm_start` that of the last fit.

    Raises scikit-learn's error for a starting point of the wrong shape.
    """
    problems, features = estimator._problems(), X.shape[1]
    if coef is not None and np.asarray(coef).size != problems * features:
        raise ValueError("Provided coef_init does not match dataset.")
    if coef is not None and problems > 1 and np.asarray(coef).shape != (problems, features):
        raise ValueError("Provided ``coef_`` does not match dataset. ")
    if intercept is not None and np.asarray(intercept).size != problems:
        raise ValueError("Provided intercept_init does not match dataset.")
    if coef is None and estimator.warm_start and estimator._start_model(X) is not None:
        return estimator.coef_, estimator.intercept_
    return coef, intercept
