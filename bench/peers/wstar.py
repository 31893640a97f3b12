"""Ours: the release build of the command line, as a user calls it."""

import json

import measure
import record

NAME = "wstar"
BINARY = record.ROOT / "target" / "release" / "wstar"


def version():
    return measure.command([BINARY, "--version"])["output"].split()[-1]


def read_svmlight(path):
    return read(path)


def read_csv(path):
    return read(path)


def read(path):
    """Reads the file for one pass of the cheapest learner; the reading has a clock of its own."""
    model = record.WORK / "model.wstar.json"
    arguments = ["train", path, "--method", "online-perceptron", "--epochs", "1", "--json", "--out", model]
    # 1 is an answer too: the learner need not have separated the classes in one pass.
    run = measure.command([BINARY, *arguments], accept=(0, 1))
    said = json.loads(run.pop("output"))
    return run | {"seconds": said["seconds"]["read"], "rows": said["rows"], "features": said["features"]}


def separate(path, *options):
    """Decides, writes the proof, and (not timed) has it checked against the data."""
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
    # What was asked is in the proof; only how the file is read must be said again.
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
    """Time to solve and to certify: what a peer without certificates does, and more."""
    model = record.WORK / "model.wstar.json"
    model.unlink(missing_ok=True)
    arguments = ["train", path, "--method", method, *options, "--json", "--weights", "--out", model]
    run = measure.command([BINARY, *arguments], accept=(0, 1))
    said = json.loads(run.pop("output"))
    run |= {
        "seconds": said["seconds"]["solve"] + said["seconds"]["certify"],
        "read": said["seconds"]["read"],
        "status": said["status"],
        "relative_gap": said["certificate"]["relative_gap"],
        "holds": said["certificate"]["holds"],
    }
    return run | verify(model, path, options), said


def judged(judge, path, weights):
    """The objective by the same arithmetic as the peers', not by our own word."""
    file = record.WORK / "weights.json"
    file.write_text(json.dumps(weights))
    return {"objective": measure.inside("peers.arrays", judge, str(path), str(file))["objective"]}
