"""Whatever describes an array becomes that array; all else is refused by its first fault."""

import array as python_array

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import STORAGES, assert_same

import sparseops as so

i4, i8 = np.int32, np.int64
DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
MATRIX = np.array([[0, 1, 0, 3], [0, 0, 0, 0], [2, 0, 0, 0]])


def views(values):
    """The same values in memory of every kind."""
    wide = np.repeat(np.repeat(values, 2, 0), 3, 1)
    frozen = values.copy()
    frozen.setflags(write=False)
    return {
        "plain": values,
        "fortran": np.asfortranarray(values),
        "strided": wide[::2, ::3],
        "reversed": values[::-1, ::-1].copy()[::-1, ::-1],
        "transposed": values.T.copy().T,
        "foreign": values.astype(values.dtype.newbyteorder(">")),
        "frozen": frozen,
        "subclass": values.view(np.matrix),
    }


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stype", STORAGES)
def test_arrays_of_numpy_keep_values_and_dtype_in_every_storage(dtype, stype):
    for values in views(MATRIX.astype(dtype)).values():
        for build in (so.array, so.asarray):
            found = build(values, stype=stype)
            assert found.stype == stype
            assert found.dtype.isnative
            assert_same(found, MATRIX.astype(dtype))
    assert_same(so.csr_array(values), MATRIX.astype(dtype))
    assert_same(so.row_sparse_array(values), MATRIX.astype(dtype))


@pytest.mark.parametrize(
    "obj",
    [
        *(3, 2.5, 1j, True, -0.0, float("nan"), 2**63, np.float32(1.5), np.bool_(False)),
        *([], [[]], [[], []], [1, 2.5], [True, 2], [[1, 2], [3, 4j]], (1, (2)), range(3)),
        *(np.array(7), np.zeros((0, 3)), np.zeros((2, 0, 3)), np.ones((1, 1, 1, 1))),
        *(python_array.array("h", [1, 2]), memoryview(b"ab"), bytearray(b"abc")),
        *([np.float32(1), 2], [np.array([1, 2]), [3, 4]], np.broadcast_to(1.0, (2, 3))),
    ],
    ids=repr,
)
def test_what_numpy_takes_in_is_taken_in_as_numpy_does(obj):
    assert_same(so.array(obj), np.array(obj))
    assert_same(so.asarray(obj), np.array(obj))


@pytest.mark.parametrize(
    "obj, error",
    [
        *((None, so.DTypeError), ("1", so.DTypeError), (b"1", so.DTypeError)),
        *(({1: 2}, so.DTypeError), ({1}, so.DTypeError), (object(), so.DTypeError)),
        *(((n for n in "ab"), so.DTypeError), (["1", 2], so.DTypeError), ([None], so.DTypeError)),
        *(([1, [2]], so.ShapeError), ([[1, 2], [3]], so.ShapeError), ([2**64], so.DTypeError)),
        (np.array([1], "O"), so.DTypeError),
        (np.array(["a"]), so.DTypeError),
        (np.zeros(2, "i4,f4"), so.DTypeError),
        (np.zeros(2, "M8[s]"), so.DTypeError),
        (np.zeros(2, "m8[s]"), so.DTypeError),
        (np.zeros(2, "V4"), so.DTypeError),
        (np.zeros(2, "longdouble"), so.DTypeError),
        (np.zeros(2, "clongdouble"), so.DTypeError),
        (np.ma.array([1, 2], mask=[True, False]), so.DTypeError),
        ([so.csr_array([[1]])], so.StorageError),
    ],
    ids=repr,
)
def test_what_is_no_array_of_numbers_is_refused(obj, error):
    for build in (so.array, so.asarray, so.csr_array, so.row_sparse_array):
        with pytest.raises(error):
            build(obj)
    with pytest.raises(error):
        so.csr_array((obj, [0], [0, 1]), shape=(1, 1))
    with pytest.raises(error):
        so.row_sparse_array((obj, [0]), shape=(1, 1))


# dtype=


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.filterwarnings("error")
def test_dtype_converts_as_numpy_does_but_never_drops_an_imaginary_part(source, dtype):
    values = np.array([[0, 1], [2, 0]]).astype(source)
    given = {
        "numpy": values,
        "list": values.tolist(),
        "dense": so.array(values),
        "csr": so.csr_array(values),
        "row_sparse": so.row_sparse_array(values),
    }
    for obj in given.values():
        if values.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":
            with pytest.raises(so.DTypeError, match="complex"):
                so.array(obj, dtype)
        else:
            assert_same(so.array(obj, dtype), values.astype(dtype))
            assert_same(so.csr_array(obj, dtype=dtype), values.astype(dtype))
            assert_same(so.row_sparse_array(obj, dtype=dtype), values.astype(dtype))


