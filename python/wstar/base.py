"""What all estimators share: data to the engine and back, certificates, summaries, files."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _engine
from .arrays import checked, code_type, coded, look_for_bad, matrix, size, threads
from .certificate import Certificate, Summary, Verification
from .exceptions import SeparationWarning, warn
from .parameters import RememberedParameters, defaults
from .prediction import LinearPredictions


def class_name(label: Any) -> str:
    """A label as model files have it: whole numbers without a point, so that 1.0 and 1 are the same."""
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


def seed(random_state: Any) -> int:
    """A seed for the engine."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state) % (1 << 63)
    return int(random_state.randint(0, 2**31 - 1))


def scaled(
    settings: dict[str, Any], weights: np.ndarray | None, rows: int, losses: np.ndarray | float = 1.0
) -> dict[str, Any]:
    """Settings whose gap is relative to an objective below 1, too: the library's is absolute there.

    `losses` are those of the rows, about, before anything is learnt.
    """
    if "tol" not in settings:
        return settings
    total = float(rows) if weights is None else float(weights.sum())
    c = settings.get("C") or (1.0 / (total * settings["lambda"]) if settings.get("lambda") else 1.0)
    counted = losses if weights is None else weights * losses
    objective = c * float(np.sum(counted) if np.ndim(counted) else total * losses)
    return {**settings, "tol": max(settings["tol"] * min(1.0, objective), 1e-15)}


def written(settings: dict[str, Any]) -> str:
    """Settings of the library as it reads them; what is None is its own choice."""
    given = {name: value for name, value in settings.items() if value is not None}
    return json.dumps({"no_intercept": False, "seed": 0, **given})


