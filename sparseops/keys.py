"""What stands in the brackets of ``x[...]``, in one form: an item for each axis.

An item is `ALL` for a whole axis, ``(start, stop, step)`` for a part of it, a Python integer, or an
array of integers. As a parameter of operators, `PICKED` stands for an array and `NUMBER` for an
integer or an array of no dimensions: the numbers themselves go by position.
"""

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

import numpy as np

from sparseops.operand import Operand
from sparseops.storage import index_dtype

ALL, PICKED, NUMBER = "all", "ids", "number"
_KINDS = "keys are integers, slices, ..., None, and arrays of integers or booleans"


class Key:
    """A key of an array: an item for each axis, those that it makes new included.

    Attributes
    ----------
    items : list
        For each axis `ALL`, ``(start, stop, step)``, an int or an array of integers.
    shape : tuple of int
        The shape of the array with its new axes, which have length 1.
    new : tuple of int
        Which of the axes are new.
    gap : int or None
        The new axis that only keeps arrays apart, and has no part in the result.
    """

    __slots__ = ("gap", "items", "new", "shape")

    def __init__(self, items: Sequence[Any], shape: Sequence[int], new: Sequence[int] = ()):
        self.items = list(items)
        self.shape = tuple(shape)
        self.new = tuple(new)
        self.gap: int | None = None

    def numbers(self) -> list[Any]:
        """The integers, or where there are arrays of integers, these and the integers as arrays."""
        found = [item for item in self.items if not is_plain(item)]
        if not any(map(is_array, found)):
            return found
        return [item if is_array(item) else np.asarray(item) for item in found]

    def form(self) -> tuple:
        """The key without its integers, as a parameter of operators."""
        return tuple(
            NUMBER if type(item) is int else item if is_plain(item) else PICKED
            for item in self.items
        )


def is_plain(item: Any) -> bool:
    """Whether the item is all of an axis, or a slice of it."""
    return type(item) in (str, tuple)


def is_all(item: Any) -> bool:
    """Whether the item is all of an axis."""
    return type(item) is str


def is_array(item: Any) -> bool:
    """Whether the item is an array of integers."""
    return type(item) is not int and not is_plain(item)


def parse(key: Any, x: Any) -> Key:
    """The key that stands in ``x[key]``; masks become the numbers of the places that are true.

    Raises
    ------
    IndexError
        If the key has too many axes, another kind of item, or a mask of another shape than `x`.
    """
    given = [_item(k, x) for k in (key if type(key) is tuple else (key,))]
    missing = x.ndim - sum(map(_width, given))
    if missing < 0:
        raise IndexError(f"too many indices: {x.ndim - missing} for an array of shape {x.shape}")
    found = Key((), ())
    for item in _without_dots(given, missing):
        axis = len(found.shape) - len(found.new)
        lengths = x.shape[axis : axis + _width(item)]
        if item is Ellipsis:
            found.gap = len(found.shape)
        if not lengths:
            found.new += (len(found.shape),)
            lengths = (1,)
        found.shape += lengths
        found.items += _items(item, lengths, axis)
    return found


