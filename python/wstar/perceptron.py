"""Rosenblatt's perceptron, and its voted, averaged and pocket variants."""

from __future__ import annotations

import json
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn import linear_model
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted

from .arrays import matrix, validated
from .base import seed
from .classification import CertifiedFit, WeightedClasses
from .exceptions import warn
from .prediction import Decisions, LinearClassifications
from .sgd import flat_start, start_of
from .types import ClassWeight, Floats, RandomState

if TYPE_CHECKING:
    from typing_extensions import Self


class MistakeDriven(WeightedClasses):
    """Mixin: mistake-driven learners.

    The rows are a multiset: a weight is a number of equal rows, and the shuffled order depends on the rows and the
    seed only, not on the order of the rows.
    """

    def _run_settings(self, method: str, passes: float) -> dict[str, Any]:
        """The engine's settings of a perceptron's run."""
        return {
            "method": method,
            "multiset": True,
            "epochs": float(passes),
            "rule": "shuffled" if self.shuffle else "cyclic",
            "learning_rate": float(self.eta0),
            "no_intercept": not self.fit_intercept,
            "seed": seed(self.random_state),
        }

    def _warn_limit(self, fit: dict[str, Any]) -> None:
        warn(
            f"{type(self).__name__} made {fit['passes']} passes and still makes mistakes. The classes may overlap"
            " (wstar.separate decides this); if they do not, increase max_iter.",
            ConvergenceWarning,
        )

    def _n_iter(self) -> int:
        return max(1, int(json.loads(self.model_.part("fit"))["passes"]))


