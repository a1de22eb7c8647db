"""Hostile values: wrong types, sizes and dtypes, containers in themselves, objects that raise."""

import random
import tempfile
from functools import cache
from unittest.mock import Mock

import numpy as np
import scipy.sparse as sp

import sparseops as so


class Refusal(Exception):
    """What hostile objects raise."""


def refuse(*args, **kwargs):
    raise Refusal


class Arrayless:
    __array__ = refuse


class Wrong:
    def __array__(self, dtype=None, copy=None):
        return "no array"


class Lengthless:
    __len__ = __getitem__ = refuse


class Indexless:
    __index__ = __float__ = __complex__ = refuse


class Attributeless:
    __getattr__ = refuse


class Unequal:
    __eq__ = __lt__ = __bool__ = refuse
    __hash__ = object.__hash__


class Unhashable:
    __hash__ = __repr__ = __str__ = refuse


class Whole(int):
    pass


def closed_file():
    with tempfile.TemporaryFile() as file:
        pass
    return file


def released():
    view = memoryview(b"abc")
    view.release()
    return view


def recursive():
    found = [1, 2]
    found.append(found)
    return found


def recursive_dict():
    found = {}
    found["a"] = found
    return found


def deep(levels):
    found = []
    for _ in range(levels):
        found = [found]
    return found


def deep_tuple(levels):
    found = ()
    for _ in range(levels):
        found = (found,)
    return found


def broken_matrix():
    matrix = sp.csc_array(np.eye(3))
    matrix.indices[1] = 2**30
    return matrix


class Counting:
    """An iterator that ends where a list of it would be too long."""

    def __init__(self):
        self.left = 10**5

    def __iter__(self):
        return self

    def __next__(self):
        self.left -= 1
        if self.left < 0:
            raise Refusal
        return self.left


def _each(*values):
    return [lambda value=value: value for value in values]


# Makers, so that no call sees what an earlier one did.
NUMBERS = _each(
    *(0, 1, 2, 3, -1, True, 2.5, 1j, np.nan, np.inf, 2**31, 2**62, 2**63, 2**64, -(2**70)),
    *(
        np.float32(2),
        np.int8(-1),
        np.uint64(2**63),
        np.bool_(True),
        np.longdouble(1),
        -0.0,
        10**400,
    ),
    *(Whole(2), np.datetime64("2020"), np.complex64(1j), np.float16(np.inf)),
)
OBJECTS = [
    *_each(None, "csr", "", "dense", b"\x01", object(), Ellipsis, NotImplemented, np, int, len),
    *_each(slice(3), slice(None, None, -1), slice("a"), slice(2**70, None, 2**70), range(2**62)),
    *(dict, lambda: {1: 2}, lambda: {1}, Arrayless, Wrong, Lengthless, Indexless, Attributeless),
    *(Unequal, Unhashable, Mock, closed_file, released, recursive, recursive_dict),
    *(lambda: deep(70), lambda: deep(3), lambda: deep(5000), lambda: deep_tuple(5000)),
    *(lambda: iter([1]), Counting, lambda: so.Spec((2, 2), "f4", "csr"), so.Tape),
]
ARRAYS = [
    *(lambda: np.arange(3), lambda: np.zeros((2, 2)), lambda: np.zeros((0, 3))),
    *(lambda: np.array(5), lambda: np.array(["a"]), lambda: np.array([None, 1])),
    *(lambda: np.zeros(2, "i4,f8"), lambda: np.array([2**63], "u8"), lambda: np.zeros(2, "M8[s]")),
    *(lambda: np.array([1.5, np.nan]), lambda: np.array([True, False])),
    *(lambda: np.array([1, 0, -1], ">i2"), lambda: np.ma.array([1, 2], mask=[1, 0])),
    *(lambda: np.array([0, 1, 3], np.int32), lambda: np.ones((1,) * 40)),
    *(lambda: np.broadcast_to(1, (2, 2)), lambda: np.arange(4)[::-2]),
    *(lambda: np.array([1], "longdouble"), lambda: np.broadcast_to(1.0, (2**40,))),
]
OTHERS = [
    *(lambda: so.array([1.0, 2.0]), lambda: so.csr_array([[0, 1], [2, 0]])),
    *(lambda: so.zeros((3, 2), stype="row_sparse"), lambda: sp.csr_array(np.eye(2))),
    *(lambda: sp.coo_array(np.arange(3)), lambda: sp.dok_array((2, 2)), broken_matrix),
    *(lambda: so.zeros((1, 2**62), stype="csr"), lambda: so.zeros((2**62, 2), stype="row_sparse")),
    *(lambda: so.Dense(np.ones(2)), lambda: sp.csr_matrix(np.eye(3)), lambda: np.matrix([[1.0]])),
]
LISTS = [
    *(lambda: [], lambda: [[]], lambda: [0, 1], lambda: [1, 0, 1], lambda: [[1, 2], [3]]),
    *(lambda: [[1, 2], [3, 4]], lambda: ["a"], lambda: [None], lambda: [0, 2, 2]),
]
POOL = (NUMBERS, OBJECTS, ARRAYS, OTHERS, LISTS)
# Nothing that a machine may or may not have memory for.
LENGTHS = [0, 1, 2, 3, 2**50, 2**62, 2**63, -1, 2.0, np.nan]
DTYPES = ["f4", "i1", "u8", "?", "c8", "O", "U", "M8[s]", "longdouble", None, object(), 5, np.int16]
STYPES = ["dense", "csr", "row_sparse", "undefined", "CSR", None, 1, [], ("csr",), recursive()]
KINDS = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()


