"""Rosenblatt's perceptron, and what voting, averaging and a pocket make of it."""

from __future__ import annotations

import json
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn import linear_model
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from .arrays import checked, matrix
from .base import CertifiedClassifier, seed
from .sgd import check_start


class MistakeDriven(CertifiedClassifier):
    """Mixin: learners that change at their mistakes."""

    def _warn_limit(self, fit: dict[str, Any]) -> None:
        warnings.warn(
            f"{type(self).__name__} made {fit['passes']} passes and still makes mistakes. The classes may overlap"
            " (wstar.separate decides); else increase max_iter.",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _passes(self) -> int:
        return max(1, int(json.loads(self.model_.part("fit"))["passes"]))


class Perceptron(MistakeDriven, linear_model.Perceptron):
    """Rosenblatt's perceptron, with a bound on its mistakes.

    Passes over the rows until none is classified wrongly, at most `max_iter` times. `partial_fit` is one pass of
    scikit-learn's own, and leaves no certificate.

    `fit` takes no `sample_weight`: which rows a perceptron errs on depends on their order, so that a row of weight 2 is
    not the same as two rows. Repeat rows, or use `class_weight`.

    Parameters
    ----------
    penalty : None
        Penalties are not available: use `SGDClassifier`.
    alpha, l1_ratio, tol, early_stopping, validation_fraction, n_iter_no_change, verbose
        Have no meaning for `fit`, which ends when no mistake is left.
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
        How far a mistake on each class moves the hyperplane.
    warm_start : bool, default=False
        Starts from the last hyperplane; with more than two classes, anew.

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

    def fit(self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None) -> Perceptron:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        coef_init, intercept_init : array-like, default=None
            Where to start, for two classes.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        if self.penalty is not None:
            raise ValueError("a penalty is not available for the perceptron: use SGDClassifier")
        self._remember(y)
        X, y = checked(self, X, y)
        codes = self._labels(y)
        problems = 1 if len(self.classes_) == 2 else len(self.classes_)
        check_start(coef_init, intercept_init, problems, X.shape[1])
        if coef_init is None and self.warm_start and self._previous(X) is not None:
            coef_init, intercept_init = self.coef_, self.intercept_
        start = None
        if coef_init is not None or intercept_init is not None:
            if problems > 1 and not self.warm_start:
                raise ValueError("coef_init is for two classes")
            if problems == 1:
                weights = np.zeros(X.shape[1]) if coef_init is None else np.ravel(coef_init)
                bias = np.zeros(1) if intercept_init is None else np.ravel(intercept_init)
                start = ([float(bias[0])] if self.fit_intercept else []) + weights.astype(float).tolist()
        settings = {
            "method": "perceptron",
            "epochs": float(self.max_iter),
            "rule": "shuffled" if self.shuffle else "cyclic",
            "learning_rate": float(self.eta0),
            "start": start,
            "no_intercept": not self.fit_intercept,
            "seed": seed(self.random_state),
        }
        self._fit_hyperplanes(X, codes, self._class_steps(codes), settings)
        self.n_iter_ = self._passes()
        self.t_ = 1.0 + self.n_iter_ * X.shape[0]
        return self

    def _class_steps(self, codes: np.ndarray) -> np.ndarray | None:
        """The weight of each row by its class."""
        from sklearn.utils import compute_class_weight

        if self.class_weight is None:
            return None
        labels = self.classes_[codes]
        return compute_class_weight(self.class_weight, classes=self.classes_, y=labels)[codes]

    def _partial_fit(self, *args: Any, **how: Any) -> Any:
        # Stochastic steps prove nothing.
        self.__dict__.pop("model_", None)
        return super()._partial_fit(*args, **how)


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


class _Passes(MistakeDriven, BaseEstimator):
    """What the learners of a set number of passes share."""

    _method = ""
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def _learn(self, X: Any, y: Any) -> Any:
        self._validate_params()
        self._remember(y)
        X, y = checked(self, X, y)
        codes = self._labels(y)
        settings = {
            "method": self._method,
            "epochs": float(self.max_iter),
            "rule": "shuffled" if self.shuffle else "cyclic",
            "learning_rate": float(self.eta0),
            "no_intercept": not self.fit_intercept,
            "seed": seed(self.random_state),
        }
        model = self._engine_fit(X, self._goal(codes), None, settings)
        self._keep(model)
        self.n_iter_ = self._passes()
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class VotedPerceptron(ClassifierMixin, _Passes):
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

    def __init__(
        self, *, max_iter=10, eta0=1.0, fit_intercept=True, shuffle=True, random_state=0, n_jobs=None
    ):
        self.max_iter = max_iter
        self.eta0 = eta0
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> VotedPerceptron:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._learn(X, y)

    def decision_function(self, X: Any) -> np.ndarray:
        """The votes, by how long their hyperplanes lasted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the votes for the second, less those for the first.
        """
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        votes = self.model_.scores(matrix(X), self._threads(X))
        return votes.ravel() if votes.shape[1] == 1 else votes

    def predict(self, X: Any) -> np.ndarray:
        """The label with most votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        return self.classes_[self.model_.decide(matrix(X), self._threads(X))]


class AveragedPerceptron(LinearClassifierMixin, _Passes):
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

    def __init__(
        self, *, max_iter=10, eta0=1.0, fit_intercept=True, shuffle=True, random_state=0, n_jobs=None
    ):
        self.max_iter = max_iter
        self.eta0 = eta0
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> AveragedPerceptron:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._learn(X, y)
        self.coef_, self.intercept_ = self.model_.hyperplanes()
        return self


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
        self, *, max_iter=100, eta0=1.0, fit_intercept=True, shuffle=True, random_state=0, n_jobs=None
    ):
        super().__init__(
            max_iter=max_iter,
            eta0=eta0,
            fit_intercept=fit_intercept,
            shuffle=shuffle,
            random_state=random_state,
            n_jobs=n_jobs,
        )

    def _warn_limit(self, fit: dict[str, Any]) -> None:
        """The pocket is for classes that overlap: mistakes that are left are no news."""
