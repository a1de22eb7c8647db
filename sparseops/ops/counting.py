"""How much sparse arrays store."""

import numpy as np

from sparseops.operators import operator
from sparseops.ops.totals import as_axes, reduced_shape, total
from sparseops.storage import Dense

__all__ = ["nnz"]


@operator
def nnz(x, *, axis=None):
    """The number of values that `x` stores, explicit zeros included, along `axis`.

    Parameters
    ----------
    x : csr or row_sparse array
        Its structure is counted; a dense array has none.
    axis : int or tuple of int, optional
        What to count along, negative numbers counted from the end; by default all axes.

    Returns
    -------
    NDArray
        Dense int64. There is no gradient.

    Raises
    ------
    ShapeError
        If an axis does not exist or stands twice.
    StorageError
        If `x` is dense: ``so.sum(so.not_equal(x, 0))`` counts what is not zero in any storage.

    Notes
    -----
    O(stored + result). Over no axis, ``axis=()``, the result is as large as `x`.

    Examples
    --------
    >>> import sparseops as so
    >>> so.nnz(so.csr_array(([0.0, 2.0], [0, 1], [0, 2, 2]), (2, 3)), axis=1)
    <int64[2] dense>
    [2 0]
    """
    return reduced_shape(x.shape, axis, False), np.int64


@nnz.forward("csr -> dense", "row_sparse -> dense")
def _nnz(backend, x, *, axis):
    xp, axes = backend.xp, as_axes(axis, len(x.shape))
    shape = reduced_shape(x.shape, axis, False)
    if x.stype == "csr" and axes == (1,):
        return Dense(xp.diff(x.indptr).astype(np.int64))
    ones = x.with_data(xp.ones(x.data.shape, np.int64))
    return Dense(xp.asarray(total(backend, ones, axes, np.dtype(np.int64))).reshape(shape))
