"""How an array prints: its spec, and a few of its values."""

from collections.abc import Callable
from textwrap import indent
from typing import Any

import numpy as np

from sparseops.storage import Storage

_ENTRIES, _ROWS, _VALUES = 8, 4, 1000


def preview(storage: Storage, asnumpy: Callable[[Any], np.ndarray]) -> str:
    """The spec of `storage` and some of its stored values; reads no more than it shows."""
    return _PREVIEWS[storage.stype](storage, asnumpy)


def _dense(storage: Any, asnumpy: Callable[[Any], np.ndarray]) -> str:
    data = storage.data
    if data.size > _VALUES:
        corners = asnumpy(data[_corners(data.shape, _VALUES)])
        return f"<{storage.spec}, corners>\n{np.array2string(corners, threshold=_VALUES)}"
    return f"<{storage.spec}>\n{np.array2string(asnumpy(data), threshold=_VALUES)}"


def _corners(shape: tuple[int, ...], most: int) -> tuple[np.ndarray, ...]:
    """An index to both ends of the last axes, and to the start of those that are too many."""
    kept = []
    for length in reversed(shape):
        keep = min(length, 6, most)
        most //= keep
        kept.append([*range(keep - keep // 2), *range(length - keep // 2, length)])
    return np.ix_(*reversed(kept))


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
        if value.ndim > 3 and value.size:
            value = value[_corners(value.shape, 6**3)]
        text = np.array2string(value, threshold=6, edgeitems=3) if value.ndim else str(value)
        lines.append(f"  {place:<{width}}  " + indent(text, " " * (width + 4)).lstrip())
    return "\n".join(lines + [f"  and {more} more"] * (more > 0))


_PREVIEWS = {"dense": _dense, "csr": _csr, "row_sparse": _row_sparse}
