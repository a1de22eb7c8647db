"""Columns and entries of csr matrices by number: read, and put in place."""

from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.ops.rows import csr_columns, csr_part, locate
from sparseops.ops.structure import counts_to_indptr
from sparseops.storage import CSR, RowSparse, index_dtype, merged


def sliced_columns(backend: Backend, x: CSR, start: int, stop: int, step: int) -> CSR:
    """The columns `start`, `start` + `step`, … of `x`; O(nnz), if `step` < 0 O(nnz log nnz)."""
    count = len(range(start, stop, step))
    if step == 1:
        keep = (x.indices >= start) & (x.indices < stop)
        return csr_part(backend, x, keep, x.indices.astype(np.int64) - start, count)
    places, beside = backend.xp.divmod(x.indices.astype(np.int64) - start, step)
    keep = (beside == 0) & (places >= 0) & (places < count)
    return _sorted(backend, csr_part(backend, x, keep, places, count))


def _sorted(backend: Backend, x: CSR) -> CSR:
    """`x`, in which no place stands twice, with the columns of each row in order."""
    xp, rows = backend.xp, backend.row_ids(x)
    order = xp.lexsort(xp.stack([x.indices, rows]))
    return CSR(x.data[order], x.indices[order], x.indptr, x.shape)


def picked_columns(backend: Backend, x: CSR, ids: Any) -> CSR:
    """The columns `ids` of `x`, in their order and as often as they stand there.

    O(nnz log ids + entries taken), and their sorting if `ids` do not ascend.
    """
    if (ids[1:] > ids[:-1]).all():
        return csr_columns(backend, x, ids)
    xp, nnz = backend.xp, len(x.indices)
    order = xp.argsort(ids, kind="stable")
    ordered = ids[order]
    first = xp.searchsorted(ordered, x.indices, side="left")
    counts = xp.searchsorted(ordered, x.indices, side="right") - first
    before = xp.zeros(nnz + 1, np.int64)
    xp.cumsum(counts, out=before[1:])
    entries = xp.repeat(xp.arange(nnz), counts)
    columns = order[xp.arange(len(entries)) - before[entries] + first[entries]]
    width = np.result_type(x.indices.dtype, index_dtype(len(entries), len(ids)))
    indptr, shape = before[x.indptr].astype(width), (x.shape[0], len(ids))
    return _sorted(backend, CSR(x.data[entries], columns.astype(width), indptr, shape))


def one_column(backend: Backend, x: CSR, number: int) -> RowSparse:
    """Column `number` of `x`, storing the rows that have an entry there; O(nnz)."""
    xp = backend.xp
    at = xp.flatnonzero(x.indices == number)
    rows = xp.searchsorted(x.indptr, at, side="right") - 1
    return RowSparse(x.data[at], rows.astype(x.indices.dtype), x.shape[:1])


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