class Perceptron(LinearClassifications, MistakeDriven, linear_model.Perceptron):
    """Rosenblatt's perceptron, with a bound on its mistakes.

    `fit` passes over the rows until none is misclassified, at most `max_iter` times; `partial_fit` passes over its rows
    once, from the current hyperplanes.

    A weight is a number of rows: a row of weight 2 is visited twice in a pass, and one of weight 0.5 moves the hyperplane
    half as far. Weights are therefore equivalent to repeated rows, in any order with `shuffle`.

    Parameters
    ----------
    penalty, early_stopping
        A penalty or early stopping selects scikit-learn's own stochastic gradient descent, without a certificate.
    alpha, l1_ratio, tol, validation_fraction, n_iter_no_change, verbose
        Ignored without those two: `fit` stops when no mistake is left.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    max_iter : int, default=1000
        The maximum number of passes.
    shuffle : bool, default=True
        Whether to shuffle the rows before each pass.
    eta0 : float, default=1.0
        The learning rate.
    n_jobs : int, default=None
        The number of threads that check the bound; None means all cores.
    random_state : int, RandomState instance or None, default=0
        The seed of the order.
    class_weight : dict or "balanced", default=None
        The weights of the classes.
    warm_start : bool, default=False
        Whether to start from the last hyperplanes.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, t_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        The number of updates, and an upper bound on it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron().fit(X[:100], y[:100])
    >>> model.certificate_.holds, model.score(X[:100], y[:100])
    (True, 1.0)
    """

    coef_: Floats
    intercept_: Floats
    n_iter_: int
    t_: float

    def __init__(
        self,
        *,
        penalty: Literal["l2", "l1", "elasticnet"] | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: RandomState = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: ClassWeight = None,
        warm_start: bool = False,
    ) -> None:
        super().__init__(
            penalty=penalty,
            alpha=alpha,
            l1_ratio=l1_ratio,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            tol=tol,
            shuffle=shuffle,
            verbose=verbose,
            eta0=eta0,
            n_jobs=n_jobs,
            random_state=random_state,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            class_weight=class_weight,
            warm_start=warm_start,
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
        coef_init, intercept_init : array-like, default=None
            The starting point.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows; a weight of 2 is the same as the row twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        if self._needs_sklearn():
            self._drop_models()
            super().fit(X, y, coef_init, intercept_init, sample_weight)
            return self
        self._store_target_name(y)
        X, y = validated(self, X, y)
        codes = self._labels(y)
        problems = self._problems()
        coef_init, intercept_init = start_of(self, X, coef_init, intercept_init)
        settings = self._run_settings("perceptron", self.max_iter)
        settings["start"] = flat_start(coef_init, intercept_init, problems, X.shape[1], self.fit_intercept)
        self._fit_hyperplanes(X, codes, sample_weight, settings)
        self.n_iter_ = self._n_iter()
        self.t_ = 1.0 + self.n_iter_ * X.shape[0]
        return self

    def _needs_sklearn(self) -> bool:
        # Stochastic gradient descent with a penalty or early stopping has no certificate.
        return self.penalty is not None or self.early_stopping

    def _partial_fit(self, X: Any, y: Any, *args: Any, **how: Any) -> Self:
        """One pass over these rows; scikit-learn's `partial_fit` calls this."""
        if self._needs_sklearn():
            self._drop_models()
            super()._partial_fit(X, y, *args, **how)
            return self
        self._store_target_name(y)
        first = not hasattr(self, "classes_")
        X, y = validated(self, X, y, reset=first)
        _check_partial_fit_first_call(self, how["classes"])
        codes = self._codes_of(y)
        problems = self._problems()
        settings = self._run_settings("online-perceptron", 1)
        if first:
            self.coef_, self.intercept_ = np.zeros((problems, X.shape[1])), np.zeros(problems)
            self.t_ = 1.0
        else:
            settings["start"] = flat_start(
                self.coef_, self.intercept_, problems, X.shape[1], self.fit_intercept
            )
        weights = self._row_weights(X, codes, how["sample_weight"])
        model = self._engine_fit(X, self._engine_target(codes), weights, settings)
        self.coef_[:], self.intercept_[:] = model.hyperplanes()
        self._store_models(model)
        self.n_iter_ = 1
        self.t_ += X.shape[0]
        return self


_PARAMETERS = """max_iter : int, default={passes}
        {what} this number of passes over the rows.
    eta0 : float, default=1.0
        The learning rate.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    shuffle : bool, default=True
        Whether to shuffle the rows before each pass.
    random_state : int, RandomState instance or None, default=0
        The seed of the order.
    class_weight : dict or "balanced", default=None
        The weights of the classes.
    n_jobs : int, default=None
        The number of threads; None means all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_iter_ : int
        The number of passes.
    certificate_ : Certificate
        The number of updates, and an upper bound on it."""


class _FixedPasses(CertifiedFit, MistakeDriven, BaseEstimator):
    """Base class of the learners with a fixed number of passes."""

    n_iter_: int

    _method = ""
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        max_iter: int = 10,
        eta0: float = 1.0,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: RandomState = 0,
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.eta0 = eta0
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _learn(self, X: Any, codes: np.ndarray, sample_weight: Any) -> None:
        settings = self._run_settings(self._method, self.max_iter)
        model = self._engine_fit(
            X, self._engine_target(codes), self._row_weights(X, codes, sample_weight), settings
        )
        planes = model.hyperplanes()
        if planes is not None:
            self.coef_, self.intercept_ = planes
        self._store_models(model)
        self.n_iter_ = self._n_iter()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class VotedPerceptron(Decisions, ClassifierMixin, _FixedPasses):
    __doc__ = f"""The voted perceptron: all hyperplanes of a run vote (Freund and Schapire, 1999).

    Parameters
    ----------
    {_PARAMETERS.format(passes=10, what="Exactly")}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from wstar import VotedPerceptron
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> VotedPerceptron().fit(X, y).score(X, y) > 0.85
    True
    """

    _method = "voted-perceptron"

    def _evaluate(self, X: Any, what: str) -> tuple[np.ndarray, Any]:
        """The votes for each class, weighted by the survival times of the hyperplanes, or the class they elect."""
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        count = self.model_.decide if what == "classes" else self.model_.scores
        return count(matrix(X), self._threads(X)), X.dtype


class AveragedPerceptron(LinearClassifications, ClassifierMixin, _FixedPasses):
    __doc__ = f"""The averaged perceptron: the mean of all hyperplanes of a run.

    Parameters
    ----------
    {_PARAMETERS.format(passes=10, what="Exactly")}
    coef_, intercept_ : ndarray
        The hyperplanes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import AveragedPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> AveragedPerceptron().fit(X[:100], y[:100]).score(X[:100], y[:100])
    1.0
    """

    coef_: Floats
    intercept_: Floats

    _method = "averaged-perceptron"


class PocketPerceptron(AveragedPerceptron):
    __doc__ = f"""The pocket algorithm: the hyperplane of a run with the fewest training errors (Gallant, 1990).

    Parameters
    ----------
    {_PARAMETERS.format(passes=100, what="At most")}
    coef_, intercept_ : ndarray
        The hyperplanes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import PocketPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> PocketPerceptron().fit(X, y == 1).score(X, y == 1) > 0.66
    True
    """

    _method = "pocket"

    def __init__(
        self,
        *,
        max_iter: int = 100,
        eta0: float = 1.0,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: RandomState = 0,
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            max_iter=max_iter,
            eta0=eta0,
            fit_intercept=fit_intercept,
            shuffle=shuffle,
            random_state=random_state,
            class_weight=class_weight,
            n_jobs=n_jobs,
        )

    def _warn_limit(self, fit: dict[str, Any]) -> None:
        """No warning: the pocket algorithm is meant for classes that overlap."""
