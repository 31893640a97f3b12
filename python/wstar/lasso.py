"""The lasso and the elastic net."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.linear_model import ElasticNet as SklearnElasticNet
from sklearn.linear_model import Lasso as SklearnLasso

from .regression import CertifiedRegressor
from .types import Floats, RandomState

if TYPE_CHECKING:
    from typing_extensions import Self

_PARAMETERS = """fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    precompute, copy_X, random_state, selection
        Ignored: X is never modified, and the solver is deterministic.
    max_iter : int, default=1000
        The maximum number of iterations; the default means no limit.
    tol : float, default=1e-6
        The relative duality gap to reach, of the objective over alpha.
    warm_start : bool, default=False
        Whether to start from the last fit.
    positive : bool, default=False
        Whether coefficients are at least 0: scikit-learn's own fit, without a certificate.
    n_jobs : int, default=None
        The number of threads; None means all cores. The fit does not depend on it.

    Attributes
    ----------
    coef_, intercept_, sparse_coef_, n_iter_, dual_gap_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        The certificate of the fit."""


class ElasticNet(CertifiedRegressor, SklearnElasticNet):
    __doc__ = f"""Least squares with an elastic net penalty, with a certificate.

    Minimises ``||y - Xw||²/(2 n) + alpha * (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||²)``, where n is the number of
    rows or the sum of their weights.

    Parameters
    ----------
    alpha : float, default=1.0
        The strength of the penalty.
    l1_ratio : float, default=0.5
        The proportion of the l1 penalty.
    {_PARAMETERS}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from wstar import ElasticNet
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ElasticNet(alpha=0.1).fit(X, y).certificate_.holds
    True
    """

    coef_: Floats
    intercept_: float | Floats
    n_iter_: int | list[int]
    dual_gap_: float | Floats

    _engine_validates = True

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: bool | np.ndarray = False,
        max_iter: int = 1000,
        copy_X: bool = True,
        tol: float = 1e-6,
        warm_start: bool = False,
        positive: bool = False,
        random_state: RandomState = None,
        selection: Literal["cyclic", "random"] = "cyclic",
        n_jobs: int | None = None,
    ) -> None:
        # Not `super().__init__`: for `Lasso` that would be another class.
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            The weights of the rows; a weight of 2 is the same as the row twice.
        check_input : bool, default=True
            Ignored: input is always validated.

        Returns
        -------
        self
            The fitted estimator.
        """
        super().fit(X, y, sample_weight)
        return self

    def _settings(self) -> dict[str, Any]:
        """The engine's settings."""
        penalty = {0.0: "l2", 1.0: "l1"}.get(float(self.l1_ratio), "elastic-net")
        return {
            "method": "least-squares",
            "penalty": penalty if self.alpha > 0 else "none",
            "lambda": float(self.alpha) if self.alpha > 0 else None,
            "l1_ratio": float(self.l1_ratio) if penalty == "elastic-net" and self.alpha > 0 else None,
            "tol": max(float(self.tol), 1e-15),
            "max_iter": self._iteration_limit(),
            "no_intercept": not self.fit_intercept,
        }

    def _learn(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> None:
        starts = self._start_models(X, y) if self.warm_start else None
        self._set_fit(self._engine_fits(X, y, weights, self._settings(), starts), X, single=y.ndim == 1)

    def _set_fit(self, models: list[Any], X: Any, *, single: bool) -> None:
        """Sets the fitted attributes from one model for each target."""
        self._set_planes(models, X, single)
        # scikit-learn's objective is the engine's times alpha.
        scale = float(self.alpha) if self.alpha > 0 else 1.0
        gaps = [part["gap"] * scale for part in self.certificate_.parts]
        iterations = self._iterations()
        self.dual_gap_ = gaps[0] if single else np.array(gaps)
        self.n_iter_ = iterations if single else [iterations] * len(models)

    def _input_attributes(self) -> dict[str, Any]:
        """The attributes that validation sets: the number and the names of the features."""
        return {name: value for name, value in vars(self).items() if name.endswith("_in_")}

    def _start_models(self, X: Any, y: Any) -> list[Any] | None:
        """The models of the last fit if they have the same shape, for `warm_start`."""
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
        The strength of the penalty.
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
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: bool | np.ndarray = False,
        copy_X: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        positive: bool = False,
        random_state: RandomState = None,
        selection: Literal["cyclic", "random"] = "cyclic",
        n_jobs: int | None = None,
    ) -> None:
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
