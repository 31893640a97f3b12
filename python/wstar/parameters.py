"""Parameters of estimators, looked up and checked once for all estimators that have the same."""

from __future__ import annotations

import functools
import inspect
from typing import Any

#: Values that say by themselves whether they are the same.
PLAIN = (bool, int, float, str, type(None))
#: The most checked sets of parameters that are remembered.
MOST = 10_000


@functools.cache
def defaults(kind: type) -> dict[str, Any]:
    """The parameters of a class of estimators, with their defaults."""
    # What `_get_param_names` refuses, it refuses here too.
    known = inspect.signature(kind.__init__).parameters
    return {name: known[name].default for name in kind._get_param_names()}


class RememberedParameters:
    """Mixin: parameters that were found right once are not checked again."""

    _right: set[Any] = set()  # noqa: RUF012 (one for all estimators)

    def _validate_params(self) -> None:
        values = [getattr(self, name) for name in defaults(type(self))]
        kinds = [type(value) for value in values]
        if any(kind not in PLAIN for kind in kinds):
            super()._validate_params()
            return
        # 1 and True are equal, and not the same parameter.
        key = (type(self), *values, *kinds)
        right = RememberedParameters._right
        if key in right:
            return
        super()._validate_params()
        if len(right) < MOST:
            right.add(key)
