"""Support vector machines."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn import svm

from . import _engine
from .base import seed
from .classification import CertifiedFit
from .prediction import LinearClassifications
from .types import ClassWeight, Floats, Indices, RandomState


class LinearSVC(LinearClassifications, CertifiedFit, svm.LinearSVC):
    """The linear support vector machine, with its support vectors and a certificate.

    Minimises ``R(w) + C * sum_i s_i * loss_i`` with the hinge or its square and ``R`` one of ``||w||²/2`` and
    ``||w||_1``. The intercept is not penalised, unlike in scikit-learn and LIBLINEAR.

    Parameters
    ----------
    penalty : {"l1", "l2"}, default="l2"
        The penalty.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        The loss.
    dual : "auto" or bool, default="auto"
        Ignored, but refused where scikit-learn refuses it.
    tol : float, default=1e-6
        The relative duality gap to reach.
    C : float, default=1.0
        The strength of the loss against the penalty.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One problem for each class, against the rest. "crammer_singer" is scikit-learn's own fit (LIBLINEAR's, with a
        penalised intercept), without a certificate.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    intercept_scaling : float, default=1
        Ignored: the intercept is not penalised.
    class_weight : dict or "balanced", default=None
        The weights of the classes.
    verbose : int, default=0
        Ignored.
    random_state : int, RandomState instance or None, default=None
        The seed of dual coordinate descent, where that is chosen.
    max_iter : int, default=1000
        The maximum number of iterations, over all problems of the fit; the default means no limit.
    n_jobs : int, default=None
        The number of threads; None means all cores. The fit does not depend on it.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
    support_ : ndarray of shape (n_support,)
        The rows that support any of the hyperplanes.
    dual_coef_ : ndarray of shape (n_problems, n_support)
        Their multipliers times their labels: ``coef_ = dual_coef_ @ X[support_]`` for an l2 penalty.
    certificate_ : Certificate
        The certificate of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(loss="hinge").fit(X[:100], y[:100])
    >>> model.certificate_.holds, len(model.support_)
    (True, 3)
    """

    coef_: Floats
    intercept_: Floats
    support_: Indices
    dual_coef_: npt.NDArray[np.float64]
    n_iter_: int

    _engine_validates = True

    def __init__(
        self,
        penalty: Literal["l1", "l2"] = "l2",
        loss: Literal["hinge", "squared_hinge"] = "squared_hinge",
        *,
        dual: bool | Literal["auto"] = "auto",
        tol: float = 1e-6,
        C: float = 1.0,
        multi_class: Literal["ovr", "crammer_singer"] = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: ClassWeight = None,
        verbose: int = 0,
        random_state: RandomState = None,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            penalty=penalty,
            loss=loss,
            dual=dual,
            tol=tol,
            C=C,
            multi_class=multi_class,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            class_weight=class_weight,
            verbose=verbose,
            random_state=random_state,
            max_iter=max_iter,
        )
        self.n_jobs = n_jobs

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **svm.LinearSVC._parameter_constraints,
        "n_jobs": [None, Integral],
    }

    def _needs_sklearn(self) -> bool:
        return self.multi_class == "crammer_singer"

    def _drop_models(self) -> None:
        super()._drop_models()
        for name in ("support_", "dual_coef_"):
            self.__dict__.pop(name, None)

    def _learn(self, X: Any, codes: np.ndarray, sample_weight: Any) -> None:
        _refuse_as_liblinear(self.penalty, self.loss, self.dual)
        settings = {
            "method": "svm",
            "loss": self.loss.replace("_", "-"),
            "penalty": self.penalty,
            "C": float(self.C),
            "tol": max(float(self.tol), 1e-15),
            "max_iter": self._iteration_limit(),
            "no_intercept": not self.fit_intercept,
            "class_weight": self._class_weights(),
            "multiclass": None if len(self.classes_) == 2 else "ovr",
            "seed": seed(self.random_state),
        }
        points = self._fit_hyperplanes(X, codes, sample_weight, settings, by=_engine.fit_machine)
        self.n_iter_ = self._iterations()
        if len(points) == 1:
            [(self.support_, multipliers)] = points
            self.dual_coef_ = multipliers[None, :]
            return
        self.support_ = np.unique(np.concatenate([rows for rows, _ in points]))
        self.dual_coef_ = np.zeros((len(points), len(self.support_)))
        for problem, (rows, multipliers) in enumerate(points):
            self.dual_coef_[problem, np.searchsorted(self.support_, rows)] = multipliers

    def _sklearn_message(self, iterations: int) -> str:
        return "The fit in place of Liblinear failed to converge, increase the number of iterations. "


def _refuse_as_liblinear(penalty: str, loss: str, dual: Any) -> None:
    """Raises scikit-learn's error for the combinations that it refuses."""
    refused = {
        ("l1", "hinge", True),
        ("l1", "hinge", False),
        ("l1", "squared_hinge", True),
        ("l2", "hinge", False),
    }
    if dual == "auto" and (penalty, loss) == ("l1", "hinge"):
        dual = True
    if dual != "auto" and (penalty, loss, bool(dual)) in refused:
        raise ValueError(
            f"Unsupported set of arguments: The combination of penalty='{penalty}' and loss='{loss}' are not"
            f" supported when dual={dual}, Parameters: penalty='{penalty}', loss='{loss}', dual={dual}"
        )
