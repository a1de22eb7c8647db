"""What the checker believes instead of the library: dense values made by a loop of its own."""

from typing import Any

import numpy as np

from sparseops.ndarray import NDArray
from sparseops.storage import Storage


def densify(x: Any) -> np.ndarray:
    """The values of an NDArray, a storage, a sparse array of scipy, or whatever NumPy takes.

    Entry by entry, those of one place added up; it shares no code with the package.
    """
    storage = x.storage if isinstance(x, NDArray) else x
    if isinstance(storage, Storage):
        return _DENSE[storage.stype](storage)
    if hasattr(x, "tocoo"):
        return _from_scipy(x)
    return np.asarray(x)


def _from_dense(storage: Any) -> np.ndarray:
    return np.array(storage.data)


def _from_rows(storage: Any) -> np.ndarray:
    return _placed(storage.shape, storage.data, storage.indices.tolist())


def _from_csr(storage: Any) -> np.ndarray:
    indices, indptr = storage.indices.tolist(), storage.indptr.tolist()
    places = [
        (row, indices[position])
        for row in range(storage.shape[0])
        for position in range(indptr[row], indptr[row + 1])
    ]
    return _placed(storage.shape, storage.data, places)


def _from_scipy(x: Any) -> np.ndarray:
    if x.format == "csr":
        return _from_csr(x)
    if x.format == "csc":
        return _from_csr(x.T).T
    coo = x.tocoo(copy=False)
    coords = getattr(coo, "coords", None) or (coo.row, coo.col)
    return _placed(x.shape, coo.data, list(zip(*(c.tolist() for c in coords), strict=True)))


def _placed(shape: Any, data: Any, places: Any) -> np.ndarray:
    """Zeros with each of `data` at its place, those of one place added up."""
    out, seen = np.zeros(shape, data.dtype), set()
    for place, value in zip(places, data, strict=False):
        # Added only where something stands: 0 + -0.0 would lose the sign.
        if place in seen:
            with np.errstate(all="ignore"):
                value = out[place] + value
        seen.add(place)
        out[place] = value
    return out


_DENSE = {"dense": _from_dense, "row_sparse": _from_rows, "csr": _from_csr}


def stored_places(x: NDArray) -> np.ndarray:
    """Where `x` stores a value."""
    storage = x.storage
    return densify(storage.with_data(np.ones(storage.stored_shape, bool))).astype(bool)


def difference(
    found: np.ndarray, wanted: np.ndarray, *, rtol: float = 0.0, excused: Any = None
) -> str:
    """Where the first difference lies, in words; empty where there is none.

    Values agree that are equal, both NaN, or apart by no more than rounding: `rtol` times the
    largest value in sight.
    """
    if found.shape != wanted.shape:
        return f"the shape is {found.shape}, not {wanted.shape}"
    wrong = differing(found, wanted, rtol)
    if excused is not None:
        wrong &= ~excused
    if not wrong.any():
        return ""
    place = tuple(int(n) for n in np.argwhere(wrong)[0])
    if found.size <= 8:
        return f"{_shown(found)} instead of {_shown(wanted)}"
    at = f"at {place} " if place else ""
    return f"{at}{found[place]} instead of {wanted[place]}"


def differing(found: np.ndarray, wanted: np.ndarray, rtol: float = 0.0) -> np.ndarray:
    """Which values differ."""
    if np.array_equal(found, wanted):
        return np.zeros(found.shape, bool)
    with np.errstate(all="ignore"):
        equal = (found == wanted) | (_isnan(found) & _isnan(wanted))
        if rtol and not equal.all() and wanted.dtype.kind in "fc":
            wide = np.result_type(wanted.dtype, np.float64)
            apart = np.abs(found.astype(wide) - wanted.astype(wide))
            finite = np.abs(wanted[np.isfinite(wanted)].astype(wide))
            largest = max(1.0, float(finite.max())) if finite.size else 1.0
            equal |= np.isfinite(found) & np.isfinite(wanted) & (apart <= rtol * largest)
    return ~equal


def rounding(dtype: Any) -> float:
    """How far apart two right results of a few operations may be, relative to their size."""
    dtype = np.dtype(dtype)
    return 32 * float(np.finfo(dtype).eps) if dtype.kind in "fc" else 0.0


def _isnan(values: np.ndarray) -> np.ndarray:
    return np.isnan(values) if values.dtype.kind in "fc" else np.zeros(values.shape, bool)


def _shown(values: np.ndarray) -> str:
    return str(values.tolist())
