"""Slices of rows and columns, and arrays of zeros but for such a slice."""

from operator import index

import numpy as np

from sparseops.errors import ShapeError
from sparseops.operators import operator
from sparseops.ops.cast import sparse_mask
from sparseops.ops.rows import csr_part, moved
from sparseops.ops.structure import counts_to_indptr
from sparseops.ops.totals import as_axis
from sparseops.storage import CSR, Dense, RowSparse, index_dtype

__all__ = []


@operator
def slice_rows(x, start, *, count, step):
    """`count` rows of `x`, which are `start`, `start` + `step`, …: what a slice of `x` gives.

    Parameters
    ----------
    x : array of any storage
        Storage is kept.
    start, count, step : int
        Which rows; all of them are rows of `x`.

    Raises
    ------
    IndexError
        If one is not.

    Notes
    -----
    One plan serves all slices of a length. Neighboring rows in ascending order share memory with
    `x`. The gradient by a dense `x` is
    row_sparse where no storage is asked for. O(rows and entries taken).

    Examples
    --------
    >>> import sparseops as so
    >>> so.csr_array([[1, 0], [0, 2], [0, 3]])[::-2]
    <int64[2,2] csr, 2 stored>
      (0, 1)  3
      (1, 0)  1
    """
    if not x.shape:
        raise ShapeError("x has shape () and so no rows")
    return (index(count), *x.shape[1:]), x.dtype


def _rows(start, count, step):
    """The rows of a slice as a range, whose step is 1 where there is no second row."""
    first = index(start)
    return range(first, first + count * step, step) if count > 1 else range(first, first + count)


def _taken(x, start, count, step):
    """The rows of a slice as a range, checked to be rows of `x`."""
    rows = _rows(start, count, step)
    for row in (rows[0], rows[-1]) if rows else ():
        if not 0 <= row < x.shape[0]:
            raise IndexError(f"the slice reaches row {row}, but there are {x.shape[0]} rows")
    return rows


@slice_rows.forward("dense, scalar -> dense")
def _slice_dense(backend, x, start, *, count, step):
    rows = _taken(x, start, count, step)
    if not rows:
        return Dense(x.data[:0])
    # A stop of -1 is one before the first row in a range, and the last one in a slice.
    return Dense(x.data[rows.start : rows.stop if rows.stop >= 0 else None : rows.step])


@slice_rows.forward("csr, scalar -> csr")
def _slice_csr(backend, x, start, *, count, step):
    rows = _taken(x, start, count, step)
    if rows.step != 1:
        return _stepped(backend, x, rows)
    indptr = x.indptr[rows.start : rows.stop + 1]
    entries = slice(int(indptr[0]), int(indptr[-1]))
    indptr = indptr - indptr[0] if entries.start else indptr
    return CSR(x.data[entries], x.indices[entries], indptr, (len(rows), x.shape[1]))


def _stepped(backend, x, rows):
    """The rows of `x` that the range `rows` has, of any step."""
    chosen = slice(rows.start, rows.stop if rows.stop >= 0 else None, rows.step)
    return moved(backend, x, lambda matrix: matrix[chosen], x.indptr.dtype)


@slice_rows.forward("row_sparse, scalar -> row_sparse")
def _slice_row_sparse(backend, x, start, *, count, step):
    xp, rows = backend.xp, _taken(x, start, count, step)
    shape = (len(rows), *x.shape[1:])
    if rows.step == 1:
        low, high = xp.searchsorted(x.indices, xp.asarray([rows.start, rows.stop])).tolist()
        found, places = slice(low, high), x.indices[low:high].astype(np.int64) - rows.start
    else:
        places, beside = xp.divmod(x.indices.astype(np.int64) - rows.start, rows.step)
        found = xp.flatnonzero((beside == 0) & (places >= 0) & (places < len(rows)))
        found = found if rows.step > 0 else found[::-1]
        places = places[found]
    return RowSparse(x.data[found], places.astype(x.indices.dtype), shape)


