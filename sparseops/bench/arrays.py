"""Arrays on their way from one process to another: saved whole, compared by sums."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparseops.bench.data import Matrix, Rows

_KINDS = {3: Rows, 4: Matrix}


def save(path: str, arrays: Mapping[str, Any]) -> None:
    """Write arrays, of which some may be `Matrix` or `Rows`, by name."""
    parts = {}
    for name, value in arrays.items():
        members = value if isinstance(value, tuple) else (value,)
        parts |= {f"{name}.{place}": part for place, part in enumerate(members)}
    np.savez(path, **parts)


def load(path: str) -> dict[str, Any]:
    """What `save` wrote."""
    members: dict[str, list[Any]] = {}
    with np.load(path) as parts:
        for key in parts:
            members.setdefault(key.rpartition(".")[0], []).append(parts[key])
    return {name: _value(parts) for name, parts in members.items()}


def _value(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    *arrays, shape = parts
    return _KINDS[len(parts)](*arrays, tuple(shape.tolist()))


def nbytes(arrays: Mapping[str, Any]) -> int:
    """The bytes of all of them."""
    return sum(value.nbytes for value in arrays.values())


def marginals(value: Any) -> list[Any]:
    """Weighted sums of the rows and of the columns of an array: who agrees in them agrees.

    A difference at one place shows in one row and one column, and nothing has to be made dense.
    """
    if isinstance(value, Matrix):
        rows = np.repeat(np.arange(value.shape[0]), np.diff(value.indptr))
        return _sums(rows, value.indices, value.data, value.shape)
    if isinstance(value, Rows):
        columns = int(np.prod(value.shape[1:]))
        flat = np.asarray(value.data, np.float64).reshape(len(value.indices), columns)
        rows = np.zeros(value.shape[0])
        rows[value.indices] = flat @ _weights(columns)
        return [rows, _weights(value.shape[0])[value.indices] @ flat]
    found = np.asarray(value)
    if found.ndim < 2:
        return [np.asarray(found, np.float64).reshape(-1)]
    flat = np.asarray(found.reshape(len(found), -1), np.float64)
    return [flat @ _weights(flat.shape[1]), _weights(len(flat)) @ flat]


def _sums(rows: Any, columns: Any, data: Any, shape: tuple[int, int]) -> list[Any]:
    by_row = np.bincount(rows, data * _weights(shape[1])[columns], shape[0])
    return [by_row, np.bincount(columns, data * _weights(shape[0])[rows], shape[1])]


def _weights(count: int) -> Any:
    return 1 + np.arange(count) % 7 / 8


def difference(found: list[Any], expected: list[Any]) -> str:
    """How two lists of sums differ beyond rounding; empty if they do not."""
    if [x.shape for x in found] != [x.shape for x in expected]:
        return f"shapes differ: {[x.shape for x in found]} and {[x.shape for x in expected]}"
    for x, y in zip(found, expected, strict=True):
        scale = max(1.0, float(np.abs(y).max(initial=0)))
        worst = float(np.abs(x - y).max(initial=0)) / scale
        if not worst < 1e-4:
            return f"results differ by {worst:.1e} of the largest"
    return ""
