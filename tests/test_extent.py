"""The largest and smallest values and their places: what is not stored is a zero like others."""

import numpy as np
import pytest
from oracle import check_forward, check_gradient, densify, stored

import sparseops as so

AXES = (None, 0, 1, -1, (0, 1), (1,))
DTYPES = ("bool", "int8", "int64", "uint8", "float16", "float32", "float64")


def matrices(dtype="float64"):
    rng = np.random.default_rng(0)
    for shape in ((4, 3), (1, 1), (3, 1)):
        for low, high in ((-3, 4), (-4, 0), (1, 4)):
            x = (
                rng.integers(low, high, shape)
                if dtype[0] not in "bu"
                else rng.integers(0, 2, shape)
            )
            yield (x * (rng.random(shape) < 0.6)).astype(dtype)
            yield x.astype(dtype)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("axis", AXES)
def test_every_storage_gives_what_numpy_gives_for_the_whole_array(name, axis):
    if name.startswith("arg") and isinstance(axis, tuple):
        return
    for x in matrices():
        for keepdims in (False, True):
            check_forward(name, [x], getattr(np, name), axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_taken_and_that_of_the_values_kept(name, dtype):
    for x in list(matrices(dtype))[:6]:
        for axis in (None, 0, 1):
            check_forward(name, [x], getattr(np, name), axis=axis)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_nan_wins_and_infinity_counts(name):
    x = np.array([[0, np.nan, 3], [np.inf, 0, -np.inf], [0, 0, 0], [np.nan, np.nan, 1]])
    for axis in (None, 0, 1):
        check_forward(name, [x], getattr(np, name), axis=axis)
        check_forward(name, [x[1:2]], getattr(np, name), axis=axis)


@pytest.mark.parametrize("name", ["max", "min"])
def test_arrays_of_other_dimensions_are_reduced(name):
    rng = np.random.default_rng(1)
    for shape in ((), (5,), (3, 2, 4)):
        x = np.asarray(rng.integers(-3, 3, shape), float)
        for axis in (None, *range(-len(shape), len(shape)), tuple(range(len(shape)))[1:]):
            check_forward(name, [x], getattr(np, name), axis=axis)
    x = np.zeros((0, 3))
    check_forward(name, [x], getattr(np, name), axis=1)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_in_arrays_of_other_dimensions_are_found(name):
    rng = np.random.default_rng(2)
    for shape in ((5,), (3, 2, 4)):
        x = np.asarray(rng.integers(-3, 3, shape), float)
        for axis in (None, *range(-len(shape), len(shape))):
            check_forward(name, [x], getattr(np, name), axis=axis)


def test_the_first_of_equal_places_is_found_where_some_are_not_stored():
    x = so.csr_array(([0.0, -1.0, 0.0], [1, 2, 0], [0, 2, 3]), (2, 4))
    assert densify(so.argmax(x, axis=1)).tolist() == [0, 0]
    assert densify(so.argmin(x, axis=1)).tolist() == [2, 0]
    rows = so.row_sparse_array(([[-1.0, 0.0], [2.0, 0.0]], [0, 2]), (4, 2))
    assert densify(so.argmax(rows, axis=0)).tolist() == [2, 0]
    assert densify(so.argmin(rows, axis=0)).tolist() == [0, 0]
    assert int(so.argmin(rows)) == 0 and int(so.argmax(rows)) == 4


def test_nothing_of_the_size_of_the_array_is_made():
    x = so.csr_array(([5.0, -2.0], [10**8, 3], [0, 1, 2]), (2, 10**9))
    with so.fallback("error"):
        assert densify(so.max(x, axis=1)).tolist() == [5.0, 0.0]
        assert densify(so.argmin(x, axis=1)).tolist() == [0, 3]
        assert int(so.argmax(x)) == 10**8 and float(so.min(x)) == -2.0


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_gradients_go_to_the_extreme_value(name, axis):
    x = np.array([[1.5, -2.0, 0.0], [0.0, 3.0, 0.5], [-1.0, 0.25, 7.0], [-4.0, -6.0, 9.0]])
    check_gradient(name, [x], axis=axis)
    check_gradient(name, [x], axis=axis, keepdims=True)


def test_gradients_are_shared_by_equal_values_stored_or_not():
    x = so.csr_array(([0.0, -1.0, 2.0, 2.0], [0, 1, 0, 2], [0, 2, 4]), (2, 3))
    with so.Tape() as tape:
        y = so.max(x, axis=1)
    g = tape.gradient(y, x, output_gradients=so.array([6.0, 8.0]))
    assert g.stype == "csr" and g.data.tolist() == [3.0, 0.0, 4.0, 4.0]


@pytest.mark.parametrize("stype", ["dense", "csr", "row_sparse"])
def test_second_derivatives_exist(stype):
    x = stored(np.array([[1.0, 3.0], [2.0, -1.0]]), stype)
    with so.Tape(persistent=True) as tape:
        y = so.sum(so.square(so.max(x, axis=1)))
        (g,) = [tape.gradient(y, x)]
        z = so.sum(so.square(g))
    assert densify(tape.gradient(z, x)).tolist() == [[0.0, 24.0], [16.0, 0.0]]


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_what_has_no_order_or_no_values_is_refused(name):
    op = getattr(so, name)
    with pytest.raises(so.DTypeError, match="have no order"):
        op(so.zeros((2, 2), complex))
    for stype in ("dense", "csr", "row_sparse"):
        with pytest.raises(so.ShapeError, match="no values along axis 0"):
            op(so.zeros((0, 3), stype=stype), axis=0)
    if name.startswith("arg"):
        with pytest.raises(so.ShapeError, match="is several"):
            op(so.zeros((2, 2)), axis=(0, 1))
