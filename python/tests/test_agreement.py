"""Coefficients agree with scikit-learn and statsmodels, where those have converged."""

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn import datasets, discriminant_analysis, linear_model, naive_bayes, svm
from sklearn.preprocessing import StandardScaler

import wstar

CLASSES = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}


def classes(name):
    X, y = CLASSES[name](return_X_y=True)
    return StandardScaler().fit_transform(X), y


def diabetes():
    X, y = datasets.load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_logistic(name, C):
    X, y = classes(name)
    ours = wstar.LogisticRegression(C=C).fit(X, y)
    theirs = linear_model.LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y)
    assert ours.certificate_.holds
    assert ours.verify(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_sparse_logistic(l1_ratio):
    X, y = classes("breast cancer")
    ours = wstar.LogisticRegression(C=0.1, l1_ratio=l1_ratio, tol=1e-12).fit(X, y)
    theirs = linear_model.LogisticRegression(
        C=0.1, l1_ratio=l1_ratio, solver="saga", tol=1e-9, max_iter=100_000
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


def test_maximum_likelihood():
    X, y = classes("breast cancer")
    X = X[:, :4]
    ours = wstar.LogisticRegression(C=np.inf).fit(X, y)
    theirs = sm.Logit(y, sm.add_constant(X)).fit(disp=0, tol=1e-12)
    estimates = ours.inference_["coefficients"]
    np.testing.assert_allclose(np.r_[ours.intercept_, ours.coef_[0]], theirs.params, rtol=1e-7)
    errors = [c["standard_error"] for c in estimates]
    np.testing.assert_allclose(np.roll(errors, 1), theirs.bse, rtol=1e-6)
    assert ours.inference_["log_likelihood"] == pytest.approx(theirs.llf, rel=1e-9)


def test_least_squares():
    X, y = diabetes()
    ours = wstar.LinearRegression().fit(X, y)
    theirs = sm.OLS(y, sm.add_constant(X)).fit()
    np.testing.assert_allclose(np.r_[ours.intercept_, ours.coef_], theirs.params, rtol=1e-9)
    errors = [c["standard_error"] for c in ours.inference_["coefficients"]]
    np.testing.assert_allclose(np.roll(errors, 1), theirs.bse, rtol=1e-9)
    assert ours.inference_["aic"] == pytest.approx(theirs.aic + 2, rel=1e-9)  # σ counts as a parameter


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "name, how", [("Ridge", {"alpha": 3.0}), ("Lasso", {"alpha": 0.7}), ("ElasticNet", {"alpha": 0.2})]
)
def test_penalised_regression(name, how, weighted):
    X, y = diabetes()
    weights = np.random.default_rng(0).uniform(0, 2, len(y)) if weighted else None
    ours = getattr(wstar, name)(**how, tol=1e-12).fit(X, y, sample_weight=weights)
    theirs = getattr(linear_model, name)(**how, tol=1e-14, max_iter=100_000).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-7)
    assert ours.verify(X, y, weights)


@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize("quantile", [0.25, 0.5, 0.9])
def test_quantiles(alpha, quantile):
    X, y = diabetes()
    ours = wstar.QuantileRegressor(quantile=quantile, alpha=alpha).fit(X, y)
    theirs = linear_model.QuantileRegressor(quantile=quantile, alpha=alpha).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.certificate_.holds


def test_ridge_classifier():
    X, y = classes("wine")
    ours, theirs = wstar.RidgeClassifier().fit(X, y), linear_model.RidgeClassifier().fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)


@pytest.mark.parametrize("name", CLASSES)
def test_densities(name):
    X, y = CLASSES[name](return_X_y=True)
    for kind in ("GaussianNB", "BernoulliNB", "MultinomialNB"):
        ours, theirs = getattr(wstar, kind)().fit(X, y), getattr(naive_bayes, kind)().fit(X, y)
        np.testing.assert_allclose(
            ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-6, atol=1e-6
        )
        assert ours.certificate_.holds


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_discriminants(name, solver):
    X, y = classes(name)
    ours = wstar.LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    theirs = discriminant_analysis.LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    assert ours.certificate_.holds
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-8)


def test_support_vectors_are_those_of_libsvm():
    X, y = classes("breast cancer")
    ours = wstar.LinearSVC(loss="hinge", tol=1e-12).fit(X, y)
    theirs = svm.SVC(kernel="linear", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert set(ours.support_) == set(theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_ @ X[ours.support_], ours.coef_, atol=1e-6)


def test_squared_hinge_of_liblinear_without_intercept():
    X, y = classes("breast cancer")
    ours = wstar.LinearSVC(fit_intercept=False, tol=1e-12).fit(X, y)
    theirs = svm.LinearSVC(fit_intercept=False, dual=False, tol=1e-12, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.dual_coef_ @ X[ours.support_], ours.coef_, atol=1e-5)


def test_what_stochastic_descent_is_after():
    X, y = classes("breast cancer")
    ours = wstar.SGDClassifier(loss="log_loss", alpha=0.01).fit(X, y)
    theirs = linear_model.LogisticRegression(C=1 / (0.01 * len(y)), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
