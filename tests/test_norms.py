"""Norms, counts and diagonals."""

import numpy as np
import pytest
from oracle import check_forward, check_gradient, densify, stored

import sparseops as so

ORDERS = (None, 1, 2, "fro", np.inf)


def reference(x, *, ord=None, axis=None, keepdims=False):
    wide = np.abs(x.astype(np.result_type(x.dtype, {"c": "c16"}.get(x.dtype.kind, "f8"))))
    if ord == np.inf:
        found = np.max(wide, axis=axis, keepdims=keepdims)
    elif ord == 1:
        found = np.sum(wide, axis=axis, keepdims=keepdims)
    else:
        found = np.sqrt(np.sum(wide * wide, axis=axis, keepdims=keepdims))
    kept = {"f": x.dtype, "c": f"f{x.dtype.itemsize // 2}"}.get(x.dtype.kind, "f8")
    return np.asarray(found, kept)


@pytest.mark.parametrize("ord", ORDERS)
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex64"])
def test_every_storage_has_the_norm_of_its_values(dtype, ord):
    rng = np.random.default_rng(0)
    x = (rng.integers(-4, 5, (5, 4)) * (rng.random((5, 4)) < 0.5)).astype(dtype)
    if dtype == "complex64":
        x = x * (3 + 4j).__class__(0.5 + 0.5j)
        x = x.astype(dtype)
    for axis in (None, 0, 1, -1, (0, 1)):
        for keepdims in (False, True):
            check_forward("norm", [x], reference, rtol=1e-6, ord=ord, axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("ord", [None, 1, np.inf])
def test_other_dimensions_and_empty_axes_have_norms(ord):
    rng = np.random.default_rng(1)
    for shape in ((), (4,), (2, 3, 2)):
        x = np.asarray(rng.integers(-3, 4, shape), float)
        check_forward("norm", [x], reference, rtol=1e-15, ord=ord)
    if ord != np.inf:
        for axis in (None, 0, 1):
            check_forward("norm", [np.zeros((0, 3))], reference, ord=ord, axis=axis)


def test_small_floats_do_not_overflow_on_the_way():
    x = so.csr_array(np.array([[3e4, 4e4]], np.float16).astype(np.float16))
    assert float(so.norm(x)) == pytest.approx(5e4, rel=1e-3)
    big = so.array(np.array([3e30, 4e30], np.float32))
    assert float(so.norm(big)) == pytest.approx(5e30, rel=1e-6)


def test_norms_match_those_of_numpy_for_vectors_and_frobenius():
    x = np.random.default_rng(2).standard_normal((4, 3))
    assert float(so.norm(so.array(x))) == pytest.approx(np.linalg.norm(x))
    for ord in (None, 1, 2, np.inf):
        np.testing.assert_allclose(
            densify(so.norm(so.array(x), ord=ord, axis=1)), np.linalg.norm(x, ord, axis=1)
        )


@pytest.mark.parametrize("ord", [None, 1, np.inf])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_gradients_agree_with_differences(ord, axis):
    x = np.array([[1.5, -2.0, 0.0], [0.0, 3.0, 0.75], [-1.0, 0.25, 7.0]])
    check_gradient("norm", [x], step=2.0**-12, ord=ord, axis=axis)


def test_the_gradient_of_a_norm_that_is_zero_is_zero():
    x = so.csr_array(([0.0, 3.0], [0, 1], [0, 1, 2]), (2, 2))
    with so.Tape() as tape:
        y = so.norm(x, axis=1)
    assert tape.gradient(y, x, output_gradients=so.array([1.0, 1.0])).data.tolist() == [0.0, 1.0]


def test_other_orders_are_refused():
    for ord in (0, 3, -np.inf, "nuc"):
        with pytest.raises(ValueError, match="ord="):
            so.norm(so.zeros((2, 2)), ord=ord)
    with pytest.raises(so.ShapeError, match="no largest value"):
        so.norm(so.zeros((0, 2)), ord=np.inf)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
def test_stored_places_are_counted_with_explicit_zeros(axis):
    rng = np.random.default_rng(3)
    x = np.where(rng.random((5, 4)) < 0.5, 1.0, 0)
    for stype in ("csr", "row_sparse"):
        given = stored(x, stype, extra=0.4, rng=np.random.default_rng(4))
        ones = so.NDArray(given.storage.with_data(np.ones(given.data.shape)), given.backend)
        found = so.nnz(given, axis=axis)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(densify(found), densify(ones).sum(axis=axis))
    with pytest.raises(so.StorageError, match="no signature of nnz fits"):
        so.nnz(so.zeros((2, 2)))


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (0, 3), (1, 1)])
def test_diagonals_are_those_of_numpy(shape):
    x = np.random.default_rng(5).integers(-3, 4, shape)
    for dtype in ("bool", "int8", "float16", "complex64"):
        check_forward("diagonal", [x.astype(dtype)], np.diagonal)
    check_gradient("diagonal", [x.astype(float)])
    with pytest.raises(so.ShapeError, match="two dimensions"):
        so.diagonal(so.zeros(3))


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64"])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_the_norm_of_many_values_is_right_whatever_their_size(dtype, scale):
    values = (np.arange(40_000) % 7 * scale).astype(dtype)
    values[30_000] = np.nan if scale == 1.0 else 0
    expected = np.sqrt(np.sum(np.abs(values.astype("complex128")) ** 2))
    np.testing.assert_allclose(so.norm(so.array(values)).item(), expected, rtol=1e-5)
