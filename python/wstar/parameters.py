"""Parameters of estimators, validated once for each combination of values."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator as Base
else:
    Base = object

#: Types whose values can be compared by value.
HASHABLE = (bool, int, float, str, type(None))
#: The maximum number of combinations that are remembered.
CAPACITY = 10_000


def defaults(kind: Any) -> dict[str, Any]:
    """The parameters of a class of estimators, with their defaults."""
    return _defaults(kind)


@functools.cache
def _defaults(kind: Any) -> dict[str, Any]:
    # `_get_param_names` raises for signatures that scikit-learn does not allow.
    known = inspect.signature(kind.__init__).parameters
    return {name: known[name].default for name in kind._get_param_names()}


class CachedValidation(Base):
    """Mixin: parameters that were found valid are not validated again."""

    _valid: set[Any] = set()  # noqa: RUF012 (shared by all estimators)

    def _validate_params(self) -> None:
        values = [getattr(self, name) for name in defaults(type(self))]
        kinds = [type(value) for value in values]
        if any(kind not in HASHABLE for kind in kinds):
            super()._validate_params()
            return
        # 1 == True, but they are different parameters.
        key = (type(self), *values, *kinds)
        valid = CachedValidation._valid
        if key in valid:
            return
        super()._validate_params()
        if len(valid) < CAPACITY:
            valid.add(key)
