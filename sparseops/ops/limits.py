"""Values held between two limits."""

import math
from numbers import Real
from typing import Any

import numpy as np

from sparseops.errors import DTypeError, ShapeError
from sparseops.operators import operator
from sparseops.ops.cast import SAME, sparse_mask
from sparseops.ops.slope import PAIRS, zeros_like
from sparseops.storage import Storage

__all__ = ["clip"]


def holds_zero(low, high):
    """low <= 0 <= high"""
    below = low is None or (isinstance(low, Real) and low <= 0)
    return below and (high is None or (isinstance(high, Real) and high >= 0))


@operator
def clip(x, *, low, high):
    """`x` with values below `low` and above `high` replaced by these.

    Parameters
    ----------
    x : array of any storage
        The values, real; NaN stays.
    low, high : number or None
        The limits; None for no limit.

    Returns
    -------
    NDArray
        Of the dtype that NumPy gives `x` and the limits. A sparse `x` keeps its storage and
        structure if ``low <= 0 <= high``; else it falls back to dense, on record.

    Raises
    ------
    DTypeError
        For complex values.
    ValueError
        If `low` is above `high`, or a limit is NaN.

    Notes
    -----
    O(values stored). The gradient by `x` is `g` where `x` lies within the limits, they included,
    and 0 elsewhere.

    Examples
    --------
    >>> import sparseops as so
    >>> so.clip(so.csr_array([[0.0, 2.5], [-3.0, 0.0]]), low=-1.0, high=1.0)
    <float64[2,2] csr, 2 stored>
      (0, 1)  1.0
      (1, 0)  -1.0
    """
    _check(x, low, high)
    return x.shape, _dtype(x.dtype, low, high)


@clip.forward("dense -> dense")
@clip.forward("csr -> csr", "row_sparse -> row_sparse", where=holds_zero)
def _clip(backend, x, *, low, high):
    dtype = _dtype(x.data.dtype, low, high)
    data = x.data.astype(dtype)
    for limit, choose in ((low, backend.xp.maximum), (high, backend.xp.minimum)):
        if limit is not None:
            data = choose(data, _within(limit, dtype))
    return x.with_data(data)


@clip.backward("x", *SAME)
def _clip_x(g, x, low, high):
    return kept_within(g, x, low=low, high=high)


@operator
def kept_within(y, x, *, low, high):
    """The values of `y` where those of `x` lie in [low, high], and zeros elsewhere.

    In the storage, and with the structure, of `y`; NaN lies nowhere. O(values stored) if `x` stores
    the same places.
    """
    if y.shape != x.shape:
        raise ShapeError(f"y has shape {y.shape} and x has {x.shape}; they must be the same")
    _check(x, low, high)
    return y.shape, y.dtype


@kept_within.forward("dense, dense -> dense")
def _kept_within(backend, y, x, *, low, high):
    return _kept(backend, y, x, low, high)


@kept_within.forward("row_sparse, row_sparse -> row_sparse", "csr, csr -> csr")
def _kept_within_stored(backend, y, x, *, low, high):
    masked = sparse_mask.kernel(x.stype, x.stype, x.stype)(backend, x, y)
    return _kept(backend, y, masked, low, high)


def _kept(backend: Any, y: Storage, x: Storage, low: Any, high: Any) -> Storage:
    inside = x.data == x.data
    if low is not None:
        inside &= x.data >= low
    if high is not None:
        inside &= x.data <= high
    return y.with_data(backend.xp.where(inside, y.data, y.data.dtype.type(0)))


@kept_within.backward("y", *PAIRS)
def _kept_within_y(g, y, x, low, high):
    kept = kept_within(g, x, low=low, high=high)
    return kept if y.stype == "dense" else sparse_mask(kept, y)


@kept_within.backward("x", *PAIRS)
def _kept_within_x(x):
    return zeros_like(x)


def _check(x, low, high) -> None:
    if x.dtype.kind == "c":
        raise DTypeError(f"{x.dtype} values have no order")
    for name, limit in (("low", low), ("high", high)):
        if limit is not None and not isinstance(limit, Real):
            kind = type(limit).__name__
            raise TypeError(f"{name} is {kind}; it must be a real number or None")
        if limit is not None and math.isnan(limit):
            raise ValueError(f"{name} is NaN; it must be a number or None")
    if low is not None and high is not None and low > high:
        raise ValueError(f"low={low} is above high={high}")


def _dtype(dtype: np.dtype, *limits: Any) -> np.dtype:
    given = [
        limit if isinstance(limit, np.generic) else type(limit)(1)
        for limit in limits
        if limit is not None
    ]
    return np.result_type(dtype, *given)


def _within(limit: Any, dtype: np.dtype) -> Any:
    """`limit` as a value of `dtype`; what no integer of it reaches becomes its own limit."""
    if dtype.kind not in "iu":
        return dtype.type(limit)
    known = np.iinfo(dtype)
    return dtype.type(min(max(int(limit), known.min), known.max))
