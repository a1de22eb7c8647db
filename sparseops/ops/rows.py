"""Rows and columns by number: checking the numbers, and picking them out of each storage."""

from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.errors import DTypeError
from sparseops.ops.structure import find
from sparseops.storage import CSR, Dense, RowSparse, Storage, index_dtype

#: A mask over all rows beats sorting while it has at most so many places for each row picked.
_MASK_PLACES = 8


def check_row_numbers(spec: Any, name: str) -> None:
    """Raise DTypeError unless the array `name` holds integers; an empty one holds any."""
    if spec.dtype.kind not in "iu" and spec.size:
        raise DTypeError(f"{name} has dtype {spec.dtype}; it must hold integers")


def check_index(number: Any) -> None:
    """Raise IndexError unless `number` is an integer."""
    if isinstance(number, (bool, np.bool_)) or not hasattr(number, "__index__"):
        raise IndexError(f"index={number!r} is not an integer")


def distinct(backend: Backend, ids: Any, limit: int) -> tuple[Any, Any]:
    """The different numbers among `ids`, ascending, and the place of each of `ids` among them.

    For 1-D int32 or int64 `ids` in [0, limit). O(len(ids)) memory.
    """
    xp = backend.xp
    count = len(ids)
    if limit <= _MASK_PLACES * count:
        seen = xp.zeros(limit, bool)
        seen[ids] = True
        places = xp.cumsum(seen, dtype=ids.dtype)
        places -= 1
        return xp.flatnonzero(seen).astype(ids.dtype), places[ids]
    order, ordered = _sorted(xp, ids, limit)
    new = xp.ones(count, bool)
    xp.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    running = xp.cumsum(new, dtype=ids.dtype)
    running -= 1
    places = xp.empty(count, ids.dtype)
    places[order] = running
    return ordered[new].astype(ids.dtype, copy=False), places


def _sorted(xp: Any, ids: Any, limit: int) -> tuple[Any, Any]:
    """The stable order of `ids` in [0, limit), and `ids` in it."""
    bits = len(ids).bit_length()
    if limit.bit_length() + bits > 63:
        order = xp.argsort(ids, kind="stable")
        return order, ids[order]
    # One sort of plain integers, number and position packed, is several times an argsort.
    keys = ids.astype(np.int64) << bits
    keys |= xp.arange(len(ids))
    keys.sort()
    order = keys & ((1 << bits) - 1)
    keys >>= bits
    return order, keys


def compressed(backend: Backend, x: CSR) -> tuple[Any, CSR]:
    """The columns where `x` stores an entry, and `x` with only these; O(nnz)."""
    columns, places = distinct(backend, x.indices, x.shape[1])
    return columns, CSR(x.data, places, x.indptr, (x.shape[0], len(columns)))


def few_columns(backend: Backend, *matrices: CSR) -> tuple[Any, tuple[CSR, ...]]:
    """The columns kept, None for all, and `matrices` of one width with these alone.

    Columns that store nothing are left out where they are most of them.
    """
    ends = np.cumsum([0, *(len(x.indices) for x in matrices)]).tolist()
    limit = matrices[0].shape[1]
    if limit <= _MASK_PLACES * ends[-1]:
        return None, matrices
    columns, places = distinct(
        backend, backend.xp.concatenate([x.indices for x in matrices]), limit
    )
    return columns, tuple(
        CSR(
            x.data,
            places[start:end].astype(x.indptr.dtype, copy=False),
            x.indptr,
            (x.shape[0], len(columns)),
        )
        for x, start, end in zip(matrices, ends[:-1], ends[1:], strict=True)
    )


def csr_rows(backend: Backend, x: CSR, ids: Any) -> CSR:
    """Rows `ids` of `x`, in their order and as often as they stand there; O(rows and nnz taken)."""
    if (found := backend.compiled("take_csr", x, ids)) is not None:
        return found
    counts = x.indptr[ids + 1] - x.indptr[ids]
    width = np.result_type(x.indptr.dtype, index_dtype(int(counts.sum(dtype=np.int64))))
    return moved(backend, x, lambda matrix: matrix[ids], width)


def csr_transposed(backend: Backend, x: CSR) -> CSR:
    """The transpose of `x`; O(nnz + rows + columns)."""
    return moved(backend, x, lambda matrix: matrix.T.tocsr(), x.indptr.dtype)


