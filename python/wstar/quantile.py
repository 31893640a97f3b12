"""Quantile regression."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn import linear_model

from .regression import CertifiedRegressor
from .types import Floats


class QuantileRegressor(CertifiedRegressor, linear_model.QuantileRegressor):
    """Linear regression on a quantile, with a certificate.

    Minimises ``sum_i pinball(y_i - z_i)/n + alpha ||w||_1``, where n is the number of rows or the sum of their
    weights.

    Parameters
    ----------
    quantile : float, default=0.5
        The quantile, strictly between 0 and 1.
    alpha : float, default=1.0
        The strength of the l1 penalty.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    solver, solver_options
        Ignored: the engine chooses its solver.
    tol : float, default=1e-10
        The relative duality gap to reach, of the objective over alpha.
    n_jobs : int, default=None
        The number of threads; None means all cores. The fit does not depend on it.

    Attributes
    ----------
    coef_, intercept_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        The certificate of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from wstar import QuantileRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> QuantileRegressor(quantile=0.9, alpha=0).fit(X, y).certificate_.holds
    True
    """

    coef_: Floats
    intercept_: float | Floats
    n_iter_: int

    _engine_validates = True

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: Literal["highs-ds", "highs-ipm", "highs", "interior-point", "revised simplex"] = "highs",
        solver_options: dict[str, Any] | None = None,
        tol: float = 1e-10,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            quantile=quantile,
            alpha=alpha,
            fit_intercept=fit_intercept,
            solver=solver,
            solver_options=solver_options,
        )
        self.tol = tol
        self.n_jobs = n_jobs

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **linear_model.QuantileRegressor._parameter_constraints,
        "tol": linear_model.Ridge._parameter_constraints["tol"],
        "n_jobs": [None, Integral],
    }

    _many_targets = False

    def _learn(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> None:
        if self.solver == "interior-point":
            raise ValueError("Solver interior-point is not anymore available in SciPy >= 1.11.0.")
        settings = {
            "method": "lad",
            "quantile": float(self.quantile),
            "penalty": "l1" if self.alpha > 0 else "none",
            "lambda": float(self.alpha) if self.alpha > 0 else None,
            "tol": max(float(self.tol), 1e-15),
            "no_intercept": not self.fit_intercept,
        }
        self._fit_targets(X, y, weights, settings)
        self.n_iter_ = self._iterations()
