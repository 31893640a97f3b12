"""Rosenblatt's perceptron, and what voting, averaging and a pocket make of it."""

from __future__ import annotations

import json
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn import linear_model
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted

from .arrays import checked, matrix
from .base import CertifiedFit, WeighedClasses, seed
from .exceptions import warn
from .prediction import LinearClassifications
from .sgd import check_start, flat_start


class MistakeDriven(WeighedClasses):
    """Mixin: learners that change at their mistakes.

    Rows are a multiset: a weight is a number of equal rows, and a shuffled order depends on the rows and the seed
    only, not on where the rows stand.
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
            " (wstar.separate decides); else increase max_iter.",
            ConvergenceWarning,
        )

    def _passes(self) -> int:
        return max(1, int(json.loads(self.model_.part("fit"))["passes"]))


class Perceptron(LinearClassifications, MistakeDriven, linear_model.Perceptron):
    """Rosenblatt's perceptron, with a bound on its mistakes.

    `fit` passes over the rows until none is classified wrongly, at most `max_iter` times; `partial_fit` passes over its
    rows once, from where the hyperplanes are.

    A weight is a number of rows: a row of weight 2 is seen twice in a pass, and one of weight 0.5 moves the hyperplane half as
    far. So weights are the same as repeated rows, whatever their order (with `shuffle`; else in their order).

    Parameters
    ----------
    penalty, early_stopping
        A penalty, or a set of rows to stop by, make it scikit-learn's own stochastic descent, without a certificate.
    alpha, l1_ratio, tol, validation_fraction, n_iter_no_change, verbose
        Have no meaning without those two: `fit` ends when no mistake is left.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    max_iter : int, default=1000
        At most so many passes.
    shuffle : bool, default=True
        Whether every pass has an order of its own.
    eta0 : float, default=1.0
        The learning rate.
    n_jobs : int, default=None
        Threads that check the bound, None for all.
    random_state : int, RandomState instance or None, default=0
        The seed of the order.
    class_weight : dict or "balanced", default=None
        How often the rows of each class count.
    warm_start : bool, default=False
        Starts from the last hyperplanes.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, t_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        The updates made, and how many are possible.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron().fit(X[:100], y[:100])
    >>> model.certificate_.holds, model.score(X[:100], y[:100])
    (True, 1.0)
    """

    def fit(
        self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> Perceptron:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        coef_init, intercept_init : array-like, default=None
            Where to start.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        if self._is_theirs():
            self._forget()
            return super().fit(X, y, coef_init, intercept_init, sample_weight)
        self._remember(y)
        X, y = checked(self, X, y)
        codes = self._labels(y)
        problems = 1 if len(self.classes_) == 2 else len(self.classes_)
        check_start(coef_init, intercept_init, problems, X.shape[1])
        if coef_init is None and self.warm_start and self._previous(X) is not None:
            coef_init, intercept_init = self.coef_, self.intercept_
        settings = self._run_settings("perceptron", self.max_iter)
        settings["start"] = flat_start(coef_init, intercept_init, problems, X.shape[1], self.fit_intercept)
        self._fit_hyperplanes(X, codes, sample_weight, settings)
        self.n_iter_ = self._passes()
        self.t_ = 1.0 + self.n_iter_ * X.shape[0]
        return self

    def _is_theirs(self) -> bool:
        # A stochastic descent with a penalty, or one that stops by other rows: a walk, which proves nothing.
        return self.penalty is not None or self.early_stopping

    def _partial_fit(self, X: Any, y: Any, *args: Any, **how: Any) -> Perceptron:
        """One pass over these rows: what scikit-learn's `partial_fit` asks for."""
        if self._is_theirs():
            self._forget()
            return super()._partial_fit(X, y, *args, **how)
        self._remember(y)
        first = not hasattr(self, "classes_")
        X, y = checked(self, X, y, reset=first)
        _check_partial_fit_first_call(self, how["classes"])
        codes = self._coded(y)
        problems = 1 if len(self.classes_) == 2 else len(self.classes_)
        settings = self._run_settings("online-perceptron", 1)
        if first:
            self.coef_, self.intercept_ = np.zeros((problems, X.shape[1])), np.zeros(problems)
            self.t_ = 1.0
        else:
            settings["start"] = flat_start(
                self.coef_, self.intercept_, problems, X.shape[1], self.fit_intercept
            )
        weights = self._row_weights(X, codes, how["sample_weight"])
        model = self._engine_fit(X, self._goal(codes), weights, settings)
        self.coef_[:], self.intercept_[:] = model.hyperplanes()
        self._keep(model)
        self.n_iter_ = 1
        self.t_ += X.shape[0]
        return self


_PARAMETERS = """max_iter : int, default={passes}
        {what} so many passes over the rows.
    eta0 : float, default=1.0
        The learning rate.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    shuffle : bool, default=True
        Whether every pass has an order of its own.
    random_state : int, RandomState instance or None, default=0
        The seed of the order.
    class_weight : dict or "balanced", default=None
        How often the rows of each class count.
    n_jobs : int, default=None
        Threads, None for all.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_iter_ : int
        Passes made.
    certificate_ : Certificate
        The updates made, and how many are possible."""


class _Passes(CertifiedFit, MistakeDriven, BaseEstimator):
    """What the learners of a set number of passes share."""

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
        max_iter=10,
        eta0=1.0,
        fit_intercept=True,
        shuffle=True,
        random_state=0,
        class_weight=None,
        n_jobs=None,
    ):
        self.max_iter = max_iter
        self.eta0 = eta0
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _learn(self, X: Any, codes: np.ndarray, sample_weight: Any) -> None:
        settings = self._run_settings(self._method, self.max_iter)
        model = self._engine_fit(X, self._goal(codes), self._row_weights(X, codes, sample_weight), settings)
        planes = model.hyperplanes()
        if planes is not None:
            self.coef_, self.intercept_ = planes
        self._keep(model)
        self.n_iter_ = self._passes()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class VotedPerceptron(LinearClassifications, ClassifierMixin, _Passes):
    __doc__ = f"""All hyperplanes of a perceptron's run vote (Freund and Schapire, 1999).

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

    def _ask(self, X: Any, what: str) -> tuple[np.ndarray, Any]:
        """The votes for each class, by how long their hyperplanes lasted, and what they decide."""
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        count = self.model_.decide if what == "classes" else self.model_.scores
        return count(matrix(X), self._threads(X)), X.dtype

    def _narrowed(self, found: np.ndarray, dtype: Any) -> np.ndarray:
        return found


class AveragedPerceptron(LinearClassifications, ClassifierMixin, _Passes):
    __doc__ = f"""The mean of all hyperplanes of a perceptron's run.

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

    _method = "averaged-perceptron"


class PocketPerceptron(AveragedPerceptron):
    __doc__ = f"""A perceptron that keeps the best hyperplane it has held, by training errors (Gallant, 1990).

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
        max_iter=100,
        eta0=1.0,
        fit_intercept=True,
        shuffle=True,
        random_state=0,
        class_weight=None,
        n_jobs=None,
    ):
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
        """The pocket is for classes that overlap: mistakes that are left are no news."""
