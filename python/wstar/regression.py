"""Base class of the regressors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _engine
from .arrays import validated
from .base import Certified
from .certificate import Verification
from .prediction import LinearPredictions

if TYPE_CHECKING:
    from typing_extensions import Self


class CertifiedRegressor(LinearPredictions, Certified):
    """Mixin: regressors."""

    #: Whether y may have several columns.
    _many_targets = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            The weights of the rows; a weight of 2 is the same as the row twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        if self._needs_sklearn():
            self._drop_models()
            super().fit(X, y, sample_weight)
            return self
        self._store_target_name(y)
        how = {"y_numeric": True, "multi_output": self._many_targets}
        X, y = validated(self, X, y, ensure_all_finite=not self._engine_validates, **how)
        self._learn(X, y, self._weights(sample_weight, X))
        return self

    def _needs_sklearn(self) -> bool:
        # The engine has no bounds on coefficients.
        return bool(getattr(self, "positive", False))

    def _learn(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> None:
        """Fits to validated rows, and sets the fitted attributes."""
        raise NotImplementedError

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> Verification:
        """Recompute the certificate from data; the solver's own numbers are not trusted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Its targets.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the fit.

        Returns
        -------
        Verification
            True if the claim holds on these data, else with the objections.
        """
        check_is_fitted(self)
        X, y = validated(self, X, y, y_numeric=True, multi_output=True, reset=False)
        return self._verified(X, self._targets(y), self._weights(sample_weight, X))

    @staticmethod
    def _targets(y: np.ndarray) -> list[np.ndarray]:
        """The columns of y, each contiguous."""
        y = np.asarray(y, dtype=np.float64)
        columns = y.reshape(len(y), -1)
        return [np.ascontiguousarray(columns[:, k]) for k in range(columns.shape[1])]

    def _engine_fits(
        self, X: Any, y: np.ndarray, weights: Any, settings: Any, starts: list[Any] | None = None
    ) -> list[_engine.Fitted]:
        """Fits one model for each target, with its own settings."""
        targets = self._targets(y)
        many = settings if isinstance(settings, list) else [settings] * len(targets)
        starts = starts or [None] * len(targets)
        return [
            self._engine_fit(X, target, weights, one, start)
            for target, one, start in zip(targets, many, starts)
        ]

    def _fit_targets(self, X: Any, y: np.ndarray, weights: Any, settings: Any) -> None:
        """Fits one model for each target, and sets `coef_`, `intercept_` and `model_`."""
        # Not `self._engine_fits`: RidgeClassifier, which is not a regressor, calls this for multilabel targets.
        models = CertifiedRegressor._engine_fits(self, X, y, weights, settings)
        CertifiedRegressor._set_planes(self, models, X, y.ndim == 1)

    def _set_planes(self, models: list[_engine.Fitted], X: Any, single: bool) -> None:
        """Sets `coef_`, `intercept_` and `model_` from one model for each target."""
        planes: list[Any] = [model.hyperplanes() for model in models]
        coef = np.vstack([plane[0] for plane in planes]).astype(X.dtype, copy=False)
        intercept = np.concatenate([plane[1] for plane in planes]).astype(X.dtype, copy=False)
        self.coef_ = coef[0] if single else coef
        if not self.fit_intercept:
            self.intercept_ = 0.0
        else:
            self.intercept_ = intercept[0] if single else intercept
        self._store_models(models[0] if single else models)
