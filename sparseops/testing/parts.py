"""The arrays of which sparse arrays are made: in order, or with everything a constructor mends."""

from typing import Any

import numpy as np

from sparseops.backend import get_backend
from sparseops.constructors import csr_array, row_sparse_array, wrap
from sparseops.storage import CSR, RowSparse
from sparseops.testing.layout import LAYOUTS, laid_out

#: What can be wrong with the structure of an array, though its values are right.
STRUCTURES = ("unsorted", "duplicates")
#: The layouts that index arrays of a matrix have, too.
_OF_INDICES = ("strided", "offset", "read_only")
#: What only a constructor turns into an array that kernels may have.
_MENDED = {*STRUCTURES, "big_endian"}

Parts = tuple[np.ndarray, ...]


def layouts(hazards: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `hazards` that say how values lie in memory."""
    return tuple([h for h in hazards if h in LAYOUTS])


def index_layouts(stype: str, hazards: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `hazards` that say how index arrays lie in memory."""
    return tuple([h for h in hazards if h in _OF_INDICES]) if stype == "csr" else ()


def csr_parts(
    rows: np.ndarray,
    columns: np.ndarray,
    data: np.ndarray,
    shape: tuple[int, int],
    width: str,
    hazards: tuple[str, ...],
) -> Parts:
    """Data, indices and indptr of entries in ascending order, as the hazards have them."""
    if hazards and len(rows):
        order, data = _disordered(rows, data, hazards)
        rows, columns = rows[order], columns[order]
    indptr = np.zeros(shape[0] + 1, width)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=indptr[1:])
    indices = columns.astype(width)
    if not hazards:
        return data, indices, indptr
    spread = index_layouts("csr", hazards)
    return laid_out(data, *layouts(hazards)), laid_out(indices, *spread), laid_out(indptr, *spread)


def row_parts(rows: np.ndarray, data: np.ndarray, width: str, hazards: tuple[str, ...]) -> Parts:
    """Data and indices of whole rows in ascending order, as the hazards have them."""
    order, data = _disordered(np.zeros(len(rows), int), data, hazards)
    return laid_out(data, *layouts(hazards)), rows[order].astype(width)


def array_of(stype: str, parts: Parts, shape: tuple[int, ...], hazards: tuple[str, ...]) -> Any:
    """The NDArray of these parts; by way of the public constructor where something is wrong."""
    if _MENDED.isdisjoint(hazards):
        made = CSR(*parts, shape) if stype == "csr" else RowSparse(*parts, shape)
        return wrap(made, get_backend("scipy"))
    return csr_array(parts, shape) if stype == "csr" else row_sparse_array(parts, shape)


def _disordered(
    groups: np.ndarray, data: np.ndarray, hazards: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of entries, ordered by `groups`, and their values, as the hazards have them.

    "unsorted" reverses each group; "duplicates" gives the first entry of a group in two halves.
    """
    order = np.arange(len(groups))
    if not len(groups) or set(STRUCTURES).isdisjoint(hazards):
        return order, data
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    pieces: list[int] = []
    halved: list[int] = []
    for start, stop in zip(starts, [*starts[1:], len(groups)], strict=True):
        piece = list(range(start, stop))
        if "unsorted" in hazards:
            piece.reverse()
        if "duplicates" in hazards:
            # Beside its other half, unless order does not matter anyway.
            piece.insert(len(piece) if "unsorted" in hazards else 1, piece[0])
            halved.append(piece[0])
        pieces += piece
    order = np.array(pieces)
    data = data[order]
    for position in halved:
        first, last = np.flatnonzero(order == position)
        data[first], data[last] = _halves(data[first])
    return order, data


def _halves(value: Any) -> tuple[Any, Any]:
    """Two values that add up to `value`, none of them `value` itself where that can be."""
    kind, one = value.dtype.kind, np.ones_like(value)
    if kind == "b":
        return value, value
    if kind == "u":
        one = (value > 0).astype(value.dtype)
    if kind in "iu":
        return value - one, one
    half = value / 2
    if kind == "c":  # part by part, since half of a complex infinity has NaN for its other part
        half = np.empty_like(value)
        half.real, half.imag = value.real / 2, value.imag / 2
    zero = (value == 0) & ~np.signbit(value.real)
    return np.where(zero, one, half), np.where(zero, -one, half)
