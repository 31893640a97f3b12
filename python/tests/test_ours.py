"""Features beyond scikit-learn: certificates, separation, comparison, weights, partial fits, paths."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

import wstar
from wstar import SeparationWarning


def iris():
    return load_iris(return_X_y=True)


def overlap():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :4], y


def test_a_certificate_says_what_it_claims():
    X, y = overlap()
    certificate = wstar.LogisticRegression().fit(X, y).certificate_
    assert certificate.kind == "duality-gap"
    assert certificate.gap == pytest.approx(certificate.primal - certificate.dual)
    assert certificate.relative_gap <= certificate.tol
    assert "optimum" in certificate.claim()


def test_intervals_contain_the_exact_optimum():
    X, y = load_diabetes(return_X_y=True)
    model = wstar.LinearRegression().fit(X, y)
    lower, upper = model.certificate_.coef_interval_
    assert lower.shape == upper.shape == model.coef_.shape
    assert np.all(upper - lower <= 1e-12 * np.abs(model.coef_))
    assert np.all(lower <= model.coef_ + 1e-9) and np.all(model.coef_ - 1e-9 <= upper)
    lower, upper = model.certificate_.intercept_interval_
    assert np.shape(lower) == np.shape(model.intercept_) and lower <= upper
    certificate = wstar.LogisticRegression().fit(*overlap()).certificate_
    assert certificate.coef_interval_[0].shape == (1, 4)
    assert wstar.LogisticRegression().fit(*iris()).certificate_.coef_interval_ is None


def test_separated_classes_warn_and_overlapping_classes_do_not():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(SeparationWarning, match="separated"):
        model = wstar.LogisticRegression(C=np.inf).fit(X, y)
    assert not model.certificate_.holds
    assert model.inference_ is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wstar.LogisticRegression(C=np.inf).fit(*overlap())


def test_convergence_warning_only_at_a_limit():
    X, y = overlap()
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        wstar.LogisticRegression(max_iter=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wstar.LogisticRegression().fit(X, y)
        wstar.LinearSVC(loss="hinge").fit(*load_breast_cancer(return_X_y=True))


def test_summaries():
    X, y = overlap()
    summary = wstar.LogisticRegression(C=np.inf).fit(X, y).summary()
    assert "std err" in str(summary)
    assert "<table>" in summary._repr_html_()
    assert "std err" not in str(wstar.LogisticRegression().fit(X, y).summary())


def test_separate():
    X, y = iris()
    found = wstar.separate(X, y == 0)
    assert found.verdict == "separable"
    assert found.verify(X, y == 0)
    assert 0 < found.margin[0] <= found.margin[1] < found.margin[0] * (1 + 1e-6)
    scores = X @ found.coef + found.intercept
    assert ((scores > 0) == (y == 0)).all()
    crossing = wstar.separate(X, y == 1)
    assert crossing.verdict == "inseparable"
    assert crossing.verify(X, y == 1)
    assert len(crossing.points) <= 2 * (X.shape[1] + 1)
    assert not crossing.verify(X, y == 2)
    with pytest.raises(ValueError, match="two classes"):
        wstar.separate(X, y)


def test_compare():
    X, y = iris()
    results = wstar.compare(X[50:], y[50:])
    least = min(result["errors"] for result in results)
    assert results[-1]["name"] == "MinErrorClassifier"
    assert results[-1]["errors"] == least == 1
    assert "fewer than 1" in str(results)
    assert len(wstar.compare(X, y, [wstar.LogisticRegression(), wstar.GaussianNB()])) == 2


@pytest.mark.parametrize(
    "form", [scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, scipy.sparse.csr_array, scipy.sparse.csc_array]
)
def test_compare_takes_sparse_rows(form):
    X, y = iris()
    X, y = X[50:], y[50:]
    results = wstar.compare(form(X), y)
    dense = {result["name"]: result for result in wstar.compare(X, y)}
    left_out = {"GaussianNB", "LinearDiscriminantAnalysis"}
    assert {result["name"] for result in results} == set(dense) - left_out
    for result in results:
        assert result["errors"] == dense[result["name"]]["errors"]
        assert result["certificate"].holds == dense[result["name"]]["certificate"].holds
    assert "fewer than 1" in str(results)
    chosen = wstar.compare(form(X), y, [wstar.LinearSVC(), wstar.MultinomialNB()])
    assert [result["name"] for result in chosen] == ["LinearSVC", "MultinomialNB"]


def test_hard_margin():
    X, y = iris()
    model = wstar.HardMarginClassifier(inseparable="error").fit(X, y == 0)
    margins = np.where(y == 0, 1, -1) * model.decision_function(X)
    assert margins.min() == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(margins[model.support_], 1.0, atol=1e-5)
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=1e-6)
    with pytest.raises(ValueError, match="separa"):
        wstar.HardMarginClassifier(inseparable="error").fit(X, y == 1)
    with pytest.warns(SeparationWarning, match="soft margin"):
        wstar.HardMarginClassifier().fit(X, y == 1)


def test_perceptrons():
    X, y = make_blobs(200, centers=2, random_state=0, cluster_std=0.5)
    for kind in (wstar.Perceptron, wstar.VotedPerceptron, wstar.AveragedPerceptron, wstar.PocketPerceptron):
        model = kind().fit(X, y)
        # The mean and the vote of all hyperplanes may misclassify rows that the last and the best one do not.
        ends_right = kind in (wstar.Perceptron, wstar.PocketPerceptron)
        assert model.score(X, y) >= (1.0 if ends_right else 0.99)
        assert model.certificate_.kind == "mistake-bound"
    kozinec = wstar.Kozinec(epsilon=0.01).fit(X, y)
    largest = wstar.HardMarginClassifier().fit(X, y).margin_[0]
    lower, upper = (kozinec.certificate_.parts[0][name] for name in ("lower", "upper"))
    assert lower * (1 - 1e-9) <= largest <= upper * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "kind",
    [
        wstar.Perceptron,
        wstar.VotedPerceptron,
        wstar.AveragedPerceptron,
        wstar.PocketPerceptron,
        wstar.MinErrorClassifier,
    ],
)
def test_a_weight_is_a_number_of_rows(kind):
    X, y = iris()
    X, y = X[50::3], y[50::3]
    random = np.random.default_rng(1)
    weights = random.integers(0, 4, len(y))
    order = random.permutation(weights.sum())
    repeated, labels = np.repeat(X, weights, axis=0)[order], np.repeat(y, weights)[order]
    one = kind().fit(X, y, sample_weight=weights)
    other = kind().fit(repeated, labels)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-9)
    assert one.verify(X, y, weights)
    assert other.verify(repeated, labels)
    half = kind().fit(X, y, sample_weight=weights / 2)
    assert half.verify(X, y, weights / 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [wstar.Perceptron, wstar.AveragedPerceptron])
def test_weights_of_classes_are_weights_of_rows(kind):
    X, y = iris()
    X, y = X[50:], y[50:]
    one = kind(class_weight={1: 3.0}).fit(X, y)
    other = kind().fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-9)
    assert one.verify(X, y)
    assert kind(class_weight="balanced").fit(X, y).verify(X, y)


def test_the_minimum_cost_weights_errors():
    X, y = iris()
    X, y = X[50:], y[50:]
    plain = wstar.MinErrorClassifier().fit(X, y)
    assert (plain.errors_, plain.cost_) == (1, 1.0)
    wrong = plain.predict(X) != y
    dear = wstar.MinErrorClassifier().fit(X, y, sample_weight=np.where(wrong, 10.0, 1.0))
    assert dear.certificate_.holds
    assert dear.cost_ == dear.lower_bound_
    assert dear.cost_ < 10
    assert not (dear.predict(X) != y)[wrong].any()


def test_partial_fit_of_naive_bayes_is_the_fit_of_all_rows():
    X, y = load_breast_cancer(return_X_y=True)
    for model in (wstar.GaussianNB(), wstar.MultinomialNB(), wstar.BernoulliNB(binarize=15.0)):
        whole = clone(model).fit(X, y)
        # The first batches hold one class only.
        order = np.argsort(y, kind="stable")
        for rows in np.array_split(order, 7):
            model.partial_fit(X[rows], y[rows], classes=[0, 1])
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-8, atol=1e-12)
        # No pass over all rows was made, so there is no certificate.
        assert model.certificate_.kind == "none"
        assert model.verify(X, y)
        assert not model.verify(X[::-1], y)
        # A fit can be continued, with weights.
        more = clone(model).fit(X[order[:400]], y[order[:400]])
        rest = order[400:]
        more.partial_fit(X[rest[::2]], y[rest[::2]], sample_weight=np.full(len(rest[::2]), 1.0))
        more.partial_fit(X[rest[1::2]], y[rest[1::2]])
        np.testing.assert_allclose(more.predict_proba(X), whole.predict_proba(X), rtol=1e-8, atol=1e-12)
        assert more.verify(X, y)
        with pytest.raises(ValueError, match="do not exist in the initial classes"):
            model.partial_fit(X[:2], [7, 8])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_partial_fit_of_the_perceptron_is_a_pass():
    X, y = iris()
    model = wstar.Perceptron()
    for rows in np.array_split(np.random.default_rng(0).permutation(len(y)), 5):
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        assert model.certificate_.kind == "mistake-bound"
        assert model.verify(X[rows], y[rows])
    assert model.t_ == 1 + len(y)
    for _ in range(100):
        model.partial_fit(X, y)
    assert model.score(X, y) > 0.8
    # A pass of `fit` and one of `partial_fit` are the same.
    once = wstar.Perceptron(max_iter=1).fit(X[50:], y[50:])
    first = wstar.Perceptron().partial_fit(X[50:], y[50:], classes=[1, 2])
    np.testing.assert_array_equal(once.coef_, first.coef_)


def test_partial_fit_of_stochastic_descent_leaves_no_certificate():
    X, y = iris()
    model = wstar.SGDClassifier().fit(X, y)
    assert model.certificate_.holds
    assert model.partial_fit(X, y).certificate_.kind == "none"


@pytest.mark.parametrize("sparse", [False, True])
def test_paths_are_those_of_scikit_learn(sparse):
    X, y = load_diabetes(return_X_y=True)
    y = y - y.mean()
    rows = scipy.sparse.csr_matrix(X) if sparse else X
    for ours, theirs in (
        (wstar.lasso_path, linear_model.lasso_path),
        (wstar.enet_path, linear_model.enet_path),
    ):
        alphas, coefs, gaps, models = ours(rows, y, n_alphas=20, tol=1e-10, return_models=True)
        known, other, _ = theirs(rows, y, n_alphas=20, tol=1e-12, max_iter=100_000)
        np.testing.assert_allclose(alphas, known)
        np.testing.assert_allclose(coefs, other, atol=1e-3 * np.abs(other).max())
        assert all(model.certificate_.holds and model.verify(rows, y) for model in models)
        assert len(gaps) == 20 and gaps.max() <= 1e-10 * (y @ y)
        # Without the models it is the same to the bit.
        for kept, found in zip((alphas, coefs, gaps), ours(rows, y, n_alphas=20, tol=1e-10)):
            np.testing.assert_array_equal(kept, found)
        short = ours(rows.astype(np.float32), y, n_alphas=3)[1]
        assert (
            coefs.dtype == np.float64
            and short.dtype == theirs(rows.astype(np.float32), y, n_alphas=3)[1].dtype
        )
        # Each is what its own fit finds.
        alone = wstar.ElasticNet(
            alpha=alphas[7], l1_ratio=models[7].l1_ratio, fit_intercept=False, tol=1e-10
        ).fit(rows, y)
        np.testing.assert_allclose(models[7].coef_, alone.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="alphas must be above 0"):
        wstar.lasso_path(X, y, alphas=[1.0, 0.0])
    with pytest.raises(ValueError, match="l1_ratio must be above 0"):
        wstar.enet_path(X, y, l1_ratio=0.0)


def test_a_path_warns_at_the_line_of_the_caller_and_stops_at_the_first_error(monkeypatch):
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="before its tolerance was certified") as caught:
        wstar.lasso_path(X, y - y.mean(), n_alphas=3, tol=1e-300)
    assert all(warning.filename == __file__ for warning in caught)

    def broken(*_, **__):
        raise OverflowError("too large")

    monkeypatch.setattr(wstar.ElasticNet, "_set_fit", broken)
    with pytest.raises(OverflowError, match="too large"):
        wstar.lasso_path(X, y - y.mean(), n_alphas=3)


def test_summaries_name_no_options_of_the_command_line():
    X, y = overlap()
    assert "--" not in str(wstar.LogisticRegression().fit(X, y).summary()).replace("---", "")
    assert isinstance(wstar.__version__, str)
