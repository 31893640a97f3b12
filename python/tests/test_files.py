"""Model files: a loaded estimator has the parameters of the saved one, and its refit is the same fit."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from test_estimators import ESTIMATORS

import wstar

#: Non-default parameters of each estimator; every parameter appears in at least one set.
SAVED = {
    "AveragedPerceptron": [
        {"max_iter": 7, "eta0": 0.3, "shuffle": False, "n_jobs": 1},
        {"fit_intercept": False, "random_state": 5, "class_weight": {0: 2.0}},
    ],
    "BernoulliNB": [
        {"alpha": 0.3, "n_jobs": 2},
        {"binarize": None},
        {"alpha": 1e-12, "force_alpha": False},
    ],
    "ElasticNet": [
        {"alpha": 0.3, "l1_ratio": 0.7, "fit_intercept": False, "tol": 1e-9, "n_jobs": 1},
        {"l1_ratio": 0.0, "max_iter": 500, "precompute": True, "copy_X": False},
        {"alpha": 0.05, "warm_start": True, "random_state": 3, "selection": "random"},
        {"alpha": 0.0},
    ],
    "GaussianNB": [{"var_smoothing": 0.1, "n_jobs": 1}],
    "HardMarginClassifier": [
        {"inseparable": "error", "tol": 1e-9, "n_jobs": 1},
        {"C": 3.0, "fit_intercept": False},
    ],
    "Kozinec": [{"epsilon": 0.1, "max_iter": 50, "fit_intercept": False, "random_state": 2, "n_jobs": 1}],
    "Lasso": [
        {"alpha": 0.3, "fit_intercept": False, "tol": 1e-9, "n_jobs": 1, "max_iter": 500},
        {"precompute": True, "copy_X": False, "warm_start": True, "random_state": 3, "selection": "random"},
    ],
    "LinearDiscriminantAnalysis": [
        {"solver": "lsqr", "shrinkage": 0.2, "n_jobs": 1},
        {"store_covariance": True, "tol": 1e-6, "n_components": 1},
        {"solver": "eigen"},
    ],
    "LinearRegression": [{"fit_intercept": False, "copy_X": False, "tol": 1e-9, "n_jobs": 1}],
    "LinearSVC": [
        {"penalty": "l1", "C": 0.2, "dual": False, "tol": 1e-8, "n_jobs": 1},
        {"loss": "hinge", "class_weight": {0: 3.0, 1: 0.5}, "random_state": 4, "intercept_scaling": 2.0},
        {"fit_intercept": False, "class_weight": "balanced", "max_iter": 5000, "verbose": 1},
        {"loss": "hinge", "multi_class": "ovr", "dual": True},
    ],
    "LogisticRegression": [
        {"penalty": "l1", "C": 0.3, "solver": "saga", "tol": 1e-4, "n_jobs": 1},
        {"penalty": None},
        {"penalty": "elasticnet", "l1_ratio": 0.4, "solver": "saga"},
        {"C": np.inf, "class_weight": {0: 2.0, 1: 0.5}, "intercept_scaling": 3.0, "dual": False},
        {"l1_ratio": 1.0, "C": np.float64(0.1), "class_weight": "balanced", "max_iter": 5000, "verbose": 1},
        {"l1_ratio": 0.3, "fit_intercept": False, "random_state": 7, "warm_start": True},
    ],
    "MinErrorClassifier": [{"max_seconds": 20.0, "fit_intercept": False, "n_jobs": 1}],
    "MultinomialNB": [{"alpha": 0.3, "n_jobs": 1}, {"alpha": 1e-12, "force_alpha": False}],
    "Perceptron": [
        {"max_iter": 20, "eta0": 0.4, "shuffle": False, "n_jobs": 1, "warm_start": True, "tol": None},
        {"fit_intercept": False, "random_state": 9, "class_weight": {1: 2.0}, "alpha": 0.1, "l1_ratio": 0.3},
        {"validation_fraction": 0.2, "n_iter_no_change": 3, "verbose": 0, "class_weight": "balanced"},
    ],
    "PocketPerceptron": [
        {"max_iter": 7, "eta0": 0.3, "shuffle": False, "n_jobs": 1},
        {"fit_intercept": False, "random_state": 5, "class_weight": "balanced"},
    ],
    "QuantileRegressor": [
        {"quantile": 0.8, "alpha": 0.1, "solver": "highs-ds", "solver_options": {"presolve": True}},
        {"alpha": 0.0, "fit_intercept": False, "tol": 1e-8, "n_jobs": 1},
    ],
    "Ridge": [
        {"alpha": 0.3, "fit_intercept": False, "copy_X": False, "max_iter": 500, "tol": 1e-9, "n_jobs": 1},
        {"alpha": np.array([3.0]), "solver": "svd", "random_state": 3},
        {"alpha": 0.0},
    ],
    "RidgeClassifier": [
        {"alpha": 0.3, "fit_intercept": False, "copy_X": False, "max_iter": 500, "tol": 1e-9, "n_jobs": 1},
        {"solver": "svd", "random_state": 3, "class_weight": {0: 3.0}},
    ],
    "SGDClassifier": [
        {"loss": "modified_huber", "penalty": "elasticnet", "alpha": 0.01, "l1_ratio": 0.4, "n_jobs": 1},
        {"loss": "log_loss", "penalty": "l1", "fit_intercept": False, "tol": None, "max_iter": 5000},
        {"loss": "squared_error", "penalty": None, "class_weight": {0: 2.0}, "warm_start": True},
        {"shuffle": False, "verbose": 0, "epsilon": 0.2, "learning_rate": "constant", "eta0": 0.5},
        {"power_t": 0.2, "validation_fraction": 0.2, "n_iter_no_change": 3, "random_state": 3},
    ],
    "VotedPerceptron": [
        {"max_iter": 3, "eta0": 0.3, "shuffle": False, "n_jobs": 1},
        {"fit_intercept": False, "random_state": 5, "class_weight": {0: 2.0}},
    ],
}
#: Parameters that no file holds: `save` refuses with these words.
REFUSED = {
    "BernoulliNB": [
        ({"fit_prior": False}, "fit_prior=False"),
        ({"class_prior": [0.3, 0.7]}, "class_prior="),
        ({"binarize": 1.0}, "binarize=1.0"),
    ],
    "ElasticNet": [({"positive": True}, "no certificate")],
    "GaussianNB": [({"priors": [0.3, 0.7]}, "priors=")],
    "Lasso": [({"positive": True}, "no certificate")],
    "LinearDiscriminantAnalysis": [
        ({"priors": [0.3, 0.7]}, "no certificate"),
        ({"solver": "lsqr", "covariance_estimator": "Ledoit"}, "no certificate"),
    ],
    "LinearRegression": [({"positive": True}, "no certificate")],
    "MultinomialNB": [
        ({"alpha": [1.0, 2.0, 3.0, 4.0]}, "alpha="),
        ({"fit_prior": False}, "fit_prior=False"),
        ({"class_prior": [0.3, 0.7]}, "class_prior="),
    ],
    "Perceptron": [({"penalty": "l2"}, "no certificate"), ({"early_stopping": True}, "no certificate")],
    "Ridge": [({"positive": True}, "no certificate")],
    "RidgeClassifier": [({"positive": True}, "no certificate")],
    "SGDClassifier": [({"early_stopping": True}, "no certificate"), ({"average": True}, "no certificate")],
}
REGRESSORS = ["ElasticNet", "Lasso", "LinearRegression", "QuantileRegressor", "Ridge"]


def data(name):
    """Classes that overlap, except for the estimator of the largest margin; or real targets."""
    if name in REGRESSORS:
        return load_diabetes(return_X_y=True)
    X, y = load_iris(return_X_y=True)
    if name in ("HardMarginClassifier", "Kozinec"):
        return X[:100], y[:100]
    return X[50:], y[50:] - 1


def same(value, other):
    if isinstance(value, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(value, other) and value.dtype == other.dtype
    return type(value) is type(other) and value == other or isinstance(value, np.generic) and value == other


def assert_same_attributes(one, other):
    for name in ("coef_", "intercept_", "theta_", "var_", "feature_log_prob_", "class_log_prior_", "means_"):
        assert hasattr(one, name) == hasattr(other, name), name
        if hasattr(one, name):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def cases(sets):
    return [
        pytest.param(name, *case, id=f"{name}-{n}")
        for name, many in sets.items()
        for n, case in enumerate(many)
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, parameters", cases({name: [(one,) for one in many] for name, many in SAVED.items()})
)
def test_a_loaded_estimator_refits_to_the_same_bits(name, parameters, tmp_path):
    X, y = data(name)
    model = getattr(wstar, name)(**parameters).fit(X, y)
    model.save(tmp_path / "model.wstar.json")
    loaded = wstar.load(tmp_path / "model.wstar.json")
    assert type(loaded) is type(model)
    known = model.get_params()
    assert loaded.get_params().keys() == known.keys()
    assert [key for key, value in loaded.get_params().items() if not same(known[key], value)] == []
    np.testing.assert_array_equal(
        loaded.classes_ if hasattr(model, "classes_") else [], getattr(model, "classes_", [])
    )
    np.testing.assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-12)
    assert np.array_equal(getattr(loaded, "n_iter_", 0), getattr(model, "n_iter_", 0))
    # With `warm_start` both continue from the saved model.
    assert_same_attributes(loaded.fit(X, y), model.fit(X, y))
    assert_same_attributes(clone(loaded).fit(X, y), clone(model).fit(X, y))
    assert loaded.verify(X, y).certificate == model.verify(X, y).certificate


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, parameters, words", cases(REFUSED))
def test_parameters_that_a_file_cannot_hold_are_refused(name, parameters, words, tmp_path):
    from sklearn.covariance import LedoitWolf

    if "covariance_estimator" in parameters:
        parameters = {**parameters, "covariance_estimator": LedoitWolf()}
    model = getattr(wstar, name)(**parameters).fit(*data(name))
    with pytest.raises(ValueError, match=words):
        model.save(tmp_path / "model.wstar.json")
    assert not list(tmp_path.iterdir())


def test_every_parameter_is_tried():
    for name in ESTIMATORS:
        tried = [*SAVED[name], *(parameters for parameters, _ in REFUSED.get(name, []))]
        assert {key for parameters in tried for key in parameters} == set(getattr(wstar, name)().get_params())


def test_a_random_generator_comes_back_as_the_seed_that_was_drawn(tmp_path):
    X, y = data("Perceptron")
    for kind in (wstar.AveragedPerceptron, wstar.Perceptron, wstar.LinearSVC, wstar.SGDClassifier):
        model = kind(random_state=np.random.RandomState(3), max_iter=30).fit(X, y)
        model.save(tmp_path / "model.json")
        loaded = wstar.load(tmp_path / "model.json")
        assert isinstance(loaded.random_state, int)
        np.testing.assert_array_equal(loaded.fit(X, y).coef_, model.coef_)


@pytest.mark.parametrize("labels", [[False, True], [1.0, 2.0], ["01", "1"], ["no", "yes"], [-1, 1]])
def test_labels_keep_their_type(labels, tmp_path):
    X, y = data("LogisticRegression")
    y = np.array(labels)[y]
    model = wstar.LogisticRegression(class_weight={labels[0]: 2.0}).fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = wstar.load(tmp_path / "model.json")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.class_weight == model.class_weight
    assert loaded.verify(X, y)
    np.testing.assert_array_equal(loaded.fit(X, y).coef_, model.coef_)


def test_partial_fit_goes_on_from_a_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    weights = np.linspace(0.5, 3, 100)
    for kind in (wstar.GaussianNB, wstar.BernoulliNB, wstar.MultinomialNB):
        model = kind().fit(X[::3], y[::3], sample_weight=weights[:50])
        model.save(tmp_path / "model.json")
        loaded = wstar.load(tmp_path / "model.json").partial_fit(X[1::3], y[1::3])
        np.testing.assert_allclose(
            loaded.predict_proba(X), model.partial_fit(X[1::3], y[1::3]).predict_proba(X), rtol=1e-12
        )


class Own(wstar.Ridge):
    """A user's subclass."""


