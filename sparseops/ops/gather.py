"""What a key picks along any axes, and arrays of zeros but for what a key picks."""

import numpy as np

from sparseops.errors import ShapeError
from sparseops.keys import ALL, PICKED, in_range
from sparseops.operators import operator
from sparseops.ops.cast import sparse_mask
from sparseops.ops.columns import (
    one_column,
    one_entry,
    picked_columns,
    picked_entries,
    placed_column,
    placed_columns,
    placed_entries,
    sliced_columns,
)
from sparseops.ops.picking import (
    a_column_is_picked,
    check_key,
    checked_key,
    columns_are_picked,
    entries_are_picked,
    picked_places,
    rows_are_picked,
    rows_stay,
    shape_of_picked,
)
from sparseops.ops.products import working
from sparseops.ops.rows import distinct
from sparseops.ops.structure import find
from sparseops.spec import as_shape
from sparseops.storage import Dense, RowSparse, index_dtype

__all__ = []


@operator
def gather(x, *ids, key=()):
    """What `key` picks of `x`: NumPy's ``x[key]``.

    Parameters
    ----------
    x : array of any storage
        The values.
    *ids : dense arrays of integers, or integers
        One for each "ids" and each "number" in `key`. Where there are no arrays, numbers are
        integers, else arrays of no dimensions.
    key : tuple
        For each axis "all", ``(start, stop, step)``, "ids" or "number".

    Returns
    -------
    NDArray
        row_sparse where a row_sparse `x` keeps its rows, and for one column of a csr `x`, which
        stores the rows that have an entry there; csr for several columns of a csr `x`; else dense.

    Raises
    ------
    IndexError
        If `x` has no such places.

    Notes
    -----
    O(nnz) for columns of csr; O(result), with a factor of log(entries of a row), for its entries.
    """
    check_key(x.shape, ids, key)
    if x.stype == "csr" and key == (ALL, PICKED) and ids[0].ndim != 1:
        raise ShapeError(f"ids has shape {ids[0].shape}; columns of csr are picked by 1-D ids")
    return shape_of_picked(x.shape, ids, key), x.dtype


@gather.forward("dense, dense... -> dense", "dense, scalar... -> dense")
def _gather_dense(backend, x, *ids, key):
    return Dense(x.data[(*checked_key(backend, x.shape, ids, key), ...)])


@gather.forward(
    "row_sparse, dense... -> row_sparse", "row_sparse, scalar... -> row_sparse", where=rows_stay
)
def _gather_in_rows(backend, x, *ids, key):
    data = x.data[(slice(None), *checked_key(backend, x.shape[1:], ids, key[1:], first=1))]
    return RowSparse(data, x.indices, (x.shape[0], *data.shape[1:]))


@gather.forward(
    "row_sparse, dense... -> dense", "row_sparse, scalar... -> dense", where=rows_are_picked
)
def _gather_of_rows(backend, x, *ids, key):
    xp, shape = backend.xp, shape_of_picked(x.shape, ids, key)
    rows, *rest = checked_key(backend, x.shape, ids, key)
    rows = xp.asarray(rows)
    if not len(x.indices):
        return Dense(xp.zeros(shape, x.data.dtype))
    at, there = find(backend, rows.reshape(-1), x.indices)
    at = xp.where(there, at, 0).reshape(rows.shape)
    # Whether its row is stored, for every value of the result, by the same key.
    stored = there.reshape(-1, *(1,) * len(rest))
    stored = xp.broadcast_to(stored, (rows.size, *x.shape[1:]))
    stored = stored[(xp.arange(rows.size).reshape(rows.shape), *rest)]
    return Dense(xp.where(stored, x.data[(at, *rest)], xp.zeros((), x.data.dtype)))


@gather.forward("csr, dense... -> csr", where=columns_are_picked)
def _gather_columns(backend, x, *ids, key):
    if not ids:
        return sliced_columns(backend, x, *key[1]) if key[1] != ALL else x
    return picked_columns(backend, x, in_range(backend.xp, ids[0].data, x.shape[1], "ids", 1))


@gather.forward(
    "csr, dense... -> row_sparse", "csr, scalar... -> row_sparse", where=a_column_is_picked
)
def _gather_column(backend, x, *ids, key):
    _, number = checked_key(backend, x.shape, ids, key)
    return one_column(backend, x, number)


@gather.forward("csr, dense... -> dense", where=entries_are_picked)
def _gather_entries(backend, x, *ids, key):
    rows, columns = picked_places(backend, x.shape, ids, key)
    values = picked_entries(backend, x, rows.reshape(-1), columns.reshape(-1))
    return Dense(values.reshape(rows.shape))


@gather.forward("csr, scalar... -> dense", where=entries_are_picked)
def _gather_entry(backend, x, *ids, key):
    return Dense(one_entry(backend, x, *checked_key(backend, x.shape, ids, key)))


