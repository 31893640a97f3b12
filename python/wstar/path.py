"""Paths of the lasso and the elastic net: many penalties, each fit from where the last one ended."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_array

from . import _engine
from .arrays import checked
from .base import written
from .exceptions import held_back, warn
from .lasso import ElasticNet


def lasso_path(X: Any, y: Any, **how: Any) -> tuple[Any, ...]:
    """Compute the lasso path, with a certificate for every penalty.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their targets. There is no intercept: centre both for one.
    **how
        What `enet_path` takes, but for `l1_ratio`.

    Returns
    -------
    alphas, coefs, dual_gaps
        As `enet_path` gives them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import wstar
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas, coefs, gaps = wstar.lasso_path(X, y - y.mean(), n_alphas=5)
    >>> coefs.shape, [int((coefs[:, k] != 0).sum()) for k in range(5)]
    ((10, 5), [0, 4, 7, 9, 10])
    """
    return enet_path(X, y, l1_ratio=1.0, **how)


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: int = 100,
    alphas: Any = None,
    tol: float = 1e-6,
    n_jobs: int | None = None,
    return_models: bool = False,
) -> tuple[Any, ...]:
    """Compute the elastic net path, with a certificate for every penalty.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their targets. There is no intercept: centre both for one.
    l1_ratio : float, default=0.5
        The share of the l1 penalty, above 0.
    eps : float, default=1e-3
        The least alpha over the greatest.
    n_alphas : int, default=100
        How many there are, from the least at which nothing is chosen down.
    alphas : array-like or int, default=None
        Others than these, put in falling order; a whole number is another way to say `n_alphas`.
    tol : float, default=1e-6
        The relative duality gap to reach at each of them.
    n_jobs : int, default=None
        Threads, None for all. The answer does not depend on it.
    return_models : bool, default=False
        Whether to give the fitted estimators too.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        In falling order.
    coefs : ndarray of shape (n_features, n_alphas)
        The coefficients at each.
    dual_gaps : ndarray of shape (n_alphas,)
        How far each can be from the optimum.
    models : list of ElasticNet, optional
        The fits, with their certificates.
    """
    if not 0 < l1_ratio <= 1:
        raise ValueError(f"l1_ratio must be above 0 and at most 1, not {l1_ratio}")
    first = ElasticNet(l1_ratio=l1_ratio, fit_intercept=False, tol=tol, n_jobs=n_jobs)
    X, y = checked(first, X, y, y_numeric=True)
    target = np.ascontiguousarray(y, dtype=np.float64)
    if isinstance(alphas, Integral):
        alphas, n_alphas = None, int(alphas)
    if alphas is None:
        greatest = float(np.abs(X.T @ target).max()) / (len(target) * l1_ratio)
        alphas = (
            np.geomspace(greatest, greatest * eps, n_alphas) if greatest > 0 else np.full(n_alphas, 1e-10)
        )
    alphas = np.sort(check_array(alphas, ensure_2d=False, dtype=np.float64, input_name="alphas"))[::-1]
    if alphas[-1] <= 0:
        raise ValueError("alphas must be above 0")

    def estimator(alpha: Any) -> ElasticNet:
        return ElasticNet(alpha=float(alpha), l1_ratio=l1_ratio, fit_intercept=False, tol=tol, n_jobs=n_jobs)

    asked = [written(first._scaled_to(estimator(alpha)._settings(), target, None)) for alpha in alphas]
    models: list[ElasticNet] = []
    chosen: list[tuple[np.ndarray, np.ndarray]] = []
    gaps: list[float] = []
    told: list[tuple[str, type[Warning]]] = []

    def take(fitted: Any) -> None:
        model = estimator(alphas[len(gaps)])
        vars(model).update(first._seen())
        with held_back() as warnings:
            model._take([fitted], X, single=True)
        told.extend(warnings)
        # Few weights are not 0: they are put in their places once the fits need no more memory.
        places = np.flatnonzero(model.coef_)
        chosen.append((places, model.coef_[places]))
        gaps.append(model.dual_gap_)
        if return_models:
            models.append(model)

    _engine.fit_each(first._table(X, target, None), asked, first._threads(X), take)
    for message, category in told:
        warn(message, category)
    coefs = np.zeros((X.shape[1], len(alphas)), dtype=X.dtype)
    for k, (places, values) in enumerate(chosen):
        coefs[places, k] = values
    found = (alphas, coefs, np.array(gaps))
    return (*found, models) if return_models else found
