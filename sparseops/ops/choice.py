"""Elements of one array or another, chosen by a condition."""

import numpy as np

from sparseops.operators import operator
from sparseops.ops.broadcasting import report_dense, spread_csr, spread_rows
from sparseops.ops.cast import cast_storage
from sparseops.ops.elementwise import result_dtype, shape_of
from sparseops.ops.reduction import unbroadcast
from sparseops.ops.structure import flat_places
from sparseops.spec import Spec, broadcast
from sparseops.storage import Dense

__all__ = ["where"]

_CONDITIONS = ("dense", "csr", "row_sparse")
_CHOICES = ("dense, dense", "dense, scalar", "scalar, dense")


def y_is_zero(y):
    """y == 0"""
    return y == 0


@operator(shapes="(m,n),(m,n),(m,n)->(m,n)", reference=np.where)
def where(c, x, y):
    """The elements of `x` where `c` is not zero, and those of `y` elsewhere; all broadcast.

    Parameters
    ----------
    c : array of any storage
        The condition; NaN is not zero.
    x, y : arrays of any storage, or a number
        What is chosen from.

    Returns
    -------
    NDArray
        Dense, of the dtype that `x` and `y` have together. A sparse `c` stays sparse; a sparse `x`
        or `y` falls back to dense, on record. With numbers for both, of which `y`
        is 0, the result has the storage and structure of `c`.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Notes
    -----
    O(result), and for results like `c` O(values stored). The gradients by `x` and `y` are `g` where
    they were chosen and 0 elsewhere, whatever the values there; `c` has none.

    Examples
    --------
    >>> import sparseops as so
    >>> c = so.csr_array([[True, False], [False, True]])
    >>> so.where(c, so.array([[1, 2], [3, 4]]), so.array([[-1, -1], [-1, -1]]))
    <int64[2,2] dense>
    [[ 1 -1]
     [-1  4]]
    >>> so.where(c, 7, 0)
    <int64[2,2] csr, 2 stored>
      (0, 0)  7
      (1, 1)  7
    """
    return broadcast(c.shape, shape_of(x), shape_of(y)), result_dtype(x, y)


def _data(x):
    return x.data if isinstance(x, Dense) else x


def _dtype(x, y):
    return result_dtype(*(v.data if isinstance(v, Dense) else v for v in (x, y)))


@where.forward(*(f"dense, {pair} -> dense" for pair in (*_CHOICES, "scalar, scalar")))
def _where(backend, c, x, y):
    dtype = _dtype(x, y)
    found = backend.xp.where(c.data != 0, _data(x), _data(y))
    return Dense(found.astype(dtype, copy=False))


@where.forward("csr, scalar, scalar -> csr", "row_sparse, scalar, scalar -> row_sparse",
               where=y_is_zero)  # fmt: skip
def _where_numbers(backend, c, x, y):
    dtype = _dtype(x, y)
    return c.with_data(backend.xp.where(c.data != 0, dtype.type(x), dtype.type(y)))


@where.forward(*(f"{c}, {pair} -> dense" for c in _CONDITIONS[1:] for pair in _CHOICES))
def _where_sparse(backend, c, x, y):
    xp, dtype = backend.xp, _dtype(x, y)
    shape = broadcast(c.shape, shape_of(x), shape_of(y))
    dense = [v for v in (x, y) if isinstance(v, Dense)]
    spec = Spec(shape, dtype)
    if max(v.data.size for v in dense) < spec.size:
        reason = f"no dense array has the shape {shape} of the result"
        report_dense("where", [c, *dense], spec, reason)
    data = xp.empty(shape, dtype)
    data[...] = _data(y)
    if not data.size:
        return Dense(data)
    chosen = xp.broadcast_to(xp.asarray(_data(x)), shape)
    if c.stype == "csr" and len(shape) == 2:
        c = spread_csr(backend, c, shape)
        at = flat_places(backend, c)[c.data != 0]
        data.reshape(-1)[at] = chosen[xp.divmod(at, shape[1])]
    elif c.stype == "row_sparse" and len(c.shape) == len(shape):
        c = spread_rows(backend, c, shape)
        data[c.indices] = xp.where(c.data != 0, chosen[c.indices], data[c.indices])
    else:
        c = cast_storage.kernel(c.stype, "dense")(backend, c)
        data = xp.where(c.data != 0, chosen, data)
    return Dense(data)


_DENSE_X = [f"{c}, dense, {y} -> dense" for c in _CONDITIONS for y in ("dense", "scalar")]
_DENSE_Y = [f"{c}, {x}, dense -> dense" for c in _CONDITIONS for x in ("dense", "scalar")]


@where.backward("x", *_DENSE_X)
def _where_x(g, c, x_spec):
    return unbroadcast(where(c, g, 0), x_spec)


@where.backward("y", *_DENSE_Y)
def _where_y(g, c, y_spec):
    return unbroadcast(where(c, 0, g), y_spec)
