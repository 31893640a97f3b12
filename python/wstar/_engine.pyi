"""The engine: fits models to arrays."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

# A two-dimensional array, or (row pointers, column indices, values, number of columns) of a CSR matrix.
Matrix: TypeAlias = (
    npt.NDArray[np.float64]
    | npt.NDArray[np.float32]
    | tuple[npt.NDArray[np.uintp], npt.NDArray[np.uint32], npt.NDArray[Any], int]
)
# A real target, or the class code of each row and the names of the classes.
Goal: TypeAlias = (
    npt.NDArray[np.float64] | tuple[npt.NDArray[np.uint8] | npt.NDArray[np.uint32], Sequence[str]]
)
Weights: TypeAlias = npt.NDArray[np.float64] | None
# For each class its weight, its counts or means, and for Gaussians its sums of squared deviations.
Sums: TypeAlias = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64] | None]

class Table(TypedDict):
    x: Matrix
    y: Goal
    weights: Weights
    features: list[str] | None
    target: str | None

class Asked(TypedDict):
    names: tuple[str, str]
    intercept: bool
    margin: bool
    max_seconds: float | None

class Fitted:
    @staticmethod
    def load(path: str) -> Fitted: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Fitted: ...
    def save(self, path: str) -> None: ...
    def to_bytes(self) -> bytes: ...
    def part(self, name: str) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def feature_names(self) -> list[str]: ...
    @property
    def holds(self) -> bool: ...
    def hyperplanes(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None: ...
    def scores(self, x: Matrix, threads: int) -> npt.NDArray[np.float64]: ...
    def decide(self, x: Matrix, threads: int) -> npt.NDArray[np.uint32]: ...
    def verify(self, data: Table, threads: int) -> tuple[list[str], str]: ...

class Scores:
    @staticmethod
    def linear(
        weights: npt.NDArray[np.float64],
        intercepts: npt.NDArray[np.float64] | float,
        threshold: float | None = None,
    ) -> Scores: ...
    @staticmethod
    def gaussian(
        priors: npt.NDArray[np.float64], means: npt.NDArray[np.float64], variances: npt.NDArray[np.float64]
    ) -> Scores: ...
    def answer(self, x: Matrix, ask: str, threads: int) -> tuple[npt.NDArray[np.float64], bool]: ...
    def classify(self, x: Matrix, threads: int) -> tuple[npt.NDArray[np.int64], bool]: ...

def fit(data: Table, settings: str, start: Fitted | None, threads: int) -> Fitted: ...
def fit_machine(
    data: Table, settings: str, start: Fitted | None, threads: int
) -> tuple[Fitted, list[tuple[np.ndarray, np.ndarray]]]: ...
def fit_each(data: Table, settings: Sequence[str], threads: int, take: Callable[[Fitted], None]) -> None: ...
def tally(
    data: Table, settings: str, before: Sums | None, seen: int, threads: int
) -> tuple[Sums, Fitted | None]: ...
def separate(
    x: Matrix, signs: npt.NDArray[np.int8], asked: Asked, threads: int
) -> tuple[str | None, str]: ...
def check_proof(proof: str, x: Matrix, signs: npt.NDArray[np.int8], threads: int) -> bool: ...
def sentences() -> list[str]: ...
def setting_words() -> dict[str, str]:
    """The name of every setting in messages, by the setting's name."""
