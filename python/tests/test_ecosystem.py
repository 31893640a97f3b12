"""Pipelines, searches and other tools of scikit-learn, and tables of other packages."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_estimators import ESTIMATORS

import wstar
from wstar.arrays import label_codes

REGRESSORS = ["ElasticNet", "Lasso", "LinearRegression", "QuantileRegressor", "Ridge"]


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore")
def test_pickle_and_clone(name):
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100].astype(float) if name in REGRESSORS else y[:100]
    model = getattr(wstar, name)().fit(X, y)
    read = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    assert read.certificate_ == model.certificate_
    assert read.verify(X, y)
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "model_")


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore")
def test_verify_refuses_other_data(name):
    X, y = load_iris(return_X_y=True)
    # Zeros, so that BernoulliNB has information; large targets, so that no penalty sets all coefficients to 0.
    X, y = X[:100] - X[:100].min(axis=0), y[:100] * 100.0 if name in REGRESSORS else y[:100]
    how = {"alpha": 0} if name == "QuantileRegressor" else {}
    model = getattr(wstar, name)(**how).fit(X, y)
    assert model.verify(X, y)
    assert not model.verify(X[::-1], y), model.certificate_


def test_pipeline_and_grid_search():
    X, y = load_breast_cancer(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), wstar.LogisticRegression())
    search = GridSearchCV(pipe, {"logisticregression__C": [0.1, 1.0]}, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.97
    assert cross_val_score(wstar.LinearSVC(), StandardScaler().fit_transform(X), y).mean() > 0.95
    assert "LogisticRegression" in pipe._repr_html_()


def test_calibration():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = CalibratedClassifierCV(wstar.LinearSVC(loss="hinge")).fit(X, y)
    assert model.predict_proba(X).shape == (len(y), 2)


def test_set_output():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = wstar.LinearDiscriminantAnalysis().set_output(transform="pandas").fit(X, y)
    assert list(model.transform(X).columns) == ["lineardiscriminantanalysis0", "lineardiscriminantanalysis1"]


def test_metadata_routing():
    X, y = load_breast_cancer(return_X_y=True)
    weights = np.r_[np.zeros(100), np.ones(len(y) - 100)]
    with sklearn.config_context(enable_metadata_routing=True):
        model = wstar.LogisticRegression().set_fit_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), model)
        pipe.fit(X, y, sample_weight=weights)
    plain = make_pipeline(StandardScaler(), wstar.LogisticRegression()).fit(X[100:], y[100:])
    np.testing.assert_allclose(pipe[-1].coef_, plain[-1].coef_, rtol=1e-6)


def test_estimators_subclass_those_of_scikit_learn():
    assert isinstance(wstar.LogisticRegression(), TheirLogisticRegression)


def test_feature_names_of_tables():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["sl", "sw", "pl", "pw"]
    expected = wstar.LogisticRegression().fit(X.to_numpy(), y).coef_
    tables = {
        "pandas": (X, y),
        "polars": (pl.DataFrame({name: X[name].to_numpy() for name in X}), pl.Series(y.to_numpy())),
        "arrow": (pa.table({name: X[name].to_numpy() for name in X}), y),
    }
    for kind, (table, labels) in tables.items():
        model = wstar.LogisticRegression().fit(table, labels)
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-9, err_msg=kind)
        assert list(model.feature_names_in_) == ["sl", "sw", "pl", "pw"], kind
        assert "pw" in str(model.summary())


def test_labels_of_all_kinds():
    X, _ = load_iris(return_X_y=True)
    X = X[:100]
    for labels in (["no", "yes"], [False, True], [-1, 1], ["10", "9"]):
        y = np.repeat(np.array(labels), 50)
        model = wstar.LinearSVC().fit(X, y)
        assert model.score(X, y) == 1.0
        assert model.verify(X, y)
        assert list(model.classes_) == sorted(labels)


def test_series_name_is_the_target():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = wstar.LogisticRegression().fit(X, pd.Series(y, name="species"))
    assert '"species"' in model._model().part("schema")


@pytest.mark.parametrize(
    "labels",
    [
        [3, -1, 3, 7],
        np.array([True, False, True]),
        np.array([250, 3, 250], np.uint8),
        [1.0, -1.0, 1.0],
        [0.5, 2.0, 0.5],
        [-(2**62), 2**62, 0],
        [1e300, -1e300],
        ["b", "a", "b"],
    ],
)
def test_label_codes_agree_with_unique(labels):
    classes, codes = label_codes(labels)
    known, numbers = np.unique(labels, return_inverse=True)
    assert classes.dtype == known.dtype
    np.testing.assert_array_equal(classes, known)
    np.testing.assert_array_equal(codes, numbers)
