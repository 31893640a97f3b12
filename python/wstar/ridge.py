"""Ridge regression, and classification by ridge regression."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn import linear_model
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .arrays import validated
from .classification import CertifiedClassifier
from .prediction import LinearClassifications
from .regression import CertifiedRegressor
from .types import ClassWeight, Floats, Numbers, RandomState, RidgeSolver

if TYPE_CHECKING:
    from typing_extensions import Self

_PARAMETERS = """alpha : float or array of shape (n_targets,), default=1.0
        The strength of the penalty ``||w||²`` against the sum of squared deviations.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    copy_X, solver, random_state
        Ignored: X is never modified, and the engine chooses its solver.
    max_iter : int, default=None
        The maximum number of iterations.
    tol : float, default=1e-6
        The relative duality gap to reach.
    positive : bool, default=False
        Whether coefficients are at least 0: scikit-learn's own fit, without a certificate.
    n_jobs : int, default=None
        The number of threads; None means all cores. The fit does not depend on it."""


def _settings(estimator: Any, alpha: float, method: str) -> dict[str, Any]:
    # ||y - z||² + α||w||² is 2α times ||w||²/2 + (1/α) Σ (y - z)²/2.
    return {
        "method": method,
        "penalty": "l2" if alpha > 0 else "none",
        "C": 1.0 / alpha if alpha > 0 else None,
        "tol": max(float(estimator.tol), 1e-15),
        "max_iter": estimator._iteration_limit(),
        "no_intercept": not estimator.fit_intercept,
    }


def _alphas(alpha: Any, targets: int) -> list[float]:
    alphas = np.asarray(alpha, dtype=np.float64).ravel()
    if len(alphas) not in (1, targets):
        raise ValueError(
            f"Number of targets and number of penalties do not correspond: {len(alphas)} != {targets}"
        )
    return np.broadcast_to(alphas, targets).tolist()


class Ridge(CertifiedRegressor, linear_model.Ridge):
    __doc__ = f"""Ridge regression with a certificate: minimises ``||y - Xw||² + alpha ||w||²``.

    Parameters
    ----------
    {_PARAMETERS}

    Attributes
    ----------
    coef_, intercept_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        The certificate of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from wstar import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> Ridge(alpha=0.1).fit(X, y).certificate_.holds
    True
    """

    coef_: Floats
    intercept_: float | Floats
    n_iter_: int
    solver_: str

    _engine_validates = True

    def __init__(
        self,
        alpha: float | Numbers = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-6,
        solver: RidgeSolver = "auto",
        positive: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            fit_intercept=fit_intercept,
            copy_X=copy_X,
            max_iter=max_iter,
            tol=tol,
            solver=solver,
            positive=positive,
            random_state=random_state,
        )
        self.n_jobs = n_jobs

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **linear_model.Ridge._parameter_constraints,
        "n_jobs": [None, Integral],
    }

    def _learn(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> None:
        targets = 1 if y.ndim == 1 else y.shape[1]
        settings = [_settings(self, alpha, "least-squares") for alpha in _alphas(self.alpha, targets)]
        self._fit_targets(X, y, weights, settings)
        if y.ndim == 2 and y.shape[1] == 1:
            self.coef_ = self.coef_.ravel()
        self.n_iter_ = self._iterations()
        self.solver_ = self.solver


class RidgeClassifier(LinearClassifications, CertifiedClassifier, linear_model.RidgeClassifier):
    __doc__ = f"""Classification by ridge regression on targets of -1 and +1, with a certificate.

    Parameters
    ----------
    {_PARAMETERS}
    class_weight : dict or "balanced", default=None
        The weights of the classes.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        The certificate of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import RidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RidgeClassifier().fit(X, y).certificate_.holds
    True
    """

    coef_: Floats
    intercept_: float | Floats
    n_iter_: int
    solver_: str

    def __init__(
        self,
        alpha: float | Numbers = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-6,
        class_weight: ClassWeight = None,
        solver: RidgeSolver = "auto",
        positive: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            fit_intercept=fit_intercept,
            copy_X=copy_X,
            max_iter=max_iter,
            tol=tol,
            class_weight=class_weight,
            solver=solver,
            positive=positive,
            random_state=random_state,
        )
        self.n_jobs = n_jobs

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **linear_model.RidgeClassifier._parameter_constraints,
        "n_jobs": [None, Integral],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Their labels.
        sample_weight : float or array-like of shape (n_samples,), default=None
            The weights of the rows; a weight of 2 is the same as the row twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        if self.positive:
            self._drop_models()
            super().fit(X, y, sample_weight)
            return self
        self._store_target_name(y)
        X, y = validated(self, X, y, multi_output=True, y_numeric=False)
        self._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1)
        Y = self._label_binarizer.fit_transform(y)
        if type_of_target(y).startswith("multilabel"):
            return self._fit_labels(X, y, Y, sample_weight)
        codes = self._labels(column_or_1d(y, warn=True))
        alphas = _alphas(self.alpha, self._problems())
        if len(set(alphas)) > 1:
            raise ValueError("one alpha for each class is not available")
        settings = _settings(self, alphas[0], "mse-classifier")
        settings["class_weight"] = self._class_weights()
        self._fit_hyperplanes(X, codes, sample_weight, settings)
        self.coef_ = self.coef_.astype(X.dtype, copy=False)
        self.intercept_ = np.asarray(self.intercept_, dtype=X.dtype) if self.fit_intercept else 0.0
        self.n_iter_ = self._iterations()
        self.solver_ = self.solver
        return self

    def _fit_labels(self, X: Any, y: Any, Y: np.ndarray, sample_weight: Any) -> Self:
        """Multilabel targets: one regression for each label."""
        if self.class_weight is not None:
            by_class = compute_sample_weight(self.class_weight, y)
            sample_weight = by_class if sample_weight is None else sample_weight * by_class
        alphas = _alphas(self.alpha, Y.shape[1])
        settings = [_settings(self, alpha, "least-squares") for alpha in alphas]
        CertifiedRegressor._fit_targets(
            self, X, Y.astype(np.float64), self._weights(sample_weight, X), settings
        )
        self.n_iter_ = self._iterations()
        self.solver_ = self.solver
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, or its labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels.
        """
        check_is_fitted(self, attributes=["_label_binarizer"])
        if self._label_binarizer.y_type_.startswith("multilabel"):
            return self._label_binarizer.inverse_transform(2 * (self.decision_function(X) > 0) - 1)
        return super().predict(X)

    _targets = staticmethod(CertifiedRegressor._targets)

    @property
    def classes_(self) -> np.ndarray:
        """The labels."""
        return self._label_binarizer.classes_

    @classes_.setter
    def classes_(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, classes: np.ndarray
    ) -> None:
        # `_label_binarizer` holds the classes.
        pass
