"""Linear discriminant analysis."""

from __future__ import annotations

import json
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn import discriminant_analysis
from sklearn.utils.validation import validate_data

from .arrays import checked
from .base import CertifiedClassifier
from .prediction import LinearClassifications, Probabilities


class LinearDiscriminantAnalysis(
    Probabilities,
    LinearClassifications,
    CertifiedClassifier,
    discriminant_analysis.LinearDiscriminantAnalysis,
):
    """Gaussian classes that share a covariance, with a certificate.

    Means, covariance and hyperplanes are the engine's. What `transform` needs (`scalings_`, `xbar_`,
    `explained_variance_ratio_`) is scikit-learn's. Without a certificate, and all scikit-learn's, are fits with
    priors, a covariance estimator or an automatic shrinkage of the user's, and those whose covariance is singular.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        How `transform` is found; "lsqr" has none.
    shrinkage : "auto", float or None, default=None
        How far the covariance is moved towards a multiple of the identity; not for "svd".
    priors : array-like of shape (n_classes,), default=None
        Probabilities of the classes; by default their shares of the rows.
    n_components : int, default=None
        Components of `transform`.
    store_covariance : bool, default=False
        Whether "svd" keeps `covariance_` too.
    tol : float, default=1e-4
        Below which a singular value of "svd" counts as 0.
    covariance_estimator : estimator, default=None
        Another estimate of the covariance.
    n_jobs : int, default=None
        Threads of a fit, None for all.

    Attributes
    ----------
    classes_, coef_, intercept_, means_, priors_, covariance_, scalings_, xbar_, explained_variance_ratio_
        As in scikit-learn.
    certificate_ : Certificate
        That means, covariance and priors are the data's own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.certificate_.holds, model.score(X, y)
    (True, 0.98)
    """

    def __init__(
        self,
        solver="svd",
        shrinkage=None,
        priors=None,
        n_components=None,
        store_covariance=False,
        tol=1e-4,
        covariance_estimator=None,
        n_jobs=None,
    ):
        super().__init__(
            solver=solver,
            shrinkage=shrinkage,
            priors=priors,
            n_components=n_components,
            store_covariance=store_covariance,
            tol=tol,
            covariance_estimator=covariance_estimator,
        )
        self.n_jobs = n_jobs

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **discriminant_analysis.LinearDiscriminantAnalysis._parameter_constraints,
        "n_jobs": [None, Integral],
    }

    def fit(self, X: Any, y: Any) -> LinearDiscriminantAnalysis:
        """Fit and certify.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        self.__dict__.pop("model_", None)
        self._remember(y)
        checked(self, X, accept_sparse=False)
        super().fit(X, y)
        ours = self.priors is None and self.covariance_estimator is None
        ours &= self.shrinkage is None or isinstance(self.shrinkage, Real)
        if not ours or len(self.classes_) < 2:
            return self
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], reset=False)
        settings = {"method": "lda", "shrinkage": self.shrinkage and float(self.shrinkage)}
        try:
            model = self._engine_fit(X, self._goal(self._coded(y)), None, settings)
        except ValueError:
            # The covariance is singular: scikit-learn's answer is one of many.
            return self
        weights, intercepts = model.hyperplanes()
        estimate = json.loads(model.part("predictor"))["estimate"]
        self.means_ = np.array(estimate["means"]).astype(X.dtype, copy=False)
        if len(self.classes_) > 2:
            # All scores may be moved by the same amount; they are put where scikit-learn's are.
            weights = weights + self.priors_ @ (self.coef_ - weights)
            intercepts = intercepts + self.priors_ @ (self.intercept_ - intercepts)
        self.coef_ = weights.astype(X.dtype, copy=False)
        self.intercept_ = intercepts.astype(X.dtype, copy=False)
        self._keep(model)
        return self
