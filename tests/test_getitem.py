"""Reading by a key gives NumPy's values in every storage, and costs what is stored and picked."""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import STORAGES, assert_same, densify, stored

import sparseops as so
from sparseops.registry import operators

DTYPES = [np.dtype(c) for c in "?bhilBHILefdFD"]
LENGTHS = (0, 1, 2, 3, 5)


def values(shape, dtype=float, seed=0):
    """Small whole numbers, half of them zero; complex ones with imaginary parts."""
    rng = np.random.default_rng(seed)
    found = rng.integers(-3, 4, shape) * (rng.random(shape) < 0.5)
    if np.dtype(dtype).kind == "c":
        return np.array(found + 1j * rng.integers(-3, 4, shape) * (found != 0), dtype)
    return np.array(found if np.dtype(dtype).kind in "if" else np.abs(found), dtype)


def storages_of(array):
    """The storages that `array` can have."""
    return STORAGES[: 1 + (array.ndim >= 1) + (array.ndim == 2)]


@st.composite
def slices(draw, length):
    bound = st.one_of(st.none(), st.integers(-length - 2, length + 2))
    step = draw(st.sampled_from([None, 1, -1, 2, -2, 3, 2**40, -(2**70)]))
    return slice(draw(bound), draw(bound), step)


@st.composite
def ids(draw, length, shape):
    """Integers for an axis, as a list or an array of any integer type, negative ones among them."""
    size = int(np.prod(shape))
    if not length:
        return np.zeros((0, *shape[1:]), np.int64)
    drawn = st.lists(st.integers(-length, length - 1), min_size=size, max_size=size)
    found = np.array(draw(drawn), np.int64).reshape(shape)
    form = draw(st.sampled_from(["list", "ours", "b", "i", "l", "L"]))
    if form == "list":
        return found.tolist()
    if form == "ours":
        return so.array(found)
    return (found % length if form == "L" else found).astype(form)


@st.composite
def masks(draw, shape):
    """A mask over axes, as a list, an array of NumPy or one of ours in any storage."""
    size = int(np.prod(shape))
    flat = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    found = np.array(flat, bool).reshape(shape)
    form = draw(st.sampled_from(["list", "numpy", *storages_of(found)]))
    if form in STORAGES:
        return stored(found, form, extra=0.3)
    return found.tolist() if form == "list" and size else found


@st.composite
def keys(draw, shape):
    """A key of an array of `shape`: what NumPy takes, for some of the axes."""
    found, axis = [], 0
    block = draw(st.sampled_from([(2,), (1,), (0,), (3, 1), (1, 2), (2, 2), ()]))
    while axis < len(shape):
        kinds = ["all", "slice", "ids", "mask"] + ["int"] * bool(shape[axis])
        kinds += ["None", "bool"] * (len(found) < 4)
        kinds += ["..."] * (not any(k is Ellipsis for k in found))
        kind, taken = draw(st.sampled_from(kinds)), 1
        if kind == "int":
            found.append(draw(st.integers(-shape[axis], shape[axis] - 1)))
        elif kind == "ids":
            one = draw(st.booleans())
            found.append(draw(ids(shape[axis], (1,) * len(block) if one else block)))
        elif kind == "mask":
            taken = draw(st.integers(1, len(shape) - axis))
            found.append(draw(masks(shape[axis : axis + taken])))
        elif kind == "...":
            taken = draw(st.integers(0, len(shape) - axis))
            found.append(Ellipsis)
        elif kind in ("None", "bool"):
            taken = 0
            found.append(None if kind == "None" else draw(st.booleans()))
        else:
            found.append(draw(slices(shape[axis])) if kind == "slice" else slice(None))
        axis += taken
    return found[0] if len(found) == 1 and draw(st.booleans()) else tuple(found)


def numpys(key):
    """The key with arrays of NumPy for ours."""
    if isinstance(key, tuple):
        return tuple(map(numpys, key))
    return densify(key) if isinstance(key, so.NDArray) else key


def read(x, key):
    """What NumPy reads, or the class of its error."""
    try:
        return x[numpys(key)]
    except (IndexError, ValueError) as error:
        return type(error)


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_every_key_reads_what_numpy_reads(data):
    shape = data.draw(st.lists(st.sampled_from(LENGTHS), min_size=0, max_size=3).map(tuple))
    dtype = data.draw(st.sampled_from(DTYPES))
    key = data.draw(keys(shape))
    array = values(shape, dtype, seed=len(shape))
    expected = read(array, key)
    for stype in storages_of(array):
        width = data.draw(st.sampled_from([np.int32, np.int64]))
        x = stored(array, stype, extra=0.3, width=width)
        if isinstance(expected, type):
            with pytest.raises((expected, NotImplementedError)):
                x[key]
            continue
        try:
            with so.fallback("error"):
                found = x[key]
        except NotImplementedError:
            assert stype != "dense"
            continue
        assert_same(found, expected)
        if stype != "dense" and found.stype != "dense":
            assert found.indices.dtype == width


def ones_at(x):
    """One at every place that `x` stores."""
    return densify(so.NDArray(x.storage.with_data(np.ones_like(x.storage.data)), x.backend)).real


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_the_gradient_adds_up_what_was_read_at_the_places_that_are_stored(data):
    shape = data.draw(st.lists(st.sampled_from(LENGTHS), min_size=0, max_size=3).map(tuple))
    dtype = data.draw(st.sampled_from([np.float16, np.float64, np.complex64]))
    key, array = data.draw(keys(shape)), values(shape, dtype)
    numbers = np.arange(array.size).reshape(shape)
    picked = read(numbers, key)
    for stype in storages_of(array):
        x = stored(array, stype, extra=0.3)
        for ask in (None, *storages_of(array)):
            try:
                with so.fallback("allow"), so.Tape() as tape:
                    y = x[key]
            except (NotImplementedError, IndexError):
                continue
            if y is x:
                continue
            head = np.arange(1, y.size + 1).reshape(y.shape).astype(dtype)
            with so.fallback("error" if ask is None else "allow"):
                found = tape.gradient(y, x, output_gradients=head, stypes=ask)
            expected = np.zeros(array.size, dtype)
            np.add.at(expected, picked.reshape(-1), (head * ones_at(y)).reshape(-1))
            expected = (expected.reshape(shape) * ones_at(x)).astype(dtype)
            assert ask is None or found.stype == ask
            assert_same(found, expected)
            if ask is None and stype != "dense":
                assert found.stype == stype
