"""Python arrays in the engine's form, without a copy where the layout allows it."""

from __future__ import annotations

import os
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import assert_all_finite, validate_data

#: Below this number of values, starting a second thread takes longer than it saves.
SMALL = 50_000


def threads(n_jobs: int | None, size: int) -> int:
    """The number of threads for a fit to `size` values.

    None means ``OMP_NUM_THREADS`` if it is set (joblib sets it for its workers), else all cores of the process.
    Other values are read as joblib reads them. The fit has the same bits for any number of threads.
    """
    if size < SMALL:
        return 1
    if n_jobs is not None:
        return max(1, joblib.effective_n_jobs(n_jobs))
    requested = os.environ.get("OMP_NUM_THREADS", "")
    if requested.isdigit() and int(requested) > 0:
        return int(requested)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def size(X: Any) -> int:
    """The number of stored values."""
    return int(X.nnz if sp.issparse(X) else X.size)


def matrix(X: Any, assume_sorted: bool = False) -> Any:
    """A validated array or sparse matrix in the engine's form.

    Arrays in C or Fortran order and CSR matrices with 32-bit indices share their memory. Other strides and 64-bit
    indices are copied. `assume_sorted` skips the sorting of sparse rows: the engine refuses unsorted ones.
    """
    if not sp.issparse(X):
        if not (X.flags.c_contiguous or X.flags.f_contiguous) or not X.flags.aligned:
            X = np.ascontiguousarray(X).copy() if not X.flags.aligned else np.ascontiguousarray(X)
        return X
    if X.format != "csr":
        X = X.tocsr()
    if not assume_sorted and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    indices = X.indices
    if indices.dtype == np.int32:
        indices = indices.view(np.uint32)
    else:
        indices = indices.astype(np.uint32)
    return X.indptr.astype(np.uintp), indices, X.data, int(X.shape[1])


def label_codes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels in order, and the index of each row's label: ``np.unique``, by counting where possible."""
    y = np.asarray(y)
    counted = _by_counting(y)
    if counted is None and y.dtype.kind == "f" and y.ndim == 1:
        with np.errstate(invalid="ignore"):
            integers = y.astype(np.int64)
        counted = _by_counting(integers) if np.array_equal(integers, y) else None
    if counted is not None:
        classes, codes = counted
        return classes.astype(y.dtype), codes
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes


def code_type(classes: int) -> Any:
    """The dtype of class codes."""
    return np.uint8 if classes <= 256 else np.uint32


def _by_counting(y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """`label_codes` for integers within a range of less than `SMALL`; None for other labels."""
    if y.ndim != 1 or y.dtype.kind not in "iub" or not y.size:
        return None
    least, most = y.min(), y.max()
    upper = y == most
    if most > least and np.count_nonzero(upper) + np.count_nonzero(y == least) == y.size:
        return np.array([least, most]), upper.view(np.uint8)
    least, most = int(least), int(most)
    if most - least >= SMALL:
        return None
    above = np.subtract(y, least, dtype=np.intp, casting="unsafe")
    present = np.flatnonzero(np.bincount(above))
    codes = np.zeros(present[-1] + 1, code_type(len(present)))
    codes[present] = np.arange(len(present))
    return present + least, codes[above]


def _first_nonfinite(X: Any) -> str | None:
    """The position of the first value that is not finite, in words."""
    try:
        if sp.issparse(X):
            entries = X.tocoo()
            bad = np.flatnonzero(~np.isfinite(entries.data))[:1]
            where = [int(index[k]) for k in bad for index in (entries.row, entries.col)]
        else:
            where = np.argwhere(~np.isfinite(np.asarray(X, dtype=np.float64)))[:1].ravel().tolist()
    except (TypeError, ValueError):
        return None
    if not where:
        return None
    column = f", column {where[1]}" if len(where) > 1 else ""
    return f"the first at row {where[0]}{column}"


def _is_plain(X: Any) -> bool:
    """Whether training rows need no conversion, warning or check other than that their values are finite."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.char in "df"
        and X.dtype.isnative
        and X.flags.forc
        and X.flags.aligned
        and X.size > 0
    )


def _are_integer_labels(y: Any, rows: int) -> bool:
    """Whether labels are integers, one for each row, which need no conversion or check."""
    return type(y) is np.ndarray and y.ndim == 1 and len(y) == rows and y.dtype.kind in "iub"


def validated(estimator: Any, X: Any, y: Any = "no_validation", **how: Any) -> Any:
    """scikit-learn's ``validate_data`` for the engine; errors about NaN and infinity give the position."""
    is_training = how.get("reset", True) and not how.get("ensure_all_finite", True)
    if is_training and _is_plain(X) and _are_integer_labels(y, len(X)):
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        return X, y
    how = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], **how}
    try:
        return validate_data(estimator, X, y, **how)
    except ValueError as error:
        _raise_with_position(error, X, y)
        raise


def raise_if_nonfinite(estimator: Any, X: Any) -> None:
    """Raises scikit-learn's `ValueError`, with the position, if X has a value that is not finite."""
    try:
        assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
    except ValueError as error:
        _raise_with_position(error, X, None)
        raise


def _raise_with_position(error: ValueError, X: Any, y: Any) -> None:
    """Raises an error about NaN or infinity again with the position; returns for any other error."""
    text = str(error)
    if "NaN" not in text and "infinity" not in text:
        return
    position = _first_nonfinite(y if text.startswith("Input y") else X)
    if position is not None:
        head, line, rest = text.partition("\n")
        raise ValueError(f"{head} ({position}){line}{rest}") from None
