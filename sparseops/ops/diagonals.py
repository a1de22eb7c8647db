"""The main diagonal of a matrix, and matrices of one."""

import numpy as np

from sparseops.errors import ShapeError
from sparseops.operators import operator
from sparseops.ops.cast import cast_storage, sparse_mask
from sparseops.spec import as_shape
from sparseops.storage import CSR, Dense, index_dtype

__all__ = ["diagonal"]


@operator(shapes="(n,n)->(n)", reference=np.diagonal)
def diagonal(x):
    """The values of the matrix `x` whose row and column have the same number.

    Parameters
    ----------
    x : array of shape (m, n), of any storage
        The values.

    Returns
    -------
    NDArray
        Dense, of shape (min(m, n),). O(stored + result).

    Raises
    ------
    ShapeError
        If `x` has not two dimensions.

    Examples
    --------
    >>> import sparseops as so
    >>> so.diagonal(so.csr_array([[5, 2, 0], [0, 0, 4]]))
    <int64[2] dense>
    [5 0]
    """
    if x.ndim != 2:
        raise ShapeError(f"x has shape {x.shape}; a matrix has two dimensions")
    return (min(x.shape),), x.dtype


@diagonal.forward("dense -> dense")
def _diagonal_dense(backend, x):
    return Dense(backend.xp.diagonal(x.data).copy())


@diagonal.forward("csr -> dense")
def _diagonal_csr(backend, x):
    found = backend.xp.zeros(min(x.shape), x.data.dtype)
    on = x.indices == backend.row_ids(x)
    found[x.indices[on]] = x.data[on]
    return Dense(found)


@diagonal.forward("row_sparse -> dense")
def _diagonal_rows(backend, x):
    found = backend.xp.zeros(min(x.shape), x.data.dtype)
    within = backend.xp.flatnonzero(x.indices < len(found))
    rows = x.indices[within]
    found[rows] = x.data[within, rows]
    return Dense(found)


@diagonal.backward("x", "dense -> dense")
def _diagonal_x(g, x_spec):
    return cast_storage(diagonal_matrix(g, shape=x_spec.shape), stype="dense")


@diagonal.backward("x", "csr -> csr", "row_sparse -> row_sparse")
def _diagonal_sparse_x(g, x):
    return sparse_mask(diagonal_matrix(g, shape=x.shape), x)


@operator
def diagonal_matrix(x, *, shape):
    """The csr matrix of `shape` that stores the vector `x` as its diagonal. O(rows)."""
    if x.shape != (min(as_shape(shape)),):
        raise ShapeError(f"x has shape {x.shape}; the diagonal of {shape} has {min(shape)} values")
    return as_shape(shape), x.dtype


@diagonal_matrix.forward("dense -> csr")
def _diagonal_matrix(backend, x, *, shape):
    xp, (rows, columns) = backend.xp, as_shape(shape)
    width = index_dtype(rows, columns)
    indices = xp.arange(len(x.data), dtype=width)
    indptr = xp.minimum(xp.arange(rows + 1, dtype=width), width.type(len(x.data)))
    return CSR(x.data, indices, indptr, (rows, columns))


@diagonal_matrix.backward("x", "dense -> dense")
def _diagonal_matrix_x(g):
    return diagonal(g)
