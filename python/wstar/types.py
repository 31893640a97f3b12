"""Types of parameters and of fitted attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

#: Real numbers in double or single precision.
Floats: TypeAlias = npt.NDArray[np.floating[Any]]
#: Row indices.
Indices: TypeAlias = npt.NDArray[np.int64]
#: Several numbers as a parameter.
Numbers: TypeAlias = Sequence[float] | npt.NDArray[Any]

ClassWeight: TypeAlias = dict[Any, float] | dict[Any, int] | Literal["balanced"] | None
RandomState: TypeAlias = int | np.random.RandomState | None
RidgeSolver: TypeAlias = Literal[
    "auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"
]  # fmt: skip
