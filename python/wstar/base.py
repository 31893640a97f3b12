"""Base class of the estimators: data for the engine, certificates, summaries and files."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _engine, stored_parameters
from .arrays import matrix, raise_if_nonfinite, size, threads
from .certificate import Certificate, Verification
from .exceptions import SeparationWarning, warn
from .parameters import CachedValidation, defaults
from .summary import Summary, summarize


def seed(random_state: Any) -> int:
    """The engine's seed for a `random_state`."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state) % (1 << 63)
    return int(random_state.randint(0, 2**31 - 1))


def settings_json(settings: dict[str, Any]) -> str:
    """The engine's settings as JSON. A setting of None is left out: the engine takes its default."""
    given = {name: value for name, value in settings.items() if value is not None}
    return json.dumps({"no_intercept": False, "seed": 0, **given})


class Certified(CachedValidation):
    """Mixin: fits by the engine, with their certificates."""

    n_features_in_: int
    feature_names_in_: np.ndarray
    model_: Any
    _target_name: str

    #: Whether the engine checks that X is finite, which is faster than scikit-learn's check.
    _engine_validates = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The engine takes numpy arrays only.
        tags.array_api_support = False
        return tags

    def _threads(self, X: Any) -> int:
        return threads(getattr(self, "n_jobs", None), size(X))

    def _table(
        self, X: Any, goal: Any, weights: np.ndarray | None, assume_sorted: bool = False
    ) -> _engine.Table:
        """The data set in the engine's form."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "x": matrix(X, assume_sorted),
            "y": goal,
            "weights": weights,
            "features": None if names is None else [str(name) for name in names],
            "target": getattr(self, "_target_name", "y"),
        }

    def _iteration_limit(self, name: str = "max_iter") -> int | None:
        """The limit on iterations. None, the default of the class, means no limit."""
        limit = getattr(self, name)
        default = defaults(type(self))[name]
        return None if limit is None or limit == default else max(1, int(limit))

    def _weights(self, sample_weight: Any, X: Any) -> np.ndarray | None:
        if sample_weight is None:
            return None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if np.any(weights < 0):
            raise ValueError("Negative values in data passed to `sample_weight`")
        if not np.any(weights > 0):
            raise ValueError("All sample weights are zero: there is no row to learn from")
        return np.ascontiguousarray(weights)

    def _engine_fit(
        self,
        X: Any,
        goal: Any,
        weights: Any,
        settings: dict[str, Any],
        start: Any = None,
        by: Any = _engine.fit,
    ) -> Any:
        """Fits one model by the function `by` of the engine; `settings` have the engine's names."""
        for assume_sorted in (True, False):
            table = self._table(X, goal, weights, assume_sorted)
            try:
                return by(table, settings_json(settings), start, self._threads(X))
            except ValueError:
                # Unsorted sparse rows are rare, and the engine refuses them without a separate pass.
                if assume_sorted and sp.issparse(X) and not X.has_canonical_format:
                    continue
                # The engine also refuses NaN and infinity, for which scikit-learn has a message that users know.
                raise_if_nonfinite(self, X)
                raise

    def _store_target_name(self, y: Any) -> None:
        """Stores the name of the target, if it has one, for the model file."""
        name = getattr(y, "name", None)
        self._target_name = "y" if name is None else str(name)

    def _store_models(self, models: _engine.Fitted | list[_engine.Fitted]) -> None:
        """Stores the engine's models, and warns if the classes are separated or a limit was reached."""
        self.model_ = models
        for model in models if isinstance(models, list) else [models]:
            fit = json.loads(model.part("fit"))
            status = fit["status"]
            if status == "Diverging":
                finding = next(iter(fit["notes"]), "the classes can be separated")
                advice = "coef_ is that direction, not an estimate; with a finite C the estimate exists"
                warn(f"{finding} ({advice})", SeparationWarning)
            elif status in ("IterationLimit", "TimeLimit"):
                self._warn_limit(fit)

    def _warn_limit(self, fit: dict[str, Any]) -> None:
        gap = self.certificate_.relative_gap
        reached = f" (relative gap {gap:.3g})" if gap is not None else ""
        warn(
            f"{self._sklearn_message(fit['iterations'])}{type(self).__name__} stopped after {fit['iterations']} iterations"
            f" before its tolerance was certified{reached}. Increase max_iter or tol.",
            ConvergenceWarning,
        )

    def _sklearn_message(self, iterations: int) -> str:
        """The text of scikit-learn's warning, which users may filter by; empty if it has none."""
        return ""

    def _iterations(self) -> int:
        models = self.model_ if isinstance(self.model_, list) else [self.model_]
        return max(1, *(int(json.loads(model.part("fit"))["iterations"]) for model in models))

    def _n_iter(self) -> Any:
        """`n_iter_` of the stored model."""
        return self._iterations()

    def _model(self) -> _engine.Fitted:
        check_is_fitted(self)
        model = getattr(self, "model_", None)
        if model is None:
            raise ValueError(
                f"this {type(self).__name__} has no certificate: it was fitted or updated by scikit-learn's own solver"
            )
        if isinstance(model, list):
            raise TypeError("a fit of several targets has one model for each: fit one target at a time")
        return model

    @property
    def certificate_(self) -> Certificate:
        """The claim of the fit, and the numbers that prove it."""
        check_is_fitted(self)
        models = getattr(self, "model_", None)
        if models is None:
            return Certificate("none", False)
        models = models if isinstance(models, list) else [models]
        documents = [json.loads(model.part("certificate")) for model in models]
        found = Certificate.of(documents, all(model.holds for model in models))
        coef = getattr(self, "coef_", None)
        planes = [model.hyperplanes() for model in models]
        if coef is None or not all(planes):
            return found
        # Intervals are about the engine's coefficients, which an estimator may have changed.
        weights = np.concatenate([np.ravel(plane[0]) for plane in planes])
        if not np.array_equal(weights, np.ravel(coef)):
            return found
        proved = [json.loads(model.part("proved")) for model in models]
        return found.with_intervals(proved, coef, self.intercept_)

    def _needs_sklearn(self) -> bool:
        """Whether the parameters require a fit that only scikit-learn supports."""
        return False

    def _drop_models(self) -> None:
        """Drops the models of an earlier fit, whose certificates do not hold for the fit that follows."""
        self.__dict__.pop("model_", None)

    def _verified(self, X: Any, goals: list[Any], weights: np.ndarray | None) -> Verification:
        models = self.model_ if isinstance(getattr(self, "model_", None), list) else [self._model()]
        objections: list[str] = []
        documents = []
        for model, goal in zip(models, goals):
            found, document = model.verify(self._table(X, goal, weights), self._threads(X))
            objections += found
            documents.append(json.loads(document))
        return Verification(not objections, objections, Certificate.of(documents, not objections))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `wstar.load` and the command line read.

        Parameters
        ----------
        path : str or path-like
            The file. It is written completely or not at all.
        """
        model = self._model()
        seed = int(json.loads(model.part("settings"))["seed"])
        stored_parameters.write(path, model.to_bytes(), stored_parameters.section(self, seed))

    @property
    def inference_(self) -> dict[str, Any] | None:
        """Standard errors, tests and likelihood criteria of an unpenalised fit; None where they are not valid."""
        return json.loads(self._model().part("inference"))

    def summary(self, most: int = 20) -> Summary:
        """The fit on one screen: its claim, its coefficients, and statistics where they are valid.

        Parameters
        ----------
        most : int, default=20
            The maximum number of coefficients to show.

        Returns
        -------
        Summary
            Shown as text by ``print`` and as a table in a notebook.
        """
        return summarize(self, most)
