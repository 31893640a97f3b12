"""Model files, shared with the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import LabelBinarizer

from . import _engine, stored_parameters
from .engine_settings import estimator_for
from .exceptions import warn
from .naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from .quantile import QuantileRegressor
from .ridge import RidgeClassifier


def _labels(names: list[str]) -> np.ndarray:
    """Classes by their names: whole numbers, else numbers, else texts."""
    for kind in (int, float):
        try:
            return np.array([kind(name) for name in names])
        except ValueError:
            continue
    return np.array(names)


def _from_section(section: dict[str, Any]) -> Any:
    """The unfitted estimator that a file's section for Python describes."""
    import wstar

    name, parameters = section["estimator"], section["parameters"]
    kind = getattr(wstar, name, None) if name in wstar.__all__ else None
    if not (isinstance(kind, type) and hasattr(kind, "save")):
        raise ValueError(f"this version of wstar has no estimator {name}")
    unknown = sorted(set(parameters) - set(kind().get_params()))
    if unknown:
        raise ValueError(f"{name} of this version has no parameter {', '.join(unknown)}")
    return kind(**{name: stored_parameters.decoded(value) for name, value in parameters.items()})


def _from_settings(model: _engine.Fitted, scaled: bool) -> Any:
    """The unfitted estimator that the engine's settings describe, for a file of the command line."""
    names = json.loads(model.part("classes"))
    labels = dict(zip(names, _labels(names).tolist())) if names else {}
    settings, fit = (json.loads(model.part(name)) for name in ("settings", "fit"))
    estimator, lost = estimator_for(model.method, settings, fit["rows"], labels)
    lost += ["standardised columns"] * scaled
    if lost:
        warn(
            f"{type(estimator).__name__} has no parameter for these settings of the command line:"
            f" {', '.join(lost)}. Predictions are those of the file, but a new fit gives a different model."
        )
    return estimator


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model file, written by `save` or by the command line.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        A fitted estimator. A file that `save` wrote gives the same class, parameters and labels, so that a new fit to
        the same data is the same fit; a `RandomState` comes back as the seed that the fit drew from it. A file of the
        command line gives the estimator and the parameters that state the same problem, and its labels are integers,
        floats or strings, as their names can be read; a warning lists settings without a corresponding parameter.

    Examples
    --------
    >>> import tempfile, wstar
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wstar.LogisticRegression().fit(X, y).save(folder + "/iris.wstar.json")
    ...     model = wstar.load(folder + "/iris.wstar.json")
    >>> type(model).__name__, bool(model.verify(X, y))
    ('LogisticRegression', True)
    """
    model = _engine.Fitted.load(str(path))
    schema, predictor = (json.loads(model.part(name)) for name in ("schema", "predictor"))
    encodings = [column["encoding"] for column in schema["columns"]]
    if any("number" not in encoding for encoding in encodings):
        raise ValueError("the model encodes categories or texts itself: use the command line")
    if predictor.get("link") == "pairs":
        raise ValueError("a model of pairs of classes has no estimator in Python: use the command line")
    section = json.loads(Path(path).read_bytes()).get(stored_parameters.SECTION)
    if section is None:
        estimator = _from_settings(model, scaled=bool(schema.get("scaling")))
    else:
        estimator = _from_section(section)
    _set_schema(estimator, schema, model.feature_names)
    _set_classes(estimator, json.loads(model.part("classes")), section or {})
    has_planes = predictor["kind"] != "committee" and not isinstance(estimator, (BernoulliNB, MultinomialNB))
    planes = model.hyperplanes() if has_planes else None
    if planes is not None:
        _set_planes(estimator, *planes, schema.get("scaling"))
    if predictor["kind"] == "bayes":
        _set_estimate(estimator, predictor["estimate"])
        if isinstance(estimator, GaussianNB):
            rows = json.loads(model.part("fit"))["rows"]
            counts = (section or {}).get("class_count")
            estimator.class_count_ = (
                rows * estimator.class_prior_ if counts is None else stored_parameters.decoded(counts)
            )
    estimator.model_ = model
    if hasattr(estimator, "max_iter") or isinstance(estimator, QuantileRegressor):
        estimator.n_iter_ = estimator._n_iter()
    return estimator


def _set_schema(estimator: Any, schema: dict[str, Any], names: list[str]) -> None:
    estimator.n_features_in_ = schema["features"]
    if schema["origin"] == "table" and names != [f"x{j + 1}" for j in range(len(names))]:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator._target_name = schema.get("target") or "y"


def _set_classes(estimator: Any, names: list[str], section: dict[str, Any]) -> None:
    if not names:
        return
    labels = stored_parameters.decoded(section["labels"]) if "labels" in section else _labels(names)
    if isinstance(estimator, RidgeClassifier):
        estimator._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(labels)
    estimator.classes_ = labels


def _set_planes(
    estimator: Any, weights: np.ndarray, intercepts: np.ndarray, scaling: dict[str, Any] | None
) -> None:
    if scaling:
        # Coefficients of the raw columns.
        weights = weights * np.array(scaling["factors"])
        if scaling["shifts"]:
            intercepts = intercepts - weights @ np.array(scaling["shifts"])
    single = not hasattr(estimator, "classes_")
    estimator.coef_ = weights[0] if single else weights
    estimator.intercept_ = float(intercepts[0]) if single else intercepts


def _set_estimate(estimator: Any, estimate: dict[str, Any]) -> None:
    if isinstance(estimator, GaussianNB):
        estimator._set_estimate(estimate)
    elif isinstance(estimator, (BernoulliNB, MultinomialNB)):
        estimator.class_count_ = np.array(estimate["totals"])
        estimator.feature_count_ = np.array(estimate["counts"])
        estimator._update_feature_log_prob(estimator._check_alpha())
        estimator._update_class_log_prior(class_prior=estimator.class_prior)
    else:
        estimator.means_ = np.array(estimate["means"])
        estimator.priors_ = np.array(estimate["priors"])
