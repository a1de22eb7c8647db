"""Every format of scipy.sparse is taken in whole: values, widths, duplicates, and its faults."""

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import assert_same

import sparseops as so

FORMATS = "bsr coo csc csr dia dok lil".split()
DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f4 f8 c8 c16".split()
VALUES = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 4], [5, 0, 6, 0]])
i4, i8 = np.int32, np.int64


def matrices(values):
    """`values` in every format, as array and as matrix."""
    for name in FORMATS:
        for kind in ("array", "matrix"):
            if name == "bsr":
                yield sp.bsr_array(values, blocksize=(2, 2))
            yield getattr(sp, f"{name}_{kind}")(values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_format_keeps_values_and_dtype(dtype):
    values = VALUES.astype(dtype)
    for matrix in matrices(values):
        for build in (so.array, so.asarray, so.csr_array):
            found = build(matrix)
            assert found.stype == "csr"
            assert_same(found, values)
        assert_same(so.row_sparse_array(matrix), values)
        assert_same(so.array(matrix, stype="dense"), values)
        np.testing.assert_array_equal(matrix.toarray(), values)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (2, 3)])
def test_every_format_may_be_empty(shape):
    for name in FORMATS:
        matrix = getattr(sp, f"{name}_array")(shape, dtype="f4")
        assert_same(so.csr_array(matrix), np.zeros(shape, "f4"))
        assert_same(so.row_sparse_array(matrix), np.zeros(shape, "f4"))


def test_a_class_of_ones_own_is_known_by_its_base():
    class Matrix(sp.csr_array):
        pass

    assert_same(so.asarray(Matrix(VALUES)), VALUES)


def twice(name, values, place=(1, 2)):
    """A matrix of shape (2, 4) that gives `values` for one place, in one of four formats."""
    row, col = np.full(len(values), place[0], i4), np.full(len(values), place[1], i4)
    if name == "coo":
        return sp.coo_array((values, (row, col)), shape=(2, 4))
    if name == "csr":
        indptr = np.searchsorted(row, np.arange(3)).astype(i4)
        return sp.csr_array((values, col, indptr), shape=(2, 4))
    if name == "csc":
        indptr = np.searchsorted(col, np.arange(5)).astype(i4)
        return sp.csc_array((values, row, indptr), shape=(2, 4))
    indptr = np.searchsorted(row, np.arange(3)).astype(i4)
    return sp.bsr_array((values[:, None, None], col, indptr), shape=(2, 4))


@pytest.mark.parametrize("name", ["coo", "csr", "csc", "bsr"])
def test_entries_that_stand_twice_are_added_without_wrapping(name):
    matrix = twice(name, np.array([100, 100, -100], "i1"))
    found = so.array(matrix)
    assert found.nnz == 1
    assert found.asnumpy()[1, 2] == 100
    matrix = twice(name, np.array([100, 100], "i1"))
    with pytest.raises(so.DTypeError, match=r"entry \(1, 2\) add up to about 200; int8 holds"):
        so.array(matrix)
    assert so.array(matrix, "i4").asnumpy()[1, 2] == 200
    assert so.csr_array(matrix, dtype="i4").asnumpy()[1, 2] == 200
    assert matrix.nnz == 2


@pytest.mark.parametrize("name", ["coo", "csr", "csc"])
def test_explicit_zeros_stay_stored(name):
    found = so.array(twice(name, np.array([0.0])))
    assert (found.nnz, found.indices.tolist()) == (1, [2])


def test_unsorted_columns_are_sorted_in_a_copy():
    indices = np.array([3, 1, 2, 0])
    matrix = sp.csr_array((np.array([1.0, 2.0, 3.0, 4.0]), indices, [0, 2, 4]), shape=(2, 4))
    assert_same(so.asarray(matrix), np.array([[0, 2, 0, 1], [4, 0, 3, 0]], float))
    assert matrix.indices.tolist() == [3, 1, 2, 0]
    assert not matrix.has_sorted_indices


@pytest.mark.parametrize("name", ["csr", "csc"])
def test_what_lies_behind_the_last_entry_is_left_out(name):
    matrix = getattr(sp, f"{name}_array")(VALUES.astype(float))
    nnz = matrix.nnz
    matrix.data = np.concatenate([matrix.data, [np.nan, 7]])
    matrix.indices = np.concatenate([matrix.indices, [-9, 99]]).astype(i4)
    found = so.asarray(matrix)
    assert_same(found, VALUES.astype(float))
    assert len(found.indices) == len(found.data) == nnz


