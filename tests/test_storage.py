"""A structure is refused at its first fault, by part, position, value and limit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparseops as so
from sparseops.spec import StorageType
from sparseops.storage import index_dtype

i4, i8 = np.int32, np.int64


def csr(data, indices, indptr, shape, width=i4):
    return so.CSR(np.array(data, float), np.array(indices, width), np.array(indptr, width), shape)


def rows(data, indices, shape, width=i4):
    return so.RowSparse(np.array(data, float), np.array(indices, width), shape)


# Every fault of a structure: the storage, the part at fault, what the message says.
BROKEN = {
    "column too large": (
        csr([1, 2, 3], [0, 4, 1], [0, 2, 3], (2, 4)),
        ("indices", r"indices\[1\]=4, but there are 4 columns"),
    ),
    "column negative": (
        csr([1, 2, 3], [0, 2, -1], [0, 2, 3], (2, 4)),
        ("indices", r"indices\[2\]=-1, but there are 4 columns"),
    ),
    "columns descend": (
        csr([1, 2, 3], [0, 3, 2], [0, 1, 3], (2, 4)),
        ("indices", r"indices\[2\]=2, not above indices\[1\]=3 in the same row"),
    ),
    "column twice": (
        csr([1, 2, 3], [1, 0, 0], [0, 1, 3], (2, 4)),
        ("indices", r"indices\[2\]=0, not above indices\[1\]=0 in the same row"),
    ),
    "no columns": (
        csr([1], [0], [0, 1], (1, 0)),
        ("indices", r"indices\[0\]=0, but there are 0 columns"),
    ),
    "indptr short": (
        csr([1], [0], [0, 1], (2, 4)),
        ("indptr", "indptr has 2 entries; 2 rows need 3"),
    ),
    "indptr long": (
        csr([1], [0], [0, 1, 1, 1], (2, 4)),
        ("indptr", "indptr has 4 entries; 2 rows need 3"),
    ),
    "indptr empty": (csr([], [], [], (0, 4)), ("indptr", "indptr has 0 entries; 0 rows need 1")),
    "indptr starts late": (
        csr([1, 2], [0, 1], [1, 2], (1, 4)),
        ("indptr", r"indptr\[0\]=1; it must be 0"),
    ),
    "indptr decreases": (
        csr([1, 2], [0, 1], [0, 2, 1, 2], (3, 4)),
        ("indptr", r"indptr\[2\]=1, below indptr\[1\]=2; it must not decrease"),
    ),
    "indptr negative": (
        csr([1], [0], [0, -1, 1], (2, 4)),
        ("indptr", r"indptr\[1\]=-1, below indptr\[0\]=0"),
    ),
    "slack": (
        csr([1, 2, 3], [0, 1, 2], [0, 1, 2], (2, 4)),
        ("indptr", r"indptr\[2\]=2, but there are 3 indices"),
    ),
    "indptr ends late": (
        csr([1, 2, 3], [0, 1, 2], [0, 1, 4], (2, 4)),
        ("indptr", r"indptr\[2\]=4, but there are 3 indices"),
    ),
    "values missing": (
        csr([1], [0, 1], [0, 2], (1, 4)),
        ("data", r"data has shape \(1,\), but there are 2 indices"),
    ),
    "values of two dimensions": (csr([[1]], [0], [0, 1], (1, 4)), ("data", r"shape \(1, 1\)")),
    "csr indices of two dimensions": (
        csr([1], [[0]], [0, 1], (1, 4)),
        ("indices", r"indices is int32\[1, 1\]; it must be 1-D, int32 or int64"),
    ),
    "indptr floating": (
        so.CSR(np.ones(1), np.zeros(1, i4), np.array([0.0, 1.0]), (1, 4)),
        ("indptr", r"indptr is float64\[2\]; it must be 1-D, int32 or int64"),
    ),
    "indices unsigned": (
        so.CSR(np.ones(1), np.zeros(1, "u4"), np.array([0, 1], i4), (1, 4)),
        ("indices", r"indices is uint32\[1\]"),
    ),
    "indices foreign": (
        so.CSR(np.ones(1), np.zeros(1, ">i4"), np.array([0, 1], i4), (1, 4)),
        ("indices", r"indices is >i4\[1\]"),
    ),
    "indices a list": (
        so.CSR(np.ones(1), [0], np.array([0, 1], i4), (1, 4)),
        ("indices", "indices is <class 'list'>"),
    ),
    "data a list": (
        so.CSR([1.0], np.zeros(1, i4), np.array([0, 1], i4), (1, 4)),
        ("data", "data is <class 'list'>"),
    ),
    "two widths": (
        so.CSR(np.ones(1), np.zeros(1, i8), np.array([0, 1], i4), (1, 4)),
        (None, "indptr is int32 and indices int64; they share one width"),
    ),
    "row too large": (
        rows([[1], [2]], [0, 3], (3, 1)),
        ("indices", r"indices\[1\]=3, but there are 3 rows"),
    ),
    "row negative": (
        rows([[1], [2]], [-2, 1], (3, 1)),
        ("indices", r"indices\[0\]=-2, but there are 3 rows"),
    ),
    "rows descend": (
        rows([[1], [2], [3]], [0, 2, 1], (3, 1)),
        ("indices", r"indices\[2\]=1, not above indices\[1\]=2"),
    ),
    "row twice": (
        rows([[1], [2]], [1, 1], (3, 1)),
        ("indices", r"indices\[1\]=1, not above indices\[0\]=1"),
    ),
    "rows missing": (
        rows([[1]], [0, 1], (3, 1)),
        ("data", r"data has shape \(1, 1\); 2 indices in an array of shape \(3, 1\) need \(2, 1\)"),
    ),
    "rows of another length": (rows([[1, 2]], [0], (3, 1)), ("data", r"need \(1, 1\)")),
    "no rows": (rows([[1]], [0], (0, 1)), ("indices", r"indices\[0\]=0, but there are 0 rows")),
    "row numbers of no dimension": (rows([1], 0, (3,)), ("indices", r"indices is int32\[\]")),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_structure_is_refused_by_part_position_value_and_limit(fault):
    storage, (slot, message) = BROKEN[fault]
    with pytest.raises(so.FormatError, match=message) as caught:
        storage.validate()
    assert caught.value.slot == slot


@pytest.mark.parametrize(
    "storage, error",
    [
        (csr([1], [0], [0, 1], (1,)), so.ShapeError),
        (csr([1], [0], [0, 1], (1, 2, 3)), so.ShapeError),
        (csr([1], [0], [0], (-1, 2)), so.ShapeError),
        (rows(1, [], ()), so.ShapeError),
        (csr([1], [0], [0, 1], (1, 4)).with_data(np.array(["a"])), so.DTypeError),
        (rows([1], [0], (4,)).with_data(np.array([1], ">f4")[:0]), so.FormatError),
    ],
)
def test_a_shape_or_dtype_that_no_array_has_is_refused(storage, error):
    with pytest.raises(error):
        storage.validate()


@pytest.mark.parametrize("width", [i4, i8])
def test_canonical_structures_pass(width):
    for storage in (
        csr([], [], [0], (0, 0), width),
        csr([], [], [0], (0, 3), width),
        csr([], [], [0, 0, 0], (2, 0), width),
        csr([0, 0], [0, 3], [0, 2], (1, 4), width),
        csr([1, 2, 3, 4], [3, 0, 1, 2], [0, 0, 1, 1, 4, 4], (5, 4), width),
        rows(np.zeros((0, 2)), [], (0, 2), width),
        rows(np.zeros((2, 0)), [0, 4], (5, 0), width),
        rows(np.zeros((2, 3, 1)), [3, 4], (5, 3, 1), width),
        rows([0.0], [0], (1,), width),
        so.Dense(np.array(1.0)),
    ):
        storage.validate()


def ascends(indices):
    return all(a < b for a, b in zip(indices, indices[1:], strict=False))


def is_csr(indices, indptr, shape):
    """Whether a csr structure is canonical, by the definition and a loop."""
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or indptr[-1] != len(indices):
        return False
    if any(a > b for a, b in zip(indptr, indptr[1:], strict=False)):
        return False
    starts_and_ends = zip(indptr, indptr[1:], strict=False)
    return all(0 <= j < shape[1] for j in indices) and all(
        ascends(indices[start:end]) for start, end in starts_and_ends
    )


@settings(max_examples=300)
@given(
    st.lists(st.integers(-1, 3), max_size=4),
    st.lists(st.integers(-1, 5), min_size=1, max_size=4),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_exactly_the_canonical_csr_structures_pass(indices, indptr, shape):
    storage = csr(np.ones(len(indices)), indices, indptr, shape)
    try:
        storage.validate()
    except so.FormatError:
        assert not is_csr(indices, indptr, shape)
    else:
        assert is_csr(indices, indptr, shape)


@given(st.lists(st.integers(-1, 3), max_size=4), st.integers(0, 3))
def test_exactly_the_canonical_row_sparse_structures_pass(indices, length):
    try:
        rows(np.ones(len(indices)), indices, (length,)).validate()
    except so.FormatError:
        canonical = False
    else:
        canonical = True
    assert canonical == (ascends(indices) and all(0 <= i < length for i in indices))


def test_a_storage_tells_its_parts_in_the_order_of_mxnet():
    matrix, several = csr([1, 2], [0, 1], [0, 2], (1, 4)), rows([[1, 2]], [1], (4, 2))
    assert [p.tolist() for p in matrix.parts] == [[1, 2], [0, 2], [0, 1]]
    assert [p.tolist() for p in several.parts] == [[[1, 2]], [1]]
    for storage in (matrix, several, so.Dense(np.ones((2, 1)))):
        assert storage.aux == StorageType(storage.stype).aux
        assert storage.nbytes == sum(part.nbytes for part in storage.parts)
        assert storage.stored_shape == storage.data.shape
        assert storage.spec == so.Spec(storage.shape, storage.dtype, storage.stype)


def test_other_values_take_the_same_structure():
    matrix, several = csr([1, 2], [0, 1], [0, 2], (1, 4)), rows([[1, 2]], [1], (4, 2))
    for storage in (matrix, several):
        values = np.zeros(storage.stored_shape, "i1")
        other = storage.with_data(values)
        assert type(other) is type(storage)
        assert other.data is values
        assert all(getattr(other, n) is getattr(storage, n) for n in storage.aux)
        assert (other.shape, other.dtype) == (storage.shape, np.int8)


def test_a_storage_prints_its_parts():
    assert repr(rows([1], [2], (4,))) == (
        "RowSparse(data=array([1.]), indices=array([2], dtype=int32), shape=(4,))"
    )
    assert repr(so.Dense(np.array(1))) == "Dense(data=array(1), shape=())"


def test_indices_are_narrow_while_everything_fits():
    assert index_dtype() == index_dtype(0) == index_dtype(5, 2**31 - 1) == np.int32
    assert index_dtype(2**31) == index_dtype(3, 2**62) == np.int64
