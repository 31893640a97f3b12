"""Uses of the package that type checkers accept, and uses that they refuse.

Nothing here is run: mypy and pyright read this file. A wrong use is marked with the error that mypy reports; a mark
without an error is an error of both checkers, so that a wrong use that is no longer caught is noticed. The marks of pyright
alone are on attributes: to mypy the base classes of scikit-learn are of type Any, and have every attribute.
"""

# ruff: noqa: B018
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import wstar

Floats = npt.NDArray[np.floating[Any]]


def fits_return_the_estimator(X: npt.NDArray[np.float64], y: npt.NDArray[np.int64]) -> None:
    assert_type(wstar.AveragedPerceptron().fit(X, y), wstar.AveragedPerceptron)
    assert_type(wstar.BernoulliNB().fit(X, y), wstar.BernoulliNB)
    assert_type(wstar.ElasticNet().fit(X, y), wstar.ElasticNet)
    assert_type(wstar.GaussianNB().fit(X, y), wstar.GaussianNB)
    assert_type(wstar.HardMarginClassifier().fit(X, y), wstar.HardMarginClassifier)
    assert_type(wstar.Kozinec().fit(X, y), wstar.Kozinec)
    assert_type(wstar.Lasso().fit(X, y), wstar.Lasso)
    assert_type(wstar.LinearDiscriminantAnalysis().fit(X, y), wstar.LinearDiscriminantAnalysis)
    assert_type(wstar.LinearRegression().fit(X, y), wstar.LinearRegression)
    assert_type(wstar.LinearSVC().fit(X, y), wstar.LinearSVC)
    assert_type(wstar.LogisticRegression().fit(X, y), wstar.LogisticRegression)
    assert_type(wstar.MinErrorClassifier().fit(X, y), wstar.MinErrorClassifier)
    assert_type(wstar.MultinomialNB().fit(X, y), wstar.MultinomialNB)
    assert_type(wstar.Perceptron().fit(X, y), wstar.Perceptron)
    assert_type(wstar.PocketPerceptron().fit(X, y), wstar.PocketPerceptron)
    assert_type(wstar.QuantileRegressor().fit(X, y), wstar.QuantileRegressor)
    assert_type(wstar.Ridge().fit(X, y), wstar.Ridge)
    assert_type(wstar.RidgeClassifier().fit(X, y), wstar.RidgeClassifier)
    assert_type(wstar.SGDClassifier().fit(X, y), wstar.SGDClassifier)
    assert_type(wstar.VotedPerceptron().fit(X, y), wstar.VotedPerceptron)
    assert_type(wstar.GaussianNB().partial_fit(X, y, classes=[0, 1]), wstar.GaussianNB)
    assert_type(wstar.MultinomialNB().partial_fit(X, y, classes=[0, 1]), wstar.MultinomialNB)


def fitted_attributes_have_types(X: npt.NDArray[np.float64], y: npt.NDArray[np.int64]) -> None:
    logistic = wstar.LogisticRegression().fit(X, y)
    assert_type(logistic.coef_, Floats)
    assert_type(logistic.intercept_, Floats)
    assert_type(logistic.n_features_in_, int)
    assert_type(logistic.predict(X), npt.NDArray[Any])
    assert_type(logistic.certificate_, wstar.Certificate)
    assert_type(logistic.certificate_.relative_gap, float | None)
    assert_type(logistic.verify(X, y), wstar.Verification)
    assert_type(logistic.verify(X, y).objections, list[str])
    assert_type(logistic.summary(), wstar.Summary)
    assert_type(wstar.LinearSVC().fit(X, y).support_, npt.NDArray[np.int64])
    assert_type(wstar.LinearSVC().fit(X, y).dual_coef_, npt.NDArray[np.float64])
    assert_type(wstar.Ridge().fit(X, y).intercept_, float | Floats)
    assert_type(wstar.Lasso().fit(X, y).coef_, Floats)
    assert_type(wstar.GaussianNB().fit(X, y).theta_, npt.NDArray[np.float64])
    assert_type(wstar.MinErrorClassifier().fit(X, y).errors_, int)
    assert_type(wstar.separate(X, y).verdict, str | None)
    wstar.LogisticRegression().fit(X, y).ceof_  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    wstar.separate(X, y).verdikt  # type: ignore[attr-defined]
    _: str = logistic.coef_  # type: ignore[assignment]


