"""Rows by an array of numbers: read, kept, and put in place."""

import math

import numpy as np

from sparseops.errors import ShapeError
from sparseops.keys import in_range
from sparseops.operators import operator
from sparseops.ops.cast import sparse_mask
from sparseops.ops.products import selection, sparse_product, sum_rows
from sparseops.ops.rows import (
    check_row_numbers,
    csr_rows,
    distinct,
    pick,
    stored_rows,
)
from sparseops.ops.shape import reshape
from sparseops.ops.structure import find
from sparseops.spec import as_shape
from sparseops.storage import Dense, RowSparse, index_dtype

__all__ = ["retain", "scatter_rows", "take"]


@operator
def take(x, ids):
    """The rows of `x` that `ids` names, in their order and as often as they stand there.

    Parameters
    ----------
    x : array of any storage
        The table.
    ids : dense array of integers; of one dimension if `x` is csr
        Row numbers; negative ones count from the end.

    Returns
    -------
    NDArray
        Of shape ``ids.shape + x.shape[1:]``: csr if `x` is csr, else dense. Rows that a row_sparse
        `x` does not store are zeros; with ``stype="row_sparse"`` they are not stored.

    Raises
    ------
    IndexError
        If there is no such row.
    DTypeError
        If `ids` are not integers.

    Notes
    -----
    O(ids) time and memory, whatever the size of `x` (a factor of log(rows stored) more for a
    row_sparse one). So is the gradient by `x`: row_sparse if `x` is dense and no storage is asked
    for, with rows that were taken twice added up; else at the places that `x` stores.

    Examples
    --------
    >>> import sparseops as so
    >>> so.take(so.row_sparse_array(([[1, 2]], [3]), shape=(5, 2)), [3, 0])
    <int64[2,2] dense>
    [[1 2]
     [0 0]]
    """
    if not x.shape:
        raise ShapeError("x has shape () and so no rows")
    check_row_numbers(ids, "ids")
    if x.stype == "csr" and ids.ndim != 1:
        raise ShapeError(
            f"ids has shape {ids.shape}, and rows of csr are taken by 1-D ids; reshape them, or "
            "take from x.tostype('dense')"
        )
    return ids.shape + x.shape[1:], x.dtype


@take.forward("dense, dense -> dense")
def _take_dense(backend, x, ids):
    ids = in_range(backend.xp, ids.data, x.shape[0], "ids")
    return Dense(pick(backend, x.data, ids))


@take.forward("row_sparse, dense -> dense")
def _take_row_sparse(backend, x, ids):
    ids = in_range(backend.xp, ids.data, x.shape[0], "ids")
    rows = stored_rows(backend, x, ids.reshape(-1))
    return Dense(rows.reshape(ids.shape + x.shape[1:]))


@take.forward("row_sparse, dense -> row_sparse")
def _take_stored(backend, x, ids):
    xp, shape = backend.xp, (*ids.shape, *x.shape[1:])
    at, there = find(backend, in_range(xp, ids.data, x.shape[0], "ids").reshape(-1), x.indices)
    beside = math.prod(ids.shape[1:])
    rows = xp.flatnonzero(there.reshape(len(ids.data), beside).any(axis=1))
    chosen = there.reshape(len(ids.data), beside)[rows].reshape(-1)
    data = xp.zeros((len(rows) * beside, *x.shape[1:]), x.data.dtype)
    data[chosen] = pick(backend, x.data, at[there])
    width = np.result_type(x.indices.dtype, index_dtype(len(ids.data)))
    return RowSparse(data.reshape(len(rows), *shape[1:]), rows.astype(width), shape)


@take.forward("csr, dense -> csr")
def _take_csr(backend, x, ids):
    return csr_rows(backend, x, in_range(backend.xp, ids.data, x.shape[0], "ids"))


@take.backward("x", "dense, dense -> row_sparse")
def _take_x(g, ids, x_spec):
    return scatter_rows(*_listed(g, ids, x_spec), num_rows=x_spec.shape[0])


@take.backward("x", "dense, dense -> dense")
def _take_dense_x(g, ids, x_spec):
    return scatter_rows(*_listed(g, ids, x_spec), num_rows=x_spec.shape[0], stype="dense")


@take.backward("x", "row_sparse, dense -> row_sparse", "csr, dense -> csr")
def _take_sparse_x(g, ids, x):
    return sparse_mask(scatter_rows(*_listed(g, ids, x), num_rows=x.shape[0]), x)


def _listed(g, ids, x):
    """Rows of gradient and their ids, as lists."""
    if ids.ndim == 1:
        return g, ids
    count = math.prod(ids.shape)
    return reshape(g, shape=(count, *x.shape[1:])), reshape(ids, shape=(count,))