def _without_dots(given: list[Any], missing: int) -> list[Any]:
    """The elements of a key, with slices for the `missing` axes that ... stands for."""
    dots = [position for position, item in enumerate(given) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("a key has only one ...")
    at = dots[0] if dots else len(given)
    before, behind = given[:at], given[at + 1 :]
    # In NumPy ... keeps arrays apart even if it stands for no axis.
    if not missing and before and behind and _picks(before[-1]) and _picks(behind[0]):
        return given
    return [*before, *(slice(None),) * missing, *behind]


def _item(k: Any, x: Any) -> Any:
    """An element of a key as None, Ellipsis, a slice, an int, or an array of integers or bools."""
    if type(k) is int or k is None or k is Ellipsis or isinstance(k, slice):
        return k
    array = k
    if not isinstance(k, Operand):
        if hasattr(k, "__index__") and not isinstance(k, (bool, np.ndarray)):
            return index(k)
        array = x.backend.xp.asarray(k)
        if not array.size and not hasattr(k, "dtype"):
            array = array.astype(np.int64)
    if array.dtype.kind not in "biu":
        raise IndexError(f"{k!r:.60} is not a key: {_KINDS}")
    return array if array.ndim or array.dtype.kind == "b" else int(array.item())


def _width(item: Any) -> int:
    """The number of axes that an element of a key stands for."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if _is_mask(item) else 1


def _picks(item: Any) -> bool:
    """Whether an element of a key is an integer, or an array of integers or bools."""
    return type(item) is int or hasattr(item, "dtype")


def _is_mask(item: Any) -> bool:
    return hasattr(item, "dtype") and item.dtype.kind == "b"


def _items(item: Any, lengths: tuple[int, ...], axis: int) -> Iterable[Any]:
    """The items for the axes from `axis` on, which have `lengths`."""
    if item is None or item is Ellipsis:
        return (ALL,)
    if isinstance(item, slice):
        return (part(item, lengths[0]),)
    if type(item) is int:
        return (in_axis(item, lengths[0], axis),)
    if not _is_mask(item):
        return (item,)
    if not item.ndim:
        # One place of the new axis or none.
        return (np.zeros(int(item.item()), np.int64),)
    for offset, (length, limit) in enumerate(zip(item.shape, lengths, strict=True)):
        # NumPy takes a mask of no length for any axis.
        if length not in (0, limit):
            raise IndexError(
                f"the mask has length {length} along axis {axis + offset}, but "
                f"{_extent(limit, axis + offset)}"
            )
    return true_places(item)


def part(key: slice, length: int) -> Any:
    """The item for a slice of an axis of `length`; equal parts have equal items."""
    rows = range(*key.indices(length))
    if rows == range(length):
        return ALL
    if len(rows) < 2:
        start = rows[0] if rows else 0
        return start, start + len(rows), 1
    return rows[0], rows[-1] + (1 if rows.step > 0 else -1), rows.step


def as_slice(item: tuple[int, int, int]) -> slice:
    """The slice that `item` is."""
    start, stop, step = item
    # A stop of -1 is one before the first place, and in a slice the last one.
    return slice(start, stop if stop >= 0 else None, step)


def true_places(mask: Any) -> tuple[Any, ...]:
    """For each axis the numbers of the places where `mask`, of any storage, is true, in order."""
    return _TRUE[mask.stype](mask) if isinstance(mask, Operand) else mask.nonzero()


def _true_dense(mask: Any) -> tuple[Any, ...]:
    return mask.storage.data.nonzero()


def _true_row_sparse(mask: Any) -> tuple[Any, ...]:
    stored, *rest = mask.storage.data.nonzero()
    return mask.storage.indices[stored], *rest


def _true_csr(mask: Any) -> tuple[Any, ...]:
    (at,) = mask.storage.data.nonzero()
    xp = mask.backend.xp
    return xp.searchsorted(mask.storage.indptr, at, side="right") - 1, mask.storage.indices[at]


_TRUE = {"dense": _true_dense, "row_sparse": _true_row_sparse, "csr": _true_csr}


def picked_shape(
    shape: Sequence[int], form: Sequence[Any], arrays: Sequence[tuple[int, ...]]
) -> tuple[int, ...]:
    """The shape of what a key picks of an array of `shape`, by NumPy's rule.

    `arrays` are the shapes of its index arrays. Their common shape stands where they stand, or
    first if they are apart.
    """
    try:
        block = np.broadcast_shapes(*arrays)
    except ValueError:
        raise IndexError(f"index arrays of shapes {arrays} do not broadcast") from None
    kept: list[int] = []
    at = None
    for length, item in zip(shape, form, strict=True):
        if is_picked(item):
            at = len(kept) if at is None else at
        else:
            kept.append(length if item == ALL else len(range(*item)))
    at = (at or 0) if is_together(form) else 0
    return (*kept[:at], *block, *kept[at:])


def is_picked(item: Any) -> bool:
    """Whether an item of a form stands for integers."""
    return item in (NUMBER, PICKED)


def is_together(form: Sequence[Any]) -> bool:
    """Whether what arrays pick stands where the arrays do, and not in front."""
    if PICKED not in form:
        return True
    at = [axis for axis, item in enumerate(form) if is_picked(item)]
    return at[-1] - at[0] < len(at)


def numpy_key(
    xp: Any, shape: Sequence[int], form: Sequence[Any], numbers: Sequence[Any], first: int = 0
) -> tuple[Any, ...]:
    """The key as arrays of `xp` take it, every number checked and none negative.

    `shape` are the lengths of the axes from `first` on; `numbers` are integers and arrays of `xp`.
    """
    left, found = iter(numbers), []
    # Arrays that pick nothing are not out of range either.
    nothing = any(getattr(array, "size", 1) == 0 for array in numbers)
    for axis, (length, item) in enumerate(zip(shape, form, strict=True), first):
        if item == ALL:
            found.append(slice(None))
        elif item == NUMBER:
            found.append(in_axis(next(left), length, axis))
        elif item == PICKED:
            ids = next(left)
            limit = 1 if nothing else length
            found.append(in_range(xp, ids * 0 if nothing else ids, limit, "ids", axis))
        else:
            found.append(as_slice(item))
    return tuple(found)


def in_axis(number: Any, length: int, axis: int) -> int:
    """The integer `number`, checked and not negative."""
    found = int(number)
    if not -length <= found < length:
        raise IndexError(f"index={found}, but {_extent(length, axis)}")
    return found % length


def in_range(xp: Any, ids: Any, limit: int, name: str, axis: int = 0) -> Any:
    """The array `ids` as int32 or int64, checked, negative ones counted from the end.

    Raises IndexError at the first one that is none of the `limit` places along `axis`.
    """
    if not ids.size:
        return ids.astype(ids.dtype if ids.dtype == np.int32 else np.int64, copy=False)
    low, high = int(ids.min()), int(ids.max())
    if low < -limit or high >= limit:
        wide = ids.astype(np.int64) if ids.dtype.kind == "i" else ids
        at = xp.unravel_index(int(((wide < -limit) | (wide >= limit)).argmax()), ids.shape)
        place = f"[{', '.join(str(int(n)) for n in at)}]" if at else ""
        raise IndexError(f"{name}{place}={int(ids[at])}, but {_extent(limit, axis)}")
    if ids.dtype not in (np.int32, np.int64):
        ids = ids.astype(np.int64)
    if low >= 0:
        return ids
    return xp.where(ids < 0, ids.astype(np.int64) + limit, ids).astype(
        np.result_type(ids.dtype, index_dtype(limit - 1)), copy=False
    )


def _extent(length: int, axis: int) -> str:
    return f"axis {axis} has length {length}" if axis else f"there are {length} rows"
