"""The workloads of the fits: a set, the task, the peers, and the ratio to reach."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import data
from peers import celer, glum, intelex, liblinear_official, scikit_learn, skglm, snapml, statsmodels

MNIST = ("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz")
FLIGHTS = ("flights/flights3m.binary.svm.gz",)
COVTYPE = ("covtype/covtype.binary.scale.svm.gz",)
A9A = ("a9a/a9a",)

LOGISTIC = {"loss": "logistic", "penalty": "l2", "C": 1.0, "intercept": False}
SQUARED_HINGE = LOGISTIC | {"loss": "squared-hinge"}
HINGE = LOGISTIC | {"loss": "hinge"}
L1_LOGISTIC = LOGISTIC | {"penalty": "l1"}
# C has no effect without a penalty, or if the path determines the penalty.
SQUARES = {"loss": "squared", "penalty": "none", "C": 1.0, "intercept": True}
LASSO_PATH = {"loss": "squared", "penalty": "l1", "C": 1.0, "intercept": False, "path": 100}

LOGISTIC_PEERS = [glum, scikit_learn, snapml, liblinear_official, intelex]
MARGIN_PEERS = [liblinear_official, snapml]
L1_PEERS = [liblinear_official, skglm, celer, scikit_learn]


@dataclass(frozen=True)
class Workload:
    """One row of the table."""

    name: str
    title: str
    # Arguments of fits/sets.py: the kind of set, the real files, the sizes, and the remaining arguments.
    maker: tuple[str, ...]
    full: tuple[int, ...]
    quick: tuple[int, ...]
    task: dict[str, Any]
    peers: list[ModuleType]
    # The ratio to reach: the time of the best peer divided by ours.
    at_least: float | None = None
    # The optimal objective of the full set, if it is known (crates/wstar/tests/behaviour/optima.rs).
    known: float | None = None
    # Real files.
    files: tuple[str, ...] = ()

    def set(self, quick: bool) -> tuple[Any, dict[str, Any]] | None:
        """The path of the set and its properties; None if a real file is absent."""
        found = data.real(*self.files) if self.files else []
        if found is None:
            return None
        sizes = [str(size) for size in (self.quick if quick else self.full)]
        kind, *rest = self.maker
        arguments = [kind, *found, *sizes, *rest]
        name = "-".join([self.files[0].split("/")[0] if self.files else kind, *sizes])
        # Text is also written as files, for the command lines.
        return data.generated(f"{name}.{'svm' if kind == 'rcv1' else 'npz'}", "fits.sets", *arguments)


def in_words(task: str) -> str:
    return task.replace("-", " ").replace("l1", "ℓ1")


def file_fit(title: str, features: str, sizes: tuple[int, int], files: tuple[str, ...]) -> Callable[..., Workload]:
    """A function that makes the workloads of a file; `{}` in the title stands for the task."""

    def workload(name: str, task: dict, peers: list, at_least: float, known: float) -> Workload:
        return Workload(
            f"{title.split()[0]}-{name}",
            title.format(in_words(name)),
            ("svmlight", features),
            (sizes[0],),
            (sizes[1],),
            task,
            peers,
            at_least,
            known,
            files,
        )

    return workload


flights = file_fit("flights {}, 3M × 501 sparse", "501", (3_000_000, 60_000), FLIGHTS)
covtype = file_fit("covtype {}, 581k × 54", "54", (581_012, 20_000), COVTYPE)
a9a = file_fit("a9a {}, 33k × 123", "123", (32_561, 5_000), A9A)


def rcv1(name: str, task: dict, peers: list, at_least: float) -> Workload:
    title = f"rcv1-shaped {in_words(name)}, 100k × 50k"
    return Workload(f"rcv1-{name}", title, ("rcv1",), (100_000,), (5_000,), task, peers, at_least)


WORKLOADS = [
    Workload(
        "dense-logistic",
        "dense logistic, 1M × 50, free intercept",
        ("dense",),
        (1_000_000, 50),
        (50_000, 50),
        LOGISTIC | {"intercept": True},
        LOGISTIC_PEERS,
        5,
    ),
    flights("logistic", LOGISTIC, LOGISTIC_PEERS, 4, 1416311.13514364),
    flights("squared-hinge", SQUARED_HINGE, MARGIN_PEERS, 8, 1814540.5890),
    flights("hinge", HINGE, MARGIN_PEERS, 3, 1197295.3177),
    covtype("logistic", LOGISTIC, LOGISTIC_PEERS, 5, 298550.71835070),
    covtype("squared-hinge", SQUARED_HINGE, MARGIN_PEERS, 8, 403423.63037646),
    covtype("hinge", HINGE, MARGIN_PEERS, 1, 337953.0293),
    a9a("hinge", HINGE, MARGIN_PEERS, 1, 11433.80769706),
    a9a("l1-logistic", L1_LOGISTIC, L1_PEERS, 8, 10558.72337370),
    rcv1("squared-hinge", SQUARED_HINGE, MARGIN_PEERS, 2),
    rcv1("hinge", HINGE, MARGIN_PEERS, 3),
    rcv1("logistic", LOGISTIC, [snapml, liblinear_official, scikit_learn], 1.5),
    rcv1("l1-logistic", L1_LOGISTIC, L1_PEERS, 2),
    Workload(
        "lasso-path-dense",
        "lasso path of 100 values, dense 2k × 10k",
        ("wide",),
        (2_000, 10_000),
        (200, 1_000),
        LASSO_PATH,
        [celer, skglm, scikit_learn],
        1.5,
    ),
    Workload(
        "lasso-path-sparse",
        "lasso path of 100 values, sparse 20k × 50k",
        ("words",),
        (20_000,),
        (2_000,),
        LASSO_PATH,
        [celer, skglm, scikit_learn],
        1.5,
    ),
    Workload(
        "mnist-softmax",
        "MNIST softmax C = 0.01, 60k × 784",
        ("digits",),
        (60_000,),
        (2_000,),
        {"loss": "softmax", "penalty": "l2", "C": 0.01, "intercept": True},
        [intelex, scikit_learn],
        5,
        218.5073303466,
        MNIST,
    ),
    Workload(
        "least-squares",
        "least squares, 1M × 100",
        ("squares",),
        (1_000_000, 100),
        (50_000, 100),
        SQUARES,
        [intelex, scikit_learn, statsmodels],
        1.3,
    ),
]
