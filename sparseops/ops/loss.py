"""The losses of classifiers, and the one-hot arrays in their gradients."""

import numpy as np

from sparseops.errors import DTypeError, ShapeError
from sparseops.operators import operator
from sparseops.ops.cast import cast_storage, sparse_mask
from sparseops.ops.softmax import as_float, exp_dtype, float_dtype, log_softmax, shifted, softmax
from sparseops.ops.unary import sigmoid
from sparseops.spec import as_dtype
from sparseops.storage import CSR, index_dtype

__all__ = ["log_softmax", "logistic_loss", "one_hot", "softmax", "softmax_cross_entropy"]


@operator(shapes="(m,n),(m,n)->(m,n)")
def logistic_loss(x, y):
    """The negative log likelihood of labels `y` under probabilities ``sigmoid(x)``, one a score.

    For labels 0 and 1 it is ``log(1 + exp(-s * x))`` with ``s = 2 * y - 1``, and in general
    ``log(1 + exp(x)) - y * x``, computed without overflow.

    Parameters
    ----------
    x : array of any storage
        Scores, real.
    y : array of the shape of `x`, of any storage
        Labels, 0 or 1, or probabilities between them. Places that are not stored are 0.

    Returns
    -------
    NDArray
        Dense losses of the shape of `x` and the dtype of ``exp(x)``; take `mean` or `sum` of them.
        A sparse `x` falls back to dense, on record; a sparse `y` does not.

    Raises
    ------
    ShapeError
        If the shapes differ.
    DTypeError
        For complex values.
    ValueError
        If a label is not in [0, 1]; labels -1 and 1 become 0 and 1 by ``(y + 1) / 2``.

    Notes
    -----
    O(size). The gradient by `x` is ``g * (sigmoid(x) - y)``, that by `y` is ``-g * x``.

    Examples
    --------
    >>> import sparseops as so
    >>> so.logistic_loss(so.array([0.0, 1000.0, 1000.0]), so.array([1, 1, 0]))
    <float64[3] dense>
    [6.9314...e-01 0.0000...e+00 1.0000...e+03]
    """
    if x.shape != y.shape:
        raise ShapeError(f"x has shape {x.shape} and y has {y.shape}; they must be the same")
    if y.dtype.kind == "c":
        raise DTypeError(f"y has {y.dtype} values; labels are real")
    return x.shape, float_dtype(x)


@logistic_loss.forward("dense, dense -> dense")
def _logistic_loss(backend, x, y):
    _check_labels(backend, y)
    scores = as_float(x.data)
    loss = _softplus(backend.xp, scores) - y.data * scores
    return x.with_data(loss.astype(exp_dtype(x.data.dtype), copy=False))


@logistic_loss.forward("dense, row_sparse -> dense")
def _logistic_loss_row_sparse(backend, x, y):
    return _logistic_loss_at(backend, x, y, y.indices)


@logistic_loss.forward("dense, csr -> dense")
def _logistic_loss_csr(backend, x, y):
    return _logistic_loss_at(backend, x, y, (backend.row_ids(y), y.indices))


def _logistic_loss_at(backend, x, y, places):
    _check_labels(backend, y)
    scores = as_float(x.data)
    loss = _softplus(backend.xp, scores)
    loss[places] -= y.data * scores[places]
    return x.with_data(loss.astype(exp_dtype(x.data.dtype), copy=False))


@logistic_loss.backward(
    "x", "dense, dense -> dense", "dense, row_sparse -> dense", "dense, csr -> dense"
)
def _logistic_loss_x(g, x, y):
    return g * (sigmoid(x) - y)


@logistic_loss.backward("y", "dense, dense -> dense")
def _logistic_loss_y(g, x):
    return -(g * x)


@logistic_loss.backward("y", "dense, row_sparse -> row_sparse", "dense, csr -> csr")
def _logistic_loss_sparse_y(g, x, y):
    return sparse_mask(-(g * x), y)


