"""The package's own warnings, and where they are raised."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_held: ContextVar[list[tuple[str, type[Warning]]] | None] = ContextVar("held", default=None)


class SeparationWarning(UserWarning):
    """The classes can be separated, so that no maximum-likelihood estimate exists.

    The coefficients are then a direction along which the likelihood keeps rising, and not an estimate; a
    penalty (a finite `C`) or Firth's correction has an answer.
    """


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warns at the line of the caller that is not of this package."""
    held = _held.get()
    if held is not None:
        held.append((message, category))
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(f"{__package__}."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def held_back() -> Iterator[list[tuple[str, type[Warning]]]]:
    """Gives what would be warned of instead: for a thread of the engine, where no line is the caller's."""
    told: list[tuple[str, type[Warning]]] = []
    token = _held.set(told)
    try:
        yield told
    finally:
        _held.reset(token)
