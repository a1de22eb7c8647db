"""Unions and intersections of what two sparse arrays store.

What is stored stays stored: entries that cancel, and products that are zero, are kept as explicit
zeros, so that the structure of a result depends on structures alone.
"""

from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.ops.structure import find
from sparseops.storage import CSR, RowSparse, index_dtype

#: The dtype of the codes below: the smallest that both libraries' sparse matrices can have.
_CODE = np.float32
#: So many indices are compared first.
_FIRST = 256
#: Sums and differences, and what becomes of their second term.
_SIGNS = {np.add: np.positive, np.subtract: np.negative}


def union_csr(backend: Backend, a: CSR, b: CSR) -> CSR:
    """What `a` or `b`, of one shape, stores: 1 where `a` alone does, 2 where `b` alone, else 3.

    O(rows + entries of both): no sum of the codes is zero, so the library's addition keeps all.
    """
    ones = a.with_data(backend.xp.full(a.data.shape, 1, _CODE))
    twos = b.with_data(backend.xp.full(b.data.shape, 2, _CODE))
    found = backend.matrix(ones) + backend.matrix(twos)
    width = np.result_type(a.indices.dtype, b.indices.dtype, index_dtype(len(found.data)))
    return CSR(found.data, found.indices.astype(width), found.indptr.astype(width), a.shape)


def merge_csr(backend: Backend, a: CSR, b: CSR, ufunc: Any) -> CSR:
    """`ufunc`, for which f(0, 0) is 0, of `a` and `b` of one shape, at what either stores."""
    if same_structure(backend, a, b):
        return widened(a, b).with_data(ufunc(a.data, b.data))
    if ufunc in _SIGNS and (found := backend.compiled("merge_csr", a, b, ufunc.__name__)):
        return found
    if ufunc in _SIGNS and a.data.dtype == b.data.dtype and a.data.dtype.char in "fd":
        return _summed_csr(backend, a, b, _SIGNS[ufunc])
    union = union_csr(backend, a, b)
    return union.with_data(ufunc(*_both(backend, union.data, a.data, b.data)))


def _summed_csr(backend: Backend, a: CSR, b: CSR, sign: np.ufunc) -> CSR:
    """`a` plus `sign` of `b`, float32 or float64, at what either stores.

    The library's sum, if it has left out no zero. Else as complex numbers, with 1 for the imaginary
    part of all that is stored: so no sum is zero, and the library's addition keeps all. Its real
    parts are added as real numbers are.
    """
    found = backend.matrix(a) + backend.matrix(b.with_data(sign(b.data)))
    if found.nnz == len(a.data) + len(b.data) - _count_common(backend, a, b):
        return _of_matrix(found, a, b)
    marked = []
    for x, values in ((a, a.data), (b, sign(b.data))):
        data = backend.xp.empty(len(values), np.result_type(values, np.complex64))
        data.real, data.imag = values, 1
        marked.append(backend.matrix(x.with_data(data)))
    summed = _of_matrix(marked[0] + marked[1], a, b)
    return summed.with_data(summed.data.real.copy())


def _of_matrix(found: Any, a: CSR, b: CSR) -> CSR:
    """The library's matrix `found`, made of `a` and `b`, with indices as wide as theirs."""
    width = np.result_type(a.indices.dtype, b.indices.dtype, index_dtype(len(found.data)))
    indices, indptr = (part.astype(width, copy=False) for part in (found.indices, found.indptr))
    return CSR(found.data, indices, indptr, a.shape)


def intersect_csr(backend: Backend, a: CSR, b: CSR, ufunc: Any) -> CSR:
    """`ufunc` of `a` and `b` of one shape, at what both store; O(rows + entries of both)."""
    if same_structure(backend, a, b):
        return widened(a, b).with_data(ufunc(a.data, b.data))
    if ufunc is np.multiply and (found := backend.compiled("merge_csr", a, b, "multiply")):
        return found
    if ufunc is np.multiply and a.data.dtype == b.data.dtype and a.data.dtype.char in "fd":
        found = backend.matrix(a).multiply(backend.matrix(b)).tocsr()
        # It leaves out products that are zero, which are stored here.
        if found.nnz == _count_common(backend, a, b):
            return _of_matrix(found, a, b)
    in_a, in_b = _common(backend, a, b), _common(backend, b, a)
    width = np.result_type(a.indices.dtype, b.indices.dtype)
    data = ufunc(a.data[in_a.data.astype(np.int64) - 1], b.data[in_b.data.astype(np.int64) - 1])
    return CSR(data, in_a.indices.astype(width), in_a.indptr.astype(width), a.shape)


