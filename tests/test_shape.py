"""Transposes, other shapes and joined arrays hold NumPy's values, in the storage promised."""

import math
from itertools import product

import numpy as np
import pytest
from oracle import STORAGES, assert_same, check_forward, check_gradient, densify, stored

import sparseops as so
from sparseops.registry import operators

DTYPES = [np.dtype(c) for c in "?bhilBHILefdFD"]
SHAPES = [(3, 4), (1, 5), (5, 1), (0, 3), (3, 0), (0, 0)]


def matrix(shape, density=0.5, dtype=float, seed=0):
    """Small whole numbers, most of them zero."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, shape) * (rng.random(shape) < density)
    return (values if np.dtype(dtype).kind in "if" else np.abs(values)).astype(dtype)


# transpose


@pytest.mark.parametrize("shape", SHAPES)
def test_transpose_is_numpys_in_every_storage(shape):
    check_forward("transpose", [matrix(shape)], np.transpose)


@pytest.mark.parametrize("shape", [(), (4,), (2, 3, 4)])
def test_a_dense_transpose_reverses_all_axes_and_shares_memory(shape):
    x = so.array(matrix(shape))
    found = x.T
    assert_same(found, densify(x).T)
    assert np.shares_memory(found.data, x.data) or not shape


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("stype", STORAGES)
def test_transpose_keeps_every_dtype_and_index_width(stype, dtype):
    for width in (np.int32, np.int64):
        x = stored(matrix((4, 3), dtype=dtype), stype, extra=0.3, width=width)
        found = so.transpose(x)
        assert_same(found, densify(x).T)
        if stype != "dense":
            assert found.stype == "csr" and found.indptr.dtype == found.indices.dtype == width


def test_a_row_sparse_array_transposes_with_every_value_of_its_rows():
    x = so.row_sparse_array(([[0.0, 1.0], [2.0, 0.0]], [1, 3]), shape=(5, 2))
    found = x.T
    assert found.nnz == 4 and found.indices.tolist() == [1, 3, 1, 3]


@pytest.mark.parametrize("shape, way", [((4,), "write x"), ((2, 3, 4), "tostype")])
def test_only_a_row_sparse_matrix_transposes(shape, way):
    with pytest.raises(so.ShapeError, match=way):
        so.transpose(so.zeros(shape, stype="row_sparse"))


def test_gradients_of_transpose_are_slopes():
    check_gradient("transpose", [matrix((3, 4))])


# reshape


@pytest.mark.parametrize(
    "shape, new",
    [
        ((3, 4), (4, 3)),
        ((3, 4), (3, 4)),
        ((3, 4), (12, 1)),
        ((3, 4), (1, -1)),
        ((3, 4), (-1, 2)),
        ((6, 1), (2, 3)),
        ((0, 3), (3, 0)),
        ((0, 3), (0, 5)),
        ((3, 0), (0, 7)),
    ],
)
def test_reshape_is_numpys_in_every_storage(shape, new):
    check_forward("reshape", [matrix(shape)], lambda x, shape: x.reshape(shape), shape=new)


@pytest.mark.parametrize(
    "shape, new",
    [
        ((6,), (6,)),
        ((6,), (6, 1)),
        ((6,), (2, 3)),
        ((6,), (3, 1, 2)),
        ((4, 3), (12,)),
        ((4, 3), (2, 3, 2)),
        ((4, 3), (1, 12)),
        ((4, 3, 2), (4, 6)),
        ((4, 3, 2), (3, 8)),
        ((4, 3, 2), (-1, 2)),
        ((0, 4), (0,)),
        ((4, 0), (0,)),
    ],
)
def test_row_sparse_arrays_take_any_shape_with_rows(shape, new):
    for seed in range(4):
        x = stored(matrix(shape, 0.3, seed=seed), "row_sparse", extra=0.2)
        with so.fallback("error"):
            found = so.reshape(x, shape=new)
        assert found.stype == "row_sparse"
        assert_same(found, densify(x).reshape(new))


def test_a_reshape_that_keeps_the_rows_shares_their_memory():
    x = so.row_sparse_array((np.ones((2, 6)), [1, 3]), shape=(5, 6))
    found = so.reshape(x, shape=(5, 2, 3))
    assert np.shares_memory(found.data, x.data) and found.storage.indices is x.storage.indices


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reshape_keeps_every_dtype_and_index_width(dtype):
    for stype, width in product(STORAGES, (np.int32, np.int64)):
        x = stored(matrix((4, 3), dtype=dtype), stype, extra=0.3, width=width)
        found = so.reshape(x, shape=(6, 2))
        assert_same(found, densify(x).reshape(6, 2))
        if stype != "dense":
            assert found.stype == stype and found.indices.dtype == width


@pytest.mark.parametrize(
    "shape, new",
    [((3, 4), (5, 2)), ((3, 4), (-1, 5)), ((3, 4), (-1, -1)), ((0, 3), (-1, 0)), ((2,), (-2, 1))],
)
def test_a_shape_that_does_not_fit_is_refused(shape, new):
    with pytest.raises(so.ShapeError):
        so.reshape(so.array(np.zeros(shape)), shape=new)


def test_shapes_that_a_storage_cannot_have_are_refused_with_a_way_out():
    with pytest.raises(so.ShapeError, match="tostype"):
        so.reshape(so.zeros((2, 3), stype="csr"), shape=(6,))
    with pytest.raises(so.ShapeError, match="tostype"):
        so.reshape(so.zeros((1,), stype="row_sparse"), shape=())
    with pytest.raises(so.ShapeError, match="int64"):
        so.reshape(so.zeros((4, 2**61), stype="csr"), shape=(2, 2**62))


def test_arrays_have_the_method_as_in_numpy():
    x = so.array(np.arange(6))
    for shape in (x.reshape(2, 3), x.reshape((2, 3)), x.reshape(2, -1), x.reshape([2, 3])):
        assert shape.shape == (2, 3)
    assert x.reshape(-1).shape == (6,)


@pytest.mark.parametrize("new", [(4, 3), (3, 4), (2, 6)])
def test_gradients_of_reshape_are_slopes(new):
    check_gradient("reshape", [matrix((3, 4))], shape=new)


# concat


def joined(*arrays, axis):
    return np.concatenate(arrays, axis=axis)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("sizes", [(2, 3, 1), (0, 2, 0), (0, 0, 0), (4, 0, 1)])
def test_concat_is_numpys_in_every_storage(sizes, axis):
    shapes = [(n, 3) if axis % 2 == 0 else (3, n) for n in sizes]
    check_forward("concat", [matrix(s, seed=n) for n, s in enumerate(shapes)], joined, axis=axis)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_arrays_of_more_dimensions_are_joined(axis):
    values = [matrix((2, 3, 2), seed=1), matrix((2, 3, 2), seed=2)]
    check_forward("concat", values, joined, axis=axis)
    check_forward("concat", [np.arange(2.0), np.arange(3.0)], joined, axis=0)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_sparse_arrays_are_joined_without_a_fallback(stype):
    x = stored(matrix((3, 3)), stype)
    for axis in (0, 1, -1, -2):
        with so.fallback("error"):
            assert so.concat(x, x, x, axis=axis).stype == stype
            assert so.concat(x, axis=axis).stype == stype


def test_rows_joined_beside_each_other_are_those_that_any_stores():
    x, y = (so.row_sparse_array(([[1.0, 2.0]], [row]), (9, 2)) for row in (7, 2))
    found = so.concat(x, y, x, axis=-1)
    assert found.indices.tolist() == [2, 7]
    assert found.data.tolist() == [[0, 0, 1, 2, 0, 0], [1, 2, 0, 0, 1, 2]]


def test_axes_are_integers():
    x = so.zeros((2, 2))
    for axis in (True, np.bool_(False), 1.0, "0", None, (0,)):
        with pytest.raises(TypeError, match="axis is .*; it must be an integer"):
            so.concat(x, x, axis=axis)
        with pytest.raises(TypeError, match="axis is .*; it must be an integer"):
            so.softmax(x, axis=axis)
    assert so.concat(x, x, axis=np.int8(-1)).shape == (2, 4)


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("dtypes", [("b", "B"), ("e", "b"), ("e", "e"), ("?", "f"), ("f", "D")])
def test_concat_promotes_dtypes_and_index_widths(dtypes, stype):
    values = [matrix((2, 2), dtype=d, seed=n) for n, d in enumerate(dtypes)]
    for axis, widths in product((0, 1), product((np.int32, np.int64), repeat=2)):
        inputs = [stored(v, stype, width=w) for v, w in zip(values, widths, strict=True)]
        with so.fallback("allow"):
            found = so.concat(*inputs, axis=axis)
        assert_same(found, np.concatenate(values, axis=axis))
        if found.stype != "dense":
            assert found.indices.dtype == np.result_type(*widths)


def test_wide_results_get_wide_indices():
    x = so.csr_array(([1.0], [2**30], [0, 1]), shape=(1, 2**31 - 1))
    assert x.indices.dtype == np.int32
    found = so.concat(x, x, axis=1)
    assert found.indices.dtype == np.int64
    assert found.indices.tolist() == [2**30, 2**30 + 2**31 - 1]


def test_what_cannot_be_joined_is_named():
    x = so.array(np.ones((2, 3)))
    with pytest.raises(so.ShapeError, match=r"arrays\[1\] has shape \(3, 2\)"):
        so.concat(x, so.array(np.ones((3, 2))))
    with pytest.raises(so.ShapeError, match="axis=2"):
        so.concat(x, x, axis=2)
    with pytest.raises(so.ShapeError, match="0 dimensions"):
        so.concat(so.array(1.0), so.array(2.0))


def test_nothing_to_join_is_refused():
    with pytest.raises((so.ShapeError, TypeError)):
        so.concat()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gradients_of_concat_are_slopes(axis):
    values = [matrix((2, 2), seed=n) for n in range(3)]
    check_gradient("concat", values[:2], axis=axis)
    check_gradient("concat", values, axis=axis, asks=(None,), wrt=(2,))


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_gradients_of_joined_sparse_arrays_stay_sparse(stype):
    xs = [stored(matrix((3, 3), seed=n), stype) for n in range(3)]
    with so.fallback("error"), so.Tape() as tape:
        y = so.concat(*xs)
    found = tape.gradient(y, xs, output_gradients=so.zeros(y.shape, stype=stype))
    assert [g.stype for g in found] == [stype] * 3
    assert [g.nnz for g in found] == [x.nnz for x in xs]


@pytest.mark.parametrize("name", ["transpose", "reshape", "concat"])
def test_second_derivatives_flow_through(name):
    params = {"reshape": {"shape": (6, 2)}}.get(name, {})
    values = matrix((4, 3), density=0.8)
    for stype in STORAGES:
        x = stored(values, stype)
        with so.fallback("allow"), so.Tape() as outer:
            with so.Tape() as tape:
                y = operators[name](x, **params)
                z = so.sum(so.multiply(so.multiply(y, y), y))
            g = tape.gradient(z, x)
            total = so.sum(so.multiply(g, g))
        with so.fallback("allow"):
            found = outer.gradient(total, x)
        # z = sum x^3, g = 3 x^2, total = sum 9 x^4
        np.testing.assert_array_equal(densify(found), 36 * values**3)


# slices and placements, which the gradients of concat and of x[a:b] are made of


@pytest.mark.parametrize("axis, shape", [(1, (3, 5)), (1, (2, 4, 3)), (2, (2, 3, 4))])
def test_slices_along_an_axis_are_numpys(axis, shape):
    for start, stop in ((0, shape[axis]), (1, 3), (2, 2), (0, 0)):
        part = (slice(None),) * axis + (slice(start, stop),)
        reference = lambda x, start, stop, axis: x[part]  # noqa: B023, E731
        params = {"start": start, "stop": stop, "axis": axis}
        check_forward("slice_columns", [matrix(shape)], reference, **params)


@pytest.mark.parametrize("axis, shape", [(1, (3, 2)), (1, (2, 2, 3)), (2, (2, 3, 2))])
def test_placements_along_an_axis_are_numpys(axis, shape):
    def reference(x, start, size, axis):
        widths = [(0, 0)] * x.ndim
        widths[axis] = (start, size - start - x.shape[axis])
        return np.pad(x, widths)

    for start in (0, 1, 3):
        params = {"start": start, "size": 5, "axis": axis}
        check_forward("place_columns", [matrix(shape)], reference, **params)


def test_gradients_of_slices_and_placements_along_an_axis_are_slopes():
    check_gradient("slice_columns", [matrix((3, 4))], start=1, stop=3, axis=1)
    check_gradient("place_columns", [matrix((3, 2))], start=1, size=4, axis=1)


@pytest.mark.parametrize("params", [{"start": 1, "stop": 5}, {"start": -1, "stop": 2}])
def test_a_slice_beyond_the_axis_is_refused(params):
    with pytest.raises(IndexError):
        operators["slice_columns"](so.zeros((2, 4)), axis=1, **params)
    with pytest.raises(so.ShapeError):
        operators["slice_columns"](so.zeros((2, 4)), axis=2, **params)
    with pytest.raises(IndexError):
        operators["place_columns"](so.zeros((2, 4)), axis=1, start=2, size=5)


def test_the_work_of_a_csr_reshape_does_not_depend_on_the_number_of_columns():
    x = so.csr_array(([1.0, 2.0], [5, 2**40], [0, 1, 2]), shape=(2, 2**41))
    found = so.reshape(x, shape=(4, 2**40))
    assert found.indptr.tolist() == [0, 1, 1, 1, 2]
    assert found.indices.tolist() == [5, 0]
    assert math.prod(found.shape) == math.prod(x.shape)
