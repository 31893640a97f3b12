"""Least squares."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn import linear_model

from .regression import CertifiedRegressor
from .types import Floats


class LinearRegression(CertifiedRegressor, linear_model.LinearRegression):
    """Ordinary least squares, with standard errors and a certificate.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    copy_X : bool, default=True
        Ignored: X is never modified.
    tol : float, default=1e-6
        The relative duality gap to reach.
    n_jobs : int, default=None
        The number of threads; None means all cores. The fit does not depend on it.
    positive : bool, default=False
        Whether coefficients are at least 0: scikit-learn's own fit, without a certificate.

    Attributes
    ----------
    coef_, intercept_, rank_, n_features_in_, feature_names_in_
        As in scikit-learn.
    inference_ : dict or None
        Standard errors, t tests, R² and likelihood criteria.
    certificate_ : Certificate
        The certificate of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from wstar import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegression().fit(X, y)
    >>> model.certificate_.holds, round(model.inference_["r_squared"], 4)
    (True, 0.5177)
    """

    coef_: Floats
    intercept_: float | Floats
    rank_: int

    _engine_validates = True

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        positive: bool = False,
    ) -> None:
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
