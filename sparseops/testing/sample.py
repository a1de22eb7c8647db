"""One input of an operator: its values, what is stored of them, and how that lies in memory."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparseops.backend import get_backend
from sparseops.constructors import asarray
from sparseops.ndarray import NDArray
from sparseops.testing import source
from sparseops.testing.layout import laid_out
from sparseops.testing.parts import array_of, csr_parts, index_layouts, layouts, row_parts


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
        return layouts(self.hazards)

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
            rows, columns = np.nonzero(self.stored)
            data = self.values[rows, columns]
            return csr_parts(rows, columns, data, self.shape, self.width, self.hazards)
        if self.stype == "row_sparse":
            rows = self.stored_rows
            return row_parts(rows, self.values[rows], self.width, self.hazards)
        return (laid_out(self.values, *self.layouts),)

    def array(self) -> Any:
        """The input as an NDArray, or as the number that it is."""
        if self.stype == "scalar":
            return self.values
        parts = self.parts()
        if self.sparse:
            return array_of(self.stype, parts, self.shape, self.hazards)
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
        spread = index_layouts(self.stype, self.hazards)
        return source.storage(self.stype, self.parts(), self.shape, self.layouts, spread, dialect)


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
