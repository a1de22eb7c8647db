"""Sums over axes, as arrays of the backend, for kernels that reduce."""

from math import prod
from operator import index
from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.errors import ShapeError
from sparseops.storage import CSR, Dense, RowSparse, Storage


def as_axis(axis: Any, ndim: int) -> int:
    """The integer `axis` of an array of `ndim` dimensions, counted from the front."""
    try:
        number = index(axis)
    except TypeError:
        number = None
    if number is None or isinstance(axis, (bool, np.bool_)):
        kind = type(axis).__name__
        raise TypeError(f"axis is {kind}; it must be an integer, or several where axes are reduced")
    if not -ndim <= number < ndim:
        rule = f"it must lie in [-{ndim}, {ndim})" if ndim else "there is no axis"
        raise ShapeError(f"axis={number} of an array of {ndim} dimensions; {rule}")
    return number % ndim


def as_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """`axis` (an int, several, or None for all of `ndim` axes) as ascending axis numbers."""
    given = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    found = sorted([as_axis(n, ndim) for n in given])
    for n, after in zip(found, found[1:], strict=False):
        if n == after:
            raise ShapeError(f"axis {n} stands twice in {axis!r}")
    return tuple(found)


def reduced_shape(shape: tuple[int, ...], axis: Any, keepdims: bool) -> tuple[int, ...]:
    """The shape that is left when `axis` of `shape` is reduced."""
    axes = as_axes(axis, len(shape))
    if keepdims:
        return tuple(1 if n in axes else length for n, length in enumerate(shape))
    return tuple(length for n, length in enumerate(shape) if n not in axes)


def reduces(axis):
    """an axis is reduced"""
    return axis != ()


def keeps_rows(axis):
    """axes behind the first, counted from it, are reduced"""
    axes = axis if isinstance(axis, tuple) else (axis,)
    return all(isinstance(n, int) and n > 0 for n in axes)


def total(backend: Backend, x: Storage, axes: tuple[int, ...], dtype: np.dtype) -> Any:
    """The sums of `x` over `axes`, added up in `dtype`, or wider."""
    return backend.xp.asarray(_TOTALS[x.stype](backend, x, axes, wide(dtype)))


def _dense_total(backend: Backend, x: Dense, axes: tuple[int, ...], dtype: np.dtype) -> Any:
    return backend.xp.sum(x.data, axis=axes, dtype=dtype)


def _csr_total(backend: Backend, x: CSR, axes: tuple[int, ...], dtype: np.dtype) -> Any:
    xp, data = backend.xp, x.data.astype(dtype, copy=False)
    if len(axes) == 2:
        return xp.sum(data)
    if axes == (0,) and dtype.kind == "f":
        return backend.matrix(x.with_data(data)).T @ xp.ones(x.shape[0], dtype)
    if axes == (1,) and (sums := backend.compiled("row_sums", x.with_data(data))) is not None:
        return sums
    found = xp.zeros(x.shape[1 - axes[0]], dtype)
    if axes == (0,):
        xp.add.at(found, x.indices, data)
        return found
    rows = xp.flatnonzero(xp.diff(x.indptr))
    if len(rows):
        found[rows] = xp.add.reduceat(data, x.indptr[rows])
    return found


def _rows_total(backend: Backend, x: RowSparse, axes: tuple[int, ...], dtype: np.dtype) -> Any:
    xp = backend.xp
    of_rows = xp.sum(x.data, axis=axes, dtype=dtype)
    if 0 in axes:
        return of_rows
    found = xp.zeros((x.shape[0], *of_rows.shape[1:]), dtype)
    found[x.indices] = of_rows
    return found


_TOTALS = {"dense": _dense_total, "csr": _csr_total, "row_sparse": _rows_total}


def count_over(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """How many values of an array of `shape` are reduced to one over `axes`."""
    return prod(shape[n] for n in axes)


def sum_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of a sum: integers and bool in 64 bits."""
    return np.dtype({"b": "int64", "i": "int64", "u": "uint64"}.get(dtype.kind, dtype))


def mean_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of a mean: float64 for integers and bool."""
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def wide(dtype: np.dtype) -> np.dtype:
    """The dtype in which a result of `dtype` is added up."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype
