"""The workloads of the certificates: a problem, and a set of certificates/sets.py."""

from dataclasses import dataclass
from typing import Any

import data

# Name of a problem: its title, the options of `wstar train`, and the target of the set (see certificates/sets.py).
PROBLEMS: dict[str, tuple[str, list[str], str]] = {
    "least-squares": ("least squares", ["--method", "least-squares"], "real"),
    "ridge": ("ridge", ["--method", "least-squares", "--penalty", "l2", "--lambda", "0.01"], "real"),
    # A tenth of the smallest λ at which all weights are 0, for 20,000 rows.
    "lasso": ("lasso", ["--method", "least-squares", "--penalty", "l1", "--lambda", "1"], "real"),
    "lasso-text": ("lasso", ["--method", "least-squares", "--penalty", "l1", "--lambda", "0.00003"], "real"),
    "absolute": ("absolute loss", ["--method", "lad"], "real"),
    "logistic": ("logistic ℓ2", ["--method", "logistic", "--C", "1"], "2"),
    "logistic-unpenalized": ("logistic without a penalty", ["--method", "logistic", "--penalty", "none"], "2"),
    "squared-hinge": ("squared hinge", ["--method", "svm", "--loss", "squared-hinge", "--C", "1"], "2"),
    "hinge": ("hinge", ["--method", "svm", "--loss", "hinge", "--C", "1"], "2"),
    "softmax-10": ("softmax, 10 classes", ["--method", "softmax", "--C", "1"], "10"),
    "softmax-50": ("softmax, 50 classes", ["--method", "softmax", "--C", "1"], "50"),
}


@dataclass(frozen=True)
class Workload:
    """One row of the table."""

    problem: str
    kind: str
    rows: int
    features: int
    quick_rows: int
    # The independent checker uses one thread, so that it is measured up to a size only.
    independent: bool = True

    @property
    def name(self) -> str:
        """The name for --only."""
        return f"certificate-{self.problem}-{self.rows // 1000}k-{self.features}"

    @property
    def title(self) -> str:
        kind = "text" if self.kind == "text" else "dense"
        return f"{PROBLEMS[self.problem][0]}, {kind} {short(self.rows)} × {short(self.features)}"

    @property
    def options(self) -> list[str]:
        return PROBLEMS[self.problem][1]

    def set(self, quick: bool) -> tuple[Any, dict[str, Any]]:
        """The path of the set and its properties."""
        target = PROBLEMS[self.problem][2]
        arguments = [self.kind, self.quick_rows if quick else self.rows, self.features, target]
        name = "-".join(map(str, ["certificates", *arguments]))
        return data.generated(f"{name}.{'svm' if self.kind == 'text' else 'csv'}", "certificates.sets", *arguments)


def short(count: int) -> str:
    """1M, 20k, 50."""
    for unit, scale in (("M", 1_000_000), ("k", 1_000)):
        if count >= scale and count % scale == 0:
            return f"{count // scale}{unit}"
    return str(count)


def dense(problems: list[str], rows: int, features: int, independent: bool = True) -> list[Workload]:
    return [Workload(problem, "dense", rows, features, 1_000, independent) for problem in problems]


def text(problems: list[str], rows: int, features: int) -> list[Workload]:
    return [Workload(problem, "text", rows, features, 1_000) for problem in problems]


LINEAR = [
    "least-squares",
    "ridge",
    "lasso",
    "absolute",
    "logistic",
    "logistic-unpenalized",
    "squared-hinge",
    "hinge",
]
WORKLOADS = [
    *dense(["logistic", "hinge"], 2_000, 10),
    *dense(LINEAR, 20_000, 50),
    *dense(["lasso", "absolute", "squared-hinge"], 200_000, 50),
    *dense(["least-squares", "logistic", "hinge"], 1_000_000, 50),
    *dense(["ridge", "logistic-unpenalized"], 1_000_000, 100, independent=False),
    *text(["lasso-text", "logistic"], 20_000, 30_000),
    *text(["squared-hinge", "hinge"], 100_000, 50_000),
    *dense(["softmax-10"], 20_000, 50),
    *dense(["softmax-50"], 20_000, 100),
]
