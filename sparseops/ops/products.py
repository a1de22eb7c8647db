"""Matrix products of storages, each operand as it is or transposed, in every dtype.

Products with a sparse operand skip the places that it does not store, so what stands there on the
other side, NaN and infinity included, has no part in them. float16 is computed in float32.
"""

from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.ops.rows import csr_transposed, few_columns, rows_of
from sparseops.ops.structure import entry_keys, find
from sparseops.storage import CSR, Dense, RowSparse, Storage, index_dtype

#: From so many columns on, reading the other operand's rows at random costs less than adding up in
#: a result of many more rows.
_GATHER_COLUMNS = 16


def working(dtype: np.dtype) -> np.dtype:
    """The type in which values of `dtype` are multiplied and added up."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def product(
    backend: Backend, a: Storage, transpose_a: bool, b: Storage, transpose_b: bool, dtype: Any
) -> Any:
    """The product of two matrices, in any storages, as an array of `dtype`.

    O(size of the result) beside the work on what both store.
    """
    a, b = share_rows(backend, a, transpose_a, b, transpose_b)
    if a.stype == "row_sparse":
        rows = product(backend, Dense(a.data), False, b, transpose_b, dtype)
        out = backend.xp.zeros((a.shape[0], rows.shape[1]), dtype)
        out[a.indices] = rows
        return out
    if b.stype == "row_sparse":
        return product(backend, b, False, a, not transpose_a, dtype).T
    return _PRODUCTS[a.stype, b.stype](backend, a, transpose_a, b, transpose_b, dtype)


def share_rows(
    backend: Backend, a: Storage, transpose_a: bool, b: Storage, transpose_b: bool
) -> tuple[Storage, Storage]:
    """Operands of the same product in which no row_sparse one is summed over its rows.

    Rows that are absent have no part in the sum, so both are cut down to the rows that are stored.
    """
    if a.stype == "row_sparse" and transpose_a:
        a, b = Dense(a.data), rows_of(backend, b, transpose_b, a.indices)
    if b.stype == "row_sparse" and not transpose_b:
        a, b = rows_of(backend, a, not transpose_a, b.indices), Dense(b.data)
    return a, b


def _dense_by_dense(backend, a, transpose_a, b, transpose_b, dtype):
    left, right = _values(a, dtype), _values(b, dtype)
    out = (left.T if transpose_a else left) @ (right.T if transpose_b else right)
    return out.astype(dtype, copy=False)


def _csr_by_dense(backend, a, transpose_a, b, transpose_b, dtype):
    right = b.data.T if transpose_b else b.data
    if not transpose_a and (found := backend.compiled("csr_dense", a, right)) is not None:
        return found
    if transpose_a and (found := backend.compiled("csr_transposed_dense", a, right)) is not None:
        columns, rows = found
        out = backend.xp.zeros((a.shape[1], rows.shape[1]), dtype)
        out[columns] = rows
        return out
    right = right.astype(working(dtype), copy=False)
    left = backend.matrix(a.with_data(_values(a, dtype)))
    if transpose_a:
        left = left.T
        if right.shape[1] >= _GATHER_COLUMNS and a.shape[1] > 4 * a.shape[0]:
            left = left.tocsr()
    return (left @ right).astype(dtype, copy=False)


def _dense_by_csr(backend, a, transpose_a, b, transpose_b, dtype):
    return _csr_by_dense(backend, b, not transpose_b, a, not transpose_a, dtype).T


def _csr_by_csr(backend, a, transpose_a, b, transpose_b, dtype):
    found = sparse_product(backend, a, transpose_a, b, transpose_b, dtype)
    out = backend.xp.zeros(found.shape, dtype)
    out[backend.row_ids(found), found.indices] = found.data
    return out


_PRODUCTS = {
    ("dense", "dense"): _dense_by_dense,
    ("csr", "dense"): _csr_by_dense,
    ("dense", "csr"): _dense_by_csr,
    ("csr", "csr"): _csr_by_csr,
}


def sparse_product(
    backend: Backend, a: CSR, transpose_a: bool, b: CSR, transpose_b: bool, dtype: Any
) -> CSR:
    """The product of two csr matrices as csr of `dtype`: a place for each pair that meets there.

    O(work on the pairs + rows of the result).
    """
    shape = a.shape[transpose_a], b.shape[not transpose_b]
    width = np.result_type(a.indices.dtype, b.indices.dtype)
    if transpose_b and not transpose_a:
        _, (a, b) = few_columns(backend, a, b)
    if transpose_a:
        a = csr_transposed(backend, a)
    if transpose_b:
        b = csr_transposed(backend, b)
    columns, (b,) = few_columns(backend, b)
    found = _multiplied(backend, a, b, dtype)
    indices = found.indices if columns is None else columns[found.indices]
    width = np.result_type(width, index_dtype(len(indices)))
    return CSR(
        found.data.astype(dtype, copy=False),
        indices.astype(width, copy=False),
        found.indptr.astype(width, copy=False),
        shape,
    )


def _multiplied(backend: Backend, a: CSR, b: CSR, dtype: np.dtype) -> CSR:
    if (found := backend.compiled("csr_csr", a, b)) is not None:
        return found
    left, right = (backend.matrix(x.with_data(_values(x, dtype))) for x in (a, b))
    found = _sorted_csr(left @ right)
    whole = found.data.base
    if whole is not None and whole.size == found.data.size:
        return found
    # The library allocates a value for each place, and then leaves out those that add up to zero.
    # They are places of the product still: its gradient there is not zero.
    left, right = (backend.matrix(x.with_data(backend.xp.ones(len(x.data), bool))) for x in (a, b))
    places = _sorted_csr(left @ right)
    known, all_known = entry_keys(backend, found, places)
    at, _ = find(backend, known, all_known)
    data = backend.xp.zeros(len(all_known), found.data.dtype)
    data[at] = found.data
    return places.with_data(data)


def _sorted_csr(matrix: Any) -> CSR:
    matrix.sort_indices()
    return CSR(matrix.data, matrix.indices, matrix.indptr, matrix.shape)


def rows_as_csr(backend: Backend, x: RowSparse) -> CSR:
    """A row_sparse matrix as csr, with every value of its rows; O(rows + stored)."""
    xp = backend.xp
    rows, columns = x.shape
    width = np.result_type(x.indices.dtype, index_dtype(columns, x.data.size))
    indptr = xp.zeros(rows + 1, width)
    indptr[1:][x.indices] = columns
    xp.cumsum(indptr, out=indptr)
    indices = xp.tile(xp.arange(columns, dtype=width), len(x.indices))
    return CSR(x.data.reshape(-1), indices, indptr, x.shape)


def columns_as_csr(backend: Backend, values: Any, columns: Any, shape: tuple[int, int]) -> CSR:
    """A csr matrix of `shape` with the array `values` in the ascending `columns` of every row."""
    xp = backend.xp
    width = np.result_type(columns.dtype, index_dtype(values.size))
    indptr = xp.arange(len(values) + 1, dtype=width) * len(columns)
    indices = xp.tile(columns.astype(width, copy=False), len(values))
    return CSR(xp.ascontiguousarray(values).reshape(-1), indices, indptr, shape)


def selection(backend: Backend, ids: Any, columns: int, dtype: Any) -> CSR:
    """The csr matrix with a one in column ``ids[i]`` of each row i."""
    xp, count = backend.xp, len(ids)
    indptr = xp.arange(count + 1, dtype=ids.dtype)
    return CSR(xp.ones(count, dtype), ids, indptr, (count, columns))


def sum_rows(backend: Backend, values: Any, places: Any, count: int) -> Any:
    """The rows of `values` added up at `places`, of which there are `count`."""
    xp, dtype = backend.xp, values.dtype
    flat = xp.ascontiguousarray(values).reshape(len(values), -1)
    flat = flat.astype(working(dtype), copy=False)
    if dtype.kind == "c":
        # Real and imaginary parts on their own: 1 * (inf + 0j) has a NaN in it.
        flat = flat.view(flat.real.dtype)
    chosen = selection(backend, places, count, flat.dtype)
    sums = backend.matrix(chosen).T @ flat
    return sums.view(working(dtype)).astype(dtype, copy=False).reshape(count, *values.shape[1:])


def _values(x: Storage, dtype: np.dtype) -> Any:
    return x.data.astype(working(dtype), copy=False)
