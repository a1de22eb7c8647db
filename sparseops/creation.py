"""Arrays made of nothing: zeros and random values."""

from typing import Any

import numpy as np

from sparseops.backend import get_backend
from sparseops.constructors import csr_array, matrix_shape, row_sparse_array, wrap
from sparseops.errors import DTypeError, ShapeError
from sparseops.ndarray import NDArray
from sparseops.spec import as_dtype, as_shape, as_stype
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
    found, shape, dtype = get_backend(backend), as_shape(shape), as_dtype(dtype)
    if as_stype(stype) == "dense":
        return wrap(Dense(found.xp.zeros(shape, dtype)), found)
    return wrap(_EMPTY[as_stype(stype)](found.xp, shape, dtype), found)


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
    if not 0 <= density <= 1:
        raise ValueError(f"density={density}, but it lies in [0, 1]")
    shape, dtype, rng = as_shape(shape), as_dtype(dtype), np.random.default_rng(rng)
    if dtype.kind != "f":
        raise DTypeError(f"random values are real floating numbers, not {dtype}")
    if as_stype(stype) == "row_sparse":
        rows = shape[0] if shape else 0
        ids = np.sort(rng.choice(rows, round(density * rows), replace=False))
        values = 1 - rng.random((len(ids), *shape[1:]))
        return row_sparse_array((values.astype(dtype), ids), shape, backend=backend)
    size = int(np.prod(shape, dtype=object)) if shape else 1
    flat = np.sort(rng.choice(size, round(density * size), replace=False, shuffle=False))
    values = (1 - rng.random(len(flat))).astype(dtype)
    if stype == "csr":
        columns = max(shape[1], 1) if len(shape) == 2 else 1
        return csr_array((values, np.divmod(flat, columns)), shape, backend=backend)
    dense = np.zeros(size, dtype)
    dense[flat] = values
    return wrap(Dense(get_backend(backend).xp.asarray(dense.reshape(shape))), get_backend(backend))


def _empty_csr(xp: Any, shape: tuple[int, ...], dtype: np.dtype) -> CSR:
    rows, columns = matrix_shape(shape)
    width = index_dtype(rows, columns)
    return CSR(xp.zeros(0, dtype), xp.zeros(0, width), xp.zeros(rows + 1, width), (rows, columns))


def _empty_row_sparse(xp: Any, shape: tuple[int, ...], dtype: np.dtype) -> RowSparse:
    if not shape:
        raise ShapeError("shape () has no rows; row_sparse has at least 1 dimension")
    return RowSparse(xp.zeros((0, *shape[1:]), dtype), xp.zeros(0, index_dtype(shape[0])), shape)


_EMPTY = {"csr": _empty_csr, "row_sparse": _empty_row_sparse}
