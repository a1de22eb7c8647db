"""The largest and the smallest value; what is not stored counts as 0."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sparseops.backend import Backend
from sparseops.errors import DTypeError, ShapeError
from sparseops.operators import Operator, operator
from sparseops.ops.cast import SAME
from sparseops.ops.reduction import sum
from sparseops.ops.rows import csr_transposed
from sparseops.ops.slope import zeros_like
from sparseops.ops.totals import as_axes, count_over, reduced_shape, reduces, total
from sparseops.spec import Spec
from sparseops.storage import CSR, Dense, RowSparse, Storage

__all__ = ["max", "min"]


class Extreme(NamedTuple):
    """The choice of the larger or the smaller of two values, and of the first such place."""

    choose: np.ufunc
    beats: np.ufunc
    sign: int


LARGEST = Extreme(np.maximum, np.greater, 1)
SMALLEST = Extreme(np.minimum, np.less, -1)

_DOC = """The {which} of the values of `x`, stored or not, over the axes `axis`.

Parameters
----------
x : array of any storage
    The values, real.
axis : int or tuple of int, optional
    What to look along, negative numbers counted from the end; by default all axes.
keepdims : bool, optional
    Whether the axes stay, with length 1.

Returns
-------
NDArray
    Dense, of the dtype of `x`. A place that a sparse `x` does not store counts as 0. NaN where one
    of the values is.

Raises
------
ShapeError
    If an axis does not exist or stands twice, or there are no values to choose from.
DTypeError
    For complex values.

Notes
-----
O(stored + result). Over no axis, ``axis=()``, a csr `x` is a fallback. The gradient is shared
equally by all the values that are the {which}, stored or not.

