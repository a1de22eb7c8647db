"""What ``x[key] = value`` does: writes in place where `x` is dense, else makes a new storage."""

from typing import Any, NoReturn

import numpy as np

from sparseops.errors import BackendError, DTypeError, GradientError, ShapeError
from sparseops.keys import ALL, Key, is_all, is_array, is_plain, numpy_key, parse, picked_shape
from sparseops.operand import Operand
from sparseops.registry import operators
from sparseops.storage import Dense


def write(x: Any, key: Any, value: Any) -> None:
    """Assign `value` to what `key` names of `x`, as NumPy does; after an error `x` is as before.

    Raises
    ------
    IndexError
        If `x` has no such places.
    ShapeError, DTypeError
        If `value` does not fit.
    GradientError
        If a tape records and `value` may have a gradient, which would be lost.
    NotImplementedError
        If `x` is sparse and the assignment is none of whole rows or single entries.
    """
    if x.recorded and isinstance(value, Operand) and value.dtype.kind in "fc":
        raise GradientError(
            "a tape records, and x[...] = value would take the value off it; use a sparseops "
            "operator, or write x[...] = value.asnumpy() if no gradient is to flow"
        )
    _WRITE[x.stype](x, parse(key, x), _converted(x, value))


def _converted(x: Any, value: Any) -> Any:
    """`value` as a number, or an array of the dtype of `x` and on its backend."""
    xp = x.backend.xp
    if hasattr(value, "tocsr"):
        value = operators["cast_storage"](value, stype="csr" if value.ndim == 2 else "row_sparse")
    given = value if isinstance(value, Operand) else xp.asarray(value)
    if given.dtype.kind not in "biufc":
        raise DTypeError(f"values of dtype {given.dtype} do not fit {x.dtype}")
    if given.dtype.kind == "c" and x.dtype.kind not in "cb":
        raise DTypeError(f"{given.dtype} values do not fit {x.dtype}; take real or imag first")
    if isinstance(value, Operand):
        if value.backend is not x.backend:
            name = x.backend.name
            raise BackendError(
                f"value is on {value.backend.name}, the array on {name}; use value.to({name!r})"
            )
        value = value if value.dtype == x.dtype else operators["cast"](value, dtype=x.dtype)
        return value if value.ndim else value.item()
    if not given.ndim:
        return given[()] if hasattr(value, "dtype") else value
    # Before anything is written: a number of Python in a list may not fit.
    made = given.view()
    if given.dtype != x.dtype:
        made = xp.empty(given.shape, x.dtype)
        made[...] = given if hasattr(value, "dtype") else value
    return type(x)(Dense(made), x.backend)


def _write_dense(x: Any, key: Key, value: Any) -> None:
    if isinstance(value, Operand):
        value = value.tostype("dense").storage.data
    xp = x.backend.xp
    numbers = [
        ids.tostype("dense").storage.data if isinstance(ids, Operand) else ids
        for ids in key.numbers()
    ]
    # Raises where arrays do not broadcast, before the memory is opened.
    picked_shape(key.shape, key.form(), [np.shape(number) for number in numbers])
    at, gap = list(numpy_key(xp, key.shape, key.form(), numbers)), key.gap
    shape = key.shape
    if gap is None:
        # With ... a single place takes an array of one value, whatever its dtype.
        at.append(Ellipsis)
    else:
        at[gap], shape = Ellipsis, shape[:gap] + shape[gap + 1 :]
    with x.writing() as data:
        # A view, since the axes that come in have length 1.
        data.reshape(shape)[tuple(at)] = value


def _write_row_sparse(x: Any, key: Key, value: Any) -> None:
    if key.new:
        _refuse(x, "None and masks of no axes stand in keys of dense arrays alone")
    if all(map(is_all, key.items)):
        return _write_all(x, value)
    first, *rest = key.items
    if is_all(first):
        _refuse(x, "columns of every row are stored whole")
    if is_plain(first):
        if any(map(is_array, rest)):
            _refuse(x, "arrays behind a slice of the rows are not assigned to")
        first = np.arange(*first)
    if isinstance(value, Operand):
        rows = is_array(first) and first.ndim == 1 and all(map(is_all, rest))
        kept = rows and value.stype != "dense" and value.shape == (first.shape[0], *x.shape[1:])
        value = value.tostype(x.stype if kept else "dense")
    _replace(x, [first, *rest], value)