@slice_rows.backward("x", "dense, scalar -> row_sparse")
def _slice_rows_x(g, x_spec, start, step):
    return place_rows(g, start, step=step, num_rows=x_spec.shape[0])


@slice_rows.backward("x", "dense, scalar -> dense")
def _slice_rows_dense_x(g, x_spec, start, step):
    return place_rows(g, start, step=step, num_rows=x_spec.shape[0], stype="dense")


@slice_rows.backward("x", "csr, scalar -> csr", "row_sparse, scalar -> row_sparse")
def _slice_rows_sparse_x(g, x, start, step):
    return sparse_mask(place_rows(g, start, step=step, num_rows=x.shape[0]), x)


@operator
def place_rows(x, start, *, step, num_rows):
    """An array of `num_rows` rows: `x` stands in rows `start`, `start` + `step`, …, else zeros.

    Parameters
    ----------
    x : array of any storage
        The rows; a dense one gives row_sparse.
    start, step, num_rows : int
        Where they come to stand, and how many rows there are.

    Notes
    -----
    O(values stored), and O(num_rows) for csr.
    """
    return (index(num_rows), *x.shape[1:]), x.dtype


def _placed(x, start, step, num_rows):
    """The rows where those of `x` come to stand."""
    rows = _rows(start, x.shape[0], step)
    for row in (rows[0], rows[-1]) if rows else ():
        if not 0 <= row < num_rows:
            raise IndexError(f"a row comes to stand at {row}, but there are {num_rows} rows")
    return rows


@place_rows.forward("dense, scalar -> row_sparse")
def _place_dense(backend, x, start, *, step, num_rows):
    indices = backend.xp.arange(x.shape[0], dtype=index_dtype(num_rows))
    return _place_stored(x.data, indices, x, start, step, num_rows)


@place_rows.forward("row_sparse, scalar -> row_sparse")
def _place_row_sparse(backend, x, start, *, step, num_rows):
    return _place_stored(x.data, x.indices, x, start, step, num_rows)


def _place_stored(data, indices, x, start, step, num_rows):
    rows = _placed(x, start, step, num_rows)
    width = np.result_type(indices.dtype, index_dtype(num_rows))
    indices = (indices.astype(np.int64) * rows.step + rows.start).astype(width)
    if rows.step < 0:
        data, indices = data[::-1], indices[::-1]
    return RowSparse(data, indices, (num_rows, *x.shape[1:]))


@place_rows.forward("csr, scalar -> csr")
def _place_csr(backend, x, start, *, step, num_rows):
    xp, rows = backend.xp, _placed(x, start, step, num_rows)
    if rows.step < 0:
        x, rows = _stepped(backend, x, range(x.shape[0] - 1, -1, -1)), rows[::-1]
    counts = xp.zeros(num_rows, x.indptr.dtype)
    counts[rows.start : rows.stop : rows.step] = xp.diff(x.indptr)
    indptr = counts_to_indptr(backend, counts, x.indptr.dtype)
    return CSR(x.data, x.indices, indptr, (num_rows, x.shape[1]))


@place_rows.backward("x", "dense, scalar -> dense")
def _place_rows_dense_x(g, x_spec, start, step):
    return slice_rows(g, start, count=x_spec.shape[0], step=step, stype="dense")


@place_rows.backward("x", "csr, scalar -> csr", "row_sparse, scalar -> row_sparse")
def _place_rows_sparse_x(g, x, start, step):
    return sparse_mask(slice_rows(g, start, count=x.shape[0], step=step), x)


