"""Dropout: values put to zero at random, the same ones in every storage."""

from numbers import Integral
from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.errors import DTypeError
from sparseops.operators import operator
from sparseops.ops.cast import sparse_mask
from sparseops.ops.structure import flat_places
from sparseops.storage import CSR, Dense, RowSparse

__all__ = ["dropout"]

_WORD = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_KEPT = ("dense, scalar -> dense", "csr, scalar -> csr", "row_sparse, scalar -> row_sparse")


@operator
def dropout(x, seed, *, rate):
    """`x` with each value put to 0 with the probability `rate`, and the others scaled up for it.

    Which values are dropped follows from `seed` and their places alone, so that it is the same in
    every storage, and in the gradient. It drops always: write
    ``dropout(x, seed, rate=0.5) if so.is_training() else x``.

    Parameters
    ----------
    x : array of any storage
        The values, floating or complex.
    seed : int
        Another one for each call that is to drop other values.
    rate : float
        The share of values to drop, in [0, 1).

    Returns
    -------
    NDArray
        In the storage, and with the structure, of `x`: what is dropped is an explicit zero, NaN and
        infinity too. The others are multiplied by ``1 / (1 - rate)``.

    Raises
    ------
    DTypeError
        For integers and bool.
    ValueError
        If `rate` is not in [0, 1).

    Notes
    -----
    O(values stored). The gradient by `x` is ``dropout(g, seed, rate=rate)``.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.csr_array([[1.0, 0.0, 2.0], [3.0, 4.0, 5.0]])
    >>> so.dropout(x, 7, rate=0.5).nnz
    5

    References
    ----------
    Srivastava and others: Dropout: a simple way to prevent neural networks from overfitting, JMLR
    15 (2014). Places are hashed by the output function of SplitMix64: Steele, Lea, Flood: Fast
    splittable pseudorandom number generators, OOPSLA (2014).
    """
    if not isinstance(seed, Integral) or isinstance(seed, (bool, np.bool_)):
        raise TypeError(f"seed is {seed!r}; it must be an integer")
    if x.dtype.kind not in "fc":
        raise DTypeError(f"{x.dtype} values cannot be scaled; dropout takes floating ones")
    if not 0 <= rate < 1:
        raise ValueError(f"rate={rate}, but it must lie in [0, 1)")
    return x.shape, x.dtype


@dropout.forward(*_KEPT)
def _dropout(backend, x, seed, *, rate):
    xp = backend.xp
    numbers = _hashed(xp, _PLACES[x.stype](backend, x), int(seed))
    kept = (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53 >= rate
    scaled = x.data * x.data.dtype.type(1 / (1 - rate))
    return x.with_data(xp.where(kept, scaled, x.data.dtype.type(0)))


@dropout.backward("x", _KEPT[0])
def _dropout_x(g, seed, rate):
    return dropout(g, seed, rate=rate)


@dropout.backward("x", *_KEPT[1:])
def _dropout_sparse_x(g, x, seed, rate):
    return sparse_mask(dropout(g, seed, rate=rate), x)


def _hashed(xp: Any, places: Any, seed: int) -> Any:
    """64 random bits for each of `places`."""
    start = seed & _WORD
    for shift, factor in _MIX:
        start = (start ^ (start >> shift)) * factor & _WORD
    numbers = places.astype(np.uint64) * np.uint64(_STEP) + np.uint64(start)
    for shift, factor in _MIX:
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


def _dense_places(backend: Backend, x: Dense) -> Any:
    return backend.xp.arange(x.data.size).reshape(x.shape)


def _row_places(backend: Backend, x: RowSparse) -> Any:
    xp, width = backend.xp, x.data[:1].size
    within = xp.arange(width).reshape((1, *x.shape[1:])) if width else xp.zeros(x.data.shape)
    starts = x.indices.astype(np.int64) * max(width, 1)
    return starts.reshape((-1,) + (1,) * len(x.shape[1:])) + within


def _csr_places(backend: Backend, x: CSR) -> Any:
    return flat_places(backend, x)


_PLACES = {"dense": _dense_places, "row_sparse": _row_places, "csr": _csr_places}
