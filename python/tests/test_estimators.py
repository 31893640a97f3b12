"""scikit-learn's own checks of estimators: no failures, and no expected failures."""

import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator

import wstar

ESTIMATORS = [
    "AveragedPerceptron",
    "BernoulliNB",
    "ElasticNet",
    "GaussianNB",
    "HardMarginClassifier",
    "Kozinec",
    "Lasso",
    "LinearDiscriminantAnalysis",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "MinErrorClassifier",
    "MultinomialNB",
    "Perceptron",
    "PocketPerceptron",
    "QuantileRegressor",
    "Ridge",
    "RidgeClassifier",
    "SGDClassifier",
    "VotedPerceptron",
]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_check_estimator(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(getattr(wstar, name)(), on_fail=None)
    failed = [
        (result["check_name"], result["exception"]) for result in results if result["status"] == "failed"
    ]
    assert not failed
    assert sum(result["status"] == "passed" for result in results) >= 50


def test_every_estimator_is_checked():
    fitting = [name for name in wstar.__all__ if hasattr(getattr(wstar, name), "fit")]
    assert sorted(fitting) == sorted(ESTIMATORS)
