"""The ways in which equal values can lie in memory."""

from typing import Any

import numpy as np

#: What can be wrong with the memory of an array, though its values are right.
LAYOUTS = ("strided", "offset", "fortran", "reversed", "broadcast", "big_endian", "read_only")
_FILLER = 77


def laid_out(values: Any, *layouts: str, dtype: Any = None) -> np.ndarray:
    """An array of `values` that lies in memory as `layouts` say.

    Parameters
    ----------
    values : array-like
        The values.
    *layouts : str
        "strided": every other place of a larger array; "offset": behind the start of one;
        "fortran": columns first; "reversed": negative strides; "broadcast": one row in memory for
        all rows, which are equal; "big_endian": the other byte order; "read_only".
    dtype : dtype-like, optional
        Type of the values.

    Examples
    --------
    >>> laid_out([1.0, 2.0], "strided", "read_only").strides
    (16,)
    """
    found = np.array(values, dtype)
    for layout in layouts:
        if layout not in _MAKE:
            raise ValueError(f"{layout!r} is not a layout; there are {', '.join(LAYOUTS)}")
        found = _MAKE[layout](found)
    return found


def _strided(array: np.ndarray) -> np.ndarray:
    if not array.ndim:
        return array
    around = _filled((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    around[..., ::2] = array
    return around[..., ::2]


def _offset(array: np.ndarray) -> np.ndarray:
    around = _filled(array.size + 3, array.dtype)
    around[3:] = array.ravel()
    return around[3:].reshape(array.shape)


def _fortran(array: np.ndarray) -> np.ndarray:
    # NumPy's function would add an axis to an array that has none.
    return np.asfortranarray(array) if array.ndim else array


def _reversed(array: np.ndarray) -> np.ndarray:
    return np.flip(np.flip(array).copy()) if array.ndim else array


def _broadcast(array: np.ndarray) -> np.ndarray:
    if not array.ndim or len(array) < 2:
        return array
    found = np.broadcast_to(array[:1], array.shape)
    if not np.array_equal(found, array, equal_nan=array.dtype.kind in "fc"):
        raise ValueError("rows differ, so that they are not one row broadcast")
    return found


def _big_endian(array: np.ndarray) -> np.ndarray:
    return array.astype(array.dtype.newbyteorder(">"))


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _filled(shape: Any, dtype: np.dtype) -> np.ndarray:
    """Memory with a value that shows where it is read."""
    return np.full(shape, _FILLER).astype(dtype)


_MAKE = {
    "strided": _strided,
    "offset": _offset,
    "fortran": _fortran,
    "reversed": _reversed,
    "broadcast": _broadcast,
    "big_endian": _big_endian,
    "read_only": _read_only,
}
