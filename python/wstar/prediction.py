"""Predictions by the engine: on all cores, without a copy, and one row in microseconds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from . import _engine
from .arrays import checked, matrix, size, threads


def is_plain(estimator: Any, X: Any) -> bool:
    """Whether nothing about X is to be converted, checked or warned of, other than that its values are finite."""
    if type(X) is not np.ndarray or X.ndim != 2:
        return False
    known, dtype, flags = estimator.__dict__, X.dtype, X.flags
    return (
        dtype.char in "df"
        and dtype.isnative
        and flags.forc
        and flags.aligned
        and X.shape[0] > 0
        and X.shape[1] == known.get("n_features_in_")
        and "feature_names_in_" not in known
    )


class Scored:
    """Mixin: what is predicted follows from the scores of linear or Gaussian functions.

    The functions are those of the attributes that the estimator shows, so that a user may change them.
    """

    #: How validated X must be, beyond what all estimators ask.
    _accepts: ClassVar[dict[str, Any]] = {}

    def _functions(self) -> _engine.Scores:
        """The score functions."""
        raise NotImplementedError

    def _ask(self, X: Any, what: str) -> tuple[np.ndarray, Any]:
        """What the scores of X say, and X's dtype; X is checked only if that is not known to be needless."""
        if is_plain(self, X):
            found, finite = self._answer(X, X, what)
            if finite:
                return found, X.dtype
        check_is_fitted(self)
        # What is not finite is named here; finite rows may have scores beyond all numbers.
        X = checked(self, X, reset=False, **self._accepts)
        return self._answer(matrix(X), X, what)[0], X.dtype

    def _answer(self, taken: Any, X: Any, what: str) -> tuple[np.ndarray, bool]:
        # Few numbers are done before a thread is made.
        count = 1 if X.shape[0] == 1 else threads(getattr(self, "n_jobs", None), size(X))
        functions = self._functions()
        if what == "classes":
            return functions.classify(taken, count)
        return functions.answer(taken, what, count)

    def _narrowed(self, found: np.ndarray, dtype: Any) -> np.ndarray:
        """What was found in the precision that it is asked for in: double."""
        return found


class Classifications(Scored):
    """Mixin: the class of the largest score."""

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        codes, _ = self._ask(X, "classes")
        return self.classes_.take(codes)


class Probabilities(Scored):
    """Mixin: scores are log odds, or logarithms of probabilities up to a constant."""

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._narrowed(*self._ask(X, "probabilities"))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of the probabilities of the classes, finite however small those are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._narrowed(*self._ask(X, "log-probabilities"))


class Hyperplanes(Scored):
    """Mixin: the score functions are the hyperplanes of `coef_` and `intercept_`."""

    def _functions(self) -> _engine.Scores:
        coef, intercept = self.coef_, self.intercept_
        try:
            if coef.ndim == 1:
                return _engine.Scores.linear(coef[None], np.array([intercept]).reshape(-1))
            return _engine.Scores.linear(coef, intercept)
        except (TypeError, ValueError):
            # In single precision, sparse, in other strides, or one intercept in an array for several targets.
            pass
        if sp.issparse(coef):
            coef = coef.toarray()
        coef = np.ascontiguousarray(coef, dtype=np.float64)
        coef = coef.reshape(-1, coef.shape[-1])
        intercept = np.asarray(intercept, dtype=np.float64).reshape(-1)
        if len(intercept) != len(coef):
            intercept = np.broadcast_to(intercept, len(coef))
        return _engine.Scores.linear(coef, np.ascontiguousarray(intercept))

    def _narrowed(self, found: np.ndarray, dtype: Any) -> np.ndarray:
        """In single precision if rows and hyperplanes are."""
        single = dtype.char == "f" and self.coef_.dtype.char == "f"
        return found.astype(np.float32) if single else found


class LinearClassifications(Classifications, Hyperplanes):
    """Mixin: classes by hyperplanes."""

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive where the second is predicted, else one for each class.
        """
        scores, dtype = self._ask(X, "scores")
        scores = self._narrowed(scores, dtype)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _predict_proba_lr(self, X: Any) -> np.ndarray:
        """Scores as log odds of each class against the rest, where scikit-learn's classes ask for it."""
        return self._narrowed(*self._ask(X, "odds"))


class LinearPredictions(Hyperplanes):
    """Mixin: real targets by hyperplanes."""

    def predict(self, X: Any) -> np.ndarray:
        """The target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predicted values.
        """
        scores = self._narrowed(*self._ask(X, "scores"))
        return scores.ravel() if self.coef_.ndim == 1 else scores
