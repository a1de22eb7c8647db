"""One input of an operator: its values, what is stored of them, and how that lies in memory."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparseops.backend import get_backend
from sparseops.constructors import asarray, csr_array, row_sparse_array
from sparseops.ndarray import NDArray
from sparseops.testing import source
from sparseops.testing.layout import LAYOUTS, laid_out

#: What can be wrong with the structure of an array, though its values are right.
STRUCTURES = ("unsorted", "duplicates")


@dataclass(frozen=True, eq=False)
class Sample:
    """The values of one input, whichever way they are stored.

    Attributes
    ----------
    name : str
        The input's name.
    stype : str
        "dense", "row_sparse", "csr", or "scalar" for a number.
    values : ndarray or number
        All values; zeros where nothing is stored.
    stored : ndarray of bool, optional
        The places that a sparse array stores; whole rows of them for row_sparse.
    width : str
        The width of the index arrays.
    hazards : tuple of str
        What is unusual about memory and structure.
    """

    name: str
    stype: str
    values: Any
    stored: np.ndarray | None = None
    width: str = "int32"
    hazards: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return np.shape(self.values)

    @property
    def dtype(self) -> Any:
        """The type of the values; None for a number of Python."""
        return getattr(self.values, "dtype", None)

    @property
    def sparse(self) -> bool:
        """Whether only some places are stored."""
        return self.stored is not None

    @property
    def layouts(self) -> tuple[str, ...]:
        """How the values lie in memory."""
        return tuple(h for h in self.hazards if h in LAYOUTS)

    @property
    def index_layouts(self) -> tuple[str, ...]:
        """How the index arrays of a matrix lie in memory."""
        known = ("strided", "offset", "read_only") if self.stype == "csr" else ()
        return tuple(h for h in self.hazards if h in known)

    @property
    def stored_count(self) -> int:
        """How many values a reader has to look at."""
        if self.stype == "row_sparse":
            return int(self.values[self.stored_rows].size)
        return int(self.stored.sum()) if self.sparse else int(np.size(self.values))

    @property
    def stored_rows(self) -> np.ndarray:
        """The numbers of the rows that hold a stored place."""
        return np.flatnonzero(self.stored.any(axis=tuple(range(1, self.stored.ndim))))

    def having(self, **changes: Any) -> "Sample":
        """The same input with other parts."""
        return replace(self, **changes)

    def taking(self, axis: int, positions: Any) -> "Sample":
        """The part of the input at `positions` of `axis`."""
        positions = np.array(positions, int)
        stored = np.take(self.stored, positions, axis) if self.sparse else None
        return self.having(values=np.take(self.values, positions, axis), stored=stored)

    def numpy(self) -> Any:
        """The values for an oracle, in memory of its own."""
        return self.values.copy() if isinstance(self.values, np.ndarray) else self.values

    def parts(self) -> tuple[np.ndarray, ...]:
        """Values and index arrays as they are given to a constructor."""
        if self.stype == "csr":
            return self._csr_parts()
        if self.stype == "row_sparse":
            rows = self.stored_rows
            data = self.values[rows]
            order, data = self._disorder(np.zeros(len(rows), int), data)
            return laid_out(data, *self.layouts), rows[order].astype(self.width)
        return (laid_out(self.values, *self.layouts),)

    def _csr_parts(self) -> tuple[np.ndarray, ...]:
        rows, columns = np.nonzero(self.stored)
        order, data = self._disorder(rows, self.values[rows, columns])
        indptr = np.zeros(self.shape[0] + 1, self.width)
        np.cumsum(np.bincount(rows[order], minlength=self.shape[0]), out=indptr[1:])
        indices = laid_out(columns[order].astype(self.width), *self.index_layouts)
        return laid_out(data, *self.layouts), indices, laid_out(indptr, *self.index_layouts)

    def _disorder(self, groups: np.ndarray, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of entries, ordered by `groups`, and their values, as the hazards have them.

        "unsorted" reverses each group; "duplicates" gives the first entry of a group in two halves.
        """
        order = np.arange(len(groups))
        if not (len(groups) and set(self.hazards) & set(STRUCTURES)):
            return order, data
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        pieces: list[int] = []
        halved: list[int] = []
        for start, stop in zip(starts, [*starts[1:], len(groups)], strict=True):
            piece = list(range(start, stop))
            if "unsorted" in self.hazards:
                piece.reverse()
            if "duplicates" in self.hazards:
                # Beside its other half, unless order does not matter anyway.
                piece.insert(len(piece) if "unsorted" in self.hazards else 1, piece[0])
                halved.append(piece[0])
            pieces += piece
        order = np.array(pieces)
        data = data[order]
        for position in halved:
            first, last = np.flatnonzero(order == position)
            data[first], data[last] = _halves(data[first])
        return order, data

    def array(self) -> Any:
        """The input as an NDArray, or as the number that it is."""
        if self.stype == "scalar":
            return self.values
        parts = self.parts()
        if self.stype == "csr":
            return csr_array(parts, self.shape)
        if self.stype == "row_sparse":
            return row_sparse_array(parts, self.shape)
        return asarray(parts[0])

    def scipy(self) -> Any:
        """The input as scipy and NumPy have it, with the structure as it is."""
        if self.stype == "scalar":
            return self.values
        parts = self.parts()
        return scipy_csr(parts, self.shape) if self.stype == "csr" else parts[0]

    def code(self, dialect: str = "sparseops") -> str:
        """An expression that makes the input again."""
        if self.stype == "scalar":
            return source.literal(self.values)
        data, *indices = self.parts()
        values = source.array(data, self.layouts, exact=dialect == "scipy")
        if self.stype == "dense":
            shared = self.layouts and dialect != "scipy"
            return values if dialect == "scipy" else f"so.{'as' * bool(shared)}array({values})"
        integers = [source.integers(i, self.index_layouts) for i in indices]
        listed = f"({', '.join([values, *integers])})"
        if dialect == "scipy":
            return f"so.testing.scipy_csr({listed}, {self.shape})"
        name = "csr_array" if self.stype == "csr" else "row_sparse_array"
        return f"so.{name}({listed}, shape={self.shape})"


