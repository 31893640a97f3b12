"""Bad input is refused in the words that users know, and never ends the process."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import wstar

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
y = np.array([0, 1, 0, 1])


def fails(words, X=X, y=y, kind=ValueError, estimator=wstar.LogisticRegression, **how):
    with pytest.raises(kind, match=words):
        estimator().fit(X, y, **how)


def test_what_is_not_a_number_is_named_by_its_place():
    holes = X.copy()
    holes[2, 1] = np.nan
    fails(r"contains NaN.*row 2, column 1", holes)
    holes[2, 1] = np.inf
    fails(r"infinity.*row 2, column 1", holes)
    fails(r"NaN.*row 1, column 1", sp.csr_matrix([[0.0, 0.0], [1.0, np.nan], [1.0, 0.0], [0.0, 1.0]]))
    fails(r"Input y contains NaN.*row 3", y=[1.0, 2.0, 3.0, np.nan], estimator=wstar.Ridge)


def test_other_arrays():
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
