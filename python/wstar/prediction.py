"""Predictions by the engine: on all cores, without a copy of X, and a single row in microseconds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from . import _engine
from .arrays import matrix, size, threads, validated


def is_plain(estimator: Any, X: Any) -> bool:
    """Whether X needs no conversion, warning or check other than that its values are finite."""
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
    """Mixin: predictions from the scores of linear or Gaussian functions.

    The functions are read from the fitted attributes at each call, so that a user may change them.
    """

    #: Arguments of `validated` for X, beyond those of all estimators.
    _validation: ClassVar[dict[str, Any]] = {}

    def _score_functions(self) -> _engine.Scores:
        """The score functions."""
        raise NotImplementedError

    def _evaluate(self, X: Any, what: str) -> tuple[np.ndarray, Any]:
        """Scores, classes or probabilities of X, and its dtype; plain arrays are validated only if a score is not finite."""
        if is_plain(self, X):
            found, finite = self._evaluate_rows(X, X, what)
            if finite:
                return found, X.dtype
        check_is_fitted(self)
        # This raises if X has NaN or infinity. The scores of finite rows may overflow to infinity, which is allowed.
        X = validated(self, X, reset=False, **self._validation)
        return self._evaluate_rows(matrix(X), X, what)[0], X.dtype

    def _evaluate_rows(self, taken: Any, X: Any, what: str) -> tuple[np.ndarray, bool]:
        # One row takes less time than starting a thread.
        count = 1 if X.shape[0] == 1 else threads(getattr(self, "n_jobs", None), size(X))
        functions = self._score_functions()
        if what == "classes":
            return functions.classify(taken, count)
        return functions.answer(taken, what, count)

    def _in_input_precision(self, found: np.ndarray, dtype: Any) -> np.ndarray:
        """Predictions in the precision of the input; double by default."""
        return found


class Classifications(Scored):
    """Mixin: prediction of the class with the largest score."""

    classes_: np.ndarray

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
        codes, _ = self._evaluate(X, "classes")
        return self.classes_.take(codes)


class Probabilities(Scored):
    """Mixin: probabilities, from scores that are log-odds or log-probabilities up to a constant."""

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
        return self._in_input_precision(*self._evaluate(X, "probabilities"))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The log-probabilities of the classes; finite, however small the probabilities are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._in_input_precision(*self._evaluate(X, "log-probabilities"))


class Hyperplanes(Scored):
    """Mixin: the score functions are the hyperplanes of `coef_` and `intercept_`."""

    coef_: Any
    intercept_: Any

    def _score_functions(self) -> _engine.Scores:
        coef, intercept = self.coef_, self.intercept_
        try:
            if coef.ndim == 1:
                return _engine.Scores.linear(coef[None], np.array([intercept]).reshape(-1))
            return _engine.Scores.linear(coef, intercept)
        except (TypeError, ValueError):
            # Single precision, sparse, other strides, or a single intercept for several targets: converted below.
            pass
        if sp.issparse(coef):
            coef = coef.toarray()
        coef = np.ascontiguousarray(coef, dtype=np.float64)
        coef = coef.reshape(-1, coef.shape[-1])
        intercept = np.asarray(intercept, dtype=np.float64).reshape(-1)
        if len(intercept) != len(coef):
            intercept = np.broadcast_to(intercept, len(coef))
        return _engine.Scores.linear(coef, np.ascontiguousarray(intercept))

    def _in_input_precision(self, found: np.ndarray, dtype: Any) -> np.ndarray:
        """Predictions in single precision if both the rows and `coef_` are."""
        single = dtype.char == "f" and self.coef_.dtype.char == "f"
        return found.astype(np.float32) if single else found


class Decisions(Classifications):
    """Mixin: classes by scores, which `decision_function` gives."""

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive where the second is predicted; otherwise one column for each class.
        """
        scores, dtype = self._evaluate(X, "scores")
        scores = self._in_input_precision(scores, dtype)
        return scores.ravel() if scores.shape[1] == 1 else scores


class LinearClassifications(Decisions, Hyperplanes):
    """Mixin: classes by hyperplanes."""

    def _predict_proba_lr(self, X: Any) -> np.ndarray:
        """Probabilities from one-vs-rest log-odds; scikit-learn's `predict_proba` calls it."""
        return self._in_input_precision(*self._evaluate(X, "odds"))


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
        scores = self._in_input_precision(*self._evaluate(X, "scores"))
        return scores.ravel() if self.coef_.ndim == 1 else scores
