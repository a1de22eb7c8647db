"""Zeros store nothing that they need not, and random arrays have the density they are asked for."""

import numpy as np
import pytest
from oracle import STORAGES, assert_same, densify

import sparseops as so

i4, i8 = np.int32, np.int64


@pytest.mark.parametrize("dtype", "? i1 i8 u4 f2 f8 c8".split())
@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 3)])
def test_zeros_of_every_form(shape, dtype, stype):
    found = so.zeros(shape, dtype, stype=stype)
    assert found.stype == stype
    assert_same(found, np.zeros(shape, dtype))
    assert found.nnz == (found.size if stype == "dense" else 0)


def test_zeros_of_other_dimensions():
    for shape in ((), 3, [2], (1, 2, 3)):
        assert_same(so.zeros(shape), np.zeros(shape))
    for shape in (3, (2, 3, 4)):
        assert_same(so.zeros(shape, stype="row_sparse"), np.zeros(shape))
    for stype, shape in (("csr", 3), ("csr", ()), ("csr", (1, 2, 3)), ("row_sparse", ())):
        with pytest.raises(so.ShapeError):
            so.zeros(shape, stype=stype)


def test_zeros_are_float64_and_dense_unless_asked():
    assert so.zeros(2).spec == so.Spec(2, np.float64, "dense")


def test_sparse_zeros_are_as_wide_as_their_shape_needs():
    assert so.zeros((2, 3), stype="csr").indptr.dtype == i4
    assert so.zeros((2, 2**40), stype="csr").indices.dtype == i8
    assert so.zeros((2**62, 3), stype="row_sparse").indices.dtype == i8
    assert so.zeros((2**62, 3), stype="row_sparse").nbytes == 0


@pytest.mark.parametrize("options", [{"stype": "undefined"}, {"stype": "CSR"}, {"stype": None}])
def test_an_unknown_storage_is_refused(options):
    for make in (so.zeros, so.random):
        with pytest.raises(so.StorageError):
            make((2, 2), **options)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("density", [0, 0.1, 0.5, 1])
def test_random_values_are_many_and_lie_above_zero(dtype, density):
    for stype, stored in (("csr", 40), ("dense", 40), ("row_sparse", 8)):
        x = so.random((8, 5), density=density, stype=stype, dtype=dtype, rng=3)
        x.storage.validate()
        values = densify(x)
        assert values.dtype == dtype
        count = values.any(axis=1).sum() if stype == "row_sparse" else np.count_nonzero(values)
        assert count == round(density * stored)
        assert ((values >= 0) & (values <= 1)).all()


def test_random_values_are_never_zero():
    class Lowest(np.random.Generator):
        def random(self, size, dtype):
            return np.zeros(size, dtype)

    for stype in STORAGES:
        x = so.random((3, 2), density=1, stype=stype, rng=Lowest(np.random.PCG64(0)))
        assert densify(x).tolist() == np.ones((3, 2)).tolist()


def test_random_places_are_each_as_likely():
    rng = np.random.default_rng(0)
    counts = np.zeros((4, 6))
    for _ in range(300):
        counts += densify(so.random((4, 6), density=0.25, rng=rng)) > 0
    assert counts.sum() == 300 * 6
    assert (abs(counts - 75) < 40).all()


def test_the_same_seed_gives_the_same_array():
    for stype in STORAGES:
        a, b = (so.random((9, 4), density=0.4, stype=stype, rng=5) for _ in range(2))
        np.testing.assert_array_equal(densify(a), densify(b))
        rng = np.random.default_rng(5)
        np.testing.assert_array_equal(
            densify(so.random((9, 4), density=0.4, stype=stype, rng=rng)), densify(a)
        )
        assert not np.array_equal(
            densify(so.random((9, 4), density=0.4, stype=stype, rng=rng)), densify(a)
        )


def test_random_indices_are_as_narrow_as_fits():
    for stype in ("csr", "row_sparse"):
        assert so.random((9, 4), density=0.5, stype=stype).indices.dtype == i4
    assert so.random((2, 2**40), density=2**-39, rng=0).indices.dtype == i8
    assert so.random((2**40, 2), density=2**-39, stype="row_sparse").indices.dtype == i8


def test_random_draws_a_few_places_of_very_many():
    x = so.random((1000, 2**52), density=2**-58, rng=1)
    x.storage.validate()
    assert x.nnz == round(1000 * 2**-6)
    assert x.indices.max() > 2**50


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_random_arrays_may_be_empty(shape):
    for stype in STORAGES:
        x = so.random(shape, density=1, stype=stype)
        assert_same(x, np.zeros(shape))


def test_random_arrays_of_other_dimensions():
    assert so.random((), density=1, stype="dense").item() > 0
    assert so.random(4, density=0.5, stype="row_sparse", rng=0).nnz == 2
    assert so.random((4, 2, 3), density=0.5, stype="row_sparse", rng=0).nnz == 12
    with pytest.raises(so.ShapeError):
        so.random(4)


@pytest.mark.parametrize("density", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_density_lies_between_none_and_all(density):
    with pytest.raises(ValueError, match=r"lie in \[0, 1\]"):
        so.random((2, 2), density=density)


@pytest.mark.parametrize("dtype", ["i4", "?", "c8", "O"])
def test_random_values_are_real_floating_numbers(dtype):
    with pytest.raises(so.DTypeError):
        so.random((2, 2), dtype=dtype)
