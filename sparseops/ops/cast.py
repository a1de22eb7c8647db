"""Conversions of storage and dtype, and the choice of stored places."""

import numpy as np

from sparseops.errors import DTypeError, ShapeError
from sparseops.operators import operator
from sparseops.ops.rows import pick
from sparseops.ops.structure import counts_to_indptr, entry_keys, find, flat_places
from sparseops.registry import operators
from sparseops.spec import as_dtype
from sparseops.storage import CSR, Dense, RowSparse, index_dtype

__all__ = ["cast", "cast_storage", "sparse_mask"]

SAME = ("dense -> dense", "row_sparse -> row_sparse", "csr -> csr")


@operator(needs_stype=True, shapes="(m,n)->(m,n)", reference=lambda x: x)
def cast_storage(x):
    """`x` in the storage type declared by ``stype=``, with equal values.

    Zeros are left out of a csr result, rows of zeros out of a row_sparse one, if `x` is dense; what
    a sparse `x` stores stays stored. NaN is stored. The gradient by `x` is in the storage of `x`.

    Parameters
    ----------
    x : array of any storage; of two dimensions for csr
        The values.

    Examples
    --------
    >>> import sparseops as so
    >>> so.cast_storage(so.array([[0, 3], [0, 0]]), stype="row_sparse")
    <int64[2,2] row_sparse, 1 row stored>
      row 0  [0 3]
    """
    return x.shape, x.dtype


@cast_storage.forward(*SAME)
def _unchanged(backend, x):
    return x


@cast_storage.forward("dense -> csr")
def _dense_to_csr(backend, x):
    if (found := backend.compiled("dense_to_csr", x.data)) is not None:
        return found
    xp = backend.xp
    rows, columns = x.shape
    # NaN != 0, so NaN is stored.
    flat = xp.flatnonzero(x.data != 0)
    row_ids, indices = xp.divmod(flat, max(columns, 1))
    counts = xp.bincount(row_ids, minlength=rows)
    indptr = counts_to_indptr(backend, counts, index_dtype(columns))
    return CSR(x.data.reshape(-1)[flat], indices.astype(indptr.dtype), indptr, x.shape)


@cast_storage.forward("dense -> row_sparse")
def _dense_to_row_sparse(backend, x):
    if (found := backend.compiled("dense_to_rows", x.data)) is not None:
        return found
    xp = backend.xp
    flat = x.data.reshape(len(x.data), -1) if x.data.size else x.data.reshape(len(x.data), 0)
    rows = xp.flatnonzero((flat != 0).any(axis=1))
    return RowSparse(x.data[rows], rows.astype(index_dtype(x.shape[0])), x.shape)


@cast_storage.forward("csr -> dense")
def _csr_to_dense(backend, x):
    if (found := backend.compiled("csr_to_dense", x)) is not None:
        return Dense(found)
    data = backend.xp.zeros(x.shape, x.data.dtype)
    # One flat index costs a third of two.
    data.reshape(-1)[flat_places(backend, x)] = x.data
    return Dense(data)


@cast_storage.forward("row_sparse -> dense")
def _row_sparse_to_dense(backend, x):
    data = backend.xp.zeros(x.shape, x.data.dtype)
    data[x.indices] = x.data
    return Dense(data)


@cast_storage.forward("csr -> row_sparse")
def _csr_to_row_sparse(backend, x):
    xp = backend.xp
    counts = xp.diff(x.indptr)
    rows = xp.flatnonzero(counts)
    data = xp.zeros((len(rows), x.shape[1]), x.data.dtype)
    data[xp.repeat(xp.arange(len(rows)), counts[rows]), x.indices] = x.data
    return RowSparse(data, rows.astype(x.indices.dtype), x.shape)


@cast_storage.forward("row_sparse -> csr")
def _row_sparse_to_csr(backend, x):
    xp = backend.xp
    rows, columns = x.shape
    within, indices = xp.nonzero(x.data)
    counts = xp.zeros(rows, np.int64)
    counts[x.indices] = xp.bincount(within, minlength=len(x.indices))
    indptr = counts_to_indptr(backend, counts, x.indices.dtype, index_dtype(columns))
    return CSR(x.data[within, indices], indices.astype(indptr.dtype), indptr, x.shape)


@cast_storage.backward("x", "dense -> dense")
def _cast_storage_x(g):
    return cast_storage(g, stype="dense")


@cast_storage.backward("x", "row_sparse -> row_sparse", "csr -> csr")
def _cast_storage_sparse_x(g, x):
    return sparse_mask(g, x)


