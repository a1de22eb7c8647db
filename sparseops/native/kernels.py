"""The compiled kernels with memory for what they make: functions of storages and NumPy's arrays.

Each gives None where no kernel is compiled for such dtypes; then SciPy's way is taken. Results are
those of SciPy's way, to the bit where sums are added up in the same order.
"""

from typing import Any

import numpy as np

from sparseops.native import _kernels as compiled  # type: ignore[attr-defined]
from sparseops.storage import CSR, RowSparse, index_dtype

#: The dtypes that kernels are compiled for.
_DTYPES = "fd"
_INT32 = 2**31
#: The numbers that each rule of an optimizer reads.
_RULES = {
    "sgd": ("rate",),
    "momentum": ("rate", "momentum"),
    "nesterov": ("rate", "momentum"),
    "adagrad": ("rate", "epsilon"),
    "rmsprop": ("rate", "decay", "epsilon"),
    "adam": ("rate", "beta1", "beta2", "epsilon", "step"),
    "adamw": ("rate", "beta1", "beta2", "epsilon", "step", "weight_decay"),
    "ftrl": ("rate", "l1", "beta", "weight_decay"),
}


def _suits(*arrays: Any) -> bool:
    """Whether there are kernels for values of the dtype of `arrays`, which is one."""
    dtype = arrays[0].dtype
    return dtype.char in _DTYPES and dtype.isnative and all(x.dtype == dtype for x in arrays)


_flat = np.ascontiguousarray


def _parts(x: CSR) -> tuple[Any, Any, Any]:
    """The arrays of a csr array, contiguous."""
    return _flat(x.indptr), _flat(x.indices), _flat(x.data)


def csr_dense(a: CSR, right: Any) -> Any:
    """``a @ right``, of one or two dimensions."""
    if not _suits(a.data, right):
        return None
    out = np.empty((a.shape[0], *right.shape[1:]), right.dtype)
    compiled.csr_dense(*_parts(a), None, _flat(right), out)
    return out


def row_sums(a: CSR) -> Any:
    """The sum of the values of each row."""
    if not _suits(a.data):
        return None
    out = np.empty(a.shape[0], a.data.dtype)
    compiled.row_sums(_flat(a.indptr), _flat(a.data), out)
    return out


def csr_transposed_dense(a: CSR, right: Any) -> Any:
    """The rows of ``a.T @ right`` for which `a` stores an entry, and their numbers."""
    if not _suits(a.data, right) or (found := by_column(a)) is None:
        return None
    columns, starts, rows, order = found
    out = np.empty((len(columns), *right.shape[1:]), right.dtype)
    compiled.csr_dense(starts, rows, _flat(a.data), order, _flat(right), out)
    return columns, out


def by_column(a: CSR) -> Any:
    """The columns where `a` stores an entry, and for each where its entries begin: their rows and
    their places in `a`.

    It is kept with the structure, for the next call: one step uses a csr array several times, and
    the next epoch again.
    """
    if "by_column" not in a.derived:
        found = _grouped(a.indices, a.shape[1])
        if found is None:
            return None
        columns, starts, order = found
        row_ids = np.repeat(np.arange(a.shape[0], dtype=a.indices.dtype), np.diff(a.indptr))
        a.derived["by_column"] = columns, starts, row_ids[order], order
    return a.derived["by_column"]


def _grouped(ids: Any, limit: int) -> Any:
    ids, count = _flat(ids), len(ids)
    unique, order = np.empty(count, ids.dtype), np.empty(count, ids.dtype)
    starts = np.empty(count + 1, ids.dtype)
    found = compiled.group(ids, limit, unique, starts, order)
    if found < 0:
        return None
    # What is kept is to be no larger than what it holds.
    return unique[:found].copy(), starts[: found + 1].copy(), order


def sum_by_row(values: Any, ids: Any, limit: int) -> Any:
    """The different numbers among `ids`, in [0, limit), and the sum of the rows of each."""
    if not _suits(values) or (found := _grouped(ids, limit)) is None:
        return None
    rows, starts, order = found
    flat = values.reshape(len(values), -1) if values.size else values.reshape(len(values), 0)
    out = np.empty((len(rows), flat.shape[1]), values.dtype)
    compiled.csr_dense(starts, order, None, None, _flat(flat), out)
    return rows, out.reshape(len(rows), *values.shape[1:])


def merge_csr(a: CSR, b: CSR, name: str) -> CSR | None:
    """``add`` or ``subtract`` at what either stores, ``multiply`` at what both store."""
    if not _suits(a.data, b.data):
        return None
    most = len(a.indices) + len(b.indices)
    width = np.result_type(a.indices.dtype, b.indices.dtype, index_dtype(most))
    a, b = _of_width(a, width), _of_width(b, width)
    indptr = np.empty(len(a.indptr), width)
    of_a, of_b = _parts(a), _parts(b)
    nnz = compiled.merge_count(name, *of_a[:2], *of_b[:2], indptr)
    indices, data = np.empty(nnz, width), np.empty(nnz, a.data.dtype)
    compiled.merge_fill(name, *of_a, *of_b, indptr, indices, data)
    return CSR(data, indices, indptr, a.shape)


def _of_width(x: CSR, width: np.dtype) -> CSR:
    if x.indices.dtype == width:
        return x
    return CSR(x.data, x.indices.astype(width), x.indptr.astype(width), x.shape)


