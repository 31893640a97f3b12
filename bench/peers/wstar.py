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
