"""Values at places, sorted, and those of one place added up."""

from math import prod
from typing import Any

import numpy as np

from sparseops.errors import DTypeError


def merged(
    data: Any, places: tuple[Any, ...], shape: tuple[int, ...], xp: Any
) -> tuple[Any, list[Any]]:
    """Values and their places in order, those of one place added up without silent wrapping.

    `places` has an array of indices for each axis of `shape`, the most significant first.
    """
    order = _order(places, shape, xp)
    if order is None:
        return data, list(places)
    data, places = data[order], [indices[order] for indices in places]
    changes = xp.zeros(max(len(order) - 1, 0), bool)
    for indices in places:
        changes |= indices[1:] != indices[:-1]
    if changes.all():
        return data, places
    starts = xp.concatenate([xp.zeros(1, np.int64), xp.flatnonzero(changes) + 1])
    places = [indices[starts] for indices in places]
    return _sum_groups(data, starts, places), places


def _order(places: tuple[Any, ...], shape: tuple[int, ...], xp: Any) -> Any:
    """What sorts `places`, equal ones as they stand; None where they ascend already."""
    count, size = len(places[0]), prod(shape)
    if size >= 2**63:
        return xp.lexsort(xp.stack([indices.astype(np.int64) for indices in reversed(places)]))
    keys = places[0].astype(np.int64)
    for indices, length in zip(places[1:], shape[1:], strict=True):
        keys = keys * length + indices
    if not (keys[1:] <= keys[:-1]).any():
        return None
    if size * count >= 2**63:
        return xp.argsort(keys, kind="stable")
    # Numbers are sorted several times faster than positions, so each takes its position along.
    return xp.sort(keys * count + xp.arange(count)) % count


def _sum_groups(data: Any, starts: Any, places: list[Any]) -> Any:
    """The sums of the groups of `data` that begin at `starts`, or why they do not fit."""
    dtype = data.dtype
    if dtype.kind == "b":
        return np.logical_or.reduceat(data, starts)
    if dtype.kind not in "iu":
        wide = data.astype(np.float32) if dtype == np.float16 else data
        return np.add.reduceat(wide, starts).astype(dtype, copy=False)
    sums = np.add.reduceat(data, starts, dtype=np.int64 if dtype.kind == "i" else np.uint64)
    rounded = np.add.reduceat(data, starts, dtype=np.float64)
    limits = np.iinfo(dtype)
    wrapped = (sums < limits.min) | (sums > limits.max) | (np.abs(rounded - sums) > 2.0**62)
    if wrapped.any():
        at = np.unravel_index(int(wrapped.argmax()), wrapped.shape)
        place = [int(indices[at[0]]) for indices in places]
        name = f"row {place[0]}" if len(place) == 1 else f"entry ({', '.join(map(str, place))})"
        raise DTypeError(
            f"the values given for {name} add up to about {rounded[at]:.6g}; {dtype} holds "
            f"[{limits.min}, {limits.max}]: give wider values"
        )
    return sums.astype(dtype)
