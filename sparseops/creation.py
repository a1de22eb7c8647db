"""Arrays made of nothing: zeros and random values."""

from numbers import Real
from typing import Any

import numpy as np

from sparseops.backend import get_backend
from sparseops.constructors import csr_array, row_sparse_array, wrap
from sparseops.errors import DTypeError, ShapeError
from sparseops.intake import allocating
from sparseops.ndarray import NDArray
from sparseops.spec import Spec, as_stype
from sparseops.storage import CSR, Dense, RowSparse, index_dtype


def zeros(shape: Any, dtype: Any = float, *, stype: str = "dense", backend: Any = None) -> NDArray:
    """An array of zeros; a sparse one stores nothing.

    Parameters
    ----------
    shape : int or tuple of int
        Lengths of the axes.
    dtype : dtype-like, optional
        Type of the values.
    stype : str, optional
        Storage type.
    backend : str, optional
        The library that holds the values; by default the current one.

    Examples
    --------
    >>> zeros((1000, 1000), stype="csr").nbytes
    4004
    """
    found, spec = get_backend(backend), Spec(shape, dtype, as_stype(stype, known=True))
    with allocating(spec):
        return wrap(_EMPTY[spec.stype](found.xp, spec.shape, spec.dtype), found)


def random(
    shape: Any,
    *,
    density: float = 0.01,
    stype: str = "csr",
    dtype: Any = float,
    rng: Any = None,
    backend: Any = None,
) -> NDArray:
    """An array of random values, uniform in (0, 1], at random places.

    Parameters
    ----------
    shape : tuple of int
        Lengths of the axes.
    density : float, optional
        The share of the entries (csr) or rows (row_sparse) that are stored, in [0, 1].
    stype : str, optional
        Storage type; a dense array has that share of nonzero values.
    dtype : dtype-like, optional
        A real floating type.
    rng : numpy.random.Generator or int, optional
        Where randomness comes from.
    backend : str, optional
        The library that holds the values; by default the current one.

    Examples
    --------
    >>> random((100, 50), density=0.1, rng=0).nnz
    500
    """
    if not isinstance(density, Real):
        raise TypeError(f"density is {type(density).__name__}; it must be a number in [0, 1]")
    if not 0 <= density <= 1:
        raise ValueError(f"density={density}, but it must lie in [0, 1]")
    spec, rng = Spec(shape, dtype, as_stype(stype, known=True)), np.random.default_rng(rng)
    if spec.dtype.kind != "f":
        raise DTypeError(f"random values are real floating numbers, not {spec.dtype}")
    rows = spec.stype == "row_sparse"
    count = spec.shape[0] if rows else spec.size
    if count >= 2**63:
        raise ShapeError(f"{spec} has {count} places; at most 2**63 - 1 can be drawn from")
    with allocating(f"{spec} of density {density}"):
        stored = min(round(density * count), count)
        places = np.sort(rng.choice(count, stored, replace=False, shuffle=False))
        # Of what float32 draws, nothing is rounded to zero in float16.
        drawn = np.float32 if spec.dtype.itemsize == 2 else np.float64
        values = 1 - rng.random((stored, *spec.shape[1:]) if rows else stored, drawn)
        return _PLACED[spec.stype](values.astype(spec.dtype), places, spec, backend)


def _empty_dense(xp: Any, shape: tuple[int, ...], dtype: np.dtype) -> Dense:
    return Dense(xp.zeros(shape, dtype))


def _empty_csr(xp: Any, shape: tuple[int, int], dtype: np.dtype) -> CSR:
    width = index_dtype(*shape)
    return CSR(xp.zeros(0, dtype), xp.zeros(0, width), xp.zeros(shape[0] + 1, width), shape)


def _empty_row_sparse(xp: Any, shape: tuple[int, ...], dtype: np.dtype) -> RowSparse:
    return RowSparse(xp.zeros((0, *shape[1:]), dtype), xp.zeros(0, index_dtype(shape[0])), shape)


def _placed_dense(values: Any, places: Any, spec: Spec, backend: Any) -> NDArray:
    data = np.zeros(spec.size, spec.dtype)
    data[places] = values
    found = get_backend(backend)
    return wrap(Dense(found.xp.asarray(data.reshape(spec.shape))), found)


def _placed_csr(values: Any, places: Any, spec: Spec, backend: Any) -> NDArray:
    width = index_dtype(len(places), *spec.shape)
    row, column = np.divmod(places, max(spec.shape[1], 1))
    pair = row.astype(width), column.astype(width)
    return csr_array((values, pair), spec.shape, backend=backend)


def _placed_row_sparse(values: Any, places: Any, spec: Spec, backend: Any) -> NDArray:
    rows = places.astype(index_dtype(spec.shape[0]))
    return row_sparse_array((values, rows), spec.shape, backend=backend)


_EMPTY = {"dense": _empty_dense, "csr": _empty_csr, "row_sparse": _empty_row_sparse}
_PLACED = {"dense": _placed_dense, "csr": _placed_csr, "row_sparse": _placed_row_sparse}
