"""Arrays put together."""

import numpy as np

from sparseops.errors import ShapeError
from sparseops.operators import operator
from sparseops.ops.cast import sparse_mask
from sparseops.ops.rows import distinct
from sparseops.ops.slicing import slice_columns, slice_rows
from sparseops.ops.structure import counts_to_indptr
from sparseops.ops.totals import as_axis
from sparseops.storage import CSR, Dense, RowSparse, index_dtype

__all__ = ["concat"]


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
        csr if all arrays are csr; row_sparse if all are row_sparse, with the rows that any of them
        stores where `axis` is not the first; else dense. Of the dtype, and the index width, that
        all arrays fit.

    Raises
    ------
    ShapeError
        If there are no arrays, or lengths differ along another axis.

    Notes
    -----
    O(rows + nnz) for csr arrays, O(values stored in the result) for row_sparse ones.

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
    axis = as_axis(axis, ndim)
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


@concat.forward("row_sparse... -> row_sparse")
def _concat_row_sparse(backend, *arrays, axis):
    axis %= len(arrays[0].shape)
    return _rows_beside(backend, arrays, axis) if axis else _rows_below(backend, arrays)


def _rows_below(backend, arrays):
    xp, ends = backend.xp, _ends(arrays, 0)
    width = np.result_type(index_dtype(ends[-1]), *(x.indices.dtype for x in arrays))
    indices = [x.indices.astype(width) + end for x, end in zip(arrays, ends[:-1], strict=True)]
    data = xp.concatenate([x.data for x in arrays])
    return RowSparse(data, xp.concatenate(indices), (ends[-1], *arrays[0].shape[1:]))


def _rows_beside(backend, arrays, axis):
    xp, ends = backend.xp, _ends(arrays, axis)
    first, *rest = arrays[0].shape
    rest[axis - 1] = ends[-1]
    rows, places = distinct(backend, xp.concatenate([x.indices for x in arrays]), first)
    data = xp.zeros((len(rows), *rest), np.result_type(*(x.data.dtype for x in arrays)))
    before = 0
    for x, start, stop in zip(arrays, ends, ends[1:], strict=False):
        at = places[before : before + len(x.indices)]
        data[(at, *(slice(None),) * (axis - 1), slice(start, stop))] = x.data
        before += len(at)
    return RowSparse(data, rows, (first, *rest))


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
        return [slice_rows(g, s, count=e - s, step=1) for s, e in zip(ends, ends[1:], strict=False)]
    return [
        slice_columns(g, start=s, stop=e, axis=axis) for s, e in zip(ends, ends[1:], strict=False)
    ]
