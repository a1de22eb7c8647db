"""Small sets of values, of each dtype, on which sums and products have no rounding errors.

The simplest value stands first, and one before zero: an example full of zeros hides what happened.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

#: The dtypes that arrays can have, the plainest first.
DTYPES = tuple(
    np.dtype(name)
    for name in (
        "float64 float32 int64 int32 complex128 float16 bool int8 uint8 complex64 "
        "int16 uint16 uint32 uint64"
    ).split()
)

_REAL = (1, 0, 2, -1, 3, -2, 0.5, 5, -4)
_VALUES = {
    "b": (True, False),
    "u": (1, 0, 2, 3, 5, 4),
    "i": (1, 0, 2, -1, 3, -2, 5, -4),
    "f": _REAL,
    "c": (1, 0, 2, -1, 1j, 3, -2 + 1j, 0.5, 1 - 2j),
}
#: One more value of a wide dtype, which a narrower one cannot hold.
_WIDE = {"float64": 1 + 2.0**-30, "complex128": 1 + 2.0**-30, "int64": 2**31 + 1}
_SPECIAL = (np.nan, np.inf, -np.inf, -0.0)
#: Away from zero, from each other and from whole numbers, where functions have kinks and ties.
_SMOOTH = (1.25, -0.75, 2.375, -1.625, 0.625, 3.125, -2.875, 0.375, -0.3125)


@lru_cache
def exact(dtype: Any) -> np.ndarray:
    """Values whose sums of a few products are exact."""
    return _array(_VALUES[np.dtype(dtype).kind], dtype)


@lru_cache
def wide(dtype: Any) -> np.ndarray:
    """The exact values and, more often than these, one that a narrower dtype would change."""
    dtype = np.dtype(dtype)
    more = (_WIDE[dtype.name],) * 3 if dtype.name in _WIDE else ()
    return _array((*_VALUES[dtype.kind], *more), dtype)


@lru_cache
def smooth(dtype: Any) -> np.ndarray:
    """Values where functions with kinks at whole numbers and ties have a slope."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        return _array([x + y * 1j for x, y in zip(_SMOOTH, _SMOOTH[3:], strict=False)], dtype)
    return _array(_SMOOTH, dtype)


@lru_cache
def special(dtype: Any) -> np.ndarray:
    """NaN, the infinities and negative zero; empty where the dtype has none.

    No infinities for complex dtypes: which parts of their products are NaN depends on the way in
    which they are computed.
    """
    dtype = np.dtype(dtype)
    values = {"f": _SPECIAL, "c": (np.nan, -0.0)}
    return _array(values.get(dtype.kind, ()), dtype)


def of_values(values: Iterable[Any], dtype: Any) -> np.ndarray:
    """`values` that somebody gives, as a palette of `dtype`."""
    return _array(tuple(values), dtype)


def nonzero(palette: np.ndarray) -> np.ndarray:
    """The values of `palette` that are not zero; one where all are."""
    found = palette[palette != 0]
    return found if len(found) else np.ones(1, palette.dtype)


def _array(values: Iterable[Any], dtype: Any) -> np.ndarray:
    found = np.array(tuple(values), dtype)
    found.setflags(write=False)
    return found
