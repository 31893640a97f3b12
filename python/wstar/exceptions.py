"""The package's warnings, raised at the line of the caller."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_held: ContextVar[list[tuple[str, type[Warning]]] | None] = ContextVar("held", default=None)


class SeparationWarning(UserWarning):
    """The classes can be separated, so that no maximum-likelihood estimate exists.

    The coefficients are then a direction along which the likelihood increases without reaching a maximum, and not
    an estimate. A penalty (a finite `C`) makes the estimate exist.
    """


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warns at the innermost line outside this package."""
    held = _held.get()
    if held is not None:
        held.append((message, category))
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(f"{__package__}."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def collected_warnings() -> Iterator[list[tuple[str, type[Warning]]]]:
    """Collects warnings instead of raising them: a thread of the engine has no line of the caller on its stack."""
    collected: list[tuple[str, type[Warning]]] = []
    token = _held.set(collected)
    try:
        yield collected
    finally:
        _held.reset(token)
