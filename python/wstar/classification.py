"""Base classes of the classifiers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from .arrays import code_type, label_codes, validated
from .base import Certified
from .certificate import Verification

if TYPE_CHECKING:
    from typing_extensions import Self


def class_name(label: Any) -> str:
    """The name of a label in model files; an integer value has no decimal point, so that 1.0 and 1 have one name."""
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


class CertifiedClassifier(Certified):
    """Mixin: classifiers."""

    classes_: np.ndarray

    def _engine_target(self, codes: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """Class codes and class names in the engine's form."""
        names = [class_name(label) for label in self.classes_]
        if len(set(names)) < len(names):
            names = [f"{type(label).__name__} {label}" for label in self.classes_]
        return np.ascontiguousarray(codes, dtype=code_type(len(names))), names

    def _class_weights(self) -> Any:
        """The engine's form of `class_weight`, with scikit-learn's checks."""
        weights = getattr(self, "class_weight", None)
        if weights is None:
            return None
        if isinstance(weights, str):
            return "balanced"
        known = set(self.classes_.tolist())
        if any(label not in known for label in weights) and not known & set(weights):
            unknown = [label for label in weights if label not in known]
            raise ValueError(f"The classes, {unknown}, are not in class_weight")
        given = [[class_name(label), float(weight)] for label, weight in weights.items() if label in known]
        return {"given": given}

    def _codes_of(self, y: Any) -> np.ndarray:
        """The class codes of labels; `ValueError` for a label that is not in `classes_`."""
        y = np.asarray(y).ravel()
        known = {label: code for code, label in enumerate(self.classes_.tolist())}
        try:
            return np.array([known[label] for label in y.tolist()], dtype=np.uint32)
        except KeyError as error:
            raise ValueError(f"y contains a label that the model was not trained on: {error}") from None

    def _labels(self, y: Any) -> np.ndarray:
        """Sets `classes_` and returns the class code of each row; `ValueError` if there is only one class."""
        # Integers are always class labels. scikit-learn's check only adds a warning if most labels are distinct.
        is_integer = np.asarray(y).dtype.kind in "iub" and np.ndim(y) == 1
        if not is_integer:
            check_classification_targets(y)
        self.classes_, codes = label_codes(y)
        if is_integer and 2 * len(self.classes_) > len(y):
            check_classification_targets(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data contains"
                f" only one class: {self.classes_[0]!r}"
            )
        return codes

    def _problems(self) -> int:
        """The number of hyperplanes: one for two classes, otherwise one for each class."""
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _row_weights(self, X: Any, codes: np.ndarray, sample_weight: Any) -> np.ndarray | None:
        """The weights of rows. Weights of classes are a setting of the engine."""
        return self._weights(sample_weight, X)

    def _fit_hyperplanes(
        self,
        X: Any,
        codes: np.ndarray,
        sample_weight: Any,
        settings: dict[str, Any],
        start: Any = None,
        **how: Any,
    ) -> Any:
        """Fits, sets `coef_`, `intercept_` and `model_`, and returns any second result of the engine."""
        weights = self._row_weights(X, codes, sample_weight)
        found = self._engine_fit(X, self._engine_target(codes), weights, settings, start, **how)
        model, extra = found if isinstance(found, tuple) else (found, None)
        self.coef_, self.intercept_ = model.hyperplanes()
        self._store_models(model)
        return extra

    def _start_model(self, X: Any) -> Any:
        """The model of the last fit if it has the same classes and number of features, for `warm_start`."""
        model: Any = getattr(self, "model_", None)
        if model is None or (planes := model.hyperplanes()) is None:
            return None
        names = self._engine_target(np.zeros(0))[1]
        fits = (
            planes[0].shape == (self._problems(), X.shape[1]) and json.loads(model.part("classes")) == names
        )
        return model if fits else None

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> Verification:
        """Recompute the certificate from data; the solver's own numbers are not trusted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training data.
        y : array-like of shape (n_samples,)
            Its labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the fit.

        Returns
        -------
        Verification
            True if the claim holds on these data, else with the objections.
        """
        names = json.loads(self._model().part("classes"))
        X, y = validated(self, X, y, reset=False)
        codes = self._codes_of(y)
        return self._verified(X, [(codes, names)], self._row_weights(X, codes, sample_weight))


class CertifiedFit(CertifiedClassifier):
    """Mixin: classifiers whose `fit` takes rows, labels and weights."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows; a weight of 2 is the same as the row twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        if self._needs_sklearn():
            self._drop_models()
            super().fit(X, y, sample_weight)
            return self
        self._store_target_name(y)
        X, y = validated(self, X, y, ensure_all_finite=not self._engine_validates)
        self._learn(X, self._labels(y), sample_weight)
        return self

    def _learn(self, X: Any, codes: np.ndarray, sample_weight: Any) -> None:
        """Fits to validated rows with their class codes, and sets the fitted attributes."""
        raise NotImplementedError


class WeightedClasses(CertifiedClassifier):
    """Mixin: classifiers whose `class_weight` multiplies the weights of rows before the engine sees them."""

    def _row_weights(self, X: Any, codes: np.ndarray, sample_weight: Any) -> np.ndarray | None:
        """The weight of each row times the weight of its class."""
        weights = self._weights(sample_weight, X)
        by_class = getattr(self, "class_weight", None)
        if by_class is None:
            return weights
        labels = self.classes_[codes]
        by_code = compute_class_weight(by_class, classes=self.classes_, y=labels, sample_weight=weights)
        factors: np.ndarray = by_code[codes]
        return factors if weights is None else factors * weights