def test_a_subclass_is_loaded_as_its_base(tmp_path):
    X, y = data("Ridge")
    Own(alpha=0.3).fit(X, y).save(tmp_path / "model.json")
    loaded = wstar.load(tmp_path / "model.json")
    assert type(loaded) is wstar.Ridge
    assert loaded.alpha == 0.3


def test_files_of_another_kind(tmp_path):
    file = tmp_path / "a.json"
    file.write_text('{"format": "other"}')
    with pytest.raises(ValueError, match="not a wstar model file"):
        wstar.load(file)
    with pytest.raises(OSError):
        wstar.load(tmp_path / "absent.json")
    file.write_text("{")
    with pytest.raises(ValueError, match="not a whole model file"):
        wstar.load(file)
    wstar.Ridge().fit(*data("Ridge")).save(file)
    document = json.loads(file.read_text())
    for section, words in (
        ({"estimator": "load", "parameters": {}}, "no estimator load"),
        ({"estimator": "Ridge", "parameters": {"later": 1}}, "no parameter later"),
    ):
        file.write_text(json.dumps({**document, "python": section}))
        with pytest.raises(ValueError, match=words):
            wstar.load(file)


def command():
    root = Path(__file__).resolve().parents[2]
    for profile in ("release", "debug"):
        binary = root / "target" / profile / "wstar"
        if binary.exists():
            return str(binary)
    if os.environ.get("CI"):
        pytest.fail("the command line is not built")
    pytest.skip("the command line is not built")


