"""The engine: arrays in, models out."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

# A two-dimensional array, or (row starts, columns, values, number of columns) of a matrix in compressed rows.
Matrix: TypeAlias = (
    npt.NDArray[np.float64]
    | npt.NDArray[np.float32]
    | tuple[npt.NDArray[np.uintp], npt.NDArray[np.uint32], npt.NDArray[Any], int]
)
# Real numbers, or the number of each row's class and the names of the classes.
Goal: TypeAlias = npt.NDArray[np.float64] | tuple[npt.NDArray[np.uint32], Sequence[str]]
Weights: TypeAlias = npt.NDArray[np.float64] | None
Names: TypeAlias = dict[str, Any]

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
    def probabilities(self, x: Matrix, threads: int) -> npt.NDArray[np.float64] | None: ...
    def verify(
        self, x: Matrix, y: Goal, weights: Weights, names: Names, threads: int
    ) -> tuple[list[str], str]: ...
    def support(
        self, x: Matrix, y: Goal, weights: Weights, names: Names, threads: int
    ) -> list[list[tuple[int, float]]]: ...

def fit(
    x: Matrix,
    y: Goal,
    weights: Weights,
    names: Names,
    settings: str,
    start: Fitted | None,
    threads: int,
) -> Fitted: ...
def separate(
    x: Matrix,
    signs: npt.NDArray[np.int8],
    names: tuple[str, str],
    intercept: bool,
    margin: bool,
    max_seconds: float | None,
    threads: int,
) -> tuple[str | None, str]: ...
def check_proof(proof: str, x: Matrix, signs: npt.NDArray[np.int8], threads: int) -> bool: ...
