"""One row by its number."""

from sparseops.errors import ShapeError
from sparseops.keys import in_axis
from sparseops.operators import operator
from sparseops.ops.cast import sparse_mask
from sparseops.ops.rows import check_index
from sparseops.ops.shape import reshape, transpose
from sparseops.ops.slicing import place_rows
from sparseops.storage import Dense, RowSparse

__all__ = []


@operator
def row(x, index):
    """Row number `index` of `x`: what ``x[index]`` gives.

    Parameters
    ----------
    x : array of any storage
        A csr array gives a row_sparse vector, which shares its memory; others give dense rows.
    index : int
        Negative numbers count from the end.

    Raises
    ------
    IndexError
        If there is no such row, or `index` is not an integer.

    Notes
    -----
    O(row), and O(log rows stored) to find it in row_sparse. One plan serves all rows. The gradient
    by a dense `x` is row_sparse where no storage is asked for.

    Examples
    --------
    >>> import sparseops as so
    >>> so.csr_array([[0, 0], [0, 5]])[-1]
    <int64[2] row_sparse, 1 row stored>
      row 1  5
    """
    if not x.shape:
        raise ShapeError("x has shape () and so no rows")
    check_index(index)
    return x.shape[1:], x.dtype


@row.forward("dense, scalar -> dense")
def _row_dense(backend, x, index):
    return Dense(x.data[in_axis(index, x.shape[0], 0), ...])


@row.forward("row_sparse, scalar -> dense")
def _row_row_sparse(backend, x, index):
    number = in_axis(index, x.shape[0], 0)
    at = int(backend.xp.searchsorted(x.indices, number))
    if at < len(x.indices) and x.indices[at] == number:
        return Dense(x.data[at, ...])
    return Dense(backend.xp.zeros(x.shape[1:], x.data.dtype))


@row.forward("csr, scalar -> row_sparse")
def _row_csr(backend, x, index):
    start, stop = x.indptr[in_axis(index, x.shape[0], 0) :][:2].tolist()
    return RowSparse(x.data[start:stop], x.indices[start:stop], x.shape[1:])


@row.backward("x", "dense, scalar -> row_sparse")
def _row_x(g, x_spec, index):
    return _at_row(reshape(g, shape=(1, *x_spec.shape[1:])), x_spec, index)


@row.backward("x", "dense, scalar -> dense")
def _row_dense_x(g, x_spec, index):
    return _at_row(reshape(g, shape=(1, *x_spec.shape[1:])), x_spec, index, stype="dense")


@row.backward("x", "row_sparse, scalar -> row_sparse")
def _row_row_sparse_x(g, x, index):
    return sparse_mask(_at_row(reshape(g, shape=(1, *x.shape[1:])), x, index), x)


@row.backward("x", "csr, scalar -> csr")
def _row_csr_x(g, x, index):
    # By way of a column, since a row_sparse row would be stored whole.
    return sparse_mask(_at_row(transpose(reshape(g, shape=(-1, 1))), x, index), x)


def _at_row(g, x, index, stype=None):
    return place_rows(g, in_axis(index, x.shape[0], 0), step=1, num_rows=x.shape[0], stype=stype)
