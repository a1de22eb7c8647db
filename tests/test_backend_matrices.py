"""What kernels are written on: matrices of the library and storages, without copies."""

import numpy as np
import pytest

import sparseops as so


@pytest.mark.parametrize("width", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f4", "c16"])
def test_matrices_share_memory_with_storages_both_ways(dtype, width):
    backend = so.get_backend()
    parts = (
        np.array([1, 2, 3]).astype(dtype),
        np.array([1, 0, 2], width),
        np.array([0, 1, 3], width),
    )
    x = so.CSR(*parts, (2, 3))
    matrix = backend.matrix(x)
    assert matrix.shape == (2, 3)
    assert matrix.has_canonical_format and matrix.has_sorted_indices
    assert type(matrix) is backend.sparse.csr_array
    again = backend.csr(matrix)
    for a, b in zip(x.parts, again.parts, strict=True):
        assert np.shares_memory(a, b)
        assert a.dtype == b.dtype
    plain = backend.sparse.csr_array((x.data, x.indices, x.indptr), shape=x.shape)
    np.testing.assert_array_equal(matrix.toarray(), plain.toarray())
    np.testing.assert_array_equal((matrix @ matrix.T).toarray(), (plain @ plain.T).toarray())


def test_matrices_of_scipy_become_canonical_storages():
    backend = so.get_backend()
    indptr = np.array([0, 3])
    matrix = backend.sparse.csr_array(
        (np.array([1, 2, 4, 9]), np.array([2, 0, 2, 1]), indptr), (1, 3)
    )
    matrix.has_canonical_format = False
    found = backend.csr(matrix)
    found.validate()
    assert (found.indices.tolist(), found.data.tolist()) == ([0, 2], [2, 5])
    assert backend.csr(backend.sparse.coo_array(np.eye(2))).data.tolist() == [1, 1]


def test_row_numbers_have_the_width_of_the_indices():
    for width in (np.int32, np.int64):
        x = so.CSR(np.ones(3), np.array([1, 0, 2], width), np.array([0, 1, 1, 3], width), (3, 3))
        ids = so.get_backend().row_ids(x)
        assert ids.tolist() == [0, 2, 2]
        assert ids.dtype == width


def test_values_without_memory_stand_for_a_structure():
    x = so.csr_array(([1.0, 2.0], ([1, 0], [0, 1])), (2, 2))
    found = so.get_backend().structure(x.storage, np.dtype("f4"))
    assert found.data.tolist() == [0, 0]
    assert found.data.dtype == np.float32
    assert found.data.strides == (0,)
    found.validate()
