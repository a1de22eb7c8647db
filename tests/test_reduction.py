"""Sums, means and broadcasting: values, storages, gradients and costs."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import (
    assert_same,
    check_forward,
    check_gradient,
    densify,
    places,
    storages,
    stored,
)

import sparseops as so
from sparseops.ops.reduction import unbroadcast, unreduce
from sparseops.policy import Fallback

DTYPES = [np.dtype(c) for c in "?bhilBHILefdFD"]
SHAPES = [(), (0,), (3,), (3, 4), (1, 4), (3, 1), (1, 1), (0, 4), (3, 0), (2, 3, 2), (2, 0, 3)]


def values(shape, dtype=float, seed=0):
    """Small whole numbers, half of them zero; exact in every dtype and order of summation."""
    rng = np.random.default_rng(seed)
    found = rng.integers(-4, 5, shape) * (rng.random(shape) < 0.5)
    if np.dtype(dtype).kind in "bu":
        found = abs(found)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.integers(-4, 5, shape)
    return np.asarray(found).astype(dtype)


def axes_of(ndim):
    """Every way to name axes of `ndim` dimensions, negative ones among them."""
    some = [None, ()]
    some += list(range(-ndim, ndim))
    some += [(a, b) for a in range(ndim) for b in range(-ndim, ndim) if a != b % ndim]
    return some


def np_sum(x, axis=None, keepdims=False):
    wide = np.float32 if x.dtype == np.float16 else None
    found = np.asarray(np.sum(x, axis=axis, keepdims=keepdims, dtype=wide))
    return found.astype(x.dtype) if wide else found


def np_mean(x, axis=None, keepdims=False):
    with np.errstate(all="ignore"):
        return np.asarray(np.mean(x, axis=axis, keepdims=keepdims))


def np_sum_to(x, shape):
    ahead = x.ndim - len(shape)
    repeated = [n + ahead for n, length in enumerate(shape) if length != x.shape[n + ahead]]
    return np.sum(x, axis=(*range(ahead), *repeated)).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.filterwarnings("ignore:.*(invalid value|empty slice)")
def test_sums_and_means_equal_numpy_over_every_choice_of_axes(shape):
    x = values(shape)
    for axis in axes_of(len(shape)):
        for keepdims in (False, True):
            check_forward("sum", [x], np_sum, axis=axis, keepdims=keepdims)
            check_forward("mean", [x], np_mean, rtol=1e-15, axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_every_dtype_is_summed_and_averaged_as_by_numpy(dtype, axis):
    x = values((5, 4), dtype)
    check_forward("sum", [x], np_sum, axis=axis)
    rtol = {"e": 1e-3, "f": 1e-6, "F": 1e-6}.get(dtype.char, 1e-15)
    check_forward("mean", [x], np_mean, rtol=rtol, axis=axis)


@pytest.mark.parametrize("stype", storages(np.zeros((1, 1))))
def test_small_types_are_added_up_in_wide_ones(stype):
    bytes_ = stored(np.full((4, 3), 100, np.int8), stype)
    assert so.sum(bytes_, axis=0).asnumpy().tolist() == [400] * 3
    assert so.sum(bytes_, axis=0).dtype == np.int64
    assert so.sum(stored(np.full((4, 3), 255, np.uint8), stype)).dtype == np.uint64
    halves = stored(np.full((4096, 1), 1, np.float16), stype)
    # In float16, 2048 + 1 is 2048.
    for axis in (None, 0):
        total = so.sum(halves, axis=axis)
        assert (total.dtype, float(total)) == (np.float16, 4096)
    large = stored(np.full((3, 2), 60000, np.float16), stype)
    assert so.mean(large, axis=0).asnumpy().tolist() == [60000, 60000]


@pytest.mark.parametrize("stype", storages(np.zeros((1, 1))))
def test_nan_and_infinity_stay_in_their_row_and_column(stype):
    x = np.array([[np.nan, 0, 1], [np.inf, 2, 0], [0, 0, 0]])
    for axis in (0, 1):
        found = so.sum(stored(x, stype), axis=axis)
        np.testing.assert_array_equal(found.asnumpy(), x.sum(axis))
    infinite = np.array([[np.inf + 0j, 1], [0, 2]])
    found = so.sum(stored(infinite, stype), axis=0).asnumpy()
    assert found.tolist() == [np.inf, 3]


def test_int64_sums_are_exact_beyond_two_to_the_53():
    x = so.csr_array([[2**53, 0], [1, 0]])
    assert so.sum(x, axis=0).asnumpy().tolist() == [2**53 + 1, 0]
    assert so.sum(x).item() == 2**53 + 1


@pytest.mark.parametrize("op", [so.sum, so.mean])
@pytest.mark.parametrize("axis", [2, -3, (0, 2), (0, 0), (1, -1)])
def test_axes_that_are_not_there_or_stand_twice_are_refused(op, axis):
    with pytest.raises(so.ShapeError, match="axis"):
        op(so.zeros((2, 3), stype="csr"), axis=axis)


@pytest.mark.parametrize("axis", [0.5, "rows", (0, None), True, (np.bool_(False),), [[0]]])
def test_axes_are_integers(axis):
    for op in (so.sum, so.mean, so.max):
        with pytest.raises(TypeError, match="axis is .*; it must be an integer"):
            op(so.zeros((2, 3), stype="csr"), axis=axis)


def test_an_axis_by_position_is_refused_with_the_right_spelling():
    with pytest.raises(TypeError, match="write axis=0"):
        so.sum(so.zeros((2, 3)), 0)


@pytest.mark.parametrize("op", [so.sum, so.mean])
def test_a_sparse_array_is_reduced_without_a_fallback(op):
    for stype in ("csr", "row_sparse"):
        x = stored(values((4, 3)), stype)
        with so.fallback("error"):
            for axis in (None, 0, 1, -1, (0, -1)):
                for keepdims in (False, True):
                    assert op(x, axis=axis, keepdims=keepdims).stype == "dense"


def test_a_sum_over_no_axis_is_a_recorded_fallback_for_csr_alone():
    x = stored(values((4, 3)), "csr")
    with so.fallback("allow") as records:
        assert so.sum(x, axis=()).stype == "dense"
        assert so.sum(x.tostype("row_sparse"), axis=()).stype == "row_sparse"
    assert [r.operator for r in records] == ["sum"]


@pytest.mark.parametrize("axis", [1, 2, (1, 2)])
def test_sums_of_rows_that_stay_apart_can_stay_sparse(axis):
    x = so.row_sparse_array((values((2, 3, 2)), [1, 4]), shape=(9, 3, 2))
    with so.fallback("error"), so.Tape() as tape:
        kept = so.sum(x, axis=axis, keepdims=True, stype="row_sparse")
    assert kept.indices.tolist() == [1, 4]
    assert_same(kept, so.sum(x, axis=axis, keepdims=True).asnumpy())
    with so.fallback("error"):
        g = tape.gradient(kept, x, output_gradients=kept)
    assert g.stype == "row_sparse" and g.indices.tolist() == [1, 4]


@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_gradients_of_sums_and_means_are_right_and_live_on_stored_places(name, axis, keepdims):
    check_gradient(name, [values((3, 4))], axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("axis", [None, 1, (0, 2), (1, 2)])
def test_gradients_of_sums_over_n_dimensional_and_complex_arrays_are_right(name, axis):
    check_gradient(name, [values((3, 2, 2))], axis=axis)
    check_gradient(name, [values((3, 2, 2), complex)], axis=axis)


BROADCASTS = [
    ((), (3, 4)),
    ((4,), (3, 4)),
    ((1,), (3,)),
    ((1, 4), (3, 4)),
    ((3, 1), (3, 4)),
    ((1, 1), (3, 4)),
    ((3, 4), (3, 4)),
    ((3, 4), (2, 3, 4)),
    ((3, 1), (2, 3, 4)),
    ((1, 4), (0, 4)),
    ((3, 1), (3, 0)),
    ((0,), (3, 0)),
]


@pytest.mark.parametrize("narrow, wide", BROADCASTS)
def test_broadcast_to_and_sum_to_equal_numpy(narrow, wide):
    x = values(narrow)
    if len(wide) == 2 or len(narrow) < 2:
        check_forward("broadcast_to", [x], np.broadcast_to, shape=wide)
    check_forward("sum_to", [values(wide)], np_sum_to, shape=narrow)


@pytest.mark.parametrize("narrow, wide", BROADCASTS[1:7])
def test_gradients_of_broadcast_to_and_sum_to_are_right(narrow, wide):
    check_gradient("broadcast_to", [values(narrow)], shape=wide)
    check_gradient("sum_to", [values(wide)], shape=narrow)


@pytest.mark.parametrize("stype", ["dense", "row_sparse"])
def test_new_axes_are_put_where_axis_says(stype):
    x = values((3, 4))
    for axis, index in ((0, np.s_[None]), (1, np.s_[:, None]), (-1, np.s_[..., None])):
        shape = np.broadcast_shapes(
            x[index].shape, tuple(2 if n == 1 else n for n in x[index].shape)
        )
        with so.fallback("allow"), so.Tape() as tape:
            y = so.broadcast_to(a := stored(x, stype), shape=shape, axis=axis)
        assert y.stype == stype
        assert_same(y, np.broadcast_to(x[index], shape))
        with so.fallback("allow"):
            g = tape.gradient(y, a, output_gradients=np.ones(shape))
        np.testing.assert_array_equal(densify(g), np.where(places(a), 2, 0))


def test_a_csr_array_has_no_third_dimension_to_be_broadcast_to():
    with pytest.raises(so.ShapeError, match="csr has 2"):
        so.broadcast_to(so.csr_array([[1, 0]]), shape=(3, 1, 2))


@pytest.mark.parametrize("shape", [(2,), (2, 1), (4, 3, 2), (3,)])
def test_shapes_that_do_not_broadcast_are_refused(shape):
    x = so.zeros((3, 2))
    if shape != (2,):
        with pytest.raises(so.ShapeError):
            so.sum_to(x, shape=shape)
    if shape != (4, 3, 2):
        with pytest.raises(so.ShapeError):
            so.broadcast_to(x, shape=shape)


def test_new_axes_must_make_up_the_difference():
    with pytest.raises(so.ShapeError, match="make no array of shape"):
        so.broadcast_to(so.zeros((3, 2)), shape=(3, 2, 2), axis=(0, 1))


def test_a_dense_broadcast_takes_no_memory_and_is_not_changed_with_its_source():
    x = so.array([1.0, 2.0])
    wide = so.broadcast_to(x, shape=(10**9, 2))
    assert wide.storage.data.strides[0] == 0
    x[...] = 5
    assert wide.storage.data[7].tolist() == [1, 2]


def test_sum_to_the_same_shape_reports_that_a_sparse_array_becomes_dense():
    x = stored(values((4, 3)), "csr")
    with so.fallback("allow") as records:
        so.sum_to(x, shape=(4, 3))
        so.sum_to(x, shape=(1, 3))
    (record,) = records
    assert isinstance(record, Fallback) and record.bytes_dense == 4 * 3 * 8
    with so.fallback("error"), pytest.raises(so.DensifyError):
        so.sum_to(x, shape=(4, 3))


def test_a_row_sparse_broadcast_over_new_rows_is_reported():
    x = so.row_sparse_array(([1.0], [2]), shape=(5,))
    with so.fallback("allow") as records:
        wide = so.broadcast_to(x, shape=(3, 5))
    assert len(records) == 1
    assert_same(wide, np.broadcast_to([0, 0, 1.0, 0, 0], (3, 5)))
    with so.fallback("error"):
        empty = so.broadcast_to(so.zeros(5, stype="row_sparse"), shape=(10**6, 5))
    assert empty.nnz == 0


def test_unbroadcast_returns_equal_shapes_as_they_are():
    g = stored(values((3, 4)), "csr")
    assert unbroadcast(g, so.Spec((3, 4))) is g
    assert unbroadcast(g, so.Spec((4,))).shape == (4,)


def test_unreduce_undoes_the_shape_of_a_reduction():
    spec = so.Spec((2, 3, 4))
    for axis in (None, 0, -1, (0, 2)):
        for keepdims in (False, True):
            y = so.sum(so.zeros(spec.shape), axis=axis, keepdims=keepdims)
            assert unreduce(y, spec, axis, keepdims).shape == spec.shape


@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_a_broadcast_keeps_the_width_of_the_indices(width):
    for shape, wide in (((1, 3), (4, 3)), ((3, 1), (3, 4)), ((1, 1), (2, 2))):
        for stype in ("csr", "row_sparse"):
            x = stored(np.ones(shape), stype, width=width)
            y = so.broadcast_to(x, shape=wide)
            assert {a.dtype for a in y.aux.values()} == {np.dtype(width)}


def test_huge_shapes_cost_what_is_stored_and_what_comes_out():
    x = so.csr_array(([1.0, 2.0], ([3, 10**6 - 1], [5, 10**12 - 1])), shape=(10**6, 10**12))
    rows = so.row_sparse_array(([[1.0, 2.0]], [10**11]), shape=(10**12, 2))
    tracemalloc.start()
    try:
        assert so.sum(x).item() == 3
        assert so.sum(x, axis=1).asnumpy()[3] == 1
        assert so.mean(rows, axis=0).asnumpy().tolist() == [1e-12, 2e-12]
        assert so.sum_to(rows, shape=(1, 1)).item() == 3
        with so.Tape() as tape:
            y = so.mean(x)
        assert tape.gradient(y, x).nnz == 2
        assert so.sum(rows, axis=1, stype="row_sparse").nnz == 1
        assert tracemalloc.get_traced_memory()[1] < 100 * 10**6
    finally:
        tracemalloc.stop()


def test_the_gradient_of_a_number_broadcast_is_a_sum():
    x = so.array(2.0)
    with so.Tape() as tape:
        y = so.broadcast_to(x, shape=(3, 4))
    assert tape.gradient(y, x, output_gradients=np.full((3, 4), 0.5)).item() == 6


def test_second_derivatives_go_through_sums():
    x = stored(values((3, 4)), "csr")
    with so.Tape() as outer:
        with so.Tape() as inner:
            y = so.sum(so.sum(x * x, axis=0) * so.sum(x, axis=0))
        g = inner.gradient(y, x)
        z = so.sum(g * g)
    with so.fallback("allow"):
        h = outer.gradient(z, x)

    def slope(at):
        column, mask = at.sum(0), densify(x) != 0
        return mask * (2 * at * column + (at**2).sum(0))

    at, step = densify(x), 2.0**-10
    for i, j in zip(*np.nonzero(at), strict=True):
        e = np.zeros_like(at)
        e[i, j] = step
        expected = ((slope(at + e) ** 2).sum() - (slope(at - e) ** 2).sum()) / (2 * step)
        np.testing.assert_allclose(densify(h)[i, j], expected, rtol=1e-4, atol=1e-4)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_sums_of_any_structure_equal_the_sums_of_its_dense_copy(data):
    rows, columns = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
    whole = st.lists(st.integers(-9, 9), min_size=rows * columns, max_size=rows * columns)
    x = np.array(data.draw(whole), float).reshape(rows, columns)
    axis = data.draw(st.sampled_from([None, 0, 1, -1, (1, 0)]))
    stype = data.draw(st.sampled_from(["csr", "row_sparse"]))
    sparse = stored(x, stype, extra=0.5, rng=np.random.default_rng(data.draw(st.integers(0, 99))))
    assert_same(so.sum(sparse, axis=axis), x.sum(axis=axis))