@operator(shapes="(m,n),(m)->(m)")
def softmax_cross_entropy(x, labels):
    """The negative log likelihood of each row's label under the probabilities ``softmax(x)``.

    Parameters
    ----------
    x : array of shape (m, k), of any storage
        Scores of k classes, real.
    labels : integer array of shape (m,)
        The class of each row, in [0, k).

    Returns
    -------
    NDArray
        Dense losses of shape (m,) and the dtype of ``exp(x)``; take `mean` or `sum` of them. A
        sparse `x` falls back to dense, on record.

    Raises
    ------
    ShapeError
        If `x` has not two axes, or `labels` is not one number a row.
    DTypeError
        For complex scores, and labels that are not integers.
    IndexError
        If a label is not a class.

    Notes
    -----
    O(m k). The gradient by `x` is ``g * (softmax(x) - one_hot(labels))``, row by row.

    Examples
    --------
    >>> import sparseops as so
    >>> so.softmax_cross_entropy(so.array([[0.0, 0.0], [1000.0, 0.0]]), so.array([1, 1]))
    <float64[2] dense>
    [6.9314...e-01 1.0000...e+03]
    """
    if x.ndim != 2 or labels.shape != x.shape[:1]:
        raise ShapeError(
            f"x has shape {x.shape} and labels has {labels.shape}: not (m, k) and (m,)"
        )
    _check_integers("labels", labels)
    return labels.shape, float_dtype(x)


@softmax_cross_entropy.forward("dense, dense -> dense")
def _softmax_cross_entropy(backend, x, labels):
    xp = backend.xp
    _check_ids("labels", labels.data, x.shape[1], "classes")
    scores = shifted(xp, x.data, -1)
    found = scores[xp.arange(len(scores)), labels.data]
    loss = xp.log(xp.exp(scores).sum(axis=1)) - found
    return labels.with_data(loss.astype(exp_dtype(x.data.dtype), copy=False))


@softmax_cross_entropy.backward("x", "dense, dense -> dense")
def _softmax_cross_entropy_x(g, x, labels):
    expected = one_hot(labels, num_columns=x.shape[1], dtype=x.dtype)
    return g.reshape(x.shape[0], 1) * (softmax(x) - expected)


@operator
def one_hot(ids, *, num_columns, dtype="float64"):
    """A matrix whose row ``i`` stores a single 1, in column ``ids[i]``.

    Parameters
    ----------
    ids : integer array of shape (m,)
        Columns, in [0, num_columns).
    num_columns : int
        The width of the result.
    dtype : dtype-like, optional
        The type of its values.

    Returns
    -------
    NDArray
        In csr storage. O(m).

    Raises
    ------
    ShapeError
        If `ids` has not one axis.
    DTypeError
        If `ids` are not integers.
    IndexError
        If an id is not a column.

    Examples
    --------
    >>> import sparseops as so
    >>> so.one_hot(so.array([2, 0]), num_columns=3)
    <float64[2,3] csr, 2 stored>
      (0, 2)  1.0
      (1, 0)  1.0
    """
    if ids.ndim != 1:
        raise ShapeError(f"ids has shape {ids.shape}; it must have one axis")
    _check_integers("ids", ids)
    return (ids.shape[0], num_columns), as_dtype(dtype)


@one_hot.forward("dense -> csr")
def _one_hot(backend, ids, *, num_columns, dtype):
    xp, rows = backend.xp, len(ids.data)
    _check_ids("ids", ids.data, num_columns, "columns")
    width = index_dtype(rows, num_columns)
    data, indptr = xp.ones(rows, as_dtype(dtype)), xp.arange(rows + 1, dtype=width)
    return CSR(data, ids.data.astype(width), indptr, (rows, num_columns))


def _softplus(xp, scores):
    return xp.maximum(scores, 0) + xp.log1p(xp.exp(-xp.abs(scores)))


def _check_integers(name, ids) -> None:
    if ids.dtype.kind not in "iu":
        raise DTypeError(f"{name} has {ids.dtype} values; they must be integers")


def _check_ids(name, ids, limit, what) -> None:
    outside = (ids < 0) | (ids >= limit)
    if outside.any():
        at = int(outside.argmax())
        raise IndexError(f"{name}[{at}]={int(ids[at])}, but there are {limit} {what}")


def _check_labels(backend, y) -> None:
    inside = (y.data >= 0) & (y.data <= 1)
    if inside.all():
        return
    labels = y if y.stype == "dense" else cast_storage.kernel(y.stype, "dense")(backend, y)
    labels = backend.asnumpy(labels.data)
    at = np.unravel_index(np.argmin((labels >= 0) & (labels <= 1)), labels.shape)
    place = ", ".join(str(int(n)) for n in at)
    raise ValueError(f"y[{place}]={labels[at]}, but labels are 0, 1 or in between")
