"""The lasso and the elastic net."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import ElasticNet as SklearnElasticNet
from sklearn.linear_model import Lasso as SklearnLasso

from .base import CertifiedRegressor

_PARAMETERS = """fit_intercept : bool, default=True
        Whether there is an intercept, which is not penalised.
    precompute, copy_X, random_state, selection
        Have no meaning here: X is never written to, and the solver is deterministic.
    max_iter : int, default=1000
        At most so many iterations. The default stands for as many as it takes.
    tol : float, default=1e-6
        The relative duality gap to reach, of the objective over alpha.
    warm_start : bool, default=False
        Starts from the last fit.
    positive : bool, default=False
        No coefficient is negative: scikit-learn's own fit, without a certificate.
    n_jobs : int, default=None
        Threads of a fit, None for all. The answer does not depend on it.

    Attributes
    ----------
    coef_, intercept_, sparse_coef_, n_iter_, dual_gap_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        What is claimed about the fit."""


class ElasticNet(CertifiedRegressor, SklearnElasticNet):
    __doc__ = f"""Least squares with an elastic net penalty, with a certificate.

    Minimises ``||y - Xw||²/(2 n) + alpha * (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||²)``, where n is the number of
    rows or the sum of their weights.

    Parameters
    ----------
    alpha : float, default=1.0
        How much the penalty counts.
    l1_ratio : float, default=0.5
        The share of the l1 penalty.
    {_PARAMETERS}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from wstar import ElasticNet
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ElasticNet(alpha=0.1).fit(X, y).certificate_.holds
    True
    """

    _engine_looks = True

    def __init__(
        self,
        alpha=1.0,
        *,
        l1_ratio=0.5,
        fit_intercept=True,
        precompute=False,
        max_iter=1000,
        copy_X=True,
        tol=1e-6,
        warm_start=False,
        positive=False,
        random_state=None,
        selection="cyclic",
        n_jobs=None,
    ):
        # Not by `super`: below `Lasso` that is another class than here.
        SklearnElasticNet.__init__(
            self,
            alpha=alpha,
            l1_ratio=l1_ratio,
            fit_intercept=fit_intercept,
            precompute=precompute,
            max_iter=max_iter,
            copy_X=copy_X,
            tol=tol,
            warm_start=warm_start,
            positive=positive,
            random_state=random_state,
            selection=selection,
        )
        self.n_jobs = n_jobs

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SklearnElasticNet._parameter_constraints,
        "n_jobs": [None, Integral],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> ElasticNet:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            How often each row counts.
        check_input : bool, default=True
            Has no meaning here: input is always checked.

        Returns
        -------
        self
            The fitted estimator.
        """
        return super().fit(X, y, sample_weight)

    def _settings(self) -> dict[str, Any]:
        """The engine's settings."""
        penalty = {0.0: "l2", 1.0: "l1"}.get(float(self.l1_ratio), "elastic-net")
        return {
            "method": "least-squares",
            "penalty": penalty if self.alpha > 0 else "none",
            "lambda": float(self.alpha) if self.alpha > 0 else None,
            "l1_ratio": float(self.l1_ratio) if penalty == "elastic-net" and self.alpha > 0 else None,
            "tol": max(float(self.tol), 1e-15),
            "max_iter": self._limit(),
            "no_intercept": not self.fit_intercept,
        }

    def _learn(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> None:
        starts = self._starts(X, y) if self.warm_start else None
        self._take(self._engine_fits(X, y, weights, self._settings(), starts), X, single=y.ndim == 1)

    def _take(self, models: list[Any], X: Any, *, single: bool) -> None:
        """Sets the attributes by the engine's models, one for each target."""
        self._set_planes(models, X, single)
        # scikit-learn's objective is the engine's times alpha.
        scale = float(self.alpha) if self.alpha > 0 else 1.0
        gaps = [part["gap"] * scale for part in self.certificate_.parts]
        iterations = self._iterations()
        self.dual_gap_ = gaps[0] if single else np.array(gaps)
        self.n_iter_ = iterations if single else [iterations] * len(models)

    def _seen(self) -> dict[str, Any]:
        """What is known of the columns after a check."""
        return {name: value for name, value in vars(self).items() if name.endswith("_in_")}

    def _starts(self, X: Any, y: Any) -> list[Any] | None:
        """The models of the last fit, if they fit these data."""
        models = getattr(self, "model_", None)
        if models is None:
            return None
        models = models if isinstance(models, list) else [models]
        targets = 1 if y.ndim == 1 else y.shape[1]
        fits = len(models) == targets and all(
            model.hyperplanes()[0].shape[1] == X.shape[1] for model in models
        )
        return models if fits else None


class Lasso(ElasticNet, SklearnLasso):
    __doc__ = f"""Least squares with an l1 penalty, with a certificate.

    Minimises ``||y - Xw||²/(2 n) + alpha ||w||_1``, where n is the number of rows or the sum of their weights.

    Parameters
    ----------
    alpha : float, default=1.0
        How much the penalty counts.
    {_PARAMETERS}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from wstar import Lasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Lasso(alpha=0.5).fit(X, y)
    >>> model.certificate_.holds, int((model.coef_ != 0).sum())
    (True, 4)
    """

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        precompute=False,
        copy_X=True,
        max_iter=1000,
        tol=1e-6,
        warm_start=False,
        positive=False,
        random_state=None,
        selection="cyclic",
        n_jobs=None,
    ):
        super().__init__(
            alpha=alpha,
            l1_ratio=1.0,
            fit_intercept=fit_intercept,
            precompute=precompute,
            copy_X=copy_X,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            positive=positive,
            random_state=random_state,
            selection=selection,
            n_jobs=n_jobs,
        )

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SklearnLasso._parameter_constraints,
        "n_jobs": [None, Integral],
    }