def right_arguments() -> None:
    weights: dict[str, int] = {"no": 1, "yes": 2}
    wstar.LogisticRegression("l2", C=1, l1_ratio=0.5, class_weight=weights, n_jobs=-1)
    wstar.LogisticRegression(
        C=np.inf, penalty=None, solver="newton-cg", random_state=np.random.RandomState(0)
    )
    wstar.LinearSVC("l1", "squared_hinge", dual=False, class_weight="balanced")
    wstar.SGDClassifier("log_loss", penalty="elasticnet", tol=None, average=10)
    wstar.Ridge(np.array([1.0, 2.0]), solver="lsqr", max_iter=None)
    wstar.RidgeClassifier([1.0], class_weight={0: 1.0, 1: 2})
    wstar.GaussianNB(priors=[0.5, 0.5])
    wstar.QuantileRegressor(quantile=0.9, solver="highs")
    wstar.LinearDiscriminantAnalysis("lsqr", "auto")


def wrong_arguments() -> None:
    wstar.LogisticRegression(C="a")  # type: ignore[arg-type]
    wstar.LogisticRegression(penalty=3)  # type: ignore[arg-type]
    wstar.LogisticRegression(penalty="l3")  # type: ignore[arg-type]
    wstar.LogisticRegression(c=1.0)  # type: ignore[call-arg]
    wstar.LogisticRegression(solver="newton")  # type: ignore[arg-type]
    wstar.LogisticRegression(class_weight="equal")  # type: ignore[arg-type]
    wstar.LogisticRegression(fit_intercept="yes")  # type: ignore[arg-type]
    wstar.LogisticRegression(n_jobs=1.5)  # type: ignore[arg-type]
    wstar.LogisticRegression("l2", 1.0)  # type: ignore[call-arg]
    wstar.LinearSVC(loss="log")  # type: ignore[arg-type]
    wstar.LinearSVC(penalty=None)  # type: ignore[arg-type]
    wstar.SGDClassifier(loss="hindge")  # type: ignore[arg-type]
    wstar.Perceptron(penalty="l3")  # type: ignore[arg-type]
    wstar.Perceptron(eta0="1")  # type: ignore[arg-type]
    wstar.AveragedPerceptron(max_iter=None)  # type: ignore[arg-type]
    wstar.PocketPerceptron(shuffle="no")  # type: ignore[arg-type]
    wstar.VotedPerceptron(random_state="0")  # type: ignore[arg-type]
    wstar.Kozinec(epsilon="small")  # type: ignore[arg-type]
    wstar.HardMarginClassifier(inseparable="warn")  # type: ignore[arg-type]
    wstar.MinErrorClassifier(max_seconds=None)  # type: ignore[arg-type]
    wstar.Ridge(alpha="1")  # type: ignore[arg-type]
    wstar.RidgeClassifier(alpha=None)  # type: ignore[arg-type]
    wstar.Lasso(alpha="1")  # type: ignore[arg-type]
    wstar.ElasticNet(l1_ratio="half")  # type: ignore[arg-type]
    wstar.LinearRegression(tol=None)  # type: ignore[arg-type]
    wstar.QuantileRegressor(quantile="median")  # type: ignore[arg-type]
    wstar.GaussianNB(var_smoothing="1e-9")  # type: ignore[arg-type]
    wstar.BernoulliNB(binarize="0")  # type: ignore[arg-type]
    wstar.MultinomialNB(alpha="1")  # type: ignore[arg-type]
    wstar.LinearDiscriminantAnalysis(solver="qr")  # type: ignore[arg-type]


def wrong_calls(X: npt.NDArray[np.float64], y: npt.NDArray[np.int64]) -> None:
    wstar.LogisticRegression().fit(X)  # type: ignore[call-arg]
    wstar.LogisticRegression().fit(X, y, weights=y)  # type: ignore[call-arg]
    wstar.LogisticRegression().summary(most="all")  # type: ignore[arg-type]
    wstar.separate(X, y, max_seconds="1")  # type: ignore[arg-type]
    wstar.enet_path(X, y, n_alphas="100")  # type: ignore[arg-type]
    wstar.lasso_path(X, y, tol="small")  # type: ignore[arg-type]
    wstar.compare(X, y, max_seconds="1")  # type: ignore[arg-type]
    wstar.load(3)  # type: ignore[arg-type]