@pytest.mark.parametrize(
    "obj, dtype",
    [([300], "i1"), (-1, "u8"), ([[2**40]], "i4"), ([np.nan], "i4"), ([1e300], "i8"), (256, "u1")],
    ids=repr,
)
def test_a_number_of_python_that_does_not_fit_is_refused(obj, dtype):
    with pytest.raises(so.DTypeError, match=f"do not fit {np.dtype(dtype)}"):
        so.array(obj, dtype)


# (data, indices, indptr), (data, (row, col)) and (data, indices)


@st.composite
def coordinates(draw):
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    count = draw(st.integers(0, 8))

    def some(high):
        return np.array(draw(st.lists(high, min_size=count, max_size=count)), int)

    row, col = some(st.integers(0, shape[0] - 1)), some(st.integers(0, shape[1] - 1))
    return some(st.integers(-4, 4)), row, col, shape


@settings(max_examples=60)
@given(coordinates(), st.sampled_from(["i1", "f2", "f4", "c16", "u2", "?"]))
def test_places_in_any_order_become_one_canonical_array(entries, dtype):
    data, row, col, shape = entries
    data = (abs(data) if dtype == "u2" else data).astype(dtype)
    expected = np.zeros(shape, data.dtype)
    np.add.at(expected, (row, col), data)
    inputs = [part.copy() for part in (data, row, col)]
    assert_same(so.csr_array((data, (row, col)), shape), expected)
    order = np.argsort(row, kind="stable")
    indptr = np.searchsorted(row[order], np.arange(shape[0] + 1))
    assert_same(so.csr_array((data[order], col[order], indptr), shape), expected)
    rows = np.zeros((shape[0], 2), data.dtype)
    np.add.at(rows, row, np.stack([data, data], axis=1))
    assert_same(so.row_sparse_array((np.stack([data, data], axis=1), row), rows.shape), rows)
    for part, before in zip((data, row, col), inputs, strict=True):
        np.testing.assert_array_equal(part, before)


def test_the_shape_is_what_the_indices_need():
    assert so.csr_array(([1, 2], ([0, 3], [5, 1]))).shape == (4, 6)
    assert so.csr_array(([1, 2], [4, 0], [0, 1, 1, 2])).shape == (3, 5)
    assert so.row_sparse_array(([[1, 2], [3, 4]], [7, 0])).shape == (8, 2)
    assert so.row_sparse_array(([1, 2], [7, 0])).shape == (8,)


def test_a_shape_that_nothing_tells_is_asked_for():
    for build, parts, shape in (
        (so.csr_array, ([], [], [0]), (0, 3)),
        (so.csr_array, ([], ([], [])), (2, 3)),
        (so.row_sparse_array, (np.zeros((0, 2)), []), (3, 2)),
    ):
        with pytest.raises(so.ShapeError, match="give shape="):
            build(parts)
        assert_same(build(parts, shape), np.zeros(shape))


def test_empty_parts_may_be_of_any_dtype_but_not_of_any_dimension():
    for empty in ([], (), np.zeros(0), np.zeros(0, "i8"), np.zeros(0, "u1"), range(0)):
        assert_same(so.csr_array(([], empty, [0, 0]), (1, 2)), np.zeros((1, 2)))
        assert_same(so.csr_array(([], (empty, empty)), (1, 2)), np.zeros((1, 2)))
        assert_same(so.row_sparse_array(([], empty), (3,)), np.zeros(3))
    for empty in ([[]], np.zeros((0, 2), int), np.zeros((2, 0))):
        with pytest.raises(so.FormatError, match="indices has 2 dimensions; it must have 1"):
            so.row_sparse_array(([], empty), (3,))


