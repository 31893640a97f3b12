"""LIBLINEAR with its own Python interface (liblinear-official)."""

import importlib.metadata
from typing import Any

from peers import fitting

NAME = "LIBLINEAR"
# The numbers of its solvers for each task; trust region Newton first, then dual coordinate descent.
SOLVERS = {
    ("logistic", "l2"): ["-s 0", "-s 7"],
    ("logistic", "l1"): ["-s 6"],
    ("squared-hinge", "l2"): ["-s 2", "-s 1"],
    ("hinge", "l2"): ["-s 3"],
}


def version() -> str:
    return importlib.metadata.version("liblinear-official")


def ladders(task: dict, file: dict) -> list[dict]:
    # It penalises the intercept, which is a different problem.
    if task["intercept"]:
        return []
    solvers = SOLVERS.get((task["loss"], task["penalty"]), [])
    return [fitting.ladder(solver, "csr", "1e-1", "1e-9") for solver in solvers]


def time_fit(path: str, *arguments: str) -> dict[str, Any]:
    import numpy
    from liblinear.liblinearutil import parameter, problem, train

    task, setting = fitting.parsed(*arguments)
    options = f"{setting['solver']} -c {task['C']!r} -e {setting['tolerance']} -q"

    def prepare(x, y):
        # Its own array of nodes, so that no conversion is timed.
        return (problem(y.astype(numpy.float64), fitting.converted(x, "csr")),)

    def read(model):
        weights = numpy.ctypeslib.as_array(model.w, (model.get_nr_feature(),)).copy()
        return (weights if model.get_labels()[0] > 0 else -weights), 0.0

    return fitting.clocked(path, task, prepare, lambda given: train(given, parameter(options)), read)
