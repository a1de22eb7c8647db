"""Transposes, other shapes, and arrays put together."""

import math

import numpy as np

from sparseops.errors import ShapeError
from sparseops.operators import operator
from sparseops.ops.cast import sparse_mask
from sparseops.ops.rows import csr_transposed
from sparseops.ops.slicing import slice_columns, slice_rows
from sparseops.ops.structure import counts_to_indptr
from sparseops.spec import as_shape
from sparseops.storage import CSR, Dense, RowSparse, index_dtype

__all__ = ["concat", "reshape", "transpose"]


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
        raise ShapeError(f"x has shape {x.shape}, and only a row_sparse matrix transposes; {reason}")
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


@operator
def concat(*arrays, axis=0):
    """The `arrays` one after the other along an axis.

    Parameters
    ----------
    *arrays : arrays of one shape but along `axis`
        At least one.
    axis : int, optional
        Negative ones count from the last.

    Returns
    -------
    NDArray
        csr if all arrays are csr; row_sparse if all are row_sparse and `axis` is 0; else dense. Of
        the dtype, and the index width, that all arrays fit.

    Raises
    ------
    ShapeError
        If there are no arrays, or lengths differ along another axis.

    Notes
    -----
    O(rows + nnz) for sparse arrays.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.csr_array([[0, 1]])
    >>> so.concat(x, x, axis=1)
    <int64[1,4] csr, 2 stored>
      (0, 1)  1
      (0, 3)  1
    """
    if not arrays:
        raise ShapeError("concat takes at least one array")
    ndim = arrays[0].ndim
    if not -ndim <= axis < ndim:
        raise ShapeError(f"axis={axis}, but the arrays have {ndim} dimensions")
    axis %= ndim
    rest = arrays[0].shape[:axis] + arrays[0].shape[axis + 1 :]
    for position, x in enumerate(arrays):
        if x.ndim != ndim or x.shape[:axis] + x.shape[axis + 1 :] != rest:
            raise ShapeError(
                f"arrays[{position}] has shape {x.shape} beside {arrays[0].shape}; they may differ "
                f"along axis {axis} alone"
            )
    length = sum(x.shape[axis] for x in arrays)
    shape = (*arrays[0].shape[:axis], length, *arrays[0].shape[axis + 1 :])
    return shape, np.result_type(*(x.dtype for x in arrays))


@concat.forward("dense... -> dense")
def _concat_dense(backend, *arrays, axis):
    return Dense(backend.xp.concatenate([x.data for x in arrays], axis=axis))


@concat.forward("row_sparse... -> row_sparse", where={"axis": 0})
def _concat_row_sparse(backend, *arrays):
    xp, ends = backend.xp, _ends(arrays, 0)
    width = np.result_type(index_dtype(ends[-1]), *(x.indices.dtype for x in arrays))
    indices = [x.indices.astype(width) + end for x, end in zip(arrays, ends[:-1], strict=True)]
    data = xp.concatenate([x.data for x in arrays])
    return RowSparse(data, xp.concatenate(indices), (ends[-1], *arrays[0].shape[1:]))


@concat.forward("csr... -> csr")
def _concat_csr(backend, *arrays, axis):
    return (_beside if axis % 2 else _below)(backend, arrays)


def _below(backend, matrices):
    xp, ends = backend.xp, _ends(matrices, 0)
    counts = xp.concatenate([xp.diff(x.indptr) for x in matrices])
    indptr = counts_to_indptr(backend, counts, *(x.indptr.dtype for x in matrices))
    indices = xp.concatenate([x.indices for x in matrices]).astype(indptr.dtype, copy=False)
    data = xp.concatenate([x.data for x in matrices])
    return CSR(data, indices, indptr, (ends[-1], matrices[0].shape[1]))


def _beside(backend, matrices):
    xp, ends = backend.xp, _ends(matrices, 1)
    counts = [xp.diff(x.indptr).astype(np.int64) for x in matrices]
    widths = [index_dtype(ends[-1]), *(x.indptr.dtype for x in matrices)]
    indptr = counts_to_indptr(backend, sum(counts), *widths)
    data = xp.empty(int(indptr[-1]), np.result_type(*(x.data.dtype for x in matrices)))
    indices = xp.empty(len(data), indptr.dtype)
    before = indptr[:-1].astype(np.int64)
    for x, count, end in zip(matrices, counts, ends[:-1], strict=True):
        at = xp.repeat(before - x.indptr[:-1], count) + xp.arange(len(x.indices))
        data[at] = x.data
        indices[at] = x.indices.astype(indptr.dtype, copy=False) + end
        before += count
    return CSR(data, indices, indptr, (len(before), ends[-1]))


def _ends(arrays, axis):
    """Where each of the arrays begins along `axis`, and where the last one ends."""
    ends = [0]
    for x in arrays:
        ends.append(ends[-1] + x.shape[axis])
    return ends


@concat.backward("arrays", "dense... -> dense")
def _concat_arrays(g, arrays_spec, axis):
    return _parts(g, arrays_spec, axis)


@concat.backward("arrays", "row_sparse... -> row_sparse", "csr... -> csr")
def _concat_sparse_arrays(g, arrays, axis):
    parts = _parts(g, arrays, axis)
    return [sparse_mask(part, x) for part, x in zip(parts, arrays, strict=True)]


def _parts(g, arrays, axis):
    axis %= g.ndim
    ends = _ends(arrays, axis)
    if axis == 0:
        return [slice_rows(g, start=s, stop=e, step=1) for s, e in zip(ends, ends[1:], strict=False)]
    return [
        slice_columns(g, start=s, stop=e, axis=axis) for s, e in zip(ends, ends[1:], strict=False)
    ]
