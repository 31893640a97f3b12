"""Linear separability of two classes, decided with a proof."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets

from . import _engine
from .arrays import label_codes, matrix, size, threads, validated


def _signs(y: Any) -> tuple[np.ndarray, np.ndarray]:
    check_classification_targets(y)
    classes, codes = label_codes(y)
    if len(classes) != 2:
        raise ValueError(
            f"separate needs two classes, but y has {len(classes)}: separate one from the others, as in y == label"
        )
    return classes, np.where(codes == 1, 1, -1).astype(np.int8)


@dataclass(frozen=True)
class Separation:
    """The verdict on the separability of two classes, and its proof.

    Attributes
    ----------
    verdict : {"separable", "quasi-separable", "inseparable"} or None
        None if the search stopped before it was decided.
    margin : tuple of float
        A lower and an upper bound on the largest margin; (0, 0) unless the classes are separable.
    coef, intercept : ndarray and float, or None
        A hyperplane that separates the classes, strictly or weakly.
    points : ndarray of int
        The rows of convex combinations that coincide, which prove that no hyperplane separates the classes, or of the
        nearest points of the convex hulls.
    status : str
        The status of the search.
    proof : dict or None
        The complete proof in the command line's form; exact numbers are strings.
    """

    verdict: str | None
    margin: tuple[float, float]
    coef: np.ndarray | None
    intercept: float | None
    points: np.ndarray
    status: str
    proof: dict[str, Any] | None = field(repr=False)

    def verify(self, X: Any, y: Any) -> bool:
        """Check the proof against the data, in exact arithmetic.

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
        X, y = validated(BaseEstimator(), X, y)
        return _engine.check_proof(json.dumps(self.proof), matrix(X), _signs(y)[1], threads(None, size(X)))


def _number(value: Any) -> float:
    """The float of a number, or of a fraction in a string."""
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
        Their labels, of two classes.
    fit_intercept : bool, default=True
        Whether hyperplanes have an intercept.
    margin : bool, default=True
        Whether to compute the largest margin too.
    max_seconds : float, default=None
        The maximum time of the search, in seconds.
    n_jobs : int, default=None
        The number of threads; None means all cores.

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
    X, y = validated(BaseEstimator(), X, y)
    classes, signs = _signs(y)
    request: _engine.Asked = {
        "names": (str(classes[0]), str(classes[1])),
        "intercept": bool(fit_intercept),
        "margin": bool(margin),
        "max_seconds": max_seconds,
    }
    text, status = _engine.separate(matrix(X), signs, request, threads(n_jobs, size(X)))
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
