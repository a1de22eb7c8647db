"""One array of any kind as its entries, in the order in which they are stored."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparseops.constructors import asarray
from sparseops.ndarray import NDArray
from sparseops.testing.parts import array_of
from sparseops.testing.printing import of_scipy


@dataclass(frozen=True, eq=False)
class Piece:
    """The entries of an array.

    Attributes
    ----------
    kind : str
        "dense", "row_sparse" or "csr" for an NDArray, "numpy", or "scipy csr" and so on.
    shape : tuple of int
        The shape.
    values : ndarray
        The values; for row_sparse whole rows.
    places : tuple of ndarray
        Where they stand: rows, and columns of a matrix; empty where every place is stored.
    width : str
        The width of the index arrays.
    """

    kind: str
    shape: tuple[int, ...]
    values: np.ndarray
    places: tuple[np.ndarray, ...] = ()
    width: str = "int32"

    @property
    def sparse(self) -> bool:
        """Whether only some places are stored."""
        return bool(self.places)

    def having(self, values: np.ndarray) -> "Piece":
        """The same structure with other values."""
        return replace(self, values=values)

    def keeping(self, positions: np.ndarray) -> "Piece":
        """Only the entries at `positions`."""
        places = tuple(place[positions] for place in self.places)
        return replace(self, values=self.values[positions], places=places)

    def used(self, axis: int) -> np.ndarray:
        """The positions of `axis` where something is stored."""
        if axis < len(self.places):
            return np.unique(self.places[axis])
        return np.arange(self.shape[axis])

    def taking(self, axis: int, positions: np.ndarray) -> "Piece":
        """The part of the array at the ascending `positions` of `axis`."""
        shape = (*self.shape[:axis], len(positions), *self.shape[axis + 1 :])
        if axis >= len(self.places):
            return replace(self, shape=shape, values=np.take(self.values, positions, axis))
        moved = np.full(self.shape[axis], -1)
        moved[positions] = np.arange(len(positions))
        there = moved[self.places[axis]]
        kept = self.keeping(np.flatnonzero(there >= 0))
        places = list(kept.places)
        places[axis] = there[there >= 0]
        return replace(kept, shape=shape, places=tuple(places))

    def plainer(self) -> Iterator["Piece"]:
        """The array in a plainer dtype, width or order."""
        if self.values.dtype != np.float64 and self.values.dtype.kind != "c":
            yield self.having(self.values.astype(np.float64))
        if self.sparse and self.width != "int32" and max(self.shape) < 2**31:
            yield replace(self, width="int32")
        if len(self.places) == 2:
            order = np.lexsort(self.places[::-1])
            if (order != np.arange(len(order))).any():
                yield self.keeping(order)

    def array(self) -> Any:
        """The array, in memory of its own."""
        if self.kind in ("numpy", "dense"):
            found = self.values.copy()
            return found if self.kind == "numpy" else asarray(found)
        if self.kind == "row_sparse":
            parts = self.values.copy(), self.places[0].astype(self.width)
            return array_of(self.kind, parts, self.shape, ())
        rows, columns = self.places
        indptr = np.zeros(self.shape[0] + 1, self.width)
        np.cumsum(np.bincount(rows, minlength=self.shape[0]), out=indptr[1:])
        parts = self.values.copy(), columns.astype(self.width), indptr
        if self.kind == "csr":
            return array_of("csr", parts, self.shape, ("unsorted",))
        name = self.kind.removeprefix("scipy ")
        return of_scipy(parts, self.shape, name)


def piece_of(x: Any) -> Piece:
    """The entries of `x`."""
    if isinstance(x, NDArray):
        if x.stype == "dense":
            return Piece("dense", x.shape, x.data)
        width = x.indices.dtype.name
        if x.stype == "row_sparse":
            return Piece("row_sparse", x.shape, x.data, (x.indices.astype(np.int64),), width)
        return Piece("csr", x.shape, x.data, _places(x.indices, x.indptr), width)
    if not hasattr(x, "tocsr"):
        return Piece("numpy", np.shape(x), np.asarray(x))
    if x.format == "csc":
        width = x.indices.dtype.name
        # As the rows of the transpose, of which `of_scipy` makes columns again.
        shape = x.shape[::-1]
        return Piece("scipy csc", shape, x.data, _places(x.indices, x.indptr), width)
    if x.format == "csr":
        places = _places(x.indices, x.indptr)
        return Piece("scipy csr", x.shape, x.data, places, x.indices.dtype.name)
    coo = x.tocoo()
    places = tuple(axis.astype(np.int64) for axis in coo.coords)
    order = np.argsort(places[0], kind="stable")
    return Piece(f"scipy {x.format}", x.shape, coo.data, places, "int32").keeping(order)


def _places(indices: np.ndarray, indptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return rows, indices[: len(rows)].astype(np.int64)