FAULTS = {
    "column": (([1], [4], [0, 1]), (1, 4), r"indices\[0\]=4, but there are 4 columns"),
    "negative column": (([1, 2], [1, -2], [0, 2]), None, r"indices\[1\]=-2"),
    "negative alone": (([1], [-2], [0, 1]), None, r"indices\[0\]=-2"),
    "indptr empty": (([], [], []), (0, 2), "indptr is empty; its first entry is 0"),
    "indptr empty, no shape": (([], [], []), None, "indptr is empty"),
    "indptr start": (([1], [0], [1, 1]), (1, 2), r"indptr\[0\]=1; it must be 0"),
    "indptr fall": (([1, 2], [0, 1], [0, 2, 1]), (2, 2), r"indptr\[2\]=1, below indptr\[1\]=2"),
    "slack": (([1, 2], [0, 1], [0, 1]), (1, 2), r"indptr\[1\]=1, but there are 2 indices"),
    "rows": (([1], [0], [0, 1]), (2, 2), "indptr has 2 entries; 2 rows need 3"),
    "data short": (([1], [0, 1], [0, 2]), (1, 2), r"data has shape \(1,\)"),
    "data a number": ((1, [0], [0, 1]), (1, 2), r"data has shape \(\)"),
    "row": (([1], ([5], [0])), (2, 2), r"row\[0\]=5, but shape is \(2, 2\)"),
    "negative row": (([1, 1], ([0, -1], [0, 0])), None, r"row\[1\]=-1"),
    "col": (([1], ([0], [2])), (2, 2), r"col\[0\]=2, but shape is \(2, 2\)"),
    "lengths": (([1, 2], ([0], [0])), (2, 2), r"data has shape \(2,\) and row \(1,\)"),
    "lengths of places": (([1], ([0], [0, 1])), (2, 2), r"data has shape \(1,\) and col \(2,\)"),
    "three places": (([1], ([0], [0], [0])), (2, 2), "3 index arrays"),
    "floating": (([1], [0.0], [0, 1]), (1, 2), "indices has dtype float64; it must hold integers"),
    "boolean": (([1], ([True], [0])), (1, 2), "row has dtype bool"),
    "text": (([1], (["0"], [0])), (1, 2), "row has dtype <U1"),
    "objects": (([1], [None], [0, 1]), (1, 2), "indices has dtype object"),
    "ragged": (([1], [[0], [0, 1]], [0, 1]), (1, 2), "indices is not an array of integers"),
    "dimensions": (([1], [[0]], [0, 1]), (1, 2), "indices has 2 dimensions; it must have 1"),
    "a number": (([1], 0, [0, 1]), (1, 2), "indices has 0 dimensions"),
    "uint64": (([1], np.array([2**63], "u8"), [0, 1]), (1, 2), "9223372036854775808, above int64"),
    "too large": (([1], [2**64], [0, 1]), (1, 2), "indices has dtype object"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_csr_structure_is_refused_by_its_fault(fault):
    parts, shape, message = FAULTS[fault]
    with pytest.raises(so.FormatError, match=message):
        so.csr_array(parts, shape)


@pytest.mark.parametrize(
    "parts, shape, error, message",
    [
        (([[1]], [3]), (3, 1), so.FormatError, r"indices\[0\]=3, but there are 3 rows"),
        (([[1], [2]], [0, -1]), None, so.FormatError, r"indices\[1\]=-1"),
        (([[1]], [0, 1]), (3, 1), so.FormatError, r"need \(2, 1\)"),
        (([[1, 2]], [0]), (3, 1), so.FormatError, r"need \(1, 1\)"),
        (([1], [0]), (3, 1), so.FormatError, r"need \(1, 1\)"),
        ((1, [0]), (3,), so.ShapeError, "data are whole rows"),
        (([1], [0.5]), (3,), so.FormatError, "indices has dtype float64"),
        (([1], [0]), (), so.ShapeError, "at least 1 dimension"),
        (([1], [0]), (-3,), so.ShapeError, r"shape\[0\]=-3"),
    ],
)
def test_a_broken_row_sparse_structure_is_refused_by_its_fault(parts, shape, error, message):
    with pytest.raises(error, match=message):
        so.row_sparse_array(parts, shape)


@pytest.mark.parametrize("shape", [(2,), (1, 2, 3), 5, (), (-1, 2), (2.0, 2), "22", (2, 2**63)])
def test_a_csr_shape_is_two_lengths(shape):
    for obj in (([1], [0], [0, 1]), ([1], ([0], [0])), [[1]]):
        with pytest.raises(so.ShapeError):
            so.csr_array(obj, shape)


def test_a_shape_beside_values_must_be_theirs():
    for build in (so.csr_array, so.row_sparse_array):
        for obj in ([[1, 2]], so.array([[1, 2]]), np.ones((1, 2))):
            assert build(obj, shape=(1, 2)).shape == build(obj, [1, 2]).shape == (1, 2)
            with pytest.raises(
                so.ShapeError, match=r"the values have shape \(1, 2\), not \(2, 1\)"
            ):
                build(obj, shape=(2, 1))
        assert build([[1]], shape=iter((1, 1))).shape == (1, 1)
    assert so.csr_array(([1], [0], [0, 1]), shape=iter((1, 3))).shape == (1, 3)


@pytest.mark.parametrize("stype", ["CSR", "coo", "undefined", 3, []])
def test_a_storage_that_no_array_has_is_refused(stype):
    for obj in (MATRIX, MATRIX.tolist(), so.array(MATRIX), so.csr_array(MATRIX)):
        with pytest.raises(so.StorageError):
            so.array(obj, stype=stype)


@pytest.mark.parametrize("shape", [(), (3,), (1, 2, 3)])
def test_only_matrices_become_csr(shape):
    for build in (lambda x: so.array(x, stype="csr"), so.csr_array):
        with pytest.raises(so.ShapeError, match="csr has 2"):
            build(np.ones(shape))
    if shape:
        assert_same(so.row_sparse_array(np.ones(shape)), np.ones(shape))
