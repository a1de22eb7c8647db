"""The matrix product."""

import numpy as np

from sparseops.errors import ShapeError
from sparseops.operators import operator
from sparseops.ops.products import columns_as_csr, product, rows_as_csr, sparse_product
from sparseops.ops.rows import compressed
from sparseops.storage import CSR, Dense, RowSparse

__all__ = ["dot"]

_PLAIN, _TRANSPOSED = {"transpose_a": False}, {"transpose_a": True}


@operator(shapes="(m,n),(n,k)->(m,k)", reference=np.dot)
def dot(a, b, *, transpose_a=False, transpose_b=False):
    """The matrix product of `a` and `b`, of which each may be transposed.

    Parameters
    ----------
    a, b : array of one or two dimensions, of any storage
        The factors. A vector counts as a row on the left and as a column on the right, as in
        NumPy's `dot`.
    transpose_a, transpose_b : bool, optional
        Whether a matrix is transposed; a vector is left as it is.

    Returns
    -------
    NDArray
        ======================  =================  =======================
        `a`, `b`                `a` as it is       `a` transposed
        ======================  =================  =======================
        dense, any              dense              dense
        csr, dense              dense              row_sparse
        csr, row_sparse         dense              row_sparse
        csr, csr                csr                csr
        row_sparse, any         row_sparse         dense
        ======================  =================  =======================

        The transpose of a csr array times anything stores the rows for which the csr array has an
        entry in that column. A row_sparse array times anything stores the same rows as it. A csr
        result may be declared (``stype="csr"``) for dense times csr and row_sparse times csr.

    Raises
    ------
    ShapeError
        If the sizes that are summed over differ, or an operand has no or more than two dimensions.

    Notes
    -----
    Places that a sparse operand does not store are skipped: NaN and infinity on the other side have
    no part in them (``skip_unstored``). Integers wrap and booleans are joined by *and* and *or* as
    in NumPy; float16 is computed in float32.

    With k columns on the right, csr times dense is O(nnz k + result), and the transpose of csr
    times dense O(nnz k + nnz log nnz), whatever the number of columns of the csr array.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.csr_array([[0.0, 2.0, 0.0], [0.0, 3.0, 0.0]])
    >>> so.dot(x, so.array([[1.0], [10.0], [100.0]]))
    <float64[2,1] dense>
    [[20.]
     [30.]]
    >>> so.dot(x, so.array([[1.0], [1.0]]), transpose_a=True)
    <float64[3,1] row_sparse, 1 row stored>
      row 1  [5.]
    """
    for name, x in (("a", a), ("b", b)):
        if x.ndim not in (1, 2):
            raise ShapeError(f"{name} has shape {x.shape}; dot takes 1 or 2 dimensions", slot=name)
    shape = _product_shape(a, b, transpose_a, transpose_b)
    if not shape and a.stype == "row_sparse" and not transpose_a:
        raise ShapeError(
            "a row_sparse vector times a vector is a number, which has no rows to store: write "
            "dot(a, b, transpose_a=True), whose result is dense"
        )
    return shape, np.result_type(a.dtype, b.dtype)


def _product_shape(a, b, transpose_a, transpose_b):
    left = a.shape[::-1] if transpose_a else a.shape
    right = b.shape[::-1] if transpose_b else b.shape
    if left[-1] != right[0]:
        raise ShapeError(f"inner sizes differ: {left[-1]} and {right[0]}")
    return left[:-1] + right[1:]


def _as_columns(x):
    """`x`, a vector as a matrix of one column."""
    return x if len(x.shape) == 2 else _CASTS[x.stype](x)


_CASTS = {
    "dense": lambda x: Dense(x.data[:, None]),
    "row_sparse": lambda x: RowSparse(x.data[:, None], x.indices, (*x.shape, 1)),
}


def _product(backend, a, transpose_a, b, transpose_b):
    """The product as an array of two dimensions; a vector on the left is a row."""
    dtype = np.result_type(a.data.dtype, b.data.dtype)
    left = transpose_a or len(a.shape) == 1
    right = transpose_b and len(b.shape) == 2
    return product(backend, _as_columns(a), left, _as_columns(b), right, dtype)


@dot.forward(
    "row_sparse, dense -> dense",
    "row_sparse, row_sparse -> dense",
    "row_sparse, csr -> dense",
    where=_TRANSPOSED,
)
@dot.forward("csr, dense -> dense", "csr, row_sparse -> dense", where=_PLAIN)
@dot.forward("dense, dense -> dense", "dense, row_sparse -> dense", "dense, csr -> dense")
def _dot_dense(backend, a, b, *, transpose_a, transpose_b):
    shape = _product_shape(a, b, transpose_a, transpose_b)
    return Dense(_product(backend, a, transpose_a, b, transpose_b).reshape(shape))


@dot.forward("csr, dense -> row_sparse", "csr, row_sparse -> row_sparse", where=_TRANSPOSED)
def _dot_columns(backend, a, b, *, transpose_b):
    shape = _product_shape(a, b, True, transpose_b)
    if b.stype == "dense":
        right = b.data.T if transpose_b else b.data
        if (found := backend.compiled("csr_transposed_dense", a, right)) is not None:
            columns, values = found
            return RowSparse(values, columns, shape)
    columns, compact = compressed(backend, a)
    values = _product(backend, compact, True, b, transpose_b)
    return RowSparse(values.reshape(len(columns), *shape[1:]), columns, shape)


@dot.forward(
    "row_sparse, dense -> row_sparse",
    "row_sparse, row_sparse -> row_sparse",
    "row_sparse, csr -> row_sparse",
    where=_PLAIN,
)
def _dot_rows(backend, a, b, *, transpose_b):
    shape = _product_shape(a, b, False, transpose_b)
    if len(a.shape) == 1:
        values = _product(backend, a, False, b, transpose_b)
        indices = backend.xp.arange(shape[0], dtype=a.indices.dtype)
        return RowSparse(values.reshape(shape), indices, shape)
    values = _product(backend, Dense(a.data), False, b, transpose_b)
    return RowSparse(values.reshape(len(a.indices), *shape[1:]), a.indices, shape)


@dot.forward("csr, csr -> csr")
def _dot_csr(backend, a, b, *, transpose_a, transpose_b):
    dtype = np.result_type(a.data.dtype, b.data.dtype)
    return sparse_product(backend, a, transpose_a, b, transpose_b, dtype)


@dot.forward("row_sparse, csr -> csr")
def _dot_rows_csr(backend, a, b, *, transpose_a, transpose_b):
    dtype = np.result_type(a.data.dtype, b.data.dtype)
    a = rows_as_csr(backend, a)
    return sparse_product(backend, a, transpose_a, b, transpose_b, dtype)


@dot.forward("dense, csr -> csr")
def _dot_dense_csr(backend, a, b, *, transpose_a, transpose_b):
    shape = _product_shape(a, b, transpose_a, transpose_b)
    columns, compact = _stored_rows(backend, b) if transpose_b else compressed(backend, b)
    values = _product(backend, a, transpose_a, compact, transpose_b)
    return columns_as_csr(backend, values, columns, shape)


def _stored_rows(backend, x):
    """The rows where `x` stores an entry, and `x` with only these; O(rows)."""
    xp = backend.xp
    rows = xp.flatnonzero(xp.diff(x.indptr)).astype(x.indptr.dtype)
    indptr = xp.concatenate([x.indptr[rows], x.indptr[-1:]])
    return rows, CSR(x.data, x.indices, indptr, (len(rows), x.shape[1]))
