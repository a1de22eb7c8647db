"""Sums of squares over axes."""

from sparseops.operators import operator
from sparseops.ops.cast import SAME
from sparseops.ops.multiply import multiply
from sparseops.ops.shape import reshape
from sparseops.ops.totals import as_axes, keeps_rows, reduced_shape, reduces, sum_dtype, total, wide
from sparseops.ops.unary import conj
from sparseops.storage import Dense, RowSparse

__all__ = ["square_sum"]


@operator
def square_sum(x, *, axis=None, keepdims=False):
    """The sum of the squares of the values of `x` over the axes `axis`: ``sum(x * x)``.

    Parameters
    ----------
    x : array of any storage
        The values.
    axis : int or tuple of int, optional
        What to sum over, negative numbers counted from the end; by default all axes.
    keepdims : bool, optional
        Whether the axes stay, with length 1.

    Returns
    -------
    NDArray
        Dense. Small integers and bool are squared and add up in int64 or uint64, float16 in float32
        (the result is float16). A row_sparse `x` whose rows stay apart may be asked for
        ``stype="row_sparse"``.

    Raises
    ------
    ShapeError
        If an axis does not exist or stands twice.

    Notes
    -----
    O(stored + result). What is not stored is 0 (skip_unstored). The gradient by `x` is
    ``2 * x * g``, in the storage of `x`. Over no axis, ``axis=()``, a csr `x` is a fallback.

    Examples
    --------
    >>> import sparseops as so
    >>> so.square_sum(so.csr_array([[0, 2, 0], [1, 0, 4]]), axis=1)
    <int64[2] dense>
      [ 4 17]
    """
    return reduced_shape(x.shape, axis, keepdims), sum_dtype(x.dtype)


@square_sum.forward("dense -> dense")
@square_sum.forward("csr -> dense", "row_sparse -> dense", where=reduces)
def _square_sum(backend, x, *, axis, keepdims):
    dtype = sum_dtype(x.data.dtype)
    squares = x.with_data(backend.xp.square(x.data.astype(wide(dtype), copy=False)))
    found = total(backend, squares, as_axes(axis, len(x.shape)), wide(dtype))
    return Dense(found.astype(dtype).reshape(reduced_shape(x.shape, axis, keepdims)))


@square_sum.forward("row_sparse -> row_sparse", where=keeps_rows)
def _square_sum_rows(backend, x, *, axis, keepdims):
    found = _square_sum(backend, Dense(x.data), axis=axis, keepdims=keepdims)
    return RowSparse(found.data, x.indices, (x.shape[0], *found.shape[1:]))


@square_sum.backward("x", *SAME)
def _square_sum_x(g, x, axis):
    factor = reshape(g, shape=reduced_shape(x.shape, axis, True)) * 2
    return multiply(conj(x) if x.dtype.kind == "c" else x, factor)
