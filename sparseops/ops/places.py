"""Kernels of products: what is stored in one array, and the values of another there."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.ops.broadcasting import outer_csr, report_dense, spread_csr
from sparseops.ops.merge import intersect_csr, intersect_rows, select_csr
from sparseops.ops.structure import find
from sparseops.spec import Spec, broadcast
from sparseops.storage import CSR, Dense, RowSparse, index_dtype


def csr_by_dense(backend: Backend, x: CSR, dense: Dense, function: Callable) -> CSR:
    """`function` of the stored values of `x` and those of `dense` at their places."""
    x = spread_csr(backend, x, broadcast(x.shape, dense.shape))
    return x.with_data(function(x.data, _at_places(backend, dense.data, x)))


def csr_by_csr(backend: Backend, a: CSR, b: CSR) -> CSR:
    """The products of `a` and `b`, which broadcast, where both are stored."""
    shape = broadcast(a.shape, b.shape)
    if a.shape == b.shape:
        return intersect_csr(backend, a, b, np.multiply)
    if a.shape != shape and b.shape != shape:
        row, column = (a, b) if a.shape[0] == 1 else (b, a)
        data = np.multiply(column.data[:, None], row.data).reshape(-1)
        return outer_csr(backend, data, row.indices, column, shape[1])
    big, small = (a, b) if a.shape == shape else (b, a)
    at, there = find(backend, *_along_small(backend, big, small))
    return select_csr(backend, _widened(big, small), there, big.data[there] * small.data[at[there]])


def csr_by_rows(backend: Backend, x: CSR, rows: RowSparse) -> CSR:
    """The products of `x` and `rows`, which broadcast, where both are stored."""
    shape = broadcast(x.shape, rows.shape)
    if x.shape != shape or len(rows.shape) < 2 or rows.shape[0] != shape[0]:
        return csr_by_csr(backend, x, _rows_as_csr(backend, rows))
    at, there = find(backend, backend.row_ids(x), rows.indices)
    columns = x.indices[there] if rows.shape[1] == shape[1] else 0
    data = x.data[there] * rows.data[at[there], columns]
    return select_csr(backend, _widened(x, rows), there, data)


def rows_by_dense(
    name: str, backend: Backend, a: RowSparse | Dense, b: RowSparse | Dense, ufunc: np.ufunc
) -> RowSparse:
    """`ufunc` of the stored rows of one of `a` and `b` and those of the other, which is dense.

    Where the stored rows are not rows of the result, the operator `name` fills all of it.
    """
    x, dense = sparse_first(a, b)
    shape = broadcast(x.shape, dense.shape)
    if len(x.shape) == len(shape) and x.shape[0] == shape[0]:
        along = len(dense.shape) == len(shape) and dense.shape[0] == shape[0]
        data = ufunc(x.data, dense.data[x.indices] if along else dense.data)
        return RowSparse(data, x.indices, shape)
    width = np.result_type(x.indices.dtype, index_dtype(shape[0]))
    rows = backend.xp.arange(shape[0] if len(x.indices) else 0, dtype=width)
    spec = Spec(shape, ufunc(x.data[:0], dense.data[:0]).dtype, "row_sparse")
    if len(rows) and dense.data.size < spec.size:
        reason = f"the rows of an array of shape {x.shape} lie in every row of the result"
        report_dense(name, [a, b], spec, reason)
    return RowSparse(_in_stored(backend, x, dense.data, (len(rows), *shape[1:]), ufunc), rows, shape)


def rows_by_rows(backend: Backend, a: RowSparse, b: RowSparse) -> RowSparse:
    """The products of `a` and `b`, which broadcast, where both are stored."""
    shape = broadcast(a.shape, b.shape)
    if len(a.shape) == len(b.shape) and a.shape[0] == b.shape[0]:
        rows, left, right = intersect_rows(backend, a, b)
        return RowSparse(left * right, rows, shape)
    ahead = len(a.shape) - len(b.shape)
    big, small = (a, b) if ahead > 0 or (not ahead and a.shape[0] == shape[0]) else (b, a)
    rows = widened(big, small).indices if len(small.indices) else big.indices[:0]
    of_big = big.data[: len(rows)]
    data = _in_stored(backend, small, of_big, (len(rows), *shape[1:]), np.multiply)
    return RowSparse(data, rows, shape)
