"""Keys as operators have them: which kinds there are, and what their numbers pick."""

from sparseops.errors import ShapeError
from sparseops.keys import ALL, NUMBER, is_picked, is_together, numpy_key, picked_shape
from sparseops.ops.rows import check_index, check_row_numbers
from sparseops.spec import Spec
from sparseops.storage import Dense


def rows_stay(key):
    """key keeps all rows, and they stay the first axis"""
    return key[:1] == (ALL,) and is_together(key)


def rows_are_picked(key):
    """numbers stand for the rows"""
    return any(map(is_picked, key[:1]))


def a_column_is_picked(key):
    """key is one column"""
    return key == (ALL, NUMBER)


def columns_are_picked(key):
    """key is some of the columns"""
    return len(key) == 2 and key[0] == ALL and key[1] != NUMBER


def entries_are_picked(key):
    """numbers stand for rows and columns"""
    return len(key) == 2 and all(map(is_picked, key))


def check_key(shape, ids, key):
    """Raise unless `key` with the numbers `ids` is one of an array of `shape`."""
    for array in ids:
        if isinstance(array, Spec):
            check_row_numbers(array, "ids")
        else:
            check_index(array)
    if len(key) != len(shape) or sum(map(is_picked, key)) != len(ids):
        raise ShapeError(f"key {key} with {len(ids)} numbers is not one of shape {shape}")
    for axis, (item, length) in enumerate(zip(key, shape, strict=True)):
        if isinstance(item, tuple):
            part = range(*item)
            if part and not all(0 <= end < length for end in (part[0], part[-1])):
                raise IndexError(f"{item} reaches beyond axis {axis}, which has length {length}")
        elif item != ALL and not is_picked(item):
            raise ShapeError(f"key[{axis}] is {item!r}; it must be {ALL!r}, a slice, or numbers")


def shape_of_picked(shape, ids, key):
    """The shape of what `key` with the numbers `ids` picks of an array of `shape`."""
    return picked_shape(shape, key, [getattr(array, "shape", ()) for array in ids])


def checked_key(backend, shape, ids, key, first=0):
    """The key as NumPy takes it, for the axes from `first` on, which have the lengths `shape`."""
    numbers = [array.data if isinstance(array, Dense) else array for array in ids]
    return numpy_key(backend.xp, shape, key, numbers, first)


def picked_places(backend, shape, ids, key):
    """The rows and columns, as arrays of one shape, of the entries that `key` picks."""
    key = map(backend.xp.asarray, checked_key(backend, shape, ids, key))
    return backend.xp.broadcast_arrays(*key)