@operator(shapes="(m,n)->(m,n)")
def cast(x, *, dtype):
    """`x` with values of another dtype, storage kept.

    Parameters
    ----------
    x : array of any storage
        The values.
    dtype : dtype-like
        Their new type; complex values do not become real ones, `real` and `imag` take their parts.

    Notes
    -----
    O(values stored).

    Examples
    --------
    >>> import sparseops as so
    >>> so.cast(so.csr_array([[0.0, 2.5]]), dtype="int8")
    <int8[1,2] csr, 1 stored>
      (0, 1)  2
    """
    found = as_dtype(dtype)
    if x.dtype.kind == "c" and found.kind not in "cb":
        raise DTypeError(f"{x.dtype} values do not fit {found}; take real or imag first")
    return x.shape, found


@cast.forward(*SAME)
def _cast(backend, x, *, dtype):
    return x.with_data(x.data.astype(as_dtype(dtype)))


@cast.backward("x", *SAME)
def _cast_x(g, x_spec):
    return cast(g, dtype=x_spec.dtype)


@operator(shapes="(m,n),(m,n)->(m,n)")
def sparse_mask(x, like):
    """The values of `x` at the places that `like` stores.

    Parameters
    ----------
    x : array of any storage
        The values; places that a sparse `x` does not store are zeros.
    like : csr or row_sparse array of the shape of `x`
        Its structure is used, never its values.

    Returns
    -------
    NDArray
        In the storage, and with the structure, of `like`. O(stored places of both).

    Examples
    --------
    >>> import sparseops as so
    >>> so.sparse_mask(so.array([[1, 2], [3, 4]]), so.csr_array([[0, 1], [1, 0]]))
    <int64[2,2] csr, 2 stored>
      (0, 1)  2
      (1, 0)  3
    """
    if x.shape != like.shape:
        raise ShapeError(f"x has shape {x.shape} and like has {like.shape}; they must be the same")
    return x.shape, x.dtype


@sparse_mask.forward("dense, dense -> dense")
def _mask_dense(backend, x, like):
    return x


@sparse_mask.forward("dense, csr -> csr")
def _mask_csr(backend, x, like):
    if not x.data.flags.c_contiguous:
        return like.with_data(x.data[backend.row_ids(like), like.indices])
    return like.with_data(x.data.reshape(-1)[flat_places(backend, like)])


@sparse_mask.forward("dense, row_sparse -> row_sparse")
def _mask_row_sparse(backend, x, like):
    return like.with_data(pick(backend, x.data, like.indices))


@sparse_mask.forward("csr, csr -> csr")
def _mask_csr_by_csr(backend, x, like):
    if x.indices is like.indices and x.indptr is like.indptr:
        return x
    stored, wanted = entry_keys(backend, x, like)
    at, there = find(backend, wanted, stored)
    data = backend.xp.zeros(len(wanted), x.data.dtype)
    data[there] = x.data[at[there]]
    return like.with_data(data)


@sparse_mask.forward("row_sparse, row_sparse -> row_sparse")
def _mask_rows_by_rows(backend, x, like):
    if x.indices is like.indices:
        return x
    at, there = find(backend, like.indices, x.indices)
    data = backend.xp.zeros(like.data.shape, x.data.dtype)
    data[there] = x.data[at[there]]
    return like.with_data(data)


@sparse_mask.forward("row_sparse, csr -> csr")
def _mask_rows_by_csr(backend, x, like):
    at, there = find(backend, backend.row_ids(like), x.indices)
    data = backend.xp.zeros(len(at), x.data.dtype)
    data[there] = x.data[at[there], like.indices[there]]
    return like.with_data(data)


@sparse_mask.forward("csr, row_sparse -> row_sparse")
def _mask_csr_by_rows(backend, x, like):
    at, there = find(backend, backend.row_ids(x), like.indices)
    data = backend.xp.zeros(like.data.shape, x.data.dtype)
    data[at[there], x.indices[there]] = x.data[there]
    return like.with_data(data)


@sparse_mask.backward(
    "x", "dense, dense -> dense", "dense, csr -> csr", "dense, row_sparse -> row_sparse"
)
def _sparse_mask_dense_x(g):
    return g


@sparse_mask.backward(
    "x",
    "row_sparse, dense -> row_sparse",
    "row_sparse, row_sparse -> row_sparse",
    "row_sparse, csr -> row_sparse",
    "csr, dense -> csr",
    "csr, row_sparse -> csr",
    "csr, csr -> csr",
)
def _sparse_mask_sparse_x(g, x):
    return sparse_mask(g, x)


@sparse_mask.backward("like", *(str(rule.signature) for rule in sparse_mask.kernels))
def _sparse_mask_like(g):
    return sparse_mask(operators["zeros_like"](g), g)
