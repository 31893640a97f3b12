"""Python's section of a model file: the class, the parameters and the labels of the estimator that wrote it.

The engine's settings do not determine Python's parameters: tolerances are rescaled, penalties are converted and some
parameters have no setting. The section keeps every parameter as it was given, so that a refit of a loaded estimator is
the same fit. The command line ignores the section and does not write one.
"""

from __future__ import annotations

import inspect
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from .parameters import defaults

#: The name of the section in the document.
SECTION = "python"


def encoded(value: Any) -> Any:
    """A parameter as JSON. Values that JSON lacks become objects with one tag, which `decoded` reads."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        return {"array": encoded(value.tolist()), "dtype": value.dtype.str}
    if isinstance(value, dict):
        return {"dict": [[encoded(key), encoded(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [encoded(item) for item in value]}
    if isinstance(value, list):
        return [encoded(item) for item in value]
    raise TypeError(f"a model file cannot hold a parameter of type {type(value).__name__}")


def decoded(value: Any) -> Any:
    """The inverse of `encoded`."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "array" in value:
        return np.array(decoded(value["array"]), dtype=np.dtype(value["dtype"]))
    if "dict" in value:
        return {decoded(key): decoded(item) for key, item in value["dict"]}
    return tuple(decoded(item) for item in value["tuple"])


def class_of(estimator: Any) -> type:
    """The estimator's class in this package: its own, or the nearest base class of a user's subclass."""
    known = (kind for kind in type(estimator).__mro__ if kind.__module__.startswith(f"{__package__}."))
    return next(kind for kind in known if not inspect.isabstract(kind))


def section(estimator: Any, seed: int) -> dict[str, Any]:
    """The section for a fitted estimator; `seed` is the one that its fit drew from a random generator."""
    kind = class_of(estimator)
    parameters = {}
    for name in defaults(kind):
        value = getattr(estimator, name)
        if isinstance(value, np.random.RandomState):
            value = seed
        try:
            parameters[name] = encoded(value)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
    found = {"estimator": kind.__name__, "parameters": parameters}
    for key, attribute in (("labels", "classes_"), ("class_count", "class_count_")):
        if hasattr(estimator, attribute):
            try:
                found[key] = encoded(np.asarray(getattr(estimator, attribute)))
            except TypeError:
                # Labels of other types are known by their names.
                continue
    return found


def write(path: str | os.PathLike[str], document: bytes, more: dict[str, Any]) -> None:
    """Writes a model's document with Python's section, whole or not at all."""
    text = json.dumps({SECTION: more}, allow_nan=False).encode()
    whole = document.rstrip()[:-1] + b"," + text[1:] + b"\n"
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(whole)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
