"""Assignment by a key does what NumPy's does, to one array alone, whole or not at all."""

import time
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import STORAGES, assert_same, densify, stored
from test_getitem import DTYPES, LENGTHS, keys, numpys, storages_of, values

import sparseops as so
from sparseops.registry import operators


@st.composite
def assigned(draw, picked, dtype):
    """A value for places of the shape `picked`: a number, an array or one that is repeated."""
    kind = draw(st.sampled_from(["number", "numpy", "list", "repeated", "longer", *STORAGES]))
    if kind == "number":
        return draw(st.sampled_from([0, 2, True, np.int8(3), 1.5, np.float32(0)]))
    shape = picked
    if kind == "repeated":
        shape = tuple(n if draw(st.booleans()) else 1 for n in picked)
        shape = shape[draw(st.integers(0, len(shape))) :]
    if kind == "longer":
        shape = (1, *picked)
    array = values(shape, draw(st.sampled_from([dtype, np.dtype(float)])), seed=7)
    if np.dtype(dtype).kind != "c" and array.dtype.kind == "c":
        array = array.real
    if kind in storages_of(array):
        return stored(array, kind)
    return array.tolist() if kind == "list" else array


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_every_key_assigns_what_numpy_assigns(data):
    shape = data.draw(st.lists(st.sampled_from(LENGTHS), min_size=0, max_size=3).map(tuple))
    dtype = data.draw(st.sampled_from(DTYPES))
    key, array = data.draw(keys(shape)), values(shape, dtype)
    try:
        picked = array[numpys(key)].shape
    except IndexError:
        picked = ()
    value = data.draw(assigned(picked, dtype))
    expected, error = array.copy(), None
    try:
        expected[numpys(key)] = densify(value) if isinstance(value, so.NDArray) else value
    except (IndexError, ValueError, OverflowError) as found:
        expected, error = array, type(found)
    except TypeError:
        return  # NumPy takes no (1, n) for what a mask picks
    if picked == () and np.ndim(densify(value) if isinstance(value, so.NDArray) else value):
        return  # NumPy takes one value in an array for a place of some dtypes only
    for stype in storages_of(array):
        width = data.draw(st.sampled_from([np.int32, np.int64]))
        x = stored(array, stype, extra=0.3, width=width)
        before = x.storage if stype != "dense" else None
        try:
            with so.fallback("error"):
                x[key] = value
        except (IndexError, ValueError, OverflowError) as found:
            assert error and isinstance(found, error), found
        except NotImplementedError:
            assert stype != "dense" and x.storage is before
            continue
        else:
            assert error is None and x.version == 1
        assert_same(x, expected)
        assert not any(part.flags.writeable for part in x.storage.parts)
        assert stype == "dense" or x.indices.dtype == width
