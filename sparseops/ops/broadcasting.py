"""Storages repeated along axes of length one, as broadcasting does."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.errors import ShapeError
from sparseops.ops.cast import cast_storage
from sparseops.ops.totals import as_axes
from sparseops.policy import report
from sparseops.spec import Spec, broadcast
from sparseops.storage import CSR, RowSparse, Storage, index_dtype

#: Two sparse arrays of which one stores whole rows.
ROWS = (
    "row_sparse, row_sparse -> row_sparse",
    "csr, row_sparse -> row_sparse",
    "row_sparse, csr -> row_sparse",
)


def added_axes(shape: tuple[int, ...], wide: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The axes of `wide` that `shape` lacks: the leading ones, or those named by `axis`."""
    return tuple(range(len(wide) - len(shape))) if axis is None else as_axes(axis, len(wide))


def check_broadcast(shape: tuple[int, ...], wide: tuple[int, ...]) -> None:
    """Raise ShapeError unless arrays of `shape` broadcast to `wide`."""
    if broadcast(shape, wide) != wide:
        raise ShapeError(f"shape {shape} does not broadcast to {wide}")


def spread_csr(backend: Backend, x: CSR, shape: tuple[int, int]) -> CSR:
    """`x` with its rows and columns of length one repeated to `shape`; O(result)."""
    xp, (rows, columns) = backend.xp, shape
    if x.shape[1] != columns:
        every = xp.arange(columns, dtype=index_dtype(columns))
        x = outer_csr(backend, xp.repeat(x.data, columns), every, x, columns)
    if x.shape[0] == rows:
        return x
    nnz = len(x.indices)
    width = np.result_type(x.indices.dtype, index_dtype(rows * nnz, rows))
    indptr = xp.arange(rows + 1, dtype=width) * nnz
    return CSR(xp.tile(x.data, rows), xp.tile(x.indices.astype(width), rows), indptr, shape)


def outer_csr(backend: Backend, data: Any, indices: Any, column: CSR, columns: int) -> CSR:
    """The values `data` in the columns `indices` of each row that `column`, (m,1), stores."""
    width = np.result_type(indices.dtype, column.indices.dtype, index_dtype(len(data)))
    tiled = backend.xp.tile(indices.astype(width), len(column.indices))
    indptr = column.indptr.astype(width) * len(indices)
    return CSR(data, tiled, indptr, (column.shape[0], columns))


def spread_rows(
    backend: Backend,
    x: RowSparse,
    shape: tuple[int, ...],
    added: tuple[int, ...] | None = None,
) -> RowSparse:
    """`x` with the axes `added` put in and axes of length one repeated to `shape`; values as views.

    By default the axes that `x` lacks are added in front. Where the leading axis is among them,
    every row of the result holds all of `x`, which is made dense.
    """
    xp = backend.xp
    added = tuple(range(len(shape) - len(x.shape))) if added is None else added
    data, rows = x.data, x.indices
    if not len(rows):
        return RowSparse(xp.zeros((0, *shape[1:]), data.dtype), rows, shape)
    if 0 in added:
        data = xp.zeros(x.shape, data.dtype)
        data[rows] = x.data
    if 0 in added or x.shape[0] != shape[0]:
        rows = xp.arange(shape[0], dtype=np.result_type(rows.dtype, index_dtype(shape[0])))
    data = xp.expand_dims(data, added)
    return RowSparse(xp.broadcast_to(data, (len(rows), *shape[1:])), rows, shape)


def report_dense(operator: str, inputs: Sequence[Storage], result: Spec, reason: str) -> None:
    """Put before the policy that `inputs` fill all of `result`, for which no dense array stood."""
    report(
        operator,
        (*(x.stype for x in inputs), result.stype),
        reason,
        bytes_sparse=sum(x.nbytes for x in inputs if x.stype != "dense"),
        bytes_dense=result.dense_nbytes,
    )


def spread_both(
    name: str, backend: Backend, a: Storage, b: Storage, dtype: np.dtype
) -> tuple[RowSparse, RowSparse]:
    """The sparse `a` and `b` as row_sparse, broadcast.

    The operator `name`, whose result has the `dtype`, reports it where one of them fills every row.
    """
    shape = broadcast(a.shape, b.shape)
    spread = []
    for x in (a, b):
        rows = cast_storage.kernel(x.stype, "row_sparse")(backend, x)
        wide = rows if x.shape == shape else spread_rows(backend, rows, shape)
        if wide.indices is not rows.indices:
            spec = Spec(shape, dtype, "row_sparse")
            report_dense(name, [a, b], spec, f"an array of shape {x.shape} fills every row")
        spread.append(wide)
    return spread[0], spread[1]


def sparse_first(a: Storage, b: Storage) -> tuple[Any, Any]:
    """The sparse one of two storages, and the dense one."""
    return (a, b) if b.stype == "dense" else (b, a)
