"""Logistic regression."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._logistic import _check_solver
from sklearn.utils._param_validation import StrOptions

from .arrays import raise_if_nonfinite
from .base import seed
from .classification import CertifiedFit
from .exceptions import warn
from .prediction import LinearClassifications, Probabilities
from .types import ClassWeight, Floats, RandomState

# Measured: up to this number of values a further Newton step takes a few milliseconds at most.
SMALL = 1_000_000


class LogisticRegression(Probabilities, LinearClassifications, CertifiedFit, linear_model.LogisticRegression):
    """Logistic regression, binary and multinomial, with a certificate.

    Minimises ``R(w) + C * sum_i s_i * loss_i`` with ``R`` one of ``||w||²/2``, ``||w||_1`` and the elastic net
    ``l1_ratio * ||w||_1 + (1 - l1_ratio)/2 * ||w||²``, like scikit-learn's class of this name. The intercept is
    not penalised, whatever the solver.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet", None}
        Deprecated, as in scikit-learn: use `l1_ratio` and `C`.
    C : float, default=1.0
        The strength of the loss against the penalty. ``np.inf`` leaves the penalty out: maximum likelihood, with
        standard errors in `summary`. Whether that estimate exists is decided first; if it does not,
        there is a `SeparationWarning`.
    l1_ratio : float, default=0.0
        The proportion of the l1 penalty: 0 is l2, 1 is l1.
    dual : bool, default=False
        Ignored, but True is refused where scikit-learn refuses it.
    tol : float, default=1e-6
        The relative duality gap to reach: ``(P - D)/P``, or relative to a millionth of the objective of the best constant
        model (at most 1) if that is larger. With an l2 penalty or none, and little data (up to
        a million numbers and 1000 features), 1e-10 is always reached, by one more Newton step.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    intercept_scaling : float, default=1
        Ignored: the intercept is not penalised.
    class_weight : dict or "balanced", default=None
        The weights of the classes.
    random_state : int, RandomState instance or None, default=None
        Ignored: the solvers are deterministic.
    solver : str, default="auto"
        The engine chooses by the shape of the data. The names of scikit-learn's solvers are accepted with the
        penalties that they support there, and have no effect.
    max_iter : int, default=100
        The maximum number of iterations, over all problems of the fit. The default means no limit, and 0 leaves all
        coefficients at 0.
    verbose : int, default=0
        Ignored.
    warm_start : bool, default=False
        Whether to start from the last fit.
    n_jobs : int, default=None
        The number of threads; None means all cores. The fit does not depend on it.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        The certificate of the fit.
    inference_ : dict or None
        Standard errors and tests of an unpenalised binary fit.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from wstar import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> model.certificate_.holds, bool(model.verify(X, y))
    (True, True)
    """

    coef_: Floats
    intercept_: Floats
    n_iter_: npt.NDArray[np.int32]

    _engine_validates = True

    def __init__(
        self,
        penalty: Literal["l1", "l2", "elasticnet", "deprecated"] | None = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: ClassWeight = None,
        random_state: RandomState = None,
        solver: Literal["auto", "lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"] = "auto",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            penalty,
            C=C,
            l1_ratio=l1_ratio,
            dual=dual,
            tol=tol,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            class_weight=class_weight,
            random_state=random_state,
            solver=solver,
            max_iter=max_iter,
            verbose=verbose,
            warm_start=warm_start,
            n_jobs=n_jobs,
        )

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **linear_model.LogisticRegression._parameter_constraints,
        # Not deprecated in scikit-learn 1.7.
        "penalty": [StrOptions({"l1", "l2", "elasticnet", "deprecated"}), None],
        "solver": [StrOptions({"auto", "lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"})],
    }

    def _learn(self, X: Any, codes: np.ndarray, sample_weight: Any) -> None:
        penalty, l1_ratio = self._penalty()
        if self.solver != "auto":
            _check_solver(self.solver, penalty if self.penalty == "deprecated" else self.penalty, self.dual)
        if self.solver == "liblinear" and len(self.classes_) > 2:
            raise ValueError(
                "The 'liblinear' solver does not support multiclass classification (n_classes >= 3)."
                " Either use another solver or wrap the estimator in a OneVsRestClassifier to keep applying"
                " a one-versus-rest scheme."
            )
        if self.max_iter == 0:
            self._start_only(X)
            return
        tol = self.tol
        if penalty in ("l2", None) and X.shape[1] <= 1000 and X.shape[0] * X.shape[1] <= SMALL:
            tol = min(tol, 1e-10)
        settings = {
            "method": "logistic",
            "penalty": {"l2": "l2", "l1": "l1", "elasticnet": "elastic-net", None: "none"}[penalty],
            "C": None if penalty is None else float(self.C),
            "l1_ratio": float(l1_ratio) if penalty == "elasticnet" else None,
            "tol": max(float(tol), 1e-15),
            "max_iter": self._iteration_limit(),
            "no_intercept": not self.fit_intercept,
            "class_weight": self._class_weights(),
            "seed": seed(self.random_state),
        }
        start = self._start_model(X) if self.warm_start else None
        self._fit_hyperplanes(X, codes, sample_weight, settings, start)
        if len(self.classes_) > 2:
            # Unpenalised coefficients are unique up to a common shift of all classes; scikit-learn's sum to 0.
            self.intercept_ = self.intercept_ - self.intercept_.mean()
            if penalty is None:
                self.coef_ = self.coef_ - self.coef_.mean(axis=0)
        # LIBLINEAR's coefficients are always double.
        dtype = np.float64 if self.solver == "liblinear" else X.dtype
        self.coef_ = self.coef_.astype(dtype, copy=False)
        self.intercept_ = self.intercept_.astype(dtype, copy=False)
        self.n_iter_ = self._n_iter()

    def _n_iter(self) -> npt.NDArray[np.int32]:
        return np.array([self._iterations()], dtype=np.int32)

    def _start_only(self, X: Any) -> None:
        """Sets all coefficients to 0, as scikit-learn does for `max_iter=0`."""
        raise_if_nonfinite(self, X)
        problems = self._problems()
        self._drop_models()
        self.coef_ = np.zeros((problems, X.shape[1]), dtype=X.dtype)
        self.intercept_ = np.zeros(problems, dtype=X.dtype)
        self.n_iter_ = np.zeros(1, dtype=np.int32)
        warn("max_iter=0 leaves all coefficients at 0, without a certificate", ConvergenceWarning)

    def _sklearn_message(self, iterations: int) -> str:
        known = {
            "lbfgs": "The fit with solver=lbfgs failed to converge. ",
            "newton-cg": "The fit with solver=newton-cg failed to converge. Increase the number of iterations. ",
            "newton-cholesky": f"Newton solver did not converge after {iterations} iterations. ",
            "liblinear": "The fit in place of Liblinear failed to converge, increase the number of iterations. ",
            "sag": "The max_iter was reached which means the coef_ did not converge. ",
            "saga": "The max_iter was reached which means the coef_ did not converge. ",
        }
        return known.get(self.solver, "")

    def _penalty(self) -> tuple[str | None, float]:
        """The penalty and `l1_ratio`, with scikit-learn's warnings about deprecated parameters."""
        if self.penalty == "deprecated":
            if self.l1_ratio is None:
                warn(
                    "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10."
                    " Use 0<=l1_ratio<=1 instead.",
                    FutureWarning,
                )
            ratio = self.l1_ratio or 0.0
            penalty = {0.0: "l2", 1.0: "l1"}.get(float(ratio), "elasticnet")
            return (None if np.isinf(self.C) else penalty), ratio
        warn(
            "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning,"
            " leave 'penalty' set to its default value and use 'l1_ratio' or 'C' instead. Use l1_ratio=0"
            " instead of penalty='l2', l1_ratio=1 instead of penalty='l1', l1_ratio set to a float between"
            " 0 and 1 instead of penalty='elasticnet', and C=np.inf instead of penalty=None.",
            FutureWarning,
        )
        if self.penalty != "elasticnet" and self.l1_ratio is not None and 0 < self.l1_ratio < 1:
            warn(
                f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={self.penalty})"
            )
        if (self.penalty == "l2" and self.l1_ratio != 0) or (self.penalty == "l1" and self.l1_ratio != 1):
            warn(
                f"Inconsistent values: penalty={self.penalty} with l1_ratio={self.l1_ratio}."
                " penalty is deprecated. Please use l1_ratio only."
            )
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
        if self.penalty is None and self.C != 1.0:
            warn("Setting penalty=None will ignore the C and l1_ratio parameters")
        ratio = float(self.l1_ratio or 0.0)
        if self.penalty is None or np.isinf(self.C):
            return None, ratio
        ends = {0.0: "l2", 1.0: "l1"} if self.penalty == "elasticnet" else {}
        return ends.get(ratio, self.penalty), ratio
