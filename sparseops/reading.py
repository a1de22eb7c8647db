"""What ``x[key]`` gives: the operators that read a key, in each storage."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from sparseops.keys import ALL, Key, is_all, is_array, is_plain, is_together, parse, picked_shape
from sparseops.registry import operators


def read(x: Any, key: Any) -> Any:
    """What NumPy's ``x[key]`` is, in a sparse storage where whole rows or columns are read.

    Raises
    ------
    IndexError
        If `x` has no such places.
    NotImplementedError
        If `x` is sparse and the result has no sparse storage.
    """
    if type(key) is int and x.shape:
        return operators["row"](x, key)
    if key is Ellipsis:
        return x
    found = parse(key, x)
    picked = _READ[x.stype](x, found)
    return picked if found.gap is None else _without_gap(picked, found)


def _without_gap(picked: Any, key: Key) -> Any:
    """What `key` picked without the axis that kept its arrays apart, and so in front."""
    kept = list(map(is_plain, key.items))
    axis = picked.ndim - sum(kept[key.gap :])
    return operators["reshape"](picked, shape=picked.shape[:axis] + picked.shape[axis + 1 :])


def _read_dense(x: Any, key: Key) -> Any:
    if key.new:
        x = operators["reshape"](x, shape=key.shape)
    elif all(map(is_all, key.items[1:])):
        return _read_rows(x, key.items[0]) if key.items else x
    return _gather(x, key.items)


def _read_rows(x: Any, item: Any) -> Any:
    """The part of `x` along its first axis that `item` names."""
    if is_all(item):
        return x
    if type(item) is int:
        return operators["row"](x, item)
    if is_plain(item):
        rows = range(*item)
        return operators["slice_rows"](x, rows.start, count=len(rows), step=rows.step)
    return operators["take"](x, item, stype=x.stype)


def _gather(x: Any, items: Sequence[Any]) -> Any:
    key = Key(items, x.shape)
    if all(map(is_all, items)):
        return x
    return operators["gather"](x, *key.numbers(), key=key.form())


def _read_row_sparse(x: Any, key: Key) -> Any:
    lead = next(axis for axis in range(len(key.items)) if axis not in key.new)
    first, rest = key.items[lead], key.items[lead + 1 :]
    # An integer beside an array is broadcast with it, and does not only drop its axis.
    advanced = any(map(is_array, [*key.items[:lead], *rest]))
    if type(first) is int and not advanced:
        shape = key.shape[:lead] + key.shape[lead + 1 :]
        new = [axis - (axis > lead) for axis in key.new]
        left = Key([*key.items[:lead], *rest], shape, new)
        return _read_dense(operators["row"](x, first), left)
    if lead:
        one = is_all(key.items[0]) and not (is_array(first) and first.ndim > 1)
        if len(key.items) > 2 or not one:
            _refuse(x, "an axis before the rows would be stored whole", "put None behind the rows")
        return operators["transpose"](operators["reshape"](_read_rows(x, first), shape=(-1, 1)))
    if any(is_array(key.items[axis]) for axis in key.new):
        _refuse(x, "a number that is a mask makes an axis before the rows", _DENSE)
    if key.new:
        x = operators["reshape"](x, shape=key.shape)
    if _is_mesh(key.items):
        return _read_mesh(x, key.items)
    if not is_plain(first):
        if not all(map(is_plain, rest)):
            return _gather(x, key.items)
        return _read_rows(_gather(x, [ALL, *rest]), first)
    if not is_together(Key([ALL, *rest], x.shape).form()):
        _refuse(x, "arrays that are apart move the rows to another axis", _DENSE)
    return _gather(_read_rows(x, first), [ALL, *rest])


def _read_csr(x: Any, key: Key) -> Any:
    axes = [axis for axis in range(len(key.items)) if axis not in key.new]
    row, column = (key.items[axis] for axis in axes)
    if any(is_array(key.items[axis]) for axis in key.new):
        _refuse(x, "a number that is a mask makes an axis, and csr has 2", _DENSE)
    if not (is_plain(row) or is_plain(column) or _is_mesh((row, column))):
        found = _gather(x, (row, column))
        if not key.new:
            return found
        shapes = [np.shape(number) for number in key.numbers()]
        return operators["reshape"](found, shape=picked_shape(key.shape, key.form(), shapes))
    if type(row) is int or type(column) is int:
        found = _read_rows(x, row)
        found = _read_rows(found, column) if found.ndim == 1 else _gather(found, (ALL, column))
        return _with_new_axes(found, key) if key.new else found
    if key.new:
        _refuse(x, "None makes a third axis, and csr has 2", _DENSE)
    if _is_mesh((row, column)):
        return _read_mesh(x, (row, column))
    if any(is_array(item) and item.ndim != 1 for item in (row, column)):
        _refuse(x, "ids of several dimensions make more axes, and csr has 2", "flatten the ids")
    return _gather(_read_rows(x, row), (ALL, column))


def _with_new_axes(vector: Any, key: Key) -> Any:
    """The row or column `vector`, which `key` named, with the new axes of `key`."""
    axes = [axis for axis, item in enumerate(key.items) if type(item) is not int]
    new = [position for position, axis in enumerate(axes) if axis in key.new]
    shape = [1 if axis in key.new else vector.shape[0] for axis in axes]
    return _read_row_sparse(vector, Key([ALL] * len(axes), shape, new))


def _is_mesh(items: Sequence[Any]) -> bool:
    """Whether the items are arrays that vary along their own axis alone, as those of np.ix_ do."""
    if not all(map(is_array, items)) or items[0].ndim != len(items):
        return False
    shapes = [(1,) * (len(items) - item.ndim) + tuple(item.shape) for item in items]
    return all(
        length == 1 or axis == own
        for own, lengths in enumerate(shapes)
        for axis, length in enumerate(lengths)
    )


def _read_mesh(x: Any, items: Sequence[Any]) -> Any:
    """The rows and columns that the arrays of a mesh name."""
    rows, *rest = items
    x = _read_rows(x, rows.reshape(-1))
    depth = len(rest)
    return _gather(x, [ALL, *(ids.reshape(ids.shape[ids.ndim - depth :]) for ids in rest)])


def _refuse(x: Any, reason: str, instead: str) -> NoReturn:
    raise NotImplementedError(f"{x.spec}: {reason}; {instead}")


_DENSE = "write x.tostype('dense') first"
_READ = {"dense": _read_dense, "row_sparse": _read_row_sparse, "csr": _read_csr}