class Certified(RememberedParameters):
    """Mixin: fits by the engine, and everything that comes with a certificate."""

    #: Whether every number of X goes through the engine's own check, which is faster than scikit-learn's.
    _engine_looks = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Arrays go to the engine, which takes those of numpy.
        tags.array_api_support = False
        return tags

    def _threads(self, X: Any) -> int:
        return threads(getattr(self, "n_jobs", None), size(X))

    def _table(self, X: Any, goal: Any, weights: np.ndarray | None, as_it_is: bool = False) -> _engine.Table:
        """A data set as the engine takes it."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "x": matrix(X, as_it_is),
            "y": goal,
            "weights": weights,
            "features": None if names is None else [str(name) for name in names],
            "target": getattr(self, "_target_name", "y"),
        }

    def _limit(self, name: str = "max_iter") -> int | None:
        """A limit on iterations; the default of the class stands for as many as it takes."""
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
        """Fits one model `by` a function of the engine; `settings` are those of the library, by its names."""
        for as_it_is in (True, False):
            table = self._table(X, goal, weights, as_it_is)
            try:
                return by(table, written(settings), start, self._threads(X))
            except ValueError:
                # Rows that are not in order are rare, and the engine finds them on its way.
                if as_it_is and sp.issparse(X) and not X.has_canonical_format:
                    continue
                # What the engine refuses may have been a number that is none, for which there are known words.
                look_for_bad(self, X)
                raise

    def _goal(self, codes: np.ndarray) -> tuple[np.ndarray, list[str]]:
        names = [class_name(label) for label in self.classes_]
        if len(set(names)) < len(names):
            names = [f"{type(label).__name__} {label}" for label in self.classes_]
        return np.ascontiguousarray(codes, dtype=code_type(len(names))), names

    def _class_weights(self) -> Any:
        """Weights of classes for the engine, checked as scikit-learn does."""
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

    def _coded(self, y: Any) -> np.ndarray:
        """Labels as numbers of the classes; `ValueError` for a label that training did not have."""
        y = np.asarray(y).ravel()
        places = {label: code for code, label in enumerate(self.classes_.tolist())}
        try:
            return np.array([places[label] for label in y.tolist()], dtype=np.uint32)
        except KeyError as error:
            raise ValueError(f"y contains a label that the model was not trained on: {error}") from None

    def _remember(self, y: Any) -> None:
        """Keeps the target's name, where it has one."""
        name = getattr(y, "name", None)
        self._target_name = "y" if name is None else str(name)

    def _keep(self, models: _engine.Fitted | list[_engine.Fitted]) -> None:
        """Keeps the engine's model(s) and warns of what a user must know."""
        self.model_ = models
        for model in models if isinstance(models, list) else [models]:
            fit = json.loads(model.part("fit"))
            status = fit["status"]
            if status == "Diverging":
                # What follows the finding names options of the command line.
                note = next(iter(fit.get("notes", [])), "the classes can be separated").split("; use --")[0]
                advice = "coef_ is that direction, not an estimate; a finite C has an answer"
                warn(f"{note} ({advice})", SeparationWarning)
            elif status in ("IterationLimit", "TimeLimit"):
                self._warn_limit(fit)

    def _warn_limit(self, fit: dict[str, Any]) -> None:
        gap = self.certificate_.relative_gap
        reached = f" (relative gap {gap:.3g})" if gap is not None else ""
        warn(
            f"{self._known_words(fit['iterations'])}{type(self).__name__} ended after {fit['iterations']} iterations"
            f" before its tolerance was certified{reached}. Increase max_iter or tol.",
            ConvergenceWarning,
        )

    def _known_words(self, iterations: int) -> str:
        """The words by which users know such a warning, and may filter it; by default none."""
        return ""

    def _iterations(self) -> int:
        models = self.model_ if isinstance(self.model_, list) else [self.model_]
        return max(1, *(int(json.loads(model.part("fit"))["iterations"]) for model in models))

    def _model(self) -> _engine.Fitted:
        check_is_fitted(self)
        model = getattr(self, "model_", None)
        if model is None:
            raise ValueError(
                f"this {type(self).__name__} carries no certificate: it was fitted, or went on, by scikit-learn's own"
                " solver"
            )
        if isinstance(model, list):
            raise TypeError("a fit of several targets is several models: fit each target by itself")
        return model

    @property
    def certificate_(self) -> Certificate:
        """What the fit claims, and the numbers that prove it."""
        check_is_fitted(self)
        models = getattr(self, "model_", None)
        if models is None:
            return Certificate("none", False)
        models = models if isinstance(models, list) else [models]
        documents = [json.loads(model.part("certificate")) for model in models]
        return Certificate.of(documents, all(model.holds for model in models))

    def _is_theirs(self) -> bool:
        """Whether what is asked for is beyond the engine: then the fit is scikit-learn's own."""
        return False

    def _forget(self) -> None:
        """Leaves what an earlier fit claimed: what follows is scikit-learn's own, and claims nothing."""
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

    def save(self, path: Any) -> None:
        """Write the model to a file that `wstar.load` and the command line read.

        Parameters
        ----------
        path : str or path-like
            The file. It appears whole or not at all.
        """
        self._model().save(str(path))

    @property
    def inference_(self) -> dict[str, Any] | None:
        """Standard errors, tests and likelihood criteria of an unpenalised fit; None where they are not valid."""
        return json.loads(self._model().part("inference"))

    def summary(self, most: int = 20) -> Summary:
        """The fit on one screen: its claim, its coefficients, and statistics where they are valid.

        Parameters
        ----------
        most : int, default=20
            The most coefficients to show.

        Returns
        -------
        Summary
            Shown as text by ``print`` and as a table in a notebook.
        """
        check_is_fitted(self)
        certificate = self.certificate_
        if "model_" not in self.__dict__:
            title = f"{type(self).__name__}: {self.n_features_in_} features"
            return Summary(title, [("not proved", certificate.claim())], [], [])
        models = self.model_ if isinstance(self.model_, list) else [self.model_]
        fit = json.loads(models[0].part("fit"))
        lines = [("certified" if certificate.holds else "not proved", certificate.claim())]
        lines.append(("status", str(fit["status"])))
        # Options of the command line help nobody here.
        lines += [("note", re.sub(r" \(--[^)]*\)", "", note)) for note in fit.get("notes", [])]
        if fit.get("solver"):
            lines.append(("solver", f"{fit['solver']['name']} ({fit['solver']['why']})"))
        title = f"{type(self).__name__}: {fit['rows']} rows × {self.n_features_in_} features"
        inference = json.loads(models[0].part("inference")) if len(models) == 1 else None
        names = models[0].feature_names
        if inference:
            lines += [
                (label, f"{inference[name]:.6g}")
                for label, name in [("ln L", "log_likelihood"), ("AIC", "aic"), ("BIC", "bic")]
                if inference.get(name) is not None
            ]
            head = ["", "coef", "std err", inference["kind"], "p", "95 % interval"]
            rows = []
            for name, c in list(zip([*names, "(intercept)"], inference["coefficients"]))[:most]:
                test = [f"{c[key]:.4g}" if c[key] is not None else "–" for key in ("statistic", "p_value")]
                interval = f"[{c['lower']:.4g}, {c['upper']:.4g}]"
                rows.append([name, f"{c['estimate']:.6g}", f"{c['standard_error']:.4g}", *test, interval])
            return Summary(title, lines, head, rows)
        planes = [model.hyperplanes() for model in models]
        if any(plane is None for plane in planes):
            return Summary(title, lines, [], [])
        weights = np.vstack([plane[0] for plane in planes])
        intercepts = np.concatenate([plane[1] for plane in planes])
        heaviest = np.sort(np.argsort(-np.abs(weights).max(axis=0), kind="stable")[:most])
        classes = getattr(self, "classes_", None)
        if classes is not None and len(weights) == len(classes):
            head = ["", *(str(label) for label in classes)]
        else:
            head = ["", *(["coef"] if len(weights) == 1 else [str(k) for k in range(len(weights))])]
        rows = [[names[j], *(f"{w:.6g}" for w in weights[:, j])] for j in heaviest]
        rows.append(["(intercept)", *(f"{b:.6g}" for b in intercepts)])
        return Summary(title, lines, head, rows)