def select_csr(backend: Backend, x: CSR, chosen: Any, data: Any) -> CSR:
    """The entries of `x` where the mask `chosen` holds, with the values `data`."""
    xp = backend.xp
    before = xp.zeros(len(chosen) + 1, x.indptr.dtype)
    xp.cumsum(chosen, out=before[1:])
    return CSR(data, x.indices[chosen], before[x.indptr], x.shape)


def merge_rows(backend: Backend, a: RowSparse, b: RowSparse, ufunc: Any) -> RowSparse:
    """`ufunc`, for which f(x, 0) is x, of `a` and `b` of one shape, at the rows of either."""
    xp = backend.xp
    if same_rows(backend, a, b):
        return widened(a, b).with_data(ufunc(a.data, b.data))
    if ufunc in _SIGNS and (found := backend.compiled("merge_rows", a, b, ufunc.__name__)):
        return found
    rows, of_a, of_b = _union_rows(xp, a.indices, b.indices)
    # Every row is written once or twice and read never: a row takes long to come from memory.
    data = xp.empty((len(rows), *a.shape[1:]), np.result_type(a.data, b.data))
    data[of_b] = ufunc(data.dtype.type(0), b.data)
    data[of_a] = a.data
    in_a = xp.zeros(len(rows), bool)
    in_a[of_a] = True
    of_both = xp.flatnonzero(in_a[of_b])
    places = of_b[of_both]
    data[places] = ufunc(a.data[xp.searchsorted(of_a, places)], b.data[of_both])
    return RowSparse(data, rows, a.shape)


def intersect_rows(backend: Backend, a: RowSparse, b: RowSparse) -> tuple[Any, Any, Any]:
    """The rows that both store, and the values of `a` and of `b` there."""
    rows = widened(a, b).indices
    if same_rows(backend, a, b):
        return rows, a.data, b.data
    at, there = find(backend, a.indices, b.indices)
    return rows[there], a.data[there], b.data[at[there]]


def widened(x: Any, other: Any) -> Any:
    """The sparse `x` with indices at least as wide as those of `other`."""
    if x.indices.itemsize >= other.indices.itemsize:
        return x
    wide = {name: getattr(x, name).astype(other.indices.dtype) for name in x.aux}
    return type(x)(x.data, **wide, shape=x.shape)


def same_structure(backend: Backend, a: CSR, b: CSR) -> bool:
    """Whether `a` and `b` store the same places; O(1) where they share index arrays."""
    if a.indices is b.indices and a.indptr is b.indptr:
        return True
    same = backend.xp.array_equal
    # Most that differ do so at the start, and need not be read to the end.
    pairs = ((a.indices[:_FIRST], b.indices[:_FIRST]), (a.indptr, b.indptr), (a.indices, b.indices))
    return all(bool(same(*pair)) for pair in pairs)


def same_rows(backend: Backend, a: RowSparse, b: RowSparse) -> bool:
    """Whether `a` and `b` store the same rows."""
    return a.indices is b.indices or bool(backend.xp.array_equal(a.indices, b.indices))


def _common(backend: Backend, a: CSR, b: CSR) -> Any:
    """A matrix of what `a` and `b` both store: one more than the position of each entry in `a`."""
    positions = a.with_data(backend.xp.arange(1, len(a.data) + 1, dtype=np.float64))
    ones = b.with_data(backend.xp.ones(len(b.data)))
    return backend.matrix(positions).multiply(backend.matrix(ones))


def _count_common(backend: Backend, a: CSR, b: CSR) -> int:
    """How many places both store."""
    ones = (backend.matrix(x.with_data(backend.xp.ones(len(x.data), _CODE))) for x in (a, b))
    return int(next(ones).multiply(next(ones)).nnz)


def _both(backend: Backend, codes: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The values `a` and `b` at all the places of a union, zero where they are not stored."""
    xp = backend.xp
    left, right = xp.zeros(len(codes), a.dtype), xp.zeros(len(codes), b.dtype)
    # Twice as fast as assignment by the mask.
    left[xp.flatnonzero(codes != 2)] = a
    right[xp.flatnonzero(codes != 1)] = b
    return left, right


def _union_rows(xp: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """The rows in `a` or `b`, which ascend, and where in them those of `a` and of `b` stand."""
    both = xp.concatenate([a, b])
    # Stable sorting merges two ascending runs in linear time.
    order = xp.argsort(both, kind="stable")
    both = both[order]
    first = xp.ones(len(both), bool)
    xp.not_equal(both[1:], both[:-1], out=first[1:])
    position = xp.empty(len(both), np.int64)
    position[order] = xp.cumsum(first) - 1
    return both[first], position[: len(a)], position[len(a) :]
