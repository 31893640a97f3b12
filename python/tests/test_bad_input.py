"""Bad input raises the errors that users of scikit-learn know, and never ends the process."""

import ast
import importlib
import inspect
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import validate_parameter_constraints

import wstar
from wstar import _engine

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
y = np.array([0, 1, 0, 1])


def fails(words, X=X, y=y, kind=ValueError, estimator=wstar.LogisticRegression, **how):
    with pytest.raises(kind, match=words):
        estimator().fit(X, y, **how)


def test_nonfinite_values_are_reported_with_their_position():
    holes = X.copy()
    holes[2, 1] = np.nan
    fails(r"contains NaN.*row 2, column 1", holes)
    holes[2, 1] = np.inf
    fails(r"infinity.*row 2, column 1", holes)
    fails(r"NaN.*row 1, column 1", sp.csr_matrix([[0.0, 0.0], [1.0, np.nan], [1.0, 0.0], [0.0, 1.0]]))
    fails(r"Input y contains NaN.*row 3", y=[1.0, 2.0, 3.0, np.nan], estimator=wstar.Ridge)


def test_unsupported_arrays():
    fails(
        "could not convert string to float", np.array([["a", 1], ["b", 2], ["c", 3], ["d", 4]], dtype=object)
    )
    fails("Complex data not supported", X + 1j)
    fails("Expected 2D array, got 1D", X[:, 0])
    fails("Found array with dim 3", X[None])
    fails("inconsistent numbers of samples", X[:3])
    fails("only one class", y=np.zeros(4))
    fails("Unknown label type", y=[0.1, 0.2, 0.3, 0.4])
    fails("at least 2 classes", y=np.zeros(4), estimator=wstar.LinearSVC)


def test_weights():
    fails("Negative values in data passed to `sample_weight`", sample_weight=[1, 1, -1, 1])
    fails("weight", sample_weight=[0, 0, 0, 0])
    fails("sample_weight.shape", sample_weight=[1, 1])
    fails("class", sample_weight=[1, 0, 1, 0])


def test_parameters():
    with pytest.raises(ValueError, match="The 'C' parameter"):
        wstar.LogisticRegression(C=-1).fit(X, y)
    with pytest.raises(ValueError, match="The 'loss' parameter"):
        wstar.SGDClassifier(loss="hindge").fit(X, y)
    with pytest.raises(ValueError, match="classes"):
        wstar.LogisticRegression(class_weight={7: 1.0}).fit(X, y)


def test_messages_name_parameters_and_no_options_of_the_command_line():
    with pytest.raises(ValueError, match="^max_iter must be a positive number"):
        wstar.Kozinec(max_iter=10**16).fit(X, y)


def test_every_setting_of_the_engine_has_words():
    """Words that are an identifier are a parameter of some estimator or function."""
    parameters = {"n_jobs"}
    for name in wstar.__all__:
        found = getattr(wstar, name)
        # `inspect` finds no signature of a warning in every version of Python.
        if callable(found) and found is not wstar.SeparationWarning:
            parameters |= set(inspect.signature(found).parameters)
    words = _engine.setting_words()
    assert len(words) > 40
    for setting, word in words.items():
        assert word and "--" not in word, setting
        identifier = word.split("=")[0]
        if identifier.isidentifier():
            assert identifier in parameters, (setting, word)


def takes(name, value):
    """Whether some estimator has the parameter and takes the value."""
    for kind in (getattr(wstar, name) for name in wstar.__all__):
        if isinstance(kind, type) and hasattr(kind, "get_params") and name in kind().get_params():
            constraints = getattr(kind, "_parameter_constraints", {})
            if name not in constraints:
                return True
            try:
                validate_parameter_constraints({name: constraints[name]}, {name: value}, kind.__name__)
                return True
            except ValueError:
                continue
    return False


def test_every_message_is_python():
    """Every parameter in a message takes its value, every class and function exists."""
    literal = r"""(?:"[^"]*"|None|True|False|[0-9.]+(?:e-?[0-9]+)?)"""
    sentences = _engine.sentences()
    assert len(sentences) > 1000
    seen = set()
    for sentence in set(sentences):
        assert sentence and "\n" not in sentence and "--" not in sentence and ",," not in sentence
        for name, values in re.findall(rf"\b(\w+)=({literal}(?: or {literal})*)", sentence):
            for value in re.findall(literal, values):
                assert takes(name, ast.literal_eval(value)), sentence
                seen.add((name, value))
        assert re.sub(rf"\w+={literal}", "", sentence).count("=") == 2 * sentence.count("y =="), sentence
        for module, name in re.findall(r"\b(sklearn\.\w+|wstar)\.(\w+)", sentence):
            assert hasattr(importlib.import_module(module), name), sentence
        for name in re.findall(r"(?<![.\w])([A-Z][a-z]+[A-Z]\w*)", sentence):
            assert name in (*wstar.__all__, "DataFrame"), sentence
    assert {("penalty", "None"), ("penalty", '"elasticnet"'), ("loss", '"squared_hinge"')} <= seen


def test_messages_about_an_estimator_fit_it():
    """Ridge has no parameter for the penalty: without one, it is LinearRegression."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ridge = str(wstar.Ridge().fit(X, np.array([1.0, 2.0, 4.0, 3.0])).summary())
        logistic = str(wstar.LogisticRegression().fit(X, y).summary())
    assert "(LinearRegression gives them)" in ridge and "penalty" not in ridge.split("biases")[1]
    assert "(penalty=None gives them)" in logistic


def test_before_and_after_a_fit():
    for ask in ("summary", "certificate_", "predict", "verify", "save"):
        with pytest.raises(NotFittedError):
            found = getattr(wstar.LogisticRegression(), ask)
            found(*{"predict": (X,), "verify": (X, y), "save": ("a",)}.get(ask, ()))
    model = wstar.LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="label"):
        model.verify(X, [0, 1, 0, 7])


def test_numbers_too_large_to_be_squared():
    fails("too large", X * 1e200)


def test_empty():
    fails("0 sample", X[:0], y[:0])
    fails("0 feature", X[:, :0])
