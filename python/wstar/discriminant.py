"""Linear discriminant analysis."""

from __future__ import annotations

import json
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn import discriminant_analysis
from sklearn.utils.validation import validate_data

from .arrays import validated
from .classification import CertifiedClassifier
from .prediction import LinearClassifications, Probabilities
from .types import Floats, Numbers

if TYPE_CHECKING:
    from typing_extensions import Self


class LinearDiscriminantAnalysis(
    Probabilities,
    LinearClassifications,
    CertifiedClassifier,
    discriminant_analysis.LinearDiscriminantAnalysis,
):
    """Gaussian classes that share a covariance, with a certificate.

    The engine computes means, covariance and hyperplanes; scikit-learn computes what `transform` needs (`scalings_`,
    `xbar_`, `explained_variance_ratio_`). Fits with `priors`, `covariance_estimator` or ``shrinkage="auto"``, and those
    with a singular covariance, are scikit-learn's own, without a certificate.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        The method of `transform`; "lsqr" has none.
    shrinkage : "auto", float or None, default=None
        The weight of a multiple of the identity in the covariance; not for "svd".
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes; by default their relative frequencies.
    n_components : int, default=None
        The number of components of `transform`.
    store_covariance : bool, default=False
        Whether "svd" computes `covariance_` too.
    tol : float, default=1e-4
        The threshold of "svd" below which a singular value is 0.
    covariance_estimator : estimator, default=None
        Another estimator of the covariance.
    n_jobs : int, default=None
        The number of threads; None means all cores. The fit does not depend on it.

    Attributes
    ----------
    classes_, coef_, intercept_, means_, priors_, covariance_, scalings_, xbar_, explained_variance_ratio_
        As in scikit-learn.
    certificate_ : Certificate
        The certificate that means, covariance and priors are those of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.certificate_.holds, model.score(X, y)
    (True, 0.98)
    """

    coef_: Floats
    intercept_: Floats
    means_: Floats
    priors_: Floats
    covariance_: Floats
    scalings_: Floats
    xbar_: Floats
    explained_variance_ratio_: Floats

    def __init__(
        self,
        solver: Literal["svd", "lsqr", "eigen"] = "svd",
        shrinkage: float | Literal["auto"] | None = None,
        priors: Numbers | None = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
        n_jobs: int | None = None,
    ) -> None:
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

    def fit(self, X: Any, y: Any) -> Self:
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
        self._store_target_name(y)
        validated(self, X, accept_sparse=False)
        super().fit(X, y)
        ours = self.priors is None and self.covariance_estimator is None
        ours &= self.shrinkage is None or isinstance(self.shrinkage, Real)
        if not ours or len(self.classes_) < 2:
            return self
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], reset=False)
        settings = {"method": "lda", "shrinkage": self.shrinkage and float(self.shrinkage)}
        try:
            model = self._engine_fit(X, self._engine_target(self._codes_of(y)), None, settings)
        except ValueError:
            # The covariance is singular: the hyperplanes are not unique, and scikit-learn's are kept.
            return self
        weights, intercepts = model.hyperplanes()
        estimate = json.loads(model.part("predictor"))["estimate"]
        self.means_ = np.array(estimate["means"]).astype(X.dtype, copy=False)
        if len(self.classes_) > 2:
            # Scores are unique up to a common linear function. This choice agrees with scikit-learn's.
            weights = weights + self.priors_ @ (self.coef_ - weights)
            intercepts = intercepts + self.priors_ @ (self.intercept_ - intercepts)
        self.coef_ = weights.astype(X.dtype, copy=False)
        self.intercept_ = intercepts.astype(X.dtype, copy=False)
        self._store_models(model)
        return self
