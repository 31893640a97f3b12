"""How two classes lie, decided and proved."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets

from . import _engine
from .arrays import checked, coded, matrix, size, threads


def _signs(y: Any) -> tuple[np.ndarray, np.ndarray]:
    check_classification_targets(y)
    classes, codes = coded(y)
    if len(classes) != 2:
        raise ValueError(
            f"separate is for two classes, and y has {len(classes)}: ask about one of them, as in y == label"
        )
    return classes, np.where(codes == 1, 1, -1).astype(np.int8)


@dataclass(frozen=True)
class Separation:
    """How two classes lie, and the proof.

    Attributes
    ----------
    verdict : {"separable", "quasi-separable", "inseparable"} or None
        None if the search was stopped, or ended undecided.
    margin : tuple of float
        The largest margin lies between these two; (0, 0) unless the classes are separable.
    coef, intercept : ndarray and float, or None
        A hyperplane that separates, strictly or weakly.
    points : ndarray of int
        The rows whose convex combinations meet (a proof that nothing separates), or that are nearest.
    status : str
        How the search ended.
    proof : dict or None
        The whole proof, as the command line writes it; exact numbers are texts.
    """

    verdict: str | None
    margin: tuple[float, float]
    coef: np.ndarray | None
    intercept: float | None
    points: np.ndarray
    status: str
    proof: dict[str, Any] | None = field(repr=False)

    def verify(self, X: Any, y: Any) -> bool:
        """Re-check the proof by the data, in exact arithmetic.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        bool
            Whether it holds.
        """
        if self.proof is None:
            return False
        X, y = checked(BaseEstimator(), X, y)
        return _engine.check_proof(json.dumps(self.proof), matrix(X), _signs(y)[1], threads(None, size(X)))


def _number(value: Any) -> float:
    """A double, or a fraction as a text."""
    if isinstance(value, str):
        from fractions import Fraction

        return float(Fraction(value))
    return float(value)


def separate(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    margin: bool = True,
    max_seconds: float | None = None,
    n_jobs: int | None = None,
) -> Separation:
    """Decide whether a hyperplane separates two classes, and prove it either way.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their labels, of two kinds.
    fit_intercept : bool, default=True
        Whether hyperplanes have an intercept.
    margin : bool, default=True
        Whether to look for the largest margin too.
    max_seconds : float, default=None
        The longest that the search may take.
    n_jobs : int, default=None
        Threads, None for all.

    Returns
    -------
    Separation
        The verdict and its proof.

    Examples
    --------
    >>> from wstar import separate
    >>> found = separate([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> found.verdict, found.verify([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])
    ('quasi-separable', True)
    """
    X, y = checked(BaseEstimator(), X, y)
    classes, signs = _signs(y)
    asked: _engine.Asked = {
        "names": (str(classes[0]), str(classes[1])),
        "intercept": bool(fit_intercept),
        "margin": bool(margin),
        "max_seconds": max_seconds,
    }
    text, status = _engine.separate(matrix(X), signs, asked, threads(n_jobs, size(X)))
    if text is None:
        return Separation(None, (0.0, float("inf")), None, None, np.zeros(0, dtype=np.int64), status, None)
    proof = json.loads(text)
    plane = proof.get("hyperplane")
    points: list[int] = list(proof["proof"]["points"]) if proof.get("proof") else []
    for hull in (proof.get("hulls") or {}).values():
        points += [int(row) for row, _ in hull]
    return Separation(
        verdict=proof["verdict"],
        margin=(proof["margin"]["lower"], proof["margin"]["upper"]),
        coef=None if plane is None else np.array([_number(w) for w in plane["weights"]]),
        intercept=None if plane is None else _number(plane["intercept"]),
        points=np.unique(points).astype(np.int64),
        status=status,
        proof=proof,
    )
