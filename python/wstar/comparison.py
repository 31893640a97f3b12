"""Comparison of classifiers on the same data, by training errors and certificates."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags

from .discriminant import LinearDiscriminantAnalysis
from .geometry import MinErrorClassifier
from .logistic import LogisticRegression
from .naive_bayes import GaussianNB
from .perceptron import AveragedPerceptron, Perceptron, PocketPerceptron
from .ridge import RidgeClassifier
from .summary import Summary
from .svm import LinearSVC


class Comparison(list[dict[str, Any]]):
    """The results of `compare`: a list of dicts, shown as a table."""

    def summary(self) -> Summary:
        """The table."""
        head = ["", "errors", "of the rows", "certificate", "", "seconds"]
        rows = [
            [
                result["name"],
                str(result["errors"]),
                f"{100 * result['error']:.2f} %",
                result["certificate"].kind,
                "holds" if result["certificate"].holds else "open",
                f"{result['seconds']:.3f}",
            ]
            for result in self
        ]
        proved = [r for r in self if r["certificate"].kind == "min-error" and r["certificate"].holds]
        lines = [("least", f"no hyperplane makes fewer than {r['errors']} errors") for r in proved]
        return Summary("training errors", lines, head, rows)

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def compare(
    X: Any, y: Any, estimators: Iterable[Any] | None = None, *, max_seconds: float = 10.0
) -> Comparison:
    """Fit several classifiers to the same data, and count their training errors.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their labels.
    estimators : iterable of classifiers of this package, default=None
        By default one of each kind; for two classes also the minimum error of any hyperplane. A sparse X leaves
        out the estimators that need dense rows: `LinearDiscriminantAnalysis` and `GaussianNB`.
    max_seconds : float, default=10.0
        The maximum time of the search for the minimum error, in seconds.

    Returns
    -------
    Comparison
        A list of dicts with `name`, `estimator`, `errors`, `error`, `certificate` and `seconds`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> min(result["errors"] for result in compare(X[50:], y[50:]))
    1
    """
    y = np.asarray(y).ravel()
    if sp.issparse(X):
        # The engine needs CSR: one conversion for all fits.
        X = X.tocsr()
    if estimators is None:
        chosen: list[Any] = [
            LogisticRegression(),
            LinearSVC(loss="hinge"),
            RidgeClassifier(),
            Perceptron(),
            AveragedPerceptron(),
            PocketPerceptron(),
            LinearDiscriminantAnalysis(),
            GaussianNB(),
        ]
        if len(np.unique(y)) == 2:
            chosen.append(MinErrorClassifier(max_seconds=max_seconds))
        if sp.issparse(X):
            chosen = [estimator for estimator in chosen if get_tags(estimator).input_tags.sparse]
    else:
        chosen = list(estimators)
    results = Comparison()
    for estimator in chosen:
        fitted: Any = clone(estimator)
        started = time.perf_counter()
        with warnings.catch_warnings():
            # The table shows how each fit ended.
            warnings.simplefilter("ignore")
            fitted.fit(X, y)
        seconds = time.perf_counter() - started
        errors = int(np.sum(fitted.predict(X) != y))
        results.append(
            {
                "name": type(estimator).__name__,
                "estimator": fitted,
                "errors": errors,
                "error": errors / len(y),
                "certificate": fitted.certificate_,
                "seconds": seconds,
            }
        )
    return results
