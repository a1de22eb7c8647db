"""Kernels of products: what is stored in one array, and the values of another there."""

from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.ops.broadcasting import outer_csr, report_dense, sparse_first, spread_csr
from sparseops.ops.merge import intersect_csr, intersect_rows, select_csr, widened
from sparseops.ops.rows import pick
from sparseops.ops.structure import counts_to_indptr, entry_keys, find
from sparseops.spec import Spec, broadcast
from sparseops.storage import CSR, Dense, RowSparse, index_dtype


def csr_by_dense(backend: Backend, a: CSR | Dense, b: CSR | Dense, ufunc: np.ufunc) -> CSR:
    """`ufunc` of the stored values of one of `a` and `b` and those of the other, dense, there."""
    x, dense = sparse_first(a, b)
    x = spread_csr(backend, x, broadcast(x.shape, dense.shape))
    return x.with_data(ufunc(x.data, _at_places(backend, dense.data, x)))


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
    at, there = find(backend, *_keys_along(backend, big, small))
    data = big.data[there] * small.data[at[there]]
    return select_csr(backend, widened(big, small), there, data)


def csr_by_rows(backend: Backend, x: CSR, rows: RowSparse) -> CSR:
    """The products of `x` and `rows`, which broadcast, where both are stored."""
    shape = broadcast(x.shape, rows.shape)
    if x.shape != shape or len(rows.shape) < 2 or rows.shape[0] != shape[0]:
        return csr_by_csr(backend, x, _rows_as_csr(backend, rows))
    at, there = find(backend, backend.row_ids(x), rows.indices)
    columns = x.indices[there] if rows.shape[1] == shape[1] else 0
    data = x.data[there] * rows.data[at[there], columns]
    return select_csr(backend, widened(x, rows), there, data)


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
        data = ufunc(x.data, pick(backend, dense.data, x.indices) if along else dense.data)
        return RowSparse(data, x.indices, shape)
    width = np.result_type(x.indices.dtype, index_dtype(shape[0]))
    rows = backend.xp.arange(shape[0] if len(x.indices) else 0, dtype=width)
    spec = Spec(shape, _dtype_of(ufunc, x.data, dense.data), "row_sparse")
    if len(rows) and dense.data.size < spec.size:
        reason = f"the rows of an array of shape {x.shape} lie in every row of the result"
        report_dense(name, [a, b], spec, reason)
    return RowSparse(
        _in_stored(backend, x, dense.data, (len(rows), *shape[1:]), ufunc), rows, shape
    )


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


def _at_places(backend: Backend, values: Any, x: CSR) -> Any:
    """The dense `values`, which broadcast to the shape of `x`, at the places that `x` stores."""
    if values.size == 1:
        return values.reshape(())
    if values.ndim < 2 or values.shape[0] == 1:
        return values.reshape(-1)[x.indices]
    if values.shape[1] == 1:
        return values[:, 0][backend.row_ids(x)]
    if values.flags.c_contiguous:
        (keys,) = entry_keys(backend, x)
        return values.reshape(-1)[keys]
    # A view made by broadcasting is not reshaped, which would copy it whole.
    return values[backend.row_ids(x), x.indices]


def _keys_along(backend: Backend, big: CSR, small: CSR) -> tuple[Any, Any]:
    """For the entries of `big`, and of a `small` that is repeated to its shape, what must agree."""
    if small.shape[0] == big.shape[0]:
        return backend.row_ids(big), backend.row_ids(small)
    if small.shape[1] == big.shape[1]:
        return big.indices, small.indices
    return backend.xp.zeros_like(big.indices), small.indices


def _rows_as_csr(backend: Backend, x: RowSparse) -> CSR:
    """`x`, of one or two dimensions, as csr: the stored rows whole, a 1-D array as one row."""
    xp, (rows, columns) = backend.xp, (1, *x.shape)[-2:]
    if len(x.shape) == 1:
        ends = xp.asarray([0, len(x.indices)], dtype=x.indices.dtype)
        return CSR(x.data, x.indices, ends, (1, columns))
    counts = xp.zeros(rows, np.int64)
    counts[x.indices] = columns
    indptr = counts_to_indptr(backend, counts, x.indices.dtype, index_dtype(columns))
    indices = xp.tile(xp.arange(columns, dtype=indptr.dtype), len(x.indices))
    return CSR(x.data.reshape(-1), indices, indptr, x.shape)


def _in_stored(
    backend: Backend, x: RowSparse, values: Any, shape: tuple[int, ...], ufunc: np.ufunc
) -> Any:
    """A dense array of `shape`: `ufunc` of `x` and `values` where `x` is stored, else zero."""
    xp, ahead = backend.xp, len(shape) - len(x.shape)
    found = xp.zeros(shape, _dtype_of(ufunc, x.data, values))
    if found.size:
        stored = x.indices if x.shape[0] == shape[ahead] else slice(None)
        places = (slice(None),) * ahead + (stored,)
        found[places] = ufunc(x.data, xp.broadcast_to(values, shape)[places])
    return found


def _dtype_of(ufunc: np.ufunc, a: Any, b: Any) -> np.dtype:
    return ufunc(a.dtype.type(1), b.dtype.type(1)).dtype
