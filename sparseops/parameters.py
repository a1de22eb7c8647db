"""Parameters of operators: plain values, completed by defaults, as keys that confuse nothing."""

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from sparseops.ndarray import NDArray
from sparseops.slots import Slots

_DEEPEST = 32
REQUIRED = inspect.Parameter.empty


def complete(slots: Slots, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a call of an operator with `slots`: `params`, checked, over defaults."""
    operator, values = slots.__name__, dict(slots.defaults)
    for name, value in params.items():
        if name in slots.inputs:
            raise TypeError(
                f"{operator}() got {name!r} by name; arrays go by position, as in "
                f"{operator}({', '.join(slots.starred_inputs())})"
            )
        if name not in values:
            known = ", ".join((*slots.defaults, "stype"))
            raise TypeError(f"{operator}() has no parameter {name!r}; it has {known}")
        values[name] = _plain(operator, name, value, 0)
    missing = [f"{name}=" for name, value in values.items() if value is REQUIRED]
    if missing:
        raise TypeError(f"{operator}() needs {', '.join(missing)}")
    return values


def _plain(operator: str, name: str, value: Any, depth: int) -> Any:
    """`value` with lists and slices as tuples; TypeError if it cannot be a key."""
    if type(value) in (int, str, bool, float, type(None), type):
        return value
    if isinstance(value, (list, tuple)):
        if depth == _DEEPEST:
            raise ValueError(
                f"{operator}() got {name!r} nested more than {_DEEPEST} levels deep, or in itself; "
                "parameters are plain values and flat lists of them"
            )
        return tuple([_plain(operator, name, item, depth + 1) for item in value])
    if isinstance(value, slice):
        return _plain(operator, name, (value.start, value.stop, value.step), depth)
    try:
        hash(value)
    except TypeError:
        plain = False
    else:
        plain = not isinstance(value, NDArray)
    if not plain:
        raise TypeError(
            f"{operator}() got {type(value).__name__} for {name!r}; parameters are plain values, "
            "and arrays go by position"
        )
    return value


def frozen(value: Any) -> Any:
    """`value` as a key that tells 1, 1.0 and True apart, and 0.0 from -0.0, and knows NaN again."""
    if type(value) is dict:
        return tuple([frozen(item) for item in value.values()])
    if isinstance(value, (tuple, frozenset)):
        return type(value), type(value)([frozen(item) for item in value])
    if isinstance(value, (float, complex, np.inexact)):
        return type(value), repr(value)
    return type(value), value