def something(rng):
    """Anything at all."""
    if rng.random() < 0.2:
        return rng.choice((tuple, list))(something(rng) for _ in range(rng.randrange(4)))
    return rng.choice(rng.choice(POOL))()


def odd(rng):
    """Anything but a matrix of scipy, which trusts itself where it is iterated."""
    while "scipy" in type(found := something(rng)).__module__ or type(found) in (tuple, list):
        if type(found) in (tuple, list) and rng.random() < 0.3:
            return tuple(odd(rng) for _ in range(rng.randrange(4)))
    return found


def shape(rng):
    """A shape, or what is none."""
    if rng.random() < 0.2:
        return odd(rng)
    return tuple(rng.choice(LENGTHS) for _ in range(rng.choice([0, 1, 2, 2, 2, 3])))


def sound(rng, lengths=None, kinds=KINDS):
    """A sound array; of shapes that often fit each other where `lengths` are the same."""
    lengths = lengths or [rng.choice([0, 1, 2, 3]) for _ in range(3)]
    return _sound(tuple(lengths), tuple(kinds), rng.randrange(64)).copy()


@cache
def _sound(lengths, kinds, seed):
    rng, (m, n, k) = random.Random(seed), lengths
    dims = rng.choice([*[(m, n)] * 4, (n, k), (n, m), (m,), (n,), (), (1, n), (m, 1), lengths])
    draw = np.random.default_rng(seed)
    values = draw.integers(-4, 5, dims) * (draw.random(dims) < 0.6) / 2
    dtype = np.dtype(rng.choice(kinds))
    if dtype.kind in "fc" and values.size and rng.random() < 0.2:
        values.flat[0] = rng.choice([np.nan, np.inf, -np.inf])
    with np.errstate(all="ignore"):
        values = values.astype(dtype) if dtype.kind != "u" else np.abs(values).astype(dtype)
    if values.ndim == 2 and rng.random() < 0.5:
        row, col = (x.astype(rng.choice("il")) for x in np.nonzero(draw.random(dims) < 0.5))
        return so.csr_array((values[row, col], (row, col)), shape=dims)
    if values.ndim and rng.random() < 0.5:
        rows = np.flatnonzero(draw.random(dims[0]) < 0.6).astype(rng.choice("il"))
        return so.row_sparse_array((values[rows], rows), shape=dims)
    return so.array(values)


def argument(rng, lengths, hostile=0.25):
    """Most often a sound array."""
    return something(rng) if rng.random() < hostile else sound(rng, lengths)


def lengths_of_axes(rng):
    return [rng.choice([0, 1, 2, 3, 3]) for _ in range(3)]
