"""The same values in another shape."""

import math

import numpy as np

from sparseops.errors import ShapeError
from sparseops.operators import operator
from sparseops.ops.cast import sparse_mask
from sparseops.ops.rows import csr_transposed
from sparseops.ops.structure import counts_to_indptr
from sparseops.spec import as_shape
from sparseops.storage import CSR, Dense, RowSparse, index_dtype

__all__ = ["reshape", "transpose"]


@operator(shapes="(m,n)->(n,m)", reference=np.transpose)
def transpose(x):
    """`x` with its axes in reverse order.

    Parameters
    ----------
    x : array of any storage; of two dimensions if row_sparse
        The values.

    Returns
    -------
    NDArray
        Dense, sharing memory with `x`, if `x` is dense; else csr, which for a row_sparse `x` stores
        every value of its rows.

    Raises
    ------
    ShapeError
        If a row_sparse `x` has one dimension, or more than two.

    Notes
    -----
    O(nnz + rows + columns) for sparse `x`.

    Examples
    --------
    >>> import sparseops as so
    >>> so.transpose(so.csr_array([[0, 1, 2]]))
    <int64[3,1] csr, 2 stored>
      (1, 0)  1
      (2, 0)  2
    """
    if x.stype == "row_sparse" and x.ndim != 2:
        reason = (
            "a vector is its own transpose: write x"
            if x.ndim == 1
            else "a transpose with rows on the last axis is dense: write x.tostype('dense').T"
        )
        raise ShapeError(
            f"x has shape {x.shape}, and only a row_sparse matrix transposes; {reason}"
        )
    return x.shape[::-1], x.dtype


@transpose.forward("dense -> dense")
def _transpose_dense(backend, x):
    return Dense(x.data.T)


@transpose.forward("csr -> csr")
def _transpose_csr(backend, x):
    return csr_transposed(backend, x)


@transpose.forward("row_sparse -> csr")
def _transpose_row_sparse(backend, x):
    xp, shape = backend.xp, x.shape[::-1]
    width = np.result_type(x.indices.dtype, index_dtype(x.data.size))
    indptr = xp.arange(shape[0] + 1, dtype=width) * len(x.indices)
    indices = xp.tile(x.indices.astype(width, copy=False), shape[0])
    return CSR(x.data.T.reshape(-1), indices, indptr, shape)


@transpose.backward("x", "dense -> dense")
def _transpose_x(g):
    return transpose(g)


@transpose.backward("x", "csr -> csr", "row_sparse -> row_sparse")
def _transpose_sparse_x(g, x):
    return sparse_mask(transpose(g), x)


@operator
def reshape(x, *, shape):
    """`x` with its values, in the order of its rows, in another `shape`.

    Parameters
    ----------
    x : array of any storage
        The values; storage is kept, and a dense result shares memory with `x` where it can.
    shape : int or tuple of int
        The lengths of the axes, of which one may be -1: what is left for it.

    Raises
    ------
    ShapeError
        If the number of values differs; if `x` is csr and `shape` is not of two dimensions; if `x`
        is row_sparse and `shape` is ().

    Notes
    -----
    O(rows of the result + nnz) for csr. A row_sparse result stores the rows that stored rows of `x`
    reach into, which costs nothing while the number of rows stays.

    Examples
    --------
    >>> import sparseops as so
    >>> so.reshape(so.csr_array([[0, 0, 0, 1], [2, 0, 0, 0]]), shape=(4, -1))
    <int64[4,2] csr, 2 stored>
      (1, 1)  1
      (2, 0)  2
    """
    found = _resolved(x.shape, shape)
    if x.stype == "csr" and len(found) != 2:
        raise ShapeError(
            f"csr has 2 dimensions, not those of {found}; write x.tostype('dense') first"
        )
    if x.stype == "row_sparse" and not found:
        raise ShapeError("a number has no rows to store; write x.tostype('dense') first")
    if x.stype == "csr" and math.prod(found) >= 2**63 and found != x.shape:
        raise ShapeError(f"{x.shape} has more places than int64 can count")
    return found, x.dtype


def _resolved(old, new):
    """The shape `new` of as many values as `old` has, with -1 filled in."""
    lengths = new if isinstance(new, tuple) else (new,)
    if lengths.count(-1) > 1:
        raise ShapeError(f"shape {lengths} leaves more than one length open")
    size, known = math.prod(old), math.prod(as_shape(n for n in lengths if n != -1))
    if -1 in lengths and known and not size % known:
        lengths = tuple(size // known if n == -1 else n for n in lengths)
    if -1 in lengths or math.prod(lengths) != size:
        raise ShapeError(f"{size} values of shape {old} do not fill shape {lengths}")
    return as_shape(lengths)


@reshape.forward("dense -> dense")
def _reshape_dense(backend, x, *, shape):
    return Dense(x.data.reshape(_resolved(x.shape, shape)))


@reshape.forward("csr -> csr")
def _reshape_csr(backend, x, *, shape):
    xp, (rows, columns) = backend.xp, _resolved(x.shape, shape)
    if (rows, columns) == x.shape:
        return x
    flat = backend.row_ids(x).astype(np.int64) * x.shape[1] + x.indices
    row_ids, indices = xp.divmod(flat, max(columns, 1))
    counts = xp.bincount(row_ids, minlength=rows)
    indptr = counts_to_indptr(backend, counts, x.indptr.dtype, index_dtype(columns))
    return CSR(x.data, indices.astype(indptr.dtype), indptr, (rows, columns))


@reshape.forward("row_sparse -> row_sparse")
def _reshape_row_sparse(backend, x, *, shape):
    xp, shape = backend.xp, _resolved(x.shape, shape)
    if shape[0] == x.shape[0]:
        return RowSparse(x.data.reshape(len(x.indices), *shape[1:]), x.indices, shape)
    old, new = math.prod(x.shape[1:]), math.prod(shape[1:])
    flat = (x.indices.astype(np.int64)[:, None] * old + xp.arange(old)).reshape(-1)
    reached, places = xp.divmod(flat, max(new, 1))
    starts = xp.ones(len(flat), bool)
    xp.not_equal(reached[1:], reached[:-1], out=starts[1:])
    rows = reached[starts].astype(np.result_type(x.indices.dtype, index_dtype(shape[0])))
    data = xp.zeros((len(rows), new), x.data.dtype)
    data[xp.cumsum(starts) - 1, places] = x.data.reshape(-1)
    return RowSparse(data.reshape(len(rows), *shape[1:]), rows, shape)


@reshape.backward("x", "dense -> dense")
def _reshape_x(g, x_spec):
    return reshape(g, shape=x_spec.shape)


@reshape.backward("x", "csr -> csr", "row_sparse -> row_sparse")
def _reshape_sparse_x(g, x):
    return sparse_mask(reshape(g, shape=x.shape), x)
