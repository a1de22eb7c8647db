"""Arrays in which what a key picks is replaced."""

import math

import numpy as np

from sparseops.errors import DTypeError, ShapeError
from sparseops.keys import ALL, PICKED
from sparseops.operators import operator
from sparseops.ops.picking import (
    check_key,
    checked_key,
    entries_are_picked,
    picked_places,
    rows_are_picked,
    shape_of_picked,
)
from sparseops.ops.rows import csr_rows, distinct, locate, ranges
from sparseops.ops.structure import counts_to_indptr, find
from sparseops.signature import NUMBERS
from sparseops.spec import Spec
from sparseops.storage import CSR, Dense, RowSparse, index_dtype

__all__ = []


def whole_rows_are_picked(key):
    """1-D ids stand for the rows, and all else is kept"""
    return key[:1] == (PICKED,) and all(item == ALL for item in key[1:])


@operator
def replace(x, value, *ids, key=()):
    """`x` with `value` in place of what `key` picks: what ``x[key] = value`` assigns.

    Parameters
    ----------
    x : array of any storage
        Storage is kept.
    value : array or number
        Converted to the dtype of `x` as assignment does. A dense one broadcasts to the shape that
        `key` picks; a sparse one has that shape.
    *ids, key
        As `gather` has them. Of several values for one place the last one counts.

    Raises
    ------
    IndexError
        If `x` has no such places.
    ShapeError
        If `value` does not broadcast.
    DTypeError
        If `value` is complex and `x` is not.
    NotImplementedError
        If a number other than zero would fill rows of csr.

    Notes
    -----
    O(nnz of `x` and of the result), and O(rows) for csr. Zeros are not stored where `x` stored
    nothing, but for those of a dense value in a row of a row_sparse `x`. Not differentiable.
    """
    check_key(x.shape, ids, key)
    picked = shape_of_picked(x.shape, ids, key)
    if np.iscomplexobj(value) or (isinstance(value, Spec) and value.dtype.kind == "c"):
        if x.dtype.kind not in "cb":
            raise DTypeError(f"complex values do not fit {x.dtype}; take real or imag first")
    if isinstance(value, Spec) and not _fits(value, picked):
        raise ShapeError(f"value has shape {value.shape}, and the key picks {picked}")
    return x.shape, x.dtype


def _fits(value, picked):
    """Whether a value can be assigned to what has the shape `picked`."""
    if value.stype != "dense":
        return value.shape == picked
    extra = max(value.ndim - len(picked), 0)
    pairs = zip(reversed(value.shape[extra:]), reversed(picked), strict=False)
    return set(value.shape[:extra]) <= {1} and all(own in (1, length) for own, length in pairs)


@replace.forward(
    "dense, dense, dense... -> dense",
    "dense, scalar, dense... -> dense",
    "dense, dense, scalar... -> dense",
    "dense, scalar, scalar... -> dense",
)
def _replace_dense(backend, x, value, *ids, key):
    data = x.data.copy()
    data[checked_key(backend, x.shape, ids, key)] = _values(value)
    return Dense(data)


def _values(value):
    return value if isinstance(value, NUMBERS) else value.data


@replace.forward(
    "row_sparse, dense, dense... -> row_sparse",
    "row_sparse, scalar, dense... -> row_sparse",
    "row_sparse, dense, scalar... -> row_sparse",
    "row_sparse, scalar, scalar... -> row_sparse",
    where=rows_are_picked,
)
def _replace_in_rows(backend, x, value, *ids, key):
    xp = backend.xp
    if not math.prod(shape_of_picked(x.shape, ids, key)):
        return x
    rows, *rest = checked_key(backend, x.shape, ids, key)
    rows = xp.asarray(rows)
    named, places = distinct(backend, rows.reshape(-1), x.shape[0])
    if isinstance(value, NUMBERS) and value == 0 and all(item == ALL for item in key[1:]):
        kept = ~find(backend, x.indices, named)[1]
        return RowSparse(x.data[kept], x.indices[kept], x.shape)
    missing = named[~find(backend, named, x.indices)[1]]
    stored = xp.sort(xp.concatenate([x.indices, missing.astype(_width(x, missing))]))
    data = xp.zeros((len(stored), *x.shape[1:]), x.data.dtype)
    known = xp.searchsorted(stored, x.indices)
    data[known] = x.data
    at = xp.searchsorted(stored, named)[places].reshape(rows.shape)
    data[(at, *rest)] = _values(value)
    if isinstance(value, NUMBERS) and value == 0:
        # The rows that came in are zeros still.
        return RowSparse(data[known], x.indices, x.shape)
    return RowSparse(data, stored, x.shape)


def _width(x, indices, *sizes):
    """The width of the indices of `x`, or one that `indices` and `sizes` fit as well."""
    largest = int(indices.max()) if len(indices) else 0
    return np.result_type(x.indices.dtype, index_dtype(largest, *sizes))


