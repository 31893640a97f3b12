"""Hyperplanes of largest margin and of fewest errors."""

from __future__ import annotations

import json
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions

from .arrays import validated
from .base import seed
from .classification import CertifiedClassifier, CertifiedFit
from .exceptions import SeparationWarning, warn
from .perceptron import MistakeDriven
from .prediction import LinearClassifications
from .types import Floats, Indices, RandomState

if TYPE_CHECKING:
    from typing_extensions import Self

_POSITIVE = Interval(Real, 0, None, closed="neither")


class _Linear(LinearClassifications, ClassifierMixin):
    """Linear classifiers that take sparse rows."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Kozinec(_Linear, MistakeDriven, BaseEstimator):
    """Kozinec's algorithm: the largest margin up to a relative tolerance.

    Parameters
    ----------
    epsilon : float, default=0.01
        The relative deviation from the largest margin that is allowed.
    max_iter : int, default=1000
        The maximum number of passes; classes that overlap reach it, with a `ConvergenceWarning`.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    random_state : int, RandomState instance or None, default=0
        The seed.
    n_jobs : int, default=None
        The number of threads; None means all cores.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_
        As in scikit-learn's linear classifiers.
    certificate_ : Certificate
        The certificate that the largest margin lies in an interval.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import Kozinec
    >>> X, y = load_iris(return_X_y=True)
    >>> Kozinec().fit(X[:100], y[:100]).certificate_.holds
    True
    """

    coef_: Floats
    intercept_: Floats
    n_iter_: int

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "epsilon": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.01,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        self._store_target_name(y)
        X, y = validated(self, X, y)
        settings = {
            "method": "kozinec",
            "epsilon": float(self.epsilon),
            "epochs": float(self.max_iter),
            "no_intercept": not self.fit_intercept,
            "seed": seed(self.random_state),
        }
        self._fit_hyperplanes(X, self._labels(y), None, settings)
        self.n_iter_ = self._n_iter()
        return self


class HardMarginClassifier(_Linear, CertifiedClassifier, BaseEstimator):
    """The hyperplane of the largest margin between separable classes, with its support vectors.

    If the classes overlap, it does not exist. The fit is then by default the soft margin, with a `SeparationWarning`.

    Parameters
    ----------
    inseparable : {"soft", "error"}, default="soft"
        The result for classes that overlap: the soft margin (`LinearSVC` with the hinge) or a `ValueError`.
    C : float, default=1000.0
        The strength of the hinge loss in a soft margin.
    tol : float, default=1e-6
        The relative duality gap to reach.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    n_jobs : int, default=None
        The number of threads; None means all cores.

    Attributes
    ----------
    classes_, coef_, intercept_
        As in scikit-learn's linear classifiers. The nearest rows have a score of ±1.
    margin_ : ndarray of shape (n_hyperplanes,)
        The distance of the nearest rows from each hyperplane; 0 for a soft margin.
    support_ : ndarray of shape (n_support,)
        The rows that support any of the hyperplanes.
    dual_coef_ : ndarray of shape (n_hyperplanes, n_support)
        Their multipliers times their labels.
    certificate_ : Certificate
        The certificate that no hyperplane has a larger margin.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import HardMarginClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = HardMarginClassifier().fit(X[:100], y[:100])
    >>> model.certificate_.holds, len(model.support_), round(float(model.margin_[0]), 3)
    (True, 3, 0.818)
    """

    coef_: Floats
    intercept_: Floats
    margin_: npt.NDArray[np.float64]
    support_: Indices
    dual_coef_: npt.NDArray[np.float64]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "inseparable": [StrOptions({"soft", "error"})],
        "C": [_POSITIVE],
        "tol": [_POSITIVE],
        "fit_intercept": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        inseparable: Literal["soft", "error"] = "soft",
        C: float = 1000.0,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.inseparable = inseparable
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        from .svm import LinearSVC

        self._validate_params()
        self._store_target_name(y)
        X, y = validated(self, X, y)
        codes = self._labels(y)
        settings = {
            "method": "hard-margin",
            "tol": max(float(self.tol), 1e-12),
            "no_intercept": not self.fit_intercept,
        }
        try:
            self._fit_hyperplanes(X, codes, None, settings)
        except ValueError as error:
            if self.inseparable == "error" or "separa" not in str(error):
                raise
            warn(f"{error}; the fit is the soft margin with C={self.C:g}", SeparationWarning)
            soft = LinearSVC(
                loss="hinge", C=self.C, tol=self.tol, fit_intercept=self.fit_intercept, n_jobs=self.n_jobs
            ).fit(X, y)
            for name in ("coef_", "intercept_", "support_", "dual_coef_", "model_"):
                setattr(self, name, getattr(soft, name))
            self.margin_ = np.zeros(len(self.coef_))
            return self
        parts = self.certificate_.parts
        self.margin_ = np.array([(0.5 / part["primal"]) ** 0.5 for part in parts])
        rows = [int(row) for part in parts for row, _ in part["support"]]
        self.support_ = np.unique(rows).astype(np.int64)
        self.dual_coef_ = np.zeros((len(parts), len(self.support_)))
        for k, part in enumerate(parts):
            positive = codes == (1 if len(parts) == 1 else k)
            for row, multiplier in part["support"]:
                column = np.searchsorted(self.support_, int(row))
                self.dual_coef_[k, column] = multiplier if positive[int(row)] else -multiplier
        return self


class MinErrorClassifier(_Linear, CertifiedFit, BaseEstimator):
    """The hyperplane that misclassifies the fewest rows, for two classes.

    The weight of a row is the cost of an error on it. Weights of classes are given as weights of their rows
    (``sklearn.utils.compute_sample_weight``).

    The search takes exponential time in the worst case. It stops after `max_seconds` with the best hyperplane found, and
    the certificate then has a lower bound on the cost.

    Parameters
    ----------
    max_seconds : float, default=10.0
        The maximum time of a search, in seconds.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    n_jobs : int, default=None
        The number of threads; None means all cores.

    Attributes
    ----------
    classes_, coef_, intercept_
        As in scikit-learn's linear classifiers.
    errors_ : int
        The number of misclassified training rows.
    cost_ : float
        The sum of their weights.
    lower_bound_ : float
        No hyperplane costs less.
    certificate_ : Certificate
        The certificate that no hyperplane has fewer errors.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import MinErrorClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MinErrorClassifier().fit(X[50:], y[50:])
    >>> model.certificate_.holds, model.errors_
    (True, 1)
    """

    coef_: Floats
    intercept_: Floats
    errors_: int
    cost_: float
    lower_bound_: float

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_seconds": [_POSITIVE],
        "fit_intercept": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self, *, max_seconds: float = 10.0, fit_intercept: bool = True, n_jobs: int | None = None
    ) -> None:
        self.max_seconds = max_seconds
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _learn(self, X: Any, codes: np.ndarray, sample_weight: Any) -> None:
        if len(self.classes_) > 2:
            raise ValueError("Only binary classification is supported. The type of the target is multiclass.")
        settings = {
            "method": "min-error",
            "max_seconds": float(self.max_seconds),
            "no_intercept": not self.fit_intercept,
        }
        self._fit_hyperplanes(X, codes, sample_weight, settings)
        claim = json.loads(self.model_.part("certificate"))
        self.errors_ = int(claim["errors"])
        self.cost_ = float(claim["cost"])
        self.lower_bound_ = float(claim["lower_bound"])

    def _warn_limit(self, fit: dict[str, Any]) -> None:
        from sklearn.exceptions import ConvergenceWarning

        warn("the minimum error was not proved in time: increase max_seconds", ConvergenceWarning)