def moved(backend: Backend, x: CSR, move: Any, width: Any) -> CSR:
    """The matrix that `move` makes of `x` by moving entries, with index arrays of `width`."""
    # The libraries do not know float16, but they can move its bits.
    half = x.data.dtype == np.float16
    data = x.data.view(np.int16) if half else x.data
    indices, indptr = (i.astype(width, copy=False) for i in (x.indices, x.indptr))
    found = move(backend.matrix(CSR(data, indices, indptr, x.shape)))
    data = found.data.view(np.float16) if half else found.data
    indices, indptr = (i.astype(width, copy=False) for i in (found.indices, found.indptr))
    return CSR(data, indices, indptr, found.shape)


def csr_part(backend: Backend, x: CSR, keep: Any, indices: Any, columns: int) -> CSR:
    """The entries of `x` where `keep` is True, now at `indices` of as many `columns`; O(nnz)."""
    xp = backend.xp
    before = xp.zeros(len(keep) + 1, x.indptr.dtype)
    xp.cumsum(keep, out=before[1:])
    found = indices[keep].astype(x.indices.dtype, copy=False)
    return CSR(x.data[keep], found, before[x.indptr], (x.shape[0], columns))


def csr_columns(backend: Backend, x: CSR, ids: Any) -> CSR:
    """Columns `ids`, ascending, of `x`; O(nnz log ids)."""
    xp = backend.xp
    if x.shape[1] > _MASK_PLACES * len(x.indices):
        at, there = find(backend, x.indices, ids)
        return csr_part(backend, x, there, at, len(ids))
    places = xp.full(x.shape[1], -1, x.indices.dtype)
    places[ids] = xp.arange(len(ids), dtype=x.indices.dtype)
    at = places[x.indices]
    return csr_part(backend, x, at >= 0, at, len(ids))


def pick(backend: Backend, values: Any, ids: Any) -> Any:
    """The rows `ids` of the array `values`."""
    if values.ndim > 1 and (found := backend.compiled("take_rows", values, ids)) is not None:
        return found
    # take() is several times as fast as brackets, but first makes the whole array contiguous.
    if values.flags.c_contiguous:
        return backend.xp.take(values, ids, axis=0)
    return values[ids]


def stored_rows(backend: Backend, x: RowSparse, ids: Any) -> Any:
    """Rows `ids` of `x` as an array, zeros where `x` stores nothing."""
    xp = backend.xp
    at, there = find(backend, ids, x.indices)
    if there.all():
        return pick(backend, x.data, at)
    rows = xp.zeros((len(ids), *x.shape[1:]), x.data.dtype)
    rows[there] = pick(backend, x.data, at[there])
    return rows


def ranges(backend: Backend, starts: Any, counts: Any) -> Any:
    """The numbers ``starts[i]``, ``starts[i] + 1``, …, as many as ``counts[i]``, for all i."""
    xp = backend.xp
    ends = xp.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return xp.repeat(starts - ends + counts, counts) + xp.arange(total)


def locate(backend: Backend, x: CSR, rows: Any, columns: Any) -> tuple[Any, Any]:
    """Where in `x` the places (rows[i], columns[i]) are stored or belong, and whether they are.

    O(places x log of the entries in the longest of the rows).
    """
    xp = backend.xp
    at, end = x.indptr[rows].astype(np.int64), x.indptr[rows + 1]
    step = 1 << int((end - at).max()).bit_length() if len(at) else 1
    # `at` moves ahead of every entry in front of its place, by ever smaller steps.
    while step := step >> 1:
        ahead = at + step
        below = (ahead <= end) & (x.indices.take(ahead - 1, mode="clip") < columns)
        at = xp.where(below, ahead, at)
    there = at < end
    there[there] = x.indices[at[there]] == columns[there]
    return at, there


def rows_of(backend: Backend, x: Storage, transposed: bool, ids: Any) -> Storage:
    """Rows `ids`, ascending, of the matrix `x`, or of its transpose if `transposed`; then so is the
    answer.
    """
    return _ROWS[x.stype](backend, x, transposed, ids)


def _dense_rows(backend: Backend, x: Dense, transposed: bool, ids: Any) -> Dense:
    return Dense(x.data[:, ids] if transposed else pick(backend, x.data, ids))


def _row_sparse_rows(backend: Backend, x: RowSparse, transposed: bool, ids: Any) -> Storage:
    if transposed:
        return RowSparse(x.data[:, ids], x.indices, (x.shape[0], len(ids)))
    return Dense(stored_rows(backend, x, ids))


def _csr_rows(backend: Backend, x: CSR, transposed: bool, ids: Any) -> CSR:
    return csr_columns(backend, x, ids) if transposed else csr_rows(backend, x, ids)


_ROWS = {"dense": _dense_rows, "row_sparse": _row_sparse_rows, "csr": _csr_rows}