class CertifiedClassifier(Certified):
    """Mixin: classifiers."""

    def _labels(self, y: Any) -> np.ndarray:
        """Sets the classes and gives each row's number; `ValueError` if there is only one."""
        # Whole numbers are classes, and only where most are different is there something to warn of.
        whole = np.asarray(y).dtype.kind in "iub" and np.ndim(y) == 1
        if not whole:
            check_classification_targets(y)
        self.classes_, codes = coded(y)
        if whole and 2 * len(self.classes_) > len(y):
            check_classification_targets(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data contains"
                f" only one class: {self.classes_[0]!r}"
            )
        return codes

    def _row_weights(self, X: Any, codes: np.ndarray, sample_weight: Any) -> np.ndarray | None:
        """How much each row counts to the engine, which weighs classes by its settings."""
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
        """Fits, sets what all linear classifiers have, and gives what else the engine tells."""
        weights = self._row_weights(X, codes, sample_weight)
        settings = scaled(settings, weights, X.shape[0])
        found = self._engine_fit(X, self._goal(codes), weights, settings, start, **how)
        model, more = found if isinstance(found, tuple) else (found, None)
        self.coef_, self.intercept_ = model.hyperplanes()
        self._keep(model)
        return more

    def _previous(self, X: Any) -> Any:
        """The last fit's model, if a fit can start from it: the same classes and features."""
        model = getattr(self, "model_", None)
        planes = None if model is None else model.hyperplanes()
        if planes is None:
            return None
        names = self._goal(np.zeros(0))[1]
        wanted = 1 if len(names) == 2 else len(names)
        fits = planes[0].shape == (wanted, X.shape[1]) and json.loads(model.part("classes")) == names
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
        X, y = checked(self, X, y, reset=False)
        codes = self._coded(y)
        return self._verified(X, [(codes, names)], self._row_weights(X, codes, sample_weight))


