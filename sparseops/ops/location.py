"""Where the largest and the smallest value stand; what is not stored counts as 0."""

from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.errors import ShapeError
from sparseops.operators import Operator, operator
from sparseops.ops.extent import LARGEST, SMALLEST, Extreme, check_values
from sparseops.ops.rows import csr_transposed
from sparseops.ops.structure import flat_places
from sparseops.ops.totals import as_axes, reduced_shape
from sparseops.storage import CSR, Dense, RowSparse

__all__ = ["argmax", "argmin"]

_DOC = """Where the {which} value of `x` stands along `axis`: the first of equal ones.

Parameters
----------
x : array of any storage
    The values, real.
axis : int, optional
    What to look along, negative numbers counted from the end; by default all of `x` in the order
    of its rows.
keepdims : bool, optional
    Whether the axis stays, with length 1.

Returns
-------
NDArray
    Dense int64. A place that a sparse `x` does not store counts as 0. NaN stands before all
    other values. There is no gradient.

Raises
------
ShapeError
    If the axis does not exist, or there are no values to choose from.
DTypeError
    For complex values.

Notes
-----
O(stored + result), and for a csr `x` along axis 0 the cost of its transpose.

Examples
--------
>>> import sparseops as so
>>> so.{name}(so.csr_array([[0.0, 2.0], [-1.0, -3.0]]), axis=1)
<int64[2] dense>
{shown}
"""


def _place_operator(name: str, which: str, extreme: Extreme, shown: str) -> Operator:
    def describe(x, *, axis=None, keepdims=False):
        if isinstance(axis, tuple):
            raise ShapeError(f"axis {axis} is several; a place is along one axis, or among all")
        check_values(x, axis)
        return reduced_shape(x.shape, axis, keepdims), np.int64

    describe.__name__ = describe.__qualname__ = name
    describe.__doc__ = _DOC.format(which=which, name=name, shown=shown)
    made = operator(describe)

    @made.forward("dense -> dense", "csr -> dense", "row_sparse -> dense")
    def kernel(backend, x, *, axis, keepdims):
        axes = as_axes(axis, len(x.shape))
        found = backend.xp.asarray(_PLACES[x.stype](backend, x, axes, extreme))
        shape = reduced_shape(x.shape, axis, keepdims)
        return Dense(found.astype(np.int64, copy=False).reshape(shape))

    return made


def _first(xp: Any, data: Any, axis: int, extreme: Extreme) -> Any:
    """The first of the best values along `axis`."""
    if not data.size:
        return xp.zeros(data.shape[:axis] + data.shape[axis + 1 :], np.int64)
    return (xp.argmax if extreme.sign > 0 else xp.argmin)(data, axis=axis)


def _beside_zero(xp: Any, values: Any, places: Any, zeros: Any, extreme: Extreme) -> Any:
    """The better of `values` at `places` and of zeros that first stand at `zeros`."""
    kept = extreme.beats(values, 0) | (values != values)
    return xp.where(kept, places, xp.where(values == 0, xp.minimum(places, zeros), zeros))


def _dense_places(backend: Backend, x: Dense, axes: tuple[int, ...], extreme: Extreme) -> Any:
    data = x.data if len(axes) == 1 else x.data.reshape(-1)
    return _first(backend.xp, data, axes[0] if len(axes) == 1 else 0, extreme)


def _csr_places(backend: Backend, x: CSR, axes: tuple[int, ...], extreme: Extreme) -> Any:
    xp = backend.xp
    if axes == (0,):
        x = csr_transposed(backend, x)
    elif len(axes) == 2:
        ends = xp.asarray([0, len(x.data)])
        x = CSR(x.data, flat_places(backend, x), ends, (1, x.shape[0] * x.shape[1]))
    rows, columns = x.shape
    counts = xp.diff(x.indptr)
    stored = xp.flatnonzero(counts)
    found = xp.zeros(rows, np.int64)
    if not len(stored):
        return found
    starts, lengths = x.indptr[stored], counts[stored]
    values = extreme.choose.reduceat(x.data, starts)
    spread = xp.repeat(values, lengths)
    best = (x.data == spread) | (x.data != x.data)
    columns_of_best = xp.where(best, x.indices, columns)
    places = xp.minimum.reduceat(columns_of_best, starts)
    # Columns ascend, so the first that is missing is the first that its place in the row is not.
    within = xp.arange(len(x.indices)) - xp.repeat(starts, lengths)
    missing = xp.where(x.indices != within, within, columns)
    gaps = xp.minimum(xp.minimum.reduceat(missing, starts), lengths)
    full = lengths == columns
    found[stored] = xp.where(full, places, _beside_zero(xp, values, places, gaps, extreme))
    return found


def _rows_places(backend: Backend, x: RowSparse, axes: tuple[int, ...], extreme: Extreme) -> Any:
    xp = backend.xp
    found = xp.zeros(reduced_shape(x.shape, axes, False), np.int64)
    if not x.data.size:
        return found
    if axes != (0,) and len(axes) == 1:
        found[x.indices] = _first(xp, x.data, axes[0], extreme)
        return found
    indices = x.indices.astype(np.int64)
    if len(axes) == 1:
        at = _first(xp, x.data, 0, extreme)
        values, width = xp.take_along_axis(x.data, at[None], 0)[0], 1
        places = indices[at]
    else:
        flat, width = x.data.reshape(-1), x.data[0].size
        at = int(_first(xp, flat, 0, extreme))
        values, places = flat[at], indices[at // width] * width + at % width
    if len(indices) == x.shape[0]:
        return places
    absent = xp.flatnonzero(indices != xp.arange(len(indices)))
    first = int(absent[0]) if len(absent) else len(indices)
    return _beside_zero(xp, values, places, first * width, extreme)


_PLACES = {"dense": _dense_places, "csr": _csr_places, "row_sparse": _rows_places}

argmax = _place_operator("argmax", "largest", LARGEST, "  [1 0]")
argmin = _place_operator("argmin", "smallest", SMALLEST, "  [0 1]")