@operator
def slice_columns(x, *, start, stop, axis):
    """The part of `x` from `start` to `stop` along an `axis` behind the first.

    Parameters
    ----------
    x : array of any storage
        Storage is kept.
    start, stop, axis : int
        Not negative, and no more than there is.

    Notes
    -----
    O(values stored).
    """
    if not 0 < as_axis(axis, x.ndim) == axis:
        raise ShapeError(f"axis={axis}, but x has {x.ndim} dimensions")
    if not 0 <= start <= stop <= x.shape[axis]:
        raise IndexError(f"{start}:{stop} is not a part of 0:{x.shape[axis]}")
    return (*x.shape[:axis], stop - start, *x.shape[axis + 1 :]), x.dtype


@slice_columns.forward("dense -> dense")
def _columns_dense(backend, x, *, start, stop, axis):
    return Dense(x.data[(slice(None),) * axis + (slice(start, stop),)])


@slice_columns.forward("row_sparse -> row_sparse")
def _columns_row_sparse(backend, x, *, start, stop, axis):
    data = x.data[(slice(None),) * axis + (slice(start, stop),)]
    return RowSparse(data, x.indices, (x.shape[0], *data.shape[1:]))


@slice_columns.forward("csr -> csr")
def _columns_csr(backend, x, *, start, stop):
    keep = (x.indices >= start) & (x.indices < stop)
    return csr_part(backend, x, keep, x.indices.astype(np.int64) - start, stop - start)


@slice_columns.backward("x", "dense -> dense")
def _slice_columns_x(g, x_spec, start, axis):
    return place_columns(g, start=start, size=x_spec.shape[axis], axis=axis)


@slice_columns.backward("x", "row_sparse -> row_sparse", "csr -> csr")
def _slice_columns_sparse_x(g, x, start, axis):
    return sparse_mask(place_columns(g, start=start, size=x.shape[axis], axis=axis), x)


@operator
def place_columns(x, *, start, size, axis):
    """An array of `size` places along `axis`, of which those from `start` on are `x`, else zeros.

    Parameters
    ----------
    x : array of any storage
        Storage is kept.
    start, size, axis : int
        Where it comes to stand, and how many places there are.

    Notes
    -----
    O(values stored), and O(size of the result) for dense.
    """
    if not 0 < as_axis(axis, x.ndim) == axis:
        raise ShapeError(f"axis={axis}, but x has {x.ndim} dimensions")
    if not 0 <= start <= size - x.shape[axis]:
        raise IndexError(f"{x.shape[axis]} places do not fit from {start} on into {size}")
    return (*x.shape[:axis], index(size), *x.shape[axis + 1 :]), x.dtype


@place_columns.forward("dense -> dense")
def _place_columns_dense(backend, x, *, start, size, axis):
    return Dense(_widened(backend, x.data, start, size, axis))


@place_columns.forward("row_sparse -> row_sparse")
def _place_columns_row_sparse(backend, x, *, start, size, axis):
    data = _widened(backend, x.data, start, size, axis)
    return RowSparse(data, x.indices, (x.shape[0], *data.shape[1:]))


def _widened(backend, values, start, size, axis):
    out = backend.xp.zeros((*values.shape[:axis], size, *values.shape[axis + 1 :]), values.dtype)
    out[(slice(None),) * axis + (slice(start, start + values.shape[axis]),)] = values
    return out


@place_columns.forward("csr -> csr")
def _place_columns_csr(backend, x, *, start, size):
    width = np.result_type(x.indices.dtype, index_dtype(size))
    indices = x.indices.astype(width, copy=False) + start
    return CSR(x.data, indices, x.indptr.astype(width, copy=False), (x.shape[0], size))


@place_columns.backward("x", "dense -> dense")
def _place_columns_x(g, x_spec, start, axis):
    return slice_columns(g, start=start, stop=start + x_spec.shape[axis], axis=axis)


@place_columns.backward("x", "row_sparse -> row_sparse", "csr -> csr")
def _place_columns_sparse_x(g, x, start, axis):
    part = slice_columns(g, start=start, stop=start + x.shape[axis], axis=axis)
    return sparse_mask(part, x)
