"""Coefficients agree with scikit-learn and statsmodels, where those have converged."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import optimize
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
@pytest.mark.parametrize("name", ["iris", "wine", "breast cancer"])
def test_sparse_logistic(name, l1_ratio):
    X, y = classes(name)
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


def test_multinomial_maximum_likelihood():
    X, target = diabetes()
    X, y = X[:, :4], np.digitize(target, np.quantile(target, [0.3, 0.7]))
    ours = wstar.LogisticRegression(C=np.inf).fit(X, y)
    theirs = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0, tol=1e-12).params
    # statsmodels has the first class at 0.
    found = np.c_[ours.intercept_, ours.coef_]
    np.testing.assert_allclose((found[1:] - found[0]).T, theirs, rtol=1e-6, atol=1e-8)


def test_weighted_least_squares():
    X, y = diabetes()
    weights = np.random.default_rng(0).uniform(0.1, 2, len(y))
    ours = wstar.LinearRegression().fit(X, y, sample_weight=weights)
    theirs = sm.WLS(y, sm.add_constant(X), weights=weights).fit()
    np.testing.assert_allclose(np.r_[ours.intercept_, ours.coef_], theirs.params, rtol=1e-9)


@pytest.mark.parametrize(
    "name, how",
    [
        ("LinearRegression", {}),
        ("Ridge", {"alpha": 2.0}),
        ("Lasso", {"alpha": 0.3}),
        ("ElasticNet", {"alpha": 0.3}),
    ],
)
def test_several_targets(name, how):
    X, y = datasets.load_linnerud(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ours = getattr(wstar, name)(**how, tol=1e-13).fit(X, y)
    how = how if name == "LinearRegression" else {**how, "tol": 1e-14, "max_iter": 100_000}
    theirs = getattr(linear_model, name)(**how).fit(X, y)
    assert ours.certificate_.holds
    assert ours.verify(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8)


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


@pytest.mark.parametrize("quantile", [0.25, 0.5, 0.9])
def test_quantiles_of_statsmodels(quantile):
    X, y = diabetes()
    ours = wstar.QuantileRegressor(quantile=quantile, alpha=0).fit(X, y)
    theirs = sm.QuantReg(y, sm.add_constant(X)).fit(quantile, p_tol=1e-10, max_iter=10_000)

    def cost(predicted):
        return np.sum(np.maximum(quantile * (y - predicted), (quantile - 1) * (y - predicted)))

    # statsmodels iterates to a tolerance and wstar finds a vertex, whose cost is at most as large.
    assert cost(ours.predict(X)) <= cost(theirs.fittedvalues) * (1 + 1e-12)
    assert cost(ours.predict(X)) == pytest.approx(cost(theirs.fittedvalues), rel=1e-4)


@pytest.mark.parametrize("name", CLASSES)
def test_ridge_classifier(name):
    X, y = classes(name)
    ours, theirs = wstar.RidgeClassifier().fit(X, y), linear_model.RidgeClassifier().fit(X, y)
    np.testing.assert_allclose(ours.coef_, np.atleast_2d(theirs.coef_), atol=1e-7)


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
@pytest.mark.parametrize("name", ["iris", "wine", "breast cancer"])
def test_discriminants(name, solver):
    X, y = classes(name)
    ours = wstar.LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    theirs = discriminant_analysis.LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    assert ours.certificate_.holds
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


def test_a_singular_covariance_gives_the_fit_of_scikit_learn():
    X, y = classes("digits")
    ours = wstar.LinearDiscriminantAnalysis().fit(X, y)
    assert ours.certificate_.kind == "none"
    theirs = discriminant_analysis.LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


# Multipliers that are 0 up to the tolerance give no support vector; in wine one of 1e-5 is left out.
@pytest.mark.parametrize(
    ("name", "left_out"), [("iris", 1e-9), ("wine", 1e-4), ("breast cancer", 1e-6), ("digits", 1e-6)]
)
def test_support_vectors_are_those_of_libsvm(name, left_out):
    X, y = classes(name)
    y = (y == 1).astype(int)
    ours = wstar.LinearSVC(loss="hinge", tol=1e-12).fit(X, y)
    theirs = svm.SVC(kernel="linear", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert set(ours.support_) == set(theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_ @ X[ours.support_], ours.coef_, atol=left_out)


@pytest.mark.parametrize("name", CLASSES)
def test_squared_hinge_of_liblinear_without_intercept(name):
    X, y = classes(name)
    ours = wstar.LinearSVC(fit_intercept=False, tol=1e-12).fit(X, y)
    theirs = svm.LinearSVC(fit_intercept=False, dual=False, tol=1e-12, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.dual_coef_ @ X[ours.support_], ours.coef_, atol=1e-9)


@pytest.mark.parametrize("name", CLASSES)
def test_squared_hinge_with_an_l1_penalty(name):
    X, y = classes(name)
    y = y == 1
    ours = wstar.LinearSVC(penalty="l1", C=0.01, fit_intercept=False, tol=1e-10).fit(X, y)
    theirs = svm.LinearSVC(
        penalty="l1", dual=False, C=0.01, fit_intercept=False, tol=1e-10, max_iter=1_000_000, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("name", CLASSES)
def test_sgd_classifier_finds_the_minimum(name):
    X, y = classes(name)
    y = y == 1
    alpha, n = 0.01, len(y)
    how = {"tol": 1e-10, "max_iter": 100_000}
    others = {
        "log_loss": linear_model.LogisticRegression(C=1 / (alpha * n), **how),
        "hinge": svm.SVC(kernel="linear", C=1 / (alpha * n), tol=1e-10),
        "squared_error": linear_model.RidgeClassifier(alpha=alpha * n),
    }
    for loss, theirs in others.items():
        ours = wstar.SGDClassifier(loss=loss, alpha=alpha, tol=1e-12).fit(X, y)
        assert ours.certificate_.holds
        np.testing.assert_allclose(ours.coef_, np.atleast_2d(theirs.fit(X, y).coef_), atol=1e-4, err_msg=loss)


@pytest.mark.parametrize("name", CLASSES)
def test_modified_huber_finds_the_minimum(name):
    X, y = classes(name)
    signs = np.where(y == 1, 1.0, -1.0)

    def objective(at):
        margins = signs * (X @ at[:-1] + at[-1])
        losses = np.where(margins < -1, -4 * margins, np.maximum(0, 1 - margins) ** 2)
        slopes = np.where(margins < -1, -4.0, -2 * np.maximum(0, 1 - margins)) * signs / len(y)
        return losses.mean() + 0.005 * at[:-1] @ at[:-1], np.r_[X.T @ slopes + 0.01 * at[:-1], slopes.sum()]

    found = optimize.minimize(
        objective,
        np.zeros(X.shape[1] + 1),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    ours = wstar.SGDClassifier(loss="modified_huber", alpha=0.01, tol=1e-12).fit(X, y == 1)
    assert ours.certificate_.holds
    assert ours.verify(X, y == 1)
    np.testing.assert_allclose(np.r_[ours.coef_[0], ours.intercept_], found.x, atol=1e-4)


def test_the_toy_files_hold_the_same_sets():
    root = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("WSTAR_DATA", root.parent / "shared" / "data")) / "toy"
    if not folder.exists():
        assert not os.environ.get("CI"), "the toy sets are missing"
        pytest.skip(f"{folder} is missing")
    for name, load in {**CLASSES, "diabetes": datasets.load_diabetes}.items():
        table = pd.read_csv(folder / f"{name.replace(' ', '_')}.csv")
        X = load(return_X_y=True)[0]
        assert len(table) == len(X)
        numbers = table.select_dtypes("number").to_numpy()[:, : X.shape[1]]
        np.testing.assert_allclose(np.sort(numbers, axis=0), np.sort(X, axis=0), rtol=1e-6, atol=1e-9)