@pytest.fixture
def run(tmp_path):
    binary = command()

    def run(*words):
        done = subprocess.run([binary, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_the_command_line_reads_what_python_wrote_and_back(run, tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    table = X.assign(species=y)
    table.to_csv(tmp_path / "iris.csv", index=False)
    wstar.LogisticRegression().fit(X, y.rename("species")).save(tmp_path / "python.json")
    assert json.loads(run("verify", "python.json", "iris.csv", "--json"))["holds"] is True
    run("train", "iris.csv", "--target", "species", "--method", "softmax", "--out", "cli.json")
    model = wstar.load(tmp_path / "cli.json")
    assert type(model).__name__ == "LogisticRegression"
    assert model.verify(X, y)
    np.testing.assert_allclose(model.coef_, wstar.LogisticRegression().fit(X, y).coef_, atol=1e-3)


#: Problems of the command line, and the class that states the same problem.
PROBLEMS = [
    ("classes", "logistic", ["--penalty", "none"], "LogisticRegression"),
    ("classes", "logistic", ["--penalty", "l1", "--lambda", "0.01"], "LogisticRegression"),
    ("classes", "logistic", ["--penalty", "elastic-net", "--l1-ratio", "0.3"], "LogisticRegression"),
    ("classes", "logistic", ["--class-weight", "balanced", "--C", "0.2"], "LogisticRegression"),
    ("classes", "svm", [], "LinearSVC"),
    ("classes", "svm", ["--loss", "squared-hinge", "--penalty", "l1", "--C", "0.2"], "LinearSVC"),
    ("classes", "svm", ["--loss", "modified-huber", "--C", "0.2"], "SGDClassifier"),
    ("classes", "svm", ["--loss", "squared-hinge", "--penalty", "elastic-net"], "SGDClassifier"),
    ("classes", "mse-classifier", ["--lambda", "0.01"], "RidgeClassifier"),
    ("classes", "lda", [], "LinearDiscriminantAnalysis"),
    ("classes", "hard-margin", ["--no-intercept"], "HardMarginClassifier"),
    ("three", "logistic", ["--multiclass", "ovr"], "SGDClassifier"),
    ("three", "svm", ["--C", "0.3"], "LinearSVC"),
    ("target", "least-squares", [], "LinearRegression"),
    ("target", "least-squares", ["--penalty", "l2", "--lambda", "0.01"], "Ridge"),
    ("target", "least-squares", ["--penalty", "l1", "--C", "0.01"], "Lasso"),
    ("target", "least-squares", ["--penalty", "elastic-net", "--lambda", "0.1"], "ElasticNet"),
    ("target", "lad", [], "QuantileRegressor"),
    ("target", "lad", ["--penalty", "l1", "--lambda", "0.2"], "QuantileRegressor"),
    ("target", "lad", ["--quantile", "0.8", "--penalty", "l1", "--C", "0.01"], "QuantileRegressor"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("target, method, words, name", PROBLEMS)
def test_a_file_of_the_command_line_states_the_same_problem(target, method, words, name, run, tmp_path):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :4] / X.iloc[:, :4].max()
    if method == "hard-margin":
        X, y = load_iris(return_X_y=True, as_frame=True)
        X, y = X[:100], y[:100]
    if target == "three":
        X, y = load_iris(return_X_y=True, as_frame=True)
    if target == "target":
        y = 10 * X.iloc[:, 0] - 5 * X.iloc[:, 1] + np.sin(100 * X.iloc[:, 2])
    X.assign(goal=y).to_csv(tmp_path / "data.csv", index=False)
    accurate = [] if method == "lda" else ["--tol", "1e-10"]
    run("train", "data.csv", "--target", "goal", "--method", method, *words, *accurate, "--out", "cli.json")
    model = wstar.load(tmp_path / "cli.json")
    assert type(model).__name__ == name
    assert model.verify(X, y)
    again = clone(model).fit(X, y)
    scale = np.abs(model.coef_).max()
    predicted = "predict" if target == "target" else "decision_function"
    found, expected = getattr(again, predicted)(X), getattr(model, predicted)(X)
    if method == "lda":
        found, expected = again.predict_proba(X), model.predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-3 * scale)


def test_settings_without_a_parameter_are_reported(run, tmp_path):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X.iloc[:, :2].assign(goal=y).to_csv(tmp_path / "data.csv", index=False)
    run("train", "data.csv", "--target", "goal", "--method", "logistic", "--firth", "--out", "cli.json")
    with pytest.warns(UserWarning, match="LogisticRegression has no parameter for.*firth"):
        model = wstar.load(tmp_path / "cli.json")
    assert model.score(X.iloc[:, :2].to_numpy(), y) > 0.8