def _write_csr(x: Any, key: Key, value: Any) -> None:
    if key.new:
        _refuse(x, "None and masks of no axes stand in keys of dense arrays alone")
    if all(map(is_all, key.items)):
        return _write_all(x, value)
    row, column = key.items
    if not is_plain(row) and not is_plain(column):
        dense = value.tostype("dense") if isinstance(value, Operand) else value
        return _replace(x, (row, column), dense)
    if not is_all(column):
        _refuse(x, "columns and blocks are not assigned to")
    ids = np.arange(*row) if is_plain(row) else np.asarray([row]) if type(row) is int else row
    if ids.ndim != 1:
        _refuse(x, "ids of rows have one dimension")
    if isinstance(value, Operand):
        value = _as_rows(x, value, ids.shape[0])
    _replace(x, (ids, ALL), value)


def _as_rows(x: Any, value: Any, count: int) -> Any:
    """`value` as a csr array of `count` rows."""
    value, columns = _shortened(value, 2), x.shape[1]
    if value.ndim == 1:
        # By way of a column, which a row_sparse vector becomes without being stored whole.
        value = operators["transpose"](operators["reshape"](value, shape=(-1, 1)))
    if value.shape not in ((count, columns), (1, columns)):
        _check_broadcasts(value.shape, (count, columns))
        _refuse(x, f"a value of shape {value.shape} in every column would be stored everywhere")
    value = value.tostype("csr")
    if value.shape[0] == count:
        return value
    return operators["take"](value, np.zeros(count, np.int64))


def _write_all(x: Any, value: Any) -> None:
    value = _shortened(value, x.ndim)
    if not isinstance(value, Operand):
        if value != 0:
            _refuse(x, f"{value} everywhere would be stored everywhere")
        none = operators["slice_rows"](x, 0, count=0, step=1)
        found = operators["place_rows"](none, 0, step=1, num_rows=x.shape[0])
    elif value.shape != x.shape:
        _check_broadcasts(value.shape, x.shape)
        _refuse(x, f"a value of shape {value.shape} is not repeated")
    else:
        found = operators["cast_storage"](value, stype=x.stype)
    storage = _as_wide(found.storage, x.storage)
    x.backend.freeze(*storage.parts)
    x.assign(storage)


def _shortened(value: Any, ndim: int) -> Any:
    """`value` without axes of length 1 in front of the last `ndim`."""
    while isinstance(value, Operand) and value.ndim > ndim and value.shape[0] == 1:
        value = value[0]
    return value


def _as_wide(storage: Any, like: Any) -> Any:
    """The sparse `storage` with indices at least as wide as those of `like`."""
    if storage.indices.itemsize >= like.indices.itemsize:
        return storage
    wide = {name: getattr(storage, name).astype(like.indices.dtype) for name in storage.aux}
    return type(storage)(storage.data, **wide, shape=storage.shape)


def _replace(x: Any, items: Any, value: Any) -> None:
    key = Key(items, x.shape)
    x.assign(operators["replace"](x, value, *key.numbers(), key=key.form()).storage)


def _check_broadcasts(shape: tuple[int, ...], whole: tuple[int, ...]) -> None:
    pairs = zip(reversed(shape), reversed(whole), strict=False)
    if len(shape) > len(whole) or not all(own in (1, length) for own, length in pairs):
        raise ShapeError(f"value has shape {shape}, and the key picks {whole}")


def _refuse(x: Any, reason: str) -> NoReturn:
    raise NotImplementedError(
        f"{x.spec}: {reason}; assign rows or entries, replace it whole by x[...] = value, or "
        "change x.tostype('dense')"
    )


_WRITE = {"dense": _write_dense, "row_sparse": _write_row_sparse, "csr": _write_csr}