def _last(backend, places, count):
    """For each of `count` places the last position at which `places` has it."""
    last = backend.xp.empty(count, np.int64)
    last[places] = backend.xp.arange(len(places))
    return last


@replace.forward("row_sparse, row_sparse, dense... -> row_sparse", where=whole_rows_are_picked)
def _replace_rows(backend, x, value, *ids, key):
    xp = backend.xp
    ids, *_ = checked_key(backend, x.shape, ids, key)
    named, places = distinct(backend, ids, x.shape[0])
    at, there = find(backend, _last(backend, places, len(named)), value.indices)
    kept = ~find(backend, x.indices, named)[1]
    indices = xp.concatenate([x.indices[kept], named[there].astype(_width(x, named))])
    order = xp.argsort(indices, kind="stable")
    new = value.data[at[there]].astype(x.data.dtype, copy=False)
    return RowSparse(xp.concatenate([x.data[kept], new])[order], indices[order], x.shape)


@replace.forward("csr, csr, dense... -> csr", where=whole_rows_are_picked)
def _replace_csr_rows(backend, x, value, *ids, key):
    ids, _ = checked_key(backend, x.shape, ids, key)
    named, places = distinct(backend, ids, x.shape[0])
    rows = csr_rows(backend, value, _last(backend, places, len(named)))
    return _with_rows(backend, x, named, rows)


@replace.forward("csr, scalar, dense... -> csr", where=whole_rows_are_picked)
def _clear_csr_rows(backend, x, value, *ids, key):
    if value != 0 and ids[0].data.size and x.shape[1]:
        raise NotImplementedError(
            f"{value} in every column of a row of csr would store them all; give rows of values"
        )
    ids, _ = checked_key(backend, x.shape, ids, key)
    named, _ = distinct(backend, ids, x.shape[0])
    none = backend.xp.zeros(len(named) + 1, x.indptr.dtype)
    empty = CSR(x.data[:0], x.indices[:0], none, (len(named), x.shape[1]))
    return _with_rows(backend, x, named, empty)


def _with_rows(backend, x, named, rows):
    """`x` with `rows`, a matrix of as many, for its rows `named`, which ascend."""
    xp = backend.xp
    starts = x.indptr[named].astype(np.int64)
    counts, lengths = x.indptr[named + 1] - starts, xp.diff(x.indptr)
    keep = xp.ones(len(x.indices), bool)
    keep[ranges(backend, starts, counts)] = False
    new = xp.diff(rows.indptr)
    places = xp.repeat(starts - xp.cumsum(counts) + counts, new) + xp.arange(len(rows.indices))
    lengths[named] = new
    indptr = counts_to_indptr(backend, lengths, _width(x, rows.indices))
    data = _inserted(backend, x.data[keep], places, rows.data, x.data.dtype)
    indices = _inserted(backend, x.indices[keep], places, rows.indices, indptr.dtype)
    return CSR(data, indices, indptr, x.shape)


@replace.forward(
    "csr, dense, dense... -> csr",
    "csr, scalar, dense... -> csr",
    "csr, dense, scalar... -> csr",
    "csr, scalar, scalar... -> csr",
    where=entries_are_picked,
)
def _replace_entries(backend, x, value, *ids, key):
    xp = backend.xp
    rows, columns = picked_places(backend, x.shape, ids, key)
    values = xp.empty(rows.shape, x.data.dtype)
    values[...] = _values(value)
    rows, columns, values = (a.reshape(-1) for a in (rows, columns, values))
    at, there = locate(backend, x, rows, columns)
    data = x.data.copy()
    data[at[there]] = values[there]
    new = _last_of_each(backend, xp.flatnonzero(~there), rows, columns)
    new = new[values[new] != 0]
    width = _width(x, columns[new], len(data) + len(new))
    places = at[new] + xp.arange(len(new))
    counts = xp.diff(x.indptr)
    xp.add.at(counts, rows[new], 1)
    indptr = counts_to_indptr(backend, counts, width)
    indices = _inserted(backend, x.indices, places, columns[new], width)
    return CSR(_inserted(backend, data, places, values[new], data.dtype), indices, indptr, x.shape)


def _last_of_each(backend, entries, rows, columns):
    """Of the `entries` at each place the last, in the order of places."""
    xp = backend.xp
    entries = entries[xp.lexsort(xp.stack([columns[entries], rows[entries]]))]
    if not len(entries):
        return entries
    rows, columns = rows[entries], columns[entries]
    last = xp.ones(len(entries), bool)
    last[:-1] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    return entries[last]


def _inserted(backend, old, places, new, dtype):
    """An array with `new` at `places`, ascending, and `old` around them."""
    xp = backend.xp
    found = xp.empty(len(old) + len(new), dtype)
    around = xp.ones(len(found), bool)
    around[places] = False
    found[around], found[places] = old, new
    return found
