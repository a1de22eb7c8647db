"""The matrix product at chosen places."""

from itertools import product as pairs

import numpy as np

from sparseops.errors import ShapeError
from sparseops.operators import operator
from sparseops.ops.products import product, share_rows, sparse_product, working
from sparseops.ops.rows import csr_rows, csr_transposed, pick, rows_of, stored_rows
from sparseops.ops.structure import entry_keys, find
from sparseops.storage import Dense

__all__ = ["sddmm"]

_FACTORS = tuple(pairs(("dense", "row_sparse", "csr"), repeat=2))
#: So many products are formed at a time, which keeps temporaries in the processor's cache.
_BLOCK = 2**16


@operator(shapes="(m,k),(m,n),(n,k)->(m,k)")
def sddmm(pattern, a, b, *, transpose_a=False, transpose_b=False):
    """The values of the matrix product of `a` and `b` at the places that `pattern` stores.

    Parameters
    ----------
    pattern : matrix of any storage
        Its structure is used, never its values; the gradient by it is zero.
    a, b : matrix of any storage
        The factors.
    transpose_a, transpose_b : bool, optional
        Whether a factor is transposed.

    Returns
    -------
    NDArray
        In the storage, and with the structure, of `pattern`.

    Raises
    ------
    ShapeError
        If the shapes of factors and `pattern` do not fit.

    Notes
    -----
    For a csr pattern and an inner size of n, O(nnz n) time; beside the result, temporaries of a
    fixed size (and a copy of a factor that is not laid out row by row). Places that a sparse factor
    does not store are skipped (``skip_unstored``). The literature calls this the sampled
    dense-dense matrix multiplication.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.csr_array([[0, 1], [1, 0]])
    >>> so.sddmm(x, so.array([[1, 2], [3, 4]]), so.array([[1, 10], [1, 10]]))
    <int64[2,2] csr, 2 stored>
      (0, 1)  30
      (1, 0)  7
    """
    for name, x in (("pattern", pattern), ("a", a), ("b", b)):
        if x.ndim != 2:
            raise ShapeError(f"{name} has shape {x.shape}; sddmm takes 2 dimensions", slot=name)
    left = a.shape[::-1] if transpose_a else a.shape
    right = b.shape[::-1] if transpose_b else b.shape
    if left[1] != right[0]:
        raise ShapeError(f"inner sizes differ: {left[1]} and {right[0]}")
    if pattern.shape != (left[0], right[1]):
        raise ShapeError(
            f"pattern has shape {pattern.shape}; the product has {(left[0], right[1])}"
        )
    return pattern.shape, np.result_type(a.dtype, b.dtype)


@sddmm.forward("dense, dense, dense -> dense")
def _sample_dense(backend, pattern, a, b, *, transpose_a, transpose_b):
    dtype = np.result_type(a.data.dtype, b.data.dtype)
    return Dense(product(backend, a, transpose_a, b, transpose_b, dtype))


@sddmm.forward(*[f"row_sparse, {a}, {b} -> row_sparse" for a, b in _FACTORS])
def _sample_rows(backend, pattern, a, b, *, transpose_a, transpose_b):
    dtype = np.result_type(a.data.dtype, b.data.dtype)
    left = rows_of(backend, a, transpose_a, pattern.indices)
    return pattern.with_data(product(backend, left, transpose_a, b, transpose_b, dtype))


@sddmm.forward("csr, csr, csr -> csr")
def _sample_sparse(backend, pattern, a, b, *, transpose_a, transpose_b):
    dtype = np.result_type(a.data.dtype, b.data.dtype)
    found = sparse_product(backend, a, transpose_a, b, transpose_b, dtype)
    known, wanted = entry_keys(backend, found, pattern)
    at, there = find(backend, wanted, known)
    data = backend.xp.zeros(len(wanted), dtype)
    data[there] = found.data[at[there]]
    return pattern.with_data(data)


@sddmm.forward(*[f"csr, {a}, {b} -> csr" for a, b in _FACTORS[:-1]])
def _sample_entries(backend, pattern, a, b, *, transpose_a, transpose_b):
    xp, dtype = backend.xp, np.result_type(a.data.dtype, b.data.dtype)
    a, b = share_rows(backend, a, transpose_a, b, transpose_b)
    if a.stype == b.stype == "dense":
        factors = (a.data.T if transpose_a else a.data, b.data if transpose_b else b.data.T)
        if (data := backend.compiled("sampled", pattern, *factors)) is not None:
            return pattern.with_data(data)
    left, right = _reader(backend, a, transpose_a), _reader(backend, b, not transpose_b)
    inner = a.shape[not transpose_a]
    rows, columns = backend.row_ids(pattern), pattern.indices
    data = xp.empty(len(columns), dtype)
    step = max(1, _BLOCK // max(1, inner))
    for start in range(0, len(columns), step):
        block = slice(start, start + step)
        pair = (
            part.astype(working(dtype), copy=False)
            for part in (left(rows[block]), right(columns[block]))
        )
        data[block] = xp.einsum("ij,ij->i", *pair)
    return pattern.with_data(data)


def _reader(backend, x, transposed):
    """A function from row numbers to these rows of `x`, or of its transpose, as an array."""
    return _READERS[x.stype](backend, x, transposed)


def _read_dense(backend, x, transposed):
    values = backend.xp.ascontiguousarray(x.data.T if transposed else x.data)
    return lambda ids: pick(backend, values, ids)


def _read_row_sparse(backend, x, transposed):
    return lambda ids: stored_rows(backend, x, ids)


def _read_csr(backend, x, transposed):
    x = csr_transposed(backend, x) if transposed else x

    def read(ids):
        part = csr_rows(backend, x, ids)
        rows = backend.xp.zeros(part.shape, part.data.dtype)
        rows[backend.row_ids(part), part.indices] = part.data
        return rows

    return read


_READERS = {"dense": _read_dense, "row_sparse": _read_row_sparse, "csr": _read_csr}
