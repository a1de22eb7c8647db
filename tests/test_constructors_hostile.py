"""Hostile arguments end in an error that says so, or in a sound array; nothing given changes."""

import itertools
import pickle
import random
import tempfile
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.sparse as sp

import sparseops as so

ALLOWED = (so.SparseOpsError, TypeError, ValueError, OverflowError)


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


def deep(levels):
    return [] if not levels else [deep(levels - 1)]


def broken_matrix():
    matrix = sp.csc_array(np.eye(3))
    matrix.indices[1] = 2**30
    return matrix


NUMBERS = [0, 1, 2, 3, -1, True, 2.5, 1j, np.nan, np.inf, 2**31, 2**62, 2**63, 2**64, -(2**70)]
OBJECTS = [
    *(None, "csr", b"\x01", {}, {1: 2}, {1}, object(), Ellipsis, NotImplemented, slice(3)),
    *(Arrayless(), Wrong(), Lengthless(), Indexless(), Attributeless(), Mock(), np, int, len),
    *(closed_file(), released(), recursive(), deep(70), deep(3), iter([1]), itertools.count()),
]
ARRAYS = [
    *(np.arange(3), np.zeros((2, 2)), np.zeros((0, 3)), np.array(5), np.array(["a"])),
    *(np.array([None, 1]), np.zeros(2, "i4,f8"), np.array([2**63], "u8"), np.zeros(2, "M8[s]")),
    *(np.array([1.5, np.nan]), np.array([True, False]), np.array([1, 0, -1], ">i2")),
    *(np.ma.array([1, 2], mask=[1, 0]), np.array([0, 1, 3], np.int32), np.ones((1,) * 40)),
    *(np.broadcast_to(1, (2, 2)), np.arange(4)[::-2], np.array([1], "longdouble")),
]
OTHERS = [
    *(so.array([1.0, 2.0]), so.csr_array([[0, 1], [2, 0]]), so.zeros((3, 2), stype="row_sparse")),
    *(sp.csr_array(np.eye(2)), sp.coo_array(np.arange(3)), sp.dok_array((2, 2)), broken_matrix()),
]
LISTS = [[], [[]], [0, 1], [1, 0, 1], [[1, 2], [3]], [[1, 2], [3, 4]], ["a"], [None], [0, 2, 2]]
POOL = (NUMBERS, OBJECTS, ARRAYS, OTHERS, LISTS)
# Nothing that a machine may or may not have memory for.
LENGTHS = [0, 1, 2, 3, 2**50, 2**62, 2**63, -1, 2.0]
DTYPES = ["f4", "i1", "u8", "?", "c8", "O", "U", "M8[s]", "longdouble", None, object(), 5, np.int16]
STYPES = ["dense", "csr", "row_sparse", "undefined", "CSR", None, 1, []]


def something(rng):
    if rng.random() < 0.3:
        return tuple(something(rng) for _ in range(rng.randrange(4)))
    return rng.choice(rng.choice(POOL))


def shape(rng):
    if rng.random() < 0.2:
        return something(rng)
    return tuple(rng.choice(LENGTHS) for _ in range(rng.choice([0, 1, 2, 2, 2, 3])))


def call(rng):
    """A function of the public constructors, and arguments for it."""
    options = {"dtype": rng.choice(DTYPES)} if rng.random() < 0.3 else {}
    if rng.random() < 0.05:
        options["backend"] = rng.choice(["scipy", "none", 3, None])
    function = rng.choice(
        [so.array, so.asarray, so.csr_array, so.row_sparse_array, so.zeros, so.random]
    )
    if function in (so.array, so.asarray, so.zeros, so.random) and rng.random() < 0.5:
        options["stype"] = rng.choice(STYPES)
    if function is so.random:
        options["density"] = rng.choice([0, 1e-16, 0.5, 1, -1, 2, np.nan, "a", None, 1j])
        options["rng"] = rng.choice([0, 1, "a", -1])
    if function in (so.zeros, so.random):
        return function, (shape(rng),), options
    if function in (so.csr_array, so.row_sparse_array) and rng.random() < 0.5:
        options["shape"] = shape(rng)
    return function, (something(rng),), options


def attack(seed, calls):
    """How many of `calls` random calls give an array; the others raise what they may."""
    rng, given = random.Random(seed), 0
    for _ in range(calls):
        function, args, options = call(rng)
        try:
            with np.errstate(all="ignore"):
                found = function(*args, **options)
        except (*ALLOWED, Refusal):
            continue
        given += 1
        found.storage.validate()
        assert repr(found).startswith(f"<{found.spec}")
        assert found.dtype.isnative
        again = pickle.loads(pickle.dumps(found)) if found.nbytes < 10**6 else found
        assert again.spec == found.spec
    return given


def snapshot():
    kept = [*ARRAYS, *(x.data for x in OTHERS if hasattr(x, "data") and x.ndim)]
    kept += [part for x in OTHERS if isinstance(x, so.NDArray) for part in x.aux.values()]
    return [(x.tobytes(), x.flags.writeable, x.dtype, x.shape) for x in kept if x.dtype != object]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore")
def test_hostile_calls_end_in_an_error_of_a_known_kind_or_in_a_sound_array(seed):
    before = snapshot()
    assert 50 < attack(seed, 500) < 450
    assert snapshot() == before
    assert [len(x) for x in LISTS] == [0, 1, 2, 3, 2, 2, 1, 1, 3]


@pytest.mark.parametrize("obj", [Arrayless(), Attributeless()], ids=["array", "attributes"])
def test_what_a_hostile_object_raises_reaches_the_user(obj):
    for build in (so.array, so.csr_array, lambda x: so.csr_array((x, [0], [0, 1]))):
        with pytest.raises(Refusal):
            build(obj)


@pytest.mark.parametrize("stype", ["dense", "csr", "row_sparse"])
def test_what_no_memory_holds_is_refused_at_once(stype):
    with pytest.raises(so.ShapeError, match="there is no memory for"):
        so.zeros((2**62, 2**62), stype=stype)
    for lengths in ((2**62, 2**62), (2**50, 8)):
        with pytest.raises(so.ShapeError, match="there is no memory for|at most 2.*can be drawn"):
            so.random(lengths, stype=stype, density=0.5)


def test_rows_that_no_memory_holds_are_refused_and_columns_are_not():
    with pytest.raises(
        so.ShapeError, match="there is no memory for indptr of 1125899906842624 rows"
    ):
        so.csr_array(([1.0], ([0], [0])), shape=(2**50, 2))
    with pytest.raises(so.ShapeError, match="there is no memory"):
        so.csr_array(([1.0], ([2**62], [0])))
    with pytest.raises(so.ShapeError, match="there is no memory for 1 rows"):
        so.array(sp.coo_array(([1.0], ([0], [1], [2])), shape=(2, 2**30, 2**30)))
    x = so.csr_array(([1.0], ([0], [2**62 - 1])), shape=(1, 2**62))
    assert (x.nnz, x.indices.tolist()) == (1, [2**62 - 1])
    y = so.row_sparse_array(([[1.0]], [2**62]))
    assert y.shape == (2**62 + 1, 1)
    assert repr(x) and repr(y)
