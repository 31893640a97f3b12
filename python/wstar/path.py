"""Paths of the lasso and the elastic net: a decreasing sequence of penalties with warm starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from . import _engine
from .arrays import validated
from .base import settings_json
from .exceptions import collected_warnings, warn
from .lasso import ElasticNet
from .types import Numbers


def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    n_alphas: int = 100,
    alphas: Numbers | int | None = None,
    tol: float = 1e-6,
    n_jobs: int | None = None,
    return_models: bool = False,
) -> tuple[Any, ...]:
    """Compute the lasso path, with a certificate for every penalty.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their targets. There is no intercept: centre both for one.
    eps, n_alphas, alphas, tol, n_jobs, return_models
        As in `enet_path`.

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
    return enet_path(
        X,
        y,
        l1_ratio=1.0,
        eps=eps,
        n_alphas=n_alphas,
        alphas=alphas,
        tol=tol,
        n_jobs=n_jobs,
        return_models=return_models,
    )


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: int = 100,
    alphas: Numbers | int | None = None,
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
        The proportion of the l1 penalty, above 0.
    eps : float, default=1e-3
        The ratio of the smallest alpha to the largest.
    n_alphas : int, default=100
        The number of alphas; the largest is the smallest at which all coefficients are 0.
    alphas : array-like or int, default=None
        The alphas themselves, sorted in decreasing order; an integer means `n_alphas`.
    tol : float, default=1e-6
        The relative duality gap to reach at each alpha.
    n_jobs : int, default=None
        The number of threads; None means all cores. The fit does not depend on it.
    return_models : bool, default=False
        Whether to return the fitted estimators too.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        In decreasing order.
    coefs : ndarray of shape (n_features, n_alphas)
        The coefficients at each.
    dual_gaps : ndarray of shape (n_alphas,)
        An upper bound on the distance of each objective from its optimum.
    models : list of ElasticNet, optional
        The fits, with their certificates.
    """
    if not 0 < l1_ratio <= 1:
        raise ValueError(f"l1_ratio must be above 0 and at most 1, not {l1_ratio}")
    first = ElasticNet(l1_ratio=l1_ratio, fit_intercept=False, tol=tol, n_jobs=n_jobs)
    X, y = validated(first, X, y, y_numeric=True)
    target = np.ascontiguousarray(y, dtype=np.float64)
    if isinstance(alphas, (int, np.integer)):
        n_alphas, alphas = int(alphas), None
    if alphas is None:
        largest = float(np.abs(X.T @ target).max()) / (len(target) * l1_ratio)
        alphas = np.geomspace(largest, largest * eps, n_alphas) if largest > 0 else np.full(n_alphas, 1e-10)
    alphas = np.sort(check_array(alphas, ensure_2d=False, dtype=np.float64, input_name="alphas"))[::-1]
    if alphas[-1] <= 0:
        raise ValueError("alphas must be above 0")

    def estimator(alpha: Any) -> ElasticNet:
        return ElasticNet(alpha=float(alpha), l1_ratio=l1_ratio, fit_intercept=False, tol=tol, n_jobs=n_jobs)

    requested = [settings_json(estimator(alpha)._settings()) for alpha in alphas]
    models: list[ElasticNet] = []
    nonzero: list[tuple[np.ndarray, np.ndarray]] = []
    gaps: list[float] = []
    collected: list[tuple[str, type[Warning]]] = []

    def take(fitted: Any) -> None:
        model = estimator(alphas[len(gaps)])
        model.__dict__.update(first._input_attributes())
        with collected_warnings() as warnings:
            model._set_fit([fitted], X, single=True)
        collected.extend(warnings)
        # Most coefficients are 0. The dense matrix is filled after the fits, which need memory themselves.
        support = np.flatnonzero(model.coef_)
        nonzero.append((support, model.coef_[support]))
        gaps.append(float(model.dual_gap_))
        if return_models:
            models.append(model)

    _engine.fit_each(first._table(X, target, None), requested, first._threads(X), take)
    for message, category in collected:
        warn(message, category)
    coefs = np.zeros((X.shape[1], len(alphas)), dtype=X.dtype)
    for k, (support, values) in enumerate(nonzero):
        coefs[support, k] = values
    found = (alphas, coefs, np.array(gaps))
    return (*found, models) if return_models else found
