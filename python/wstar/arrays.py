"""Arrays of Python as the engine takes them: where they lie, without a copy if that can be."""

from __future__ import annotations

import os
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import assert_all_finite, validate_data

#: Data with fewer numbers than this are not worth a second thread.
SMALL = 50_000


def threads(n_jobs: int | None, size: int) -> int:
    """How many threads a fit of `size` numbers runs on.

    ``None`` means all that the process may use: as many as ``OMP_NUM_THREADS`` says (joblib sets it for its
    workers), else one for each core. Numbers mean what they mean to joblib. The answer does not depend on it.
    """
    if size < SMALL:
        return 1
    if n_jobs is not None:
        return max(1, joblib.effective_n_jobs(n_jobs))
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def size(X: Any) -> int:
    """How many numbers are stored."""
    return int(X.nnz if sp.issparse(X) else X.size)


def matrix(X: Any, as_it_is: bool = False) -> Any:
    """A validated array or CSR matrix as the engine takes it.

    Arrays in C or Fortran order and matrices with 32-bit indices are used where they lie. Other strides and
    64-bit indices are copied. `as_it_is` leaves it to the engine to refuse rows that are not in order.
    """
    if not sp.issparse(X):
        if not (X.flags.c_contiguous or X.flags.f_contiguous) or not X.flags.aligned:
            X = np.ascontiguousarray(X).copy() if not X.flags.aligned else np.ascontiguousarray(X)
        return X
    if X.format != "csr":
        X = X.tocsr()
    if not as_it_is and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    indices = X.indices
    if indices.dtype == np.int32:
        indices = indices.view(np.uint32)
    else:
        indices = indices.astype(np.uint32)
    return X.indptr.astype(np.uintp), indices, X.data, int(X.shape[1])


def coded(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labels there are, in order, and each row's number among them: ``np.unique``, by counting where that can be."""
    y = np.asarray(y)
    counted = _counted(y)
    if counted is None and y.dtype.kind == "f" and y.ndim == 1:
        with np.errstate(invalid="ignore"):
            whole = y.astype(np.int64)
        counted = _counted(whole) if np.array_equal(whole, y) else None
    if counted is not None:
        classes, codes = counted
        return classes.astype(y.dtype), codes
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes


def code_type(classes: int) -> Any:
    """The numbers that so many classes are coded by."""
    return np.uint8 if classes <= 256 else np.uint32


def _counted(y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The same for whole numbers that are not far apart; None for others."""
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
    places = np.zeros(present[-1] + 1, code_type(len(present)))
    places[present] = np.arange(len(present))
    return present + least, places[above]


def _first_bad(X: Any) -> str | None:
    """Where the first number that is not finite stands."""
    try:
        if sp.issparse(X):
            entries = X.tocoo()
            bad = np.flatnonzero(~np.isfinite(entries.data))
            where = (entries.row[bad[0]], entries.col[bad[0]]) if len(bad) else None
        else:
            bad = np.argwhere(~np.isfinite(np.asarray(X, dtype=np.float64)))
            where = tuple(bad[0]) if len(bad) else None
    except (TypeError, ValueError):
        return None
    if where is None:
        return None
    column = f", column {where[1]}" if len(where) > 1 else ""
    return f"the first at row {where[0]}{column}"


def _is_plain(X: Any) -> bool:
    """Whether nothing about rows to learn from is to be converted, checked or warned of, other than their values."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.char in "df"
        and X.dtype.isnative
        and X.flags.forc
        and X.flags.aligned
        and X.size > 0
    )


def _is_labels(y: Any, rows: int) -> bool:
    """The same of whole numbers that are labels."""
    return type(y) is np.ndarray and y.ndim == 1 and len(y) == rows and y.dtype.kind in "iub"


def checked(estimator: Any, X: Any, y: Any = "no_validation", **how: Any) -> Any:
    """scikit-learn's ``validate_data`` for the engine; what is not a number is named by its place too."""
    learning = how.get("reset", True) and not how.get("ensure_all_finite", True)
    if learning and _is_plain(X) and _is_labels(y, len(X)):
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        return X, y
    how = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], **how}
    try:
        return validate_data(estimator, X, y, **how)
    except ValueError as error:
        _name_place(error, X, y)
        raise


def look_for_bad(estimator: Any, X: Any) -> None:
    """`ValueError`, in scikit-learn's words and with its place, if there is a number in X that is not finite."""
    try:
        assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
    except ValueError as error:
        _name_place(error, X, None)
        raise


def _name_place(error: ValueError, X: Any, y: Any) -> None:
    """Raises an error about what is not a number with the place where it stands; comes back from any other."""
    text = str(error)
    if "NaN" not in text and "infinity" not in text:
        return
    place = _first_bad(y if text.startswith("Input y") else X)
    if place is not None:
        head, line, rest = text.partition("\n")
        raise ValueError(f"{head} ({place}){line}{rest}") from None
