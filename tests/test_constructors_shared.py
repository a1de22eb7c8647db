"""What is given is shared where nothing has to change, and is never changed itself."""

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import STORAGES, densify

import sparseops as so

i4 = np.int32


def given():
    """Builders of an array from arrays of the user's own, which they return too, by storage."""
    dense = np.array([[0.0, 1.0], [2.0, 0.0]])
    data, indices, indptr = np.array([1.0, 2.0]), np.array([1, 0], i4), np.array([0, 1, 2], i4)
    matrix = sp.csr_array((data.copy(), indices.copy(), indptr.copy()), shape=(2, 2))
    rows, ids = np.array([[0.0, 1.0], [2.0, 0.0]]), np.array([0, 1], i4)
    return {
        "dense": (so.asarray(dense), [dense]),
        "csr": (so.csr_array((data, indices, indptr), (2, 2)), [data, indptr, indices]),
        "scipy": (so.asarray(matrix), [matrix.data, matrix.indptr, matrix.indices]),
        "row_sparse": (so.row_sparse_array((rows, ids)), [rows, ids]),
    }


CASES = [*STORAGES, "scipy"]


@pytest.mark.parametrize("case", CASES)
def test_values_are_shared_and_a_structure_that_others_can_write_is_not(case):
    x, (values, *structure) = given()[case]
    assert np.shares_memory(x.data, values)
    assert not any(np.shares_memory(a, b) for a in x.aux.values() for b in structure)


def test_a_structure_that_nobody_can_write_is_shared():
    parts = np.array([1.0, 2.0]), np.array([1, 0], i4), np.array([0, 1, 2], i4)
    for part in parts:
        part.setflags(write=False)
    x = so.csr_array(parts, (2, 2))
    assert np.shares_memory(x.indices, parts[1]) and np.shares_memory(x.indptr, parts[2])
    again = so.csr_array((x.data, x.indices, x.indptr), (2, 2))
    assert np.shares_memory(again.indices, x.indices)


def test_what_scipy_does_in_place_leaves_the_structure_alone():
    matrix = sp.csr_array(np.eye(3))
    x = so.csr_array(matrix)
    matrix.indices[:] = 10**9
    matrix.indptr[:] = 10**9
    assert so.dot(x, np.ones(3)).asnumpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("case", CASES)
def test_the_users_arrays_keep_their_flags(case):
    _, parts = given()[case]
    assert all(part.flags.writeable for part in parts)


@pytest.mark.parametrize("case", CASES)
def test_the_users_arrays_never_change(case):
    x, parts = given()[case]
    before = [part.copy() for part in parts]
    for value in ([[5.0, 6.0], [7.0, 8.0]], so.zeros((2, 2)), so.csr_array([[0.0, 3.0], [4.0, 0]])):
        x[...] = value
        np.testing.assert_array_equal(densify(x), densify(so.array(value)))
    with x.writing() as data:
        data[...] = 9
    for part, old in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, old)
        assert part.flags.writeable


def test_read_only_and_mapped_memory_is_taken_as_it_is(tmp_path):
    frozen = np.arange(3.0)
    frozen.setflags(write=False)
    np.save(tmp_path / "x.npy", np.arange(3.0))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for values in (frozen, mapped, np.broadcast_to(2.0, 3)):
        x = so.asarray(values)
        assert np.shares_memory(x.data, values)
        before = values.copy()
        x[0] = 7
        assert x.asnumpy()[0] == 7
        np.testing.assert_array_equal(values, before)
        assert not values.flags.writeable


def test_a_writable_map_is_not_written_through(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r+")
    x = so.asarray(mapped)
    x[...] = 5
    mapped.flush()
    assert np.load(tmp_path / "x.npy").tolist() == [0, 0, 0]
    assert mapped.flags.writeable


def test_what_must_change_is_copied():
    data, indices, indptr = np.array([1, 2]), np.array([1, 0], i4), np.array([0, 2], i4)
    x = so.csr_array((data, indices, indptr), (1, 2))
    assert x.indices.tolist() == [0, 1]
    assert (data.tolist(), indices.tolist(), indptr.tolist()) == ([1, 2], [1, 0], [0, 2])
    assert not np.shares_memory(x.data, data)
    foreign = np.zeros(3, ">f8")
    assert not np.shares_memory(so.asarray(foreign).data, foreign)


@pytest.mark.parametrize("stype", STORAGES)
def test_array_copies_what_asarray_shares(stype):
    values = np.array([[0.0, 1.0], [2.0, 0.0]])
    x = so.array(values, stype=stype)
    values[...] = 9
    assert densify(x).tolist() == [[0, 1], [2, 0]]
    y = so.array(x)
    assert y is not x
    assert not any(np.shares_memory(a, b) for a, b in zip(parts(x), parts(y), strict=True))
    assert so.asarray(x) is x
    assert so.asarray(x, float, stype=stype) is x
    assert x.tostype(stype) is x


def parts(x):
    return [x.data, *x.aux.values()]


@pytest.mark.parametrize("stype", STORAGES)
def test_array_copies_the_parts_of_an_array_that_shares(stype):
    values = np.array([[0.0, 1.0], [2.0, 0.0]])
    matrix = sp.csr_array(values)
    for source in (values, matrix):
        y = so.array(so.asarray(source), stype=stype)
        values[...], matrix.data[...] = 7, 7
        assert densify(y).tolist() == [[0, 1], [2, 0]]
        values[...] = [[0, 1], [2, 0]]
        matrix.data[...] = [1, 2]


def test_a_change_of_dtype_alone_never_shares_values():
    x = so.csr_array([[0.0, 1.0]])
    for y in (so.asarray(x, "f4"), so.array(x, "f4"), x.astype("f8")):
        assert not np.shares_memory(x.data, y.data)


def test_parts_of_one_array_build_another_that_is_independent():
    x = so.csr_array([[0.0, 1.0], [2.0, 0.0]])
    y = so.csr_array((x.data, x.indices, x.indptr), x.shape)
    assert np.shares_memory(x.data, y.data)
    y[...] = [[3.0, 0.0], [0.0, 0.0]]
    assert densify(x).tolist() == [[0, 1], [2, 0]]
    x[...] = np.zeros((2, 2))
    assert densify(y).tolist() == [[3, 0], [0, 0]]


def test_an_array_is_no_values_of_another():
    with pytest.raises(so.StorageError, match="give its .data"):
        so.csr_array((so.array([1.0]), [0], [0, 1]))
    with pytest.raises(so.StorageError, match="give its .data"):
        so.row_sparse_array((so.array([1.0]), [0]))


def test_arrays_may_be_indices():
    ids = so.array([3, 1])
    assert so.row_sparse_array(([1.0, 2.0], ids)).indices.tolist() == [1, 3]
    assert so.csr_array(([1.0, 2.0], (ids, ids))).shape == (4, 4)
    with pytest.raises(so.FormatError, match="float64"):
        so.row_sparse_array(([1.0], so.array([0.0])))
