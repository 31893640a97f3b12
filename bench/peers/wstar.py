"""Ours: the release builds of the command line and of the Python package, as a user calls them."""

import json
from typing import Any

import measure
import record
from peers import arrays, fitting

NAME = "wstar"
BINARY = record.ROOT / "target" / "release" / "wstar"


def version():
    return measure.command([BINARY, "--version"])["output"].split()[-1]


def read_svmlight(path):
    return read(path)


def read_csv(path):
    return read(path)


def read(path):
    """Reads the file for one pass of the cheapest learner; the program reports the time of reading."""
    model = record.WORK / "model.wstar.json"
    arguments = ["train", path, "--method", "online-perceptron", "--epochs", "1", "--json", "--out", model]
    # Exit code 1 is accepted, because one pass need not separate the classes.
    run = measure.command([BINARY, *arguments], accept=(0, 1))
    said = json.loads(run.pop("output"))
    return run | {"seconds": said["seconds"]["read"], "rows": said["rows"], "features": said["features"]}


def separate(path, *options):
    """Decides and writes the proof, which is then checked against the data (not timed)."""
    proof = record.WORK / "proof.json"
    proof.unlink(missing_ok=True)
    run = measure.command([BINARY, "separate", path, *options, "--proof", proof, "--json"], accept=(0, 1))
    said = json.loads(run.pop("output"))
    run |= {"seconds": said["seconds"]["solve"], "read": said["seconds"]["read"], "verdict": said["verdict"]}
    if said["verdict"] != "undecided":
        exact = said["proof"]["exact"] if "proof" in said else True
        run |= {"margin": said["margin"], "passes": said["passes"], "exact": exact}
    return run | verify(proof, path, options)


def verify(claim, path, options=()):
    """Whether a proof or a model's certificate holds, from the data alone."""
    if not claim.exists():
        return {"verified": False, "verify_wall": 0.0}
    # The proof contains the question; only the options for reading the file are repeated.
    reading = list(options[options.index("--labels") :][:2]) if "--labels" in options else []
    run = measure.command([BINARY, "verify", claim, path, *reading, "--json"], accept=(0, 1))
    return {"verified": json.loads(run["output"])["holds"], "verify_wall": run["wall"]}


def hard_margin(path, *options):
    run, said = train(path, "hard-margin", *options)
    weights = said["weights"][0]
    return run | {"half_square": said["objective"]} | judged("judge_margin", path, weights)


def lad(path):
    run, said = train(path, "lad")
    weights = [*said["intercept"], *said["weights"][0]]
    return run | {"own_objective": said["objective"]} | judged("judge_lad", path, weights)


def train(path, method, *options):
    """The time to solve and to certify; peers do not certify."""
    model = record.WORK / "model.wstar.json"
    model.unlink(missing_ok=True)
    arguments = ["train", path, "--method", method, *options, "--json", "--weights", "--out", model]
    run = measure.command([BINARY, *arguments], accept=(0, 1))
    said = json.loads(run.pop("output"))
    run |= {
        "seconds": said["seconds"]["solve"] + said["seconds"]["certify"],
        "read": said["seconds"]["read"],
        "status": said["status"],
        "passes": said["passes"],
        "relative_gap": said["certificate"]["relative_gap"],
        "holds": said["certificate"]["holds"],
    }
    return run | verify(model, path, options), said


def judged(judge, path, weights):
    """The objective by the same arithmetic as for the peers, not as we report it."""
    file = record.WORK / "weights.json"
    file.write_text(json.dumps(weights))
    return {"objective": measure.inside("peers.arrays", judge, str(path), str(file))["objective"]}


# The default call has no tolerance to set. A smaller one computes the optimum if it has not been published.
DEFAULT: dict[str, str] = {}
TIGHT = {"tolerance": "1e-9"}


def time_fit(path: str, *arguments: str) -> dict[str, Any]:
    """The Python package on unconverted arrays, certificate included."""
    import wstar

    task, setting = fitting.parsed(*arguments)
    options = {"tol": float(setting["tolerance"])} if setting else {}
    fits: list[Any] = []

    def prepare(x, y):
        fits.clear()
        return (x, y, arrays.penalties(x, y, task["path"])) if "path" in task else (x, y)

    def fit_path(x, y, alphas):
        _, weights, _ = wstar.lasso_path(x, y, alphas=alphas, **options)
        return weights.T, 0.0

    def fit(x, y):
        model = estimator(task, options).fit(x, y)
        fits.append(model)
        return model.coef_, model.intercept_

    run = fitting.clocked(path, task, prepare, fit_path if "path" in task else fit, lambda found: found)
    if "path" in task:
        # The same fit again, with the models that the default call does not return.
        x, y, alphas = prepare(*arrays.load(path))
        fits.extend(wstar.lasso_path(x, y, alphas=alphas, return_models=True, **options)[3])
    return run | {
        "passes": sum(passes(model) for model in fits),
        "relative_gap": max(model.certificate_.relative_gap for model in fits),
        "holds": all(model.certificate_.holds for model in fits),
    }


def estimator(task: dict, options: dict) -> Any:
    """The estimator that a user writes for a task."""
    import wstar

    options = options | {"fit_intercept": task["intercept"]}
    if task["loss"] == "squared":
        return wstar.LinearRegression(**options)
    if task["loss"] in ("logistic", "softmax"):
        return wstar.LogisticRegression(C=task["C"], l1_ratio=float(task["penalty"] == "l1"), **options)
    return wstar.LinearSVC(C=task["C"], loss=task["loss"].replace("-", "_"), **options)


def passes(model: Any) -> float:
    """The number of passes over the data, as the fit reports it."""
    return json.loads(model.model_.part("fit"))["passes"]


def time_predict(path: str, rows: str) -> dict[str, Any]:
    import wstar

    return fitting.predictions(path, int(rows), wstar.LogisticRegression())


def train_squared_hinge(path: Any, *options: str) -> dict[str, Any]:
    """From a file to a model, the whole process."""
    run, said = train(path, "svm", "--loss", "squared-hinge", "--no-intercept", *options)
    return run | {"seconds": run["wall"], "weights": said["weights"][0]}


def online_pass(path: Any) -> dict[str, Any]:
    """One pass of an online learner, the whole process."""
    model = record.WORK / "model.wstar.json"
    arguments = ["train", path, "--method", "online-perceptron", "--epochs", "1", "--json", "--out", model]
    run = measure.command([BINARY, *arguments], accept=(0, 1))
    said = json.loads(run.pop("output"))
    return run | {"seconds": run["wall"], "passes": said["passes"], "error": said["train"]["error"]}