@gather.backward("x", "dense, dense... -> dense", "dense, scalar... -> dense")
def _gather_x(g, ids, x_spec, key):
    return scatter(g, *ids, key=key, shape=x_spec.shape)


@gather.backward(
    "x", "dense, dense... -> row_sparse", "dense, scalar... -> row_sparse", where=rows_are_picked
)
def _gather_rows_x(g, ids, x_spec, key):
    return scatter(g, *ids, key=key, shape=x_spec.shape, stype="row_sparse")


@gather.backward(
    "x",
    "row_sparse, dense... -> row_sparse",
    "row_sparse, scalar... -> row_sparse",
    "csr, dense... -> csr",
    "csr, scalar... -> csr",
)
def _gather_sparse_x(g, ids, x, key):
    return sparse_mask(scatter(g, *ids, key=key, shape=x.shape, stype=x.stype), x)


@operator
def scatter(values, *ids, key=(), shape):
    """An array of `shape`, zero but for what `key` picks of it: `values`, added up where they meet.

    Parameters
    ----------
    values : array of any storage
        Of the shape that `key` picks.
    *ids, key
        As `gather` has them.
    shape : tuple of int
        The shape of the result.

    Returns
    -------
    NDArray
        Dense, if `values` are, unless another storage is declared; else what `gather` reads such
        `values` from. float16 is added up in float32.

    Notes
    -----
    O(values + result).
    """
    shape = as_shape(shape)
    check_key(shape, ids, key)
    picked = shape_of_picked(shape, ids, key)
    if values.shape != picked:
        raise ShapeError(f"values has shape {values.shape}; the key picks {picked} of {shape}")
    return shape, values.dtype


@scatter.forward("dense, dense... -> dense", "dense, scalar... -> dense")
def _scatter_dense(backend, values, *ids, key, shape):
    return Dense(_added(backend, values.data, shape, checked_key(backend, shape, ids, key)))


def _added(backend, values, shape, places):
    """Zeros of `shape`, with `values` added up at `places`."""
    xp, dtype = backend.xp, values.dtype
    out = xp.zeros(shape, working(dtype))
    if any(isinstance(place, backend.array_type) for place in places):
        xp.add.at(out, places, values)
    else:
        out[places] = values
    return out.astype(dtype, copy=False)


@scatter.forward(
    "row_sparse, dense... -> row_sparse", "row_sparse, scalar... -> row_sparse", where=rows_stay
)
def _scatter_in_rows(backend, values, *ids, key, shape):
    places = (slice(None), *checked_key(backend, shape[1:], ids, key[1:], first=1))
    data = _added(backend, values.data, (len(values.indices), *shape[1:]), places)
    return RowSparse(data, values.indices, shape)


@scatter.forward(
    "dense, dense... -> row_sparse", "dense, scalar... -> row_sparse", where=rows_are_picked
)
def _scatter_to_rows(backend, values, *ids, key, shape):
    if not values.data.size:
        none = backend.xp.zeros(0, index_dtype(shape[0]))
        return RowSparse(backend.xp.zeros((0, *shape[1:]), values.data.dtype), none, shape)
    rows, *rest = checked_key(backend, shape, ids, key)
    rows = backend.xp.asarray(rows)
    stored, places = distinct(backend, rows.reshape(-1), shape[0])
    places = (places.reshape(rows.shape), *rest)
    data = _added(backend, values.data, (len(stored), *shape[1:]), places)
    return RowSparse(data, stored, shape)


@scatter.forward("csr, dense... -> csr", where=columns_are_picked)
def _scatter_columns(backend, values, *ids, key, shape):
    if ids:
        places = in_range(backend.xp, ids[0].data, shape[1], "ids", 1)[values.indices]
    elif key[1] == ALL:
        return values
    else:
        start, _, step = key[1]
        places = values.indices.astype(np.int64) * step + start
    return placed_columns(backend, values, places, shape[1])


@scatter.forward(
    "row_sparse, dense... -> csr", "row_sparse, scalar... -> csr", where=a_column_is_picked
)
def _scatter_column(backend, values, *ids, key, shape):
    _, number = checked_key(backend, shape, ids, key)
    return placed_column(backend, values, number, shape[1])


@scatter.forward("dense, dense... -> csr", "dense, scalar... -> csr", where=entries_are_picked)
def _scatter_entries(backend, values, *ids, key, shape):
    rows, columns = picked_places(backend, shape, ids, key)
    return placed_entries(
        backend, values.data.reshape(-1), rows.reshape(-1), columns.reshape(-1), shape
    )


@scatter.backward("values", "dense, dense... -> dense", "dense, scalar... -> dense")
def _scatter_values(g, ids, key):
    return gather(g, *ids, key=key, stype="dense")


@scatter.backward(
    "values",
    "row_sparse, dense... -> row_sparse",
    "row_sparse, scalar... -> row_sparse",
    "csr, dense... -> csr",
)
def _scatter_sparse_values(g, ids, values, key):
    return sparse_mask(gather(g, *ids, key=key), values)
