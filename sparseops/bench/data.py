"""Matrices like those of click logs, graphs, texts and grids, made of NumPy alone.

Libraries take them as they are: `Matrix` and `Rows` are the parts of csr and row_sparse arrays.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Matrix(NamedTuple):
    """The parts of a csr matrix in canonical form."""

    data: Any
    indices: Any
    indptr: Any
    shape: tuple[int, int]

    @property
    def nbytes(self) -> int:
        """The bytes of the parts."""
        return self.data.nbytes + self.indices.nbytes + self.indptr.nbytes


class Rows(NamedTuple):
    """Some whole rows of an array, by ascending numbers."""

    data: Any
    indices: Any
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """The bytes of the parts."""
        return self.data.nbytes + self.indices.nbytes


def zipf(rng: Any, count: int, size: int) -> Any:
    """Numbers below `size` of which few are frequent and most are rare, in no order of rank."""
    ranks = np.minimum(size * rng.random(count) ** 4, size - 1).astype(np.int64)
    # An odd number near the golden share of 2**32 scatters neighboring ranks.
    return (ranks * 2654435761 + 12345) % size


def from_keys(rng: Any, keys: Any, shape: tuple[int, int]) -> Matrix:
    """The matrix with a float32 value at each place of `keys`, row * columns + column."""
    keys = np.sort(keys)
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
    rows, columns = np.divmod(keys, shape[1])
    indptr = np.zeros(shape[0] + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=indptr[1:])
    # Dyadic values, so that sums in any order are almost always exact.
    data = rng.integers(1, 9, len(keys)).astype(np.float32) / 8
    return Matrix(data, columns.astype(np.int32), indptr, shape)


def power_law(rng: Any, rows: int, columns: int, nnz: int) -> Matrix:
    """About `nnz` entries, spread evenly over rows and by a power law over columns."""
    keys = np.arange(nnz, dtype=np.int64) % rows * columns + zipf(rng, nnz, columns)
    return from_keys(rng, keys, (rows, columns))


def _ctr(rng: Any, scale: float, rows: int = 8192) -> Matrix:
    rows, columns = max(1, int(rows * scale)), max(40, int(1_000_000 * scale))
    return power_law(rng, rows, columns, rows * 40)


def _text(rng: Any, scale: float) -> Matrix:
    rows, columns = max(1, int(20_000 * scale)), max(100, int(100_000 * scale))
    return power_law(rng, rows, columns, rows * 100)


def _graph(rng: Any, scale: float, nodes: int = 200_000) -> Matrix:
    """A node's neighbors by a power law on both sides."""
    nodes = max(16, int(nodes * scale))
    sources, targets = zipf(rng, nodes * 15, nodes), zipf(rng, nodes * 15, nodes)
    return from_keys(rng, sources * nodes + targets, (nodes, nodes))


def _pde(rng: Any, scale: float) -> Matrix:
    """The five points of a stencil on a square grid."""
    side = max(2, int(1000 * scale**0.5))
    at = np.arange(side * side)
    x, y = at % side, at // side
    keys = [at * side**2 + at]
    for inside, step in ((x > 0, -1), (x < side - 1, 1), (y > 0, -side), (y < side - 1, side)):
        keys.append(at[inside] * side**2 + at[inside] + step)
    return from_keys(rng, np.concatenate(keys), (side**2, side**2))


#: From a name to the function of a generator and a scale that makes the matrix of that name.
DATA: dict[str, Callable[[Any, float], Matrix]] = {
    "ctr": _ctr,
    "ctr2k": lambda rng, scale: _ctr(rng, scale, 2048),
    "text": _text,
    "graph": _graph,
    "graph10k": lambda rng, scale: _graph(rng, scale, 10_000),
    "pde": _pde,
}