@operator
def retain(x, rows):
    """`x` with only those of its stored rows that `rows` names.

    Parameters
    ----------
    x : row_sparse array
        What stays of it stays as it is.
    rows : dense 1-D array of integers
        Row numbers, in any order and any number of times; negative ones count from the end. Rows
        that `x` does not store stay absent.

    Returns
    -------
    NDArray
        row_sparse.

    Raises
    ------
    IndexError
        If there is no such row.
    DTypeError
        If `rows` are not integers.

    Notes
    -----
    O(rows log(rows stored) + rows stored).

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.row_sparse_array(([[1.0], [2.0]], [0, 3]), shape=(5, 1))
    >>> so.retain(x, [4, 3, 3])
    <float64[5,1] row_sparse, 1 row stored>
      row 3  [2.]
    """
    check_row_numbers(rows, "rows")
    if rows.ndim != 1:
        raise ShapeError(f"rows has shape {rows.shape}; it must have 1 dimension")
    return x.shape, x.dtype


@retain.forward("row_sparse, dense -> row_sparse")
def _retain(backend, x, rows):
    xp = backend.xp
    at, there = find(backend, in_range(backend.xp, rows.data, x.shape[0], "rows"), x.indices)
    named = xp.zeros(len(x.indices), bool)
    named[at[there]] = True
    kept = xp.flatnonzero(named)
    return RowSparse(pick(backend, x.data, kept), x.indices[kept], x.shape)


@retain.backward("x", "row_sparse, dense -> row_sparse")
def _retain_x(g, x, rows):
    return sparse_mask(retain(g, rows), x)


@operator
def scatter_rows(values, ids, *, num_rows):
    """An array of `num_rows` rows in which row ``ids[i]`` is ``values[i]``, added up over `i`.

    Parameters
    ----------
    values : array of k rows, of any storage
        The rows.
    ids : dense array of k integers
        Where they come to stand; negative numbers count from the end.
    num_rows : int
        The number of rows of the result.

    Returns
    -------
    NDArray
        row_sparse, storing the rows that `ids` names, of a row_sparse `values` those of the rows
        that it stores; csr if `values` are csr.

    Raises
    ------
    ShapeError
        If there are not as many `ids` as rows.
    IndexError
        If there is no such row.
    DTypeError
        If `ids` are not integers.

    Notes
    -----
    O(size of `values` + k log k), whatever `num_rows`; O(`num_rows` + nnz) for csr. Integers wrap,
    booleans are joined by *or*, and float16 is added up in float32.

    Examples
    --------
    >>> import sparseops as so
    >>> so.scatter_rows([[1.0], [2.0], [4.0]], [7, 1, 7], num_rows=10)
    <float64[10,1] row_sparse, 2 rows stored>
      row 1  [2.]
      row 7  [5.]
    """
    check_row_numbers(ids, "ids")
    if ids.ndim != 1 or not values.shape or values.shape[0] != ids.shape[0]:
        raise ShapeError(
            f"values has shape {values.shape} and ids has {ids.shape}; there is one id for each row"
        )
    return (*as_shape(num_rows), *values.shape[1:]), values.dtype


@scatter_rows.forward("dense, dense -> row_sparse")
def _scatter_dense(backend, values, ids, *, num_rows):
    return _scattered(backend, values.data, _row_indices(backend, ids, num_rows), num_rows)


@scatter_rows.forward("row_sparse, dense -> row_sparse")
def _scatter_row_sparse(backend, values, ids, *, num_rows):
    ids = _row_indices(backend, ids, num_rows)[values.indices]
    return _scattered(backend, values.data, ids, num_rows)


def _scattered(backend, values, ids, num_rows):
    """The rows `values` at `ids` of `num_rows`."""
    shape = (num_rows, *values.shape[1:])
    if (ids[1:] > ids[:-1]).all():
        return RowSparse(values, ids, shape)
    if (found := backend.compiled("sum_by_row", values, ids, num_rows)) is not None:
        rows, sums = found
        return RowSparse(sums, rows, shape)
    rows, places = distinct(backend, ids, num_rows)
    if len(rows) == len(ids):
        data = backend.xp.empty_like(values)
        data[places] = values
        return RowSparse(data, rows, shape)
    return RowSparse(sum_rows(backend, values, places, len(rows)), rows, shape)


@scatter_rows.forward("csr, dense -> csr")
def _scatter_csr(backend, values, ids, *, num_rows):
    ids = _row_indices(backend, ids, num_rows)
    chosen = selection(backend, ids, num_rows, values.data.dtype)
    return sparse_product(backend, chosen, True, values, False, values.data.dtype)


def _row_indices(backend, ids, num_rows):
    """The rows that `ids` names, of the width given or one that is wide enough."""
    found = in_range(backend.xp, ids.data, num_rows, "ids")
    known = ids.data.dtype in (np.int32, np.int64)
    return found if known else found.astype(index_dtype(num_rows))


@scatter_rows.backward("values", "dense, dense -> dense")
def _scatter_rows_values(g, ids):
    return take(g, ids)


@scatter_rows.backward("values", "row_sparse, dense -> row_sparse", "csr, dense -> csr")
def _scatter_rows_sparse_values(g, values, ids):
    return sparse_mask(take(g, ids, stype=values.stype), values)
