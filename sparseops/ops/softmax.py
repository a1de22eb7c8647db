"""Softmax and its logarithm, and what they share with the losses that are made of them."""

from typing import Any

import numpy as np

from sparseops.errors import DTypeError
from sparseops.operators import operator
from sparseops.ops.totals import as_axis
from sparseops.ops.unary import exp
from sparseops.spec import Spec

__all__ = ["log_softmax", "softmax"]


@operator(shapes="(m,n)->(m,n)")
def softmax(x, *, axis=-1):
    """``exp(x) / sum(exp(x))`` along `axis`, without overflow.

    Parameters
    ----------
    x : array of any storage
        Scores, real.
    axis : int, optional
        The axis along which the results add up to 1.

    Returns
    -------
    NDArray
        Dense, of the dtype of ``exp(x)``; a sparse `x` falls back to dense, on record.

    Raises
    ------
    ShapeError
        If `x` has no such axis.
    DTypeError
        For complex scores.

    Notes
    -----
    O(size). The gradient by `x` is ``out * (g - sum(g * out))`` along `axis`.

    Examples
    --------
    >>> import sparseops as so
    >>> so.softmax(so.array([[0.0, 0.0], [1000.0, -1000.0]]))
    <float64[2,2] dense>
    [[0.5 0.5]
     [1.  0. ]]
    """
    as_axis(axis, x.ndim)
    return x.shape, float_dtype(x)


@softmax.forward("dense -> dense")
def _softmax(backend, x, *, axis):
    xp = backend.xp
    scores = shifted(xp, x.data, axis)
    weights = xp.exp(scores)
    weights /= weights.sum(axis=axis, keepdims=True)
    return x.with_data(weights.astype(exp_dtype(x.data.dtype), copy=False))


@softmax.backward("x", "dense -> dense")
def _softmax_x(g, out, axis):
    return out * (g - (g * out).sum(axis=axis, keepdims=True))


@operator(shapes="(m,n)->(m,n)")
def log_softmax(x, *, axis=-1):
    """``x - log(sum(exp(x)))`` along `axis`, without overflow.

    Parameters
    ----------
    x : array of any storage
        Scores, real.
    axis : int, optional
        The axis along which the exponentials of the results add up to 1.

    Returns
    -------
    NDArray
        Dense, of the dtype of ``exp(x)``; a sparse `x` falls back to dense, on record.

    Raises
    ------
    ShapeError
        If `x` has no such axis.
    DTypeError
        For complex scores.

    Notes
    -----
    O(size). The gradient by `x` is ``g - exp(out) * sum(g)`` along `axis`.

    Examples
    --------
    >>> import sparseops as so
    >>> so.log_softmax(so.array([1000.0, -1000.0]))
    <float64[2] dense>
    [    0. -2000.]
    """
    as_axis(axis, x.ndim)
    return x.shape, float_dtype(x)


@log_softmax.forward("dense -> dense")
def _log_softmax(backend, x, *, axis):
    xp = backend.xp
    scores = shifted(xp, x.data, axis)
    if scores.size:
        scores -= xp.log(xp.exp(scores).sum(axis=axis, keepdims=True))
    return x.with_data(scores.astype(exp_dtype(x.data.dtype), copy=False))


@log_softmax.backward("x", "dense -> dense")
def _log_softmax_x(g, out, axis):
    return g - exp(out) * g.sum(axis=axis, keepdims=True)


def exp_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of ``exp(x)`` for values of `dtype`."""
    return np.exp.resolve_dtypes((dtype, None))[1]


def float_dtype(x: Spec) -> np.dtype:
    """The dtype of ``exp(x)``, for real scores `x`."""
    if x.dtype.kind == "c":
        raise DTypeError(f"x has {x.dtype} values; scores are real")
    return exp_dtype(x.dtype)


def as_float(data: Any) -> Any:
    """The values as floating numbers, at least of 32 bits, since sums and differences need them."""
    return data.astype(np.result_type(exp_dtype(data.dtype), np.float32), copy=False)


def shifted(xp: Any, data: Any, axis: int) -> Any:
    """The values as floating numbers, less the largest along `axis`."""
    scores = as_float(data)
    return scores - scores.max(axis=axis, keepdims=True) if scores.size else scores.copy()