@pytest.mark.parametrize("name", ["csr", "csc", "coo"])
@pytest.mark.parametrize("width", [i4, i8])
def test_index_widths_are_kept(name, width):
    matrix = getattr(sp, f"{name}_array")(VALUES)
    if name == "coo":
        matrix.coords = tuple(places.astype(width) for places in matrix.coords)
    else:
        matrix.indices = matrix.indices.astype(width)
        matrix.indptr = matrix.indptr.astype(width)
    found = so.array(matrix)
    assert found.indices.dtype == found.indptr.dtype == width
    assert_same(found, VALUES)


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4), (1, 1, 1, 2)])
@pytest.mark.parametrize("width", [i4, i8])
def test_arrays_of_other_dimensions_become_row_sparse(shape, width):
    rng = np.random.default_rng(0)
    places = tuple(rng.integers(0, n, 6).astype(width) for n in shape)
    data = np.array([1, 2, 4, 8, 16, 32], "i2")
    expected = np.zeros(shape, "i2")
    np.add.at(expected, places, data)
    matrix = sp.coo_array((data, places), shape)
    matrix.coords = places
    found = so.array(matrix)
    assert found.stype == "row_sparse"
    assert found.indices.dtype == width
    assert_same(found, expected)
    assert_same(so.array(matrix, "f4", stype="dense"), expected.astype("f4"))


@pytest.mark.parametrize("build", [sp.csr_array, sp.coo_array, sp.dok_array])
def test_vectors_become_row_sparse(build):
    values = np.array([0.0, 3.0, 0.0, 4.0])
    found = so.array(build(values))
    assert found.indices.tolist() == [1, 3]
    assert_same(found, values)


def test_a_vector_may_be_longer_than_memory():
    places = np.array([2**40, 3, 2**40])
    found = so.array(sp.coo_array((np.ones(3), (places,)), shape=(2**50,)))
    assert (found.indices.tolist(), found.data.tolist()) == ([3, 2**40], [1, 2])


def test_sums_that_would_wrap_are_refused_by_place_in_any_dimension():
    data = np.array([100, 100], "i1")
    for places in (([1, 1],), ([1, 1], [0, 0], [2, 2])):
        coo = sp.coo_array((data, places), shape=(3,) * len(places))
        name = r"row 1" if len(places) == 1 else r"entry \(1, 0, 2\)"
        with pytest.raises(so.DTypeError, match=f"{name} add up to about 200"):
            so.array(coo)
        assert so.array(coo, int).asnumpy().max() == 200


@pytest.mark.parametrize("name", ["csr", "csc"])
@pytest.mark.parametrize(
    "part, at, value, message",
    [
        ("indices", 1, 99, r"indices\[1\]=99, but there are 4"),
        ("indices", 0, -1, r"indices\[0\]=-1, but there are 4"),
        ("indptr", 1, 9, "indptr"),
        ("indptr", 0, 2, r"indptr\[0\]=2; it must be 0"),
        ("indptr", -1, 99, r"indptr\[4\]=99"),
        ("indptr", -1, -5, "indptr"),
    ],
)
def test_a_structure_that_somebody_broke_is_refused(name, part, at, value, message):
    matrix = getattr(sp, f"{name}_array")(VALUES.astype(float))
    getattr(matrix, part)[at] = value
    with pytest.raises(so.FormatError, match=message):
        so.array(matrix)


def test_coordinates_that_somebody_broke_are_refused():
    for value in (-1, 4):
        matrix = sp.coo_array(VALUES)
        matrix.coords[1][0] = value
        with pytest.raises(so.FormatError, match=rf"col\[0\]={value}, but shape is \(4, 4\)"):
            so.array(matrix)
        cube = sp.coo_array(VALUES.reshape(4, 2, 2))
        cube.coords[2][3] = value
        with pytest.raises(so.FormatError, match=rf"coords\[2\]\[3\]={value}"):
            so.array(cube)


def test_a_dtype_that_arrays_cannot_hold_is_refused_unless_another_is_asked_for():
    values = VALUES.astype("longdouble")
    for name in ("csr", "coo", "csc"):
        matrix = getattr(sp, f"{name}_array")(values)
        with pytest.raises(so.DTypeError, match="longdouble|float128"):
            so.array(matrix)
    with pytest.raises(so.DTypeError, match="complex"):
        so.array(sp.csr_array(VALUES * 1j), float)


def test_a_shape_beside_a_matrix_must_be_its_own():
    with pytest.raises(so.ShapeError, match=r"\(4, 4\), not \(4, 5\)"):
        so.csr_array(sp.csr_array(VALUES), shape=(4, 5))