class CertifiedFit(CertifiedClassifier):
    """Mixin: classifiers whose `fit` takes rows, labels and weights."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        if self._is_theirs():
            self._forget()
            return super().fit(X, y, sample_weight)
        self._remember(y)
        X, y = checked(self, X, y, ensure_all_finite=not self._engine_looks)
        self._learn(X, self._labels(y), sample_weight)
        return self

    def _learn(self, X: Any, codes: np.ndarray, sample_weight: Any) -> None:
        """Fits to checked rows, whose classes are given by number, and sets the attributes."""
        raise NotImplementedError


class WeighedClasses(CertifiedClassifier):
    """Mixin: classifiers to which the weight of a class is a weight of its rows, like any other."""

    def _row_weights(self, X: Any, codes: np.ndarray, sample_weight: Any) -> np.ndarray | None:
        """How often each row is there: its own weight times that of its class."""
        weights = self._weights(sample_weight, X)
        by_class = getattr(self, "class_weight", None)
        if by_class is None:
            return weights
        labels = self.classes_[codes]
        factors = compute_class_weight(by_class, classes=self.classes_, y=labels, sample_weight=weights)[
            codes
        ]
        return factors if weights is None else factors * weights


class CertifiedRegressor(LinearPredictions, Certified):
    """Mixin: regressors."""

    #: Whether there may be several targets.
    _many_targets = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        if self._is_theirs():
            self._forget()
            return super().fit(X, y, sample_weight)
        self._remember(y)
        how = {"y_numeric": True, "multi_output": self._many_targets}
        X, y = checked(self, X, y, ensure_all_finite=not self._engine_looks, **how)
        self._learn(X, y, self._weights(sample_weight, X))
        return self

    def _is_theirs(self) -> bool:
        # The engine knows no bounds on coefficients.
        return bool(getattr(self, "positive", False))

    def _learn(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> None:
        """Fits to checked rows, and sets the attributes."""
        raise NotImplementedError

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> Verification:
        """Recompute the certificate from data; the solver's own numbers are not trusted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Its targets.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the fit.

        Returns
        -------
        Verification
            True if the claim holds on these data, else with the objections.
        """
        check_is_fitted(self)
        X, y = checked(self, X, y, y_numeric=True, multi_output=True, reset=False)
        return self._verified(X, self._targets(y), self._weights(sample_weight, X))

    @staticmethod
    def _targets(y: np.ndarray) -> list[np.ndarray]:
        y = np.asarray(y, dtype=np.float64)
        columns = y.reshape(len(y), -1)
        return [np.ascontiguousarray(columns[:, k]) for k in range(columns.shape[1])]

    @staticmethod
    def _scaled_to(settings: dict[str, Any], target: np.ndarray, weights: Any) -> dict[str, Any]:
        squares = 0.5 * (target - np.average(target, weights=weights)) ** 2
        return scaled(settings, weights, len(target), squares)

    def _engine_fits(
        self, X: Any, y: np.ndarray, weights: Any, settings: Any, starts: list[Any] | None = None
    ) -> list[_engine.Fitted]:
        """Fits every target with its settings."""
        targets = self._targets(y)
        many = settings if isinstance(settings, list) else [settings] * len(targets)
        starts = starts or [None] * len(targets)
        return [
            self._engine_fit(X, target, weights, self._scaled_to(one, target, weights), start)
            for target, one, start in zip(targets, many, starts)
        ]

    def _fit_targets(self, X: Any, y: np.ndarray, weights: Any, settings: Any) -> None:
        """Fits every target with its settings, and sets what all linear regressors have."""
        # By the class's name, for a classifier of several labels fits a regression for each.
        models = CertifiedRegressor._engine_fits(self, X, y, weights, settings)
        CertifiedRegressor._set_planes(self, models, X, y.ndim == 1)

    def _set_planes(self, models: list[_engine.Fitted], X: Any, single: bool) -> None:
        """Sets coefficients and intercepts by the models, one for each target."""
        planes = [model.hyperplanes() for model in models]
        coef = np.vstack([plane[0] for plane in planes]).astype(X.dtype, copy=False)
        intercept = np.concatenate([plane[1] for plane in planes]).astype(X.dtype, copy=False)
        self.coef_ = coef[0] if single else coef
        if not self.fit_intercept:
            self.intercept_ = 0.0
        else:
            self.intercept_ = intercept[0] if single else intercept
        self._keep(models[0] if single else models)