Examples
--------
>>> import sparseops as so
>>> so.{name}(so.csr_array([[0.0, 2.0], [-1.0, -3.0]]), axis=1)
<float64[2] dense>
{shown}
"""


def check_values(x: Spec, axis: Any) -> None:
    """Raise unless `x` has values with an order along `axis`."""
    if x.dtype.kind == "c":
        raise DTypeError(f"{x.dtype} values have no order")
    if not count_over(x.shape, as_axes(axis, x.ndim)) and 0 not in reduced_shape(
        x.shape, axis, False
    ):
        raise ShapeError(f"shape {x.shape} has no values along axis {axis}")


def _value_operator(name: str, which: str, extreme: Extreme, shown: str) -> Operator:
    def describe(x, *, axis=None, keepdims=False):
        check_values(x, axis)
        return reduced_shape(x.shape, axis, keepdims), x.dtype

    describe.__name__ = describe.__qualname__ = name
    describe.__doc__ = _DOC.format(which=which, name=name, shown=shown)
    made = operator(describe)

    @made.forward("dense -> dense")
    @made.forward("csr -> dense", "row_sparse -> dense", where=reduces)
    def kernel(backend, x, *, axis, keepdims):
        axes = as_axes(axis, len(x.shape))
        found = backend.xp.asarray(_VALUES[x.stype](backend, x, axes, extreme))
        return Dense(found.reshape(reduced_shape(x.shape, axis, keepdims)))

    @made.backward("x", *SAME)
    def by_x(g, x, out, axis, keepdims):
        return share(g, x, out, axis=axis, keepdims=keepdims)

    return made


def _dense_values(backend: Backend, x: Dense, axes: tuple[int, ...], extreme: Extreme) -> Any:
    if not x.data.size:
        return backend.xp.zeros(reduced_shape(x.shape, axes, False), x.data.dtype)
    return extreme.choose.reduce(x.data, axis=axes) if axes else x.data.copy()


def _csr_values(backend: Backend, x: CSR, axes: tuple[int, ...], extreme: Extreme) -> Any:
    xp, (rows, columns) = backend.xp, x.shape
    zero = x.data.dtype.type(0)
    if len(axes) == 2:
        if not len(x.data):
            return zero
        found = extreme.choose.reduce(x.data)
        return extreme.choose(found, zero) if len(x.data) < rows * columns else found
    if axes == (0,):
        # NumPy's ufunc.at takes five times as long.
        return _csr_values(backend, csr_transposed(backend, x), (1,), extreme)
    counts = xp.diff(x.indptr)
    found = xp.zeros(rows, x.data.dtype)
    stored = xp.flatnonzero(counts)
    if len(stored):
        found[stored] = extreme.choose.reduceat(x.data, x.indptr[stored])
    return xp.where(counts < columns, extreme.choose(found, zero), found)


def _rows_values(backend: Backend, x: RowSparse, axes: tuple[int, ...], extreme: Extreme) -> Any:
    shape = reduced_shape(x.shape, axes, False)
    found = backend.xp.zeros(shape, x.data.dtype)
    if not x.data.size:
        return found
    stored = extreme.choose.reduce(x.data, axis=axes)
    if 0 not in axes:
        found[x.indices] = stored
        return found
    return extreme.choose(stored, found) if len(x.indices) < x.shape[0] else stored


_VALUES = {"dense": _dense_values, "csr": _csr_values, "row_sparse": _rows_values}


_ANY = ("dense, dense, dense", "dense, csr, dense", "dense, row_sparse, dense")


@operator
def share(weights, x, best, *, axis=None, keepdims=False):
    """`weights` shared equally by the values of `x` along `axis` that equal `best`.

    The gradient of `max` and `min`. Values that are not stored have their share too, which is not
    stored. In the storage of `x`, with its structure; O(stored + result).
    """
    return x.shape, np.result_type(weights.dtype, x.dtype)


@share.forward(*(f"{inputs} -> {inputs.split(', ')[1]}" for inputs in _ANY))
def _share(backend, weights, x, best, *, axis, keepdims):
    xp, axes = backend.xp, as_axes(axis, len(x.shape))
    shape = tuple(1 if n in axes else length for n, length in enumerate(x.shape))
    weights, best = weights.data.reshape(shape), best.data.reshape(shape)
    pick = _PICKERS[x.stype](backend, x)
    spread = pick(best)
    equal = (x.data == spread) | ((x.data != x.data) & (spread != spread))
    counts = _counts(backend, x.with_data(equal.astype(np.int64)), axes)
    if x.stype != "dense":
        stored = _counts(backend, x.with_data(xp.ones(x.data.shape, np.int64)), axes)
        counts = counts + xp.where(best == 0, count_over(x.shape, axes) - stored, 0)
    dtype = np.result_type(weights, x.data)
    parts = (weights / xp.maximum(counts, 1)).astype(dtype)
    return x.with_data(xp.where(equal, pick(parts), dtype.type(0)))


@share.backward("weights", *(f"{inputs} -> dense" for inputs in _ANY))
def _share_weights(g, weights, x, best, axis, keepdims):
    parts = share(zeros_like(weights) + 1, x, best, axis=axis, keepdims=keepdims)
    return sum(g * parts, axis=axis, keepdims=keepdims)


@share.backward("x", *(f"{inputs} -> {inputs.split(', ')[1]}" for inputs in _ANY))
def _share_x(x):
    return zeros_like(x)


@share.backward("best", *(f"{inputs} -> dense" for inputs in _ANY))
def _share_best(best):
    return zeros_like(best)


def _counts(backend: Backend, marks: Storage, axes: tuple[int, ...]) -> Any:
    """The sums of the integers `marks` over `axes`, which stay with length 1."""
    shape = reduced_shape(marks.shape, axes, True)
    return total(backend, marks, axes, np.dtype(np.int64)).reshape(shape) if axes else marks.data


def _picker(places: Callable[[Backend, Storage], tuple]) -> Callable:
    """A maker of functions that spread an array of the reduced shape to what is stored."""

    def make(backend, x):
        at = places(backend, x)

        def pick(values):
            return backend.xp.broadcast_to(values, x.shape)[at]

        return pick

    return make


_PICKERS = {
    "dense": _picker(lambda backend, x: (...,)),
    "csr": _picker(lambda backend, x: (backend.row_ids(x), x.indices)),
    "row_sparse": _picker(lambda backend, x: (x.indices,)),
}

max = _value_operator("max", "largest", LARGEST, "  [ 2. -1.]")
min = _value_operator("min", "smallest", SMALLEST, "  [ 0. -3.]")