def scipy_csr(parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> Any:
    """A csr_array of scipy with exactly these data, indices and indptr, in whichever order.

    Unlike scipy's constructor it keeps the width of the indices. Lists become int32.
    """
    data, *indices = parts
    found = get_backend("scipy").sparse.csr_array(shape, dtype=np.asarray(data).dtype)
    found.data = np.asarray(data)
    found.indices, found.indptr = (
        part if isinstance(part, np.ndarray) else np.array(part, np.int32) for part in indices
    )
    return found


def sample_of(name: str, x: Any) -> Sample:
    """The sample that makes an array like `x`, an NDArray, again."""
    if not isinstance(x, NDArray):
        return Sample(name, "scalar", x)
    if x.stype == "dense":
        return Sample(name, "dense", np.array(x.data))
    values, stored = np.zeros(x.shape, x.dtype), np.zeros(x.shape, bool)
    if x.stype == "row_sparse":
        values[x.indices], stored[x.indices] = x.data, True
    else:
        rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        values[rows, x.indices], stored[rows, x.indices] = x.data, True
    return Sample(name, x.stype, values, stored, x.indices.dtype.name)


def _halves(value: Any) -> tuple[Any, Any]:
    """Two values that add up to `value`, none of them `value` itself where that can be."""
    kind, one = value.dtype.kind, np.ones_like(value)
    if kind == "b":
        return value, value
    if kind == "u":
        one = (value > 0).astype(value.dtype)
    if kind in "iu":
        return value - one, one
    zero = (value == 0) & ~np.signbit(value.real)
    return np.where(zero, one, value / 2), np.where(zero, -one, value / 2)
