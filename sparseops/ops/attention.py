"""Softmax over the entries that the rows of a csr array store, as graph attention has it."""

from typing import Any

from sparseops.backend import Backend
from sparseops.operators import operator
from sparseops.ops.reduction import sum
from sparseops.ops.softmax import as_float, float_dtype
from sparseops.storage import CSR

__all__ = ["stored_log_softmax", "stored_softmax"]


@operator
def stored_softmax(x):
    """``exp(x) / sum(exp(x))`` along each row, over the entries that `x` stores alone.

    Places that are not stored take no part: they weigh nothing, as a score of -inf would, and not
    as one of 0, which is what `softmax` sees there. Explicit zeros are scores of 0.

    Parameters
    ----------
    x : csr array
        Scores, real.

    Returns
    -------
    NDArray
        In csr storage, with the structure of `x`, of the dtype of ``exp(x)``. The values of each
        row that stores something add up to 1.

    Raises
    ------
    DTypeError
        For complex scores.
    StorageError
        If `x` is dense or row_sparse, where nothing or whole rows are left out.

    Notes
    -----
    O(rows + stored). A row with NaN or infinity becomes NaN, by IEEE rules; other rows are not
    touched by it. The gradient by `x` is ``out * (g - sum(g * out))``, row by row.

    Examples
    --------
    >>> import sparseops as so
    >>> so.stored_softmax(so.csr_array(([1.0, 1.0, 5.0], [0, 2, 1], [0, 2, 3]), (2, 3)))
    <float64[2,3] csr, 3 stored>
      (0, 0)  0.5
      (0, 2)  0.5
      (1, 1)  1.0

    References
    ----------
    Velickovic and others: Graph attention networks, ICLR (2018), equation 2.
    """
    return x.shape, float_dtype(x)


@operator
def stored_log_softmax(x):
    """The logarithm of `stored_softmax`, without overflow.

    Parameters
    ----------
    x : csr array
        Scores, real.

    Returns
    -------
    NDArray
        In csr storage, with the structure of `x`, of the dtype of ``exp(x)``.

    Raises
    ------
    DTypeError
        For complex scores.
    StorageError
        If `x` is dense or row_sparse.

    Notes
    -----
    O(rows + stored). The gradient by `x` is ``g - stored_softmax(x) * sum(g)``, row by row.

    Examples
    --------
    >>> import sparseops as so
    >>> so.stored_log_softmax(so.csr_array(([1000.0, -1000.0], [0, 2], [0, 2]), (1, 3)))
    <float64[1,3] csr, 2 stored>
      (0, 0)  0.0
      (0, 2)  -2000.0
    """
    return x.shape, float_dtype(x)


@stored_softmax.forward("csr -> csr")
def _stored_softmax(backend, x):
    scores, spread, starts = _shifted(backend, x)
    weights = backend.xp.exp(scores)
    if len(weights):
        weights /= spread(backend.xp.add.reduceat(weights, starts))
    return x.with_data(weights.astype(float_dtype(x), copy=False))


@stored_log_softmax.forward("csr -> csr")
def _stored_log_softmax(backend, x):
    xp = backend.xp
    scores, spread, starts = _shifted(backend, x)
    if len(scores):
        scores -= spread(xp.log(xp.add.reduceat(xp.exp(scores), starts)))
    return x.with_data(scores.astype(float_dtype(x), copy=False))


def _shifted(backend: Backend, x: CSR) -> tuple[Any, Any, Any]:
    """Scores less the largest of their row, what spreads values of rows to entries, and starts."""
    xp, scores = backend.xp, as_float(x.data)
    counts = xp.diff(x.indptr)
    rows = xp.flatnonzero(counts)
    starts, counts = x.indptr[rows], counts[rows]

    def spread(values):
        return xp.repeat(values, counts)

    if not len(scores):
        return scores.copy(), spread, starts
    return scores - spread(xp.maximum.reduceat(scores, starts)), spread, starts


@stored_softmax.backward("x", "csr -> csr")
def _stored_softmax_x(g, out):
    return out * g - out * sum(g * out, axis=1, keepdims=True)


@stored_log_softmax.backward("x", "csr -> csr")
def _stored_log_softmax_x(g, x):
    return g - stored_softmax(x) * sum(g, axis=1, keepdims=True)
