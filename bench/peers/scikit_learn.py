"""scikit-learn."""

import importlib.metadata

import measure

NAME = "scikit-learn"


def version():
    return importlib.metadata.version("scikit-learn")


def read_svmlight(path):
    return measure.inside("peers.scikit_learn", "time_svmlight", path)


def time_svmlight(path):
    from sklearn.datasets import load_svmlight_file

    (design, _), seconds = measure.timed(lambda: load_svmlight_file(path))
    return {"seconds": seconds, "rows": design.shape[0], "features": design.shape[1]}
