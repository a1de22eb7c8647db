"""How an array prints: its spec, and a few of its values."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparseops.storage import Storage

_ENTRIES, _ROWS = 8, 4


def preview(storage: Storage, asnumpy: Callable[[Any], np.ndarray]) -> str:
    """The spec of `storage` and some of its stored values; reads no more than it shows."""
    return _PREVIEWS[storage.stype](storage, asnumpy)


def _dense(storage: Any, asnumpy: Callable[[Any], np.ndarray]) -> str:
    data = storage.data
    if data.size > 1000:
        # NumPy's own summary needs no more than three entries at each end of an axis.
        corner = tuple(slice(None) if n <= 6 else _ends(n) for n in data.shape)
        for axis, index in enumerate(corner):
            data = data[(slice(None),) * axis + (index,)]
        with np.printoptions(threshold=0):
            return f"<{storage.spec}, corners>\n{np.array2string(asnumpy(data), threshold=10**9)}"
    return f"<{storage.spec}>\n{asnumpy(data)}"


def _ends(length: int) -> list[int]:
    return [0, 1, 2, length - 3, length - 2, length - 1]


def _csr(storage: Any, asnumpy: Callable[[Any], np.ndarray]) -> str:
    nnz = len(storage.indices)
    shown = min(nnz, _ENTRIES)
    columns, values = asnumpy(storage.indices[:shown]), asnumpy(storage.data[:shown])
    rows = np.searchsorted(asnumpy(storage.indptr), np.arange(shown), side="right") - 1
    places = [f"({row}, {column})" for row, column in zip(rows, columns, strict=True)]
    return _listing(storage, f"{nnz} stored", places, values, nnz - shown)


def _row_sparse(storage: Any, asnumpy: Callable[[Any], np.ndarray]) -> str:
    stored = len(storage.indices)
    shown = min(stored, _ROWS)
    rows, values = asnumpy(storage.indices[:shown]), asnumpy(storage.data[:shown])
    places = [f"row {row}" for row in rows]
    plural = "row" + "s" * (stored != 1)
    return _listing(storage, f"{stored} {plural} stored", places, values, stored - shown)


def _listing(storage: Storage, count: str, places: list[str], values: Any, more: int) -> str:
    width = max(map(len, places), default=0)
    lines = [f"<{storage.spec}, {count}>"]
    for place, value in zip(places, values, strict=True):
        text = np.array2string(value, threshold=6, edgeitems=3) if value.ndim else str(value)
        lines.append(f"  {place:<{width}}  " + text.replace("\n", "\n" + " " * (width + 4)))
    return "\n".join(lines + [f"  and {more} more"] * (more > 0))


_PREVIEWS = {"dense": _dense, "csr": _csr, "row_sparse": _row_sparse}