def merge_rows(a: RowSparse, b: RowSparse, name: str) -> RowSparse | None:
    """``add`` or ``subtract`` at the rows of either."""
    if not _suits(a.data, b.data):
        return None
    width = np.result_type(a.indices.dtype, b.indices.dtype)
    of_a, of_b = (_flat(x.indices.astype(width, copy=False)) for x in (a, b))
    rows, at_a, at_b = np.empty((3, len(of_a) + len(of_b)), width)
    count = compiled.union_rows(of_a, of_b, rows, at_a, at_b)
    out = np.empty((count, *a.shape[1:]), a.data.dtype)
    compiled.merge_rows(name, at_a[:count], at_b[:count], _flat(a.data), _flat(b.data), out)
    return RowSparse(out, rows[:count].copy(), a.shape)


def dense_to_csr(x: Any) -> CSR | None:
    """What is not zero in a matrix."""
    if not _suits(x) or not x.flags.c_contiguous:
        return None
    indptr = np.empty(len(x) + 1, index_dtype(x.shape[1], x.size))
    nnz = compiled.dense_count(x, indptr)
    indices, data = np.empty(nnz, indptr.dtype), np.empty(nnz, x.dtype)
    compiled.dense_fill(x, indptr, indices, data)
    return _of_width(CSR(data, indices, indptr, x.shape), index_dtype(x.shape[1], nnz))


def dense_to_rows(x: Any) -> RowSparse | None:
    """The rows in which something is not zero."""
    if not _suits(x) or not x.flags.c_contiguous or not x.size:
        return None
    stored = np.empty(len(x), index_dtype(len(x)))
    rows = stored[: compiled.rows_count(x, stored)].copy()
    return RowSparse(take_rows(x, rows), rows, x.shape)


def csr_to_dense(x: CSR) -> Any:
    """All values of a matrix."""
    if not _suits(x.data):
        return None
    out = np.empty(x.shape, x.data.dtype)
    compiled.csr_to_dense(*_parts(x), out)
    return out


def take_csr(x: CSR, ids: Any) -> CSR | None:
    """The rows `ids` of a matrix."""
    if not _suits(x.data):
        return None
    counts = x.indptr[ids + 1] - x.indptr[ids]
    nnz = int(counts.sum(dtype=np.int64))
    x = _of_width(x, np.result_type(x.indices.dtype, index_dtype(nnz)))
    indptr = np.zeros(len(ids) + 1, x.indptr.dtype)
    np.cumsum(counts, out=indptr[1:])
    indices, data = np.empty(nnz, indptr.dtype), np.empty(nnz, x.data.dtype)
    ids = _flat(ids.astype(indptr.dtype, copy=False))
    compiled.take_csr(*_parts(x), ids, indptr, indices, data)
    return CSR(data, indices, indptr, (len(ids), x.shape[1]))


def take_rows(x: Any, ids: Any) -> Any:
    """The rows `ids`, of any shape, of `x`."""
    if not _suits(x) or not x.flags.c_contiguous or ids.dtype.char not in "ilq":
        return None
    out = np.empty((*ids.shape, *x.shape[1:]), x.dtype)
    compiled.take_rows(x, _flat(ids), out)
    return out


def sampled(pattern: CSR, left: Any, right: Any) -> Any:
    """The products of rows of `left` and of rows of `right` where `pattern` stores an entry."""
    if not _suits(left, right):
        return None
    out = np.empty(len(pattern.indices), left.dtype)
    compiled.sampled(*_parts(pattern)[:2], _flat(left), _flat(right), out)
    return out


def csr_csr(a: CSR, b: CSR) -> CSR | None:
    """``a @ b``, with an entry for each pair that meets; `b` has few columns without entries."""
    if not _suits(a.data, b.data):
        return None
    columns = b.shape[1]
    pairs = int(np.diff(b.indptr)[a.indices].sum(dtype=np.int64))
    width = np.result_type(a.indices.dtype, b.indices.dtype)
    if pairs >= _INT32 or a.shape[0] >= _INT32 - 1:
        width = np.dtype(np.int64)
    a, b = _of_width(a, width), _of_width(b, width)
    indptr = np.empty(len(a.indptr), width)
    of_a, of_b = _parts(a), _parts(b)
    nnz = compiled.product_count(*of_a[:2], *of_b[:2], columns, indptr)
    indices, data = np.empty(nnz, width), np.empty(nnz, a.data.dtype)
    compiled.product_fill(*of_a, *of_b, columns, indptr, indices, data)
    return CSR(data, indices, indptr, (a.shape[0], columns))


def step(
    rule: str, gradient: Any, places: Any, arrays: list[Any], preparation: tuple, numbers: dict
) -> Any:
    """One step of an optimizer at the rows `places` of `arrays`, or at all; True if it was done.

    `preparation` has what the gradient is scaled by, clipped to (-1 for not at all), and the decay
    that is added to it; `numbers` the rate and the rule's own, by name.
    """
    if not _suits(gradient, *arrays) or not all(x.flags.c_contiguous for x in arrays):
        return None
    weights, first, second = [*arrays, None, None][:3]
    given = tuple(float(numbers[name]) for name in _RULES[rule])
    places = None if places is None else _flat(places)
    compiled.step(rule, places, _flat(gradient), weights, first, second, preparation, given)
    return True
