"""Least squares."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn import linear_model

from .base import CertifiedRegressor


class LinearRegression(CertifiedRegressor, linear_model.LinearRegression):
    """Least squares with every digit, standard errors, and a certificate.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether there is an intercept.
    copy_X : bool, default=True
        Has no meaning here: X is never written to.
    tol : float, default=1e-6
        The relative duality gap to reach.
    n_jobs : int, default=None
        Threads of a fit, None for all. The answer does not depend on it.
    positive : bool, default=False
        No coefficient is negative: scikit-learn's own fit, without a certificate.

    Attributes
    ----------
    coef_, intercept_, rank_, n_features_in_, feature_names_in_
        As in scikit-learn.
    inference_ : dict or None
        Standard errors, t tests, R² and likelihood criteria.
    certificate_ : Certificate
        What is claimed about the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from wstar import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegression().fit(X, y)
    >>> model.certificate_.holds, round(model.inference_["r_squared"], 4)
    (True, 0.5177)
    """

    _engine_looks = True

    def __init__(self, *, fit_intercept=True, copy_X=True, tol=1e-6, n_jobs=None, positive=False):
        super().__init__(
            fit_intercept=fit_intercept, copy_X=copy_X, tol=tol, n_jobs=n_jobs, positive=positive
        )

    def _learn(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> None:
        settings = {
            "method": "least-squares",
            "penalty": "none",
            "tol": max(float(self.tol), 1e-15),
            "no_intercept": not self.fit_intercept,
        }
        self._fit_targets(X, y, weights, settings)
        model = self.model_[0] if isinstance(self.model_, list) else self.model_
        report = json.loads(model.part("least_squares"))
        if report is not None:
            self.rank_ = report["rank"] - int(self.fit_intercept)
