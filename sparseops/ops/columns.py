"""Columns and entries of csr matrices by number: read, and put in place."""

from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.ops.rows import (
    csr_columns,
    csr_part,
    csr_rows,
    csr_transposed,
    distinct,
    locate,
)
from sparseops.ops.structure import counts_to_indptr
from sparseops.storage import CSR, RowSparse, index_dtype, merged


def sliced_columns(backend: Backend, x: CSR, start: int, stop: int, step: int) -> CSR:
    """The columns `start`, `start` + `step`, … of `x`; O(nnz), O(nnz log rows) if `step` < 0."""
    count = len(range(start, stop, step))
    if step == 1:
        keep = (x.indices >= start) & (x.indices < stop)
        return csr_part(backend, x, keep, x.indices.astype(np.int64) - start, count)
    places, beside = backend.xp.divmod(x.indices.astype(np.int64) - start, step)
    keep = (beside == 0) & (places >= 0) & (places < count)
    found = csr_part(backend, x, keep, places, count)
    return found if step > 0 else _turned(backend, found)


def _turned(backend: Backend, x: CSR) -> CSR:
    """`x` with the entries of each row in reverse order."""
    at = backend.xp.arange(len(x.indices), dtype=x.indptr.dtype)
    if len(at) < x.shape[0]:
        rows = backend.xp.searchsorted(x.indptr, at, side="right") - 1
    else:
        rows = backend.row_ids(x)
    order = x.indptr[rows] - at + x.indptr[rows + 1] - 1
    return CSR(x.data[order], x.indices[order], x.indptr, x.shape)


def picked_columns(backend: Backend, x: CSR, ids: Any) -> CSR:
    """The columns `ids` of `x`, in their order and as often as they stand there.

    O(rows + entries of `x` and of the result), with a factor of log ids if `x` is wide.
    """
    named, places = ids, None
    if not (ids[1:] > ids[:-1]).all():
        named, places = distinct(backend, ids, x.shape[1])
    if not len(named) or int(named[-1]) <= np.iinfo(x.indices.dtype).max:
        # What has two dtypes is searched several times as slowly.
        named = named.astype(x.indices.dtype, copy=False)
    found = csr_columns(backend, x, named)
    if places is None:
        return found
    # Columns as rows: moving these sorts the entries on the way.
    return csr_transposed(backend, csr_rows(backend, csr_transposed(backend, found), places))


def one_column(backend: Backend, x: CSR, number: int) -> RowSparse:
    """Column `number` of `x`, storing the rows that have an entry there; O(nnz)."""
    xp = backend.xp
    at = xp.flatnonzero(x.indices == number)
    rows = xp.searchsorted(x.indptr, at, side="right") - 1
    return RowSparse(x.data[at], rows.astype(x.indices.dtype), x.shape[:1])


def one_entry(backend: Backend, x: CSR, row: int, column: int) -> Any:
    """The value at a place of `x`, an array of no dimensions; O(log entries of the row)."""
    start, end = x.indptr[row : row + 2].tolist()
    at = start + int(backend.xp.searchsorted(x.indices[start:end], column))
    if at < end and x.indices[at] == column:
        return x.data[at, ...]
    return backend.xp.zeros((), x.data.dtype)


def picked_entries(backend: Backend, x: CSR, rows: Any, columns: Any) -> Any:
    """The values at the places (rows[i], columns[i]) of `x`, zero where it stores none."""
    at, there = locate(backend, x, rows, columns)
    values = backend.xp.zeros(len(at), x.data.dtype)
    values[there] = x.data[at[there]]
    return values


def placed_columns(backend: Backend, x: CSR, places: Any, num_columns: int) -> CSR:
    """A matrix of `num_columns` columns in which column ``places[i]`` is that of `x`, added up."""
    width = np.result_type(x.indices.dtype, index_dtype(num_columns))
    indices, indptr = (i.astype(width, copy=False) for i in (places, x.indptr))
    return CSR(x.data, indices, indptr, (x.shape[0], num_columns)).canonicalize(backend.xp)


def placed_column(backend: Backend, x: RowSparse, number: int, num_columns: int) -> CSR:
    """A matrix of `num_columns` columns that are zero but for column `number`, the vector `x`."""
    counts = backend.xp.zeros(x.shape[0], np.int64)
    counts[x.indices] = 1
    indptr = counts_to_indptr(backend, counts, x.indices.dtype, index_dtype(num_columns))
    indices = backend.xp.full(len(x.indices), number, indptr.dtype)
    return CSR(x.data, indices, indptr, (x.shape[0], num_columns))


def placed_entries(
    backend: Backend, values: Any, rows: Any, columns: Any, shape: tuple[int, int]
) -> CSR:
    """A matrix with `values` at the places (rows[i], columns[i]), added up over `i`."""
    values, (rows, columns) = merged(values, (rows, columns), shape, backend.xp)
    counts = backend.xp.bincount(rows, minlength=shape[0])
    indptr = counts_to_indptr(backend, counts, columns.dtype, index_dtype(shape[1]))
    return CSR(values, columns.astype(indptr.dtype), indptr, shape)
