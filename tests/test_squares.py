"""Sums of squares."""

import numpy as np
import pytest
from oracle import check_forward, check_gradient

import sparseops as so


def reference(x, *, axis=None, keepdims=False):
    dtype = {"b": "i8", "i": "i8", "u": "u8"}.get(x.dtype.kind, x.dtype)
    work = np.float32 if x.dtype == np.float16 else dtype
    found = np.sum(np.square(x.astype(work)), axis=axis, keepdims=keepdims)
    return np.asarray(found).astype(dtype)


def values(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    found = rng.integers(0 if np.dtype(dtype).kind == "u" else -8, 9, shape)
    return (found * (rng.random(shape) < 0.5)).astype(dtype)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), ()])
def test_sums_of_squares_are_numpys_in_every_storage(axis, dtype):
    for shape in ((4, 3), (1, 3), (0, 3), (3, 0)):
        for keepdims in (False, True):
            check_forward(
                "square_sum", [values(shape, dtype)], reference, axis=axis, keepdims=keepdims
            )


def test_other_dimensions_have_sums_of_squares():
    for shape in ((), (3,), (2, 3, 2)):
        check_forward("square_sum", [values(shape)], reference)
    check_forward("square_sum", [values((2, 3, 2))], reference, axis=(1, 2))
    check_forward("square_sum", [values((2, 3, 2))], reference, axis=(0, 2), keepdims=True)


def test_squares_of_small_integers_do_not_wrap():
    x = so.csr_array(np.array([[100, -128]], np.int8))
    assert so.square_sum(x).item() == 100**2 + 128**2
    assert so.square_sum(so.array(np.array([300.0], np.float16))).item() == np.inf
    assert so.square_sum(so.array(np.array([200.0, 200.0], np.float16)) * 0.5).item() == 20000


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_gradients_are_twice_the_values_where_they_are_stored(axis, keepdims, dtype):
    x = values((3, 4)) * (1 + 0.5j if dtype is complex else 1)
    check_gradient("square_sum", [x], axis=axis, keepdims=keepdims)


def test_rows_stay_apart_where_asked():
    x = so.row_sparse_array(([[1.0, 2.0], [3.0, 4.0]], [1, 6]), (9, 2))
    found = so.square_sum(x, axis=1, stype="row_sparse")
    assert found.indices.tolist() == [1, 6] and found.data.tolist() == [5, 25]
    assert so.square_sum(x, axis=1).stype == "dense"
