"""Canonical form: in order, each place once, and no value lost in silence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparseops as so
from sparseops.storage import merged

i4, i8 = np.int32, np.int64
INTEGERS = "i1 i2 i4 i8 u1 u2 u4 u8".split()


def csr(data, indices, indptr, shape, width=i4):
    return so.CSR(np.array(data, float), np.array(indices, width), np.array(indptr, width), shape)


def rows(data, indices, shape, width=i4):
    return so.RowSparse(np.array(data, float), np.array(indices, width), shape)


@settings(max_examples=100)
@given(st.data(), st.sampled_from([i4, i8]))
def test_entries_are_sorted_and_those_of_one_place_added_up(data, width):
    shape = data.draw(st.tuples(st.integers(0, 4), st.integers(1, 4)))
    columns = [
        data.draw(st.lists(st.integers(0, shape[1] - 1), max_size=5)) for _ in range(shape[0])
    ]
    indptr = np.cumsum([0, *map(len, columns)]).astype(width)
    indices = np.array(sum(columns, []), width)
    values = np.array(
        data.draw(st.lists(st.integers(-4, 4), min_size=len(indices), max_size=len(indices))), "f4"
    )
    for part in (values, indices, indptr):
        part.setflags(write=False)
    found = so.CSR(values, indices, indptr, shape).canonicalize(np)
    found.validate()
    assert found.indices.dtype == found.indptr.dtype == width
    expected = {}
    for row, (start, end) in enumerate(zip(indptr, indptr[1:], strict=False)):
        for at in range(start, end):
            place = row, int(indices[at])
            expected[place] = expected.get(place, 0) + values[at]
    row_ids = np.repeat(np.arange(shape[0]), np.diff(found.indptr))
    places = zip(row_ids.tolist(), found.indices.tolist(), strict=True)
    assert dict(zip(places, found.data.tolist(), strict=True)) == expected


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-4, 4), st.integers(-4, 4)), max_size=6))
def test_rows_are_sorted_and_those_that_stand_twice_added_up(entries):
    table = np.array(entries, i4).reshape(-1, 3)
    storage = rows(table[:, 1:, None], table[:, 0], (6, 2, 1))
    found = storage.canonicalize(np)
    found.validate()
    expected = np.zeros((6, 2, 1))
    for row, *values in entries:
        expected[row, :, 0] += values
    np.testing.assert_array_equal(expected[found.indices], found.data)
    assert set(found.indices.tolist()) == {row for row, *_ in entries}


def test_what_is_canonical_is_kept_as_it_is():
    for storage in (
        csr([1, 0, 3], [2, 0, 1], [0, 1, 3], (2, 3)),
        csr([], [], [0, 0], (1, 0)),
        rows([[1], [2]], [0, 3], (4, 1)),
    ):
        assert storage.canonicalize(np) is storage


def test_an_unsorted_row_is_found_between_empty_ones():
    storage = csr([1, 2, 3], [2, 1, 0], [0, 0, 1, 1, 3, 3], (5, 3))
    found = storage.canonicalize(np)
    assert found.indices.tolist() == [2, 0, 1]
    assert found.data.tolist() == [1, 3, 2]
    assert found.indptr.tolist() == [0, 0, 1, 1, 3, 3]


def test_columns_are_sorted_beyond_what_one_integer_can_count():
    last = 2**62 - 1
    storage = csr([1, 2, 4, 8, 16], [last, 0, last, 5, 0], [0, 3, 5], (2, last + 1), i8)
    found = storage.canonicalize(np)
    found.validate()
    huge = csr([1, 2, 4, 8, 16], [last, 0, last, 5, 0], [0, 3, 3, 3, 5], (4, last + 1), i8)
    assert huge.canonicalize(np).data.tolist() == found.data.tolist() == [2, 5, 16, 8]
    assert found.indices.tolist() == [0, last, 0, 5]


@pytest.mark.parametrize("columns", [3, 2**31, 2**59, 2**60, 2**61, 2**62 - 1, 2**62])
def test_columns_are_sorted_whatever_their_number(columns):
    last = columns - 1
    storage = csr([1, 2, 4, 8, 16], [last, 0, 1, last, 0], [0, 2, 5], (2, columns), i8)
    found = storage.canonicalize(np)
    found.validate()
    assert found.indices.tolist() == [0, last, 0, 1, last]
    assert found.data.tolist() == [2, 1, 16, 4, 8]


def test_explicit_zeros_and_sums_that_are_zero_stay_stored():
    storage = csr([0, 1, -1], [1, 0, 0], [0, 3], (1, 2))
    assert storage.canonicalize(np).data.tolist() == [0, 0]


def pair(values, dtype):
    """One csr and one row_sparse storage that give `values` for the last place, another before."""
    values = np.array([0, *values], dtype)
    count = len(values)
    places = np.array([0, *[2] * (count - 1)], i4)
    matrix = so.CSR(values, places, np.array([0, 0, count], i4), (2, 3))
    return matrix, so.RowSparse(np.stack([np.zeros_like(values), values], axis=1), places, (3, 2))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_sums_that_fit_are_exact(dtype):
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    for values in ([high, 0], [high - 1, 1], [low, 0], [low + 1, -1] if low else [1, 0]):
        matrix, several = pair(values, dtype)
        assert matrix.canonicalize(np).data.tolist() == [0, sum(values)]
        assert several.canonicalize(np).data.tolist() == [[0, 0], [0, sum(values)]]
        assert matrix.canonicalize(np).data.dtype == dtype


@pytest.mark.parametrize("dtype", [d for d in INTEGERS if d[0] == "i"])
def test_a_sum_may_pass_the_limit_on_its_way(dtype):
    high = int(np.iinfo(dtype).max)
    for storage in pair([high, high, -high, -high, -3], dtype):
        assert storage.canonicalize(np).data.ravel()[-1] == -3


@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_sum_that_would_wrap_is_refused_by_place_value_and_limits(dtype):
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    overflows = [[high, 1], [high] * 2, [high] * 5]
    overflows += [[low, -1], [low] * 3] if low else []
    for values in overflows:
        matrix, several = pair(values, dtype)
        total = f"{float(sum(values)):.6g}".replace("+", r"\+")
        reason = rf"add up to about {total}; {np.dtype(dtype)} holds \[{low}, {high}\]"
        with pytest.raises(so.DTypeError, match=rf"entry \(1, 2\) {reason}"):
            matrix.canonicalize(np)
        with pytest.raises(so.DTypeError, match=rf"row 2 {reason}"):
            several.canonicalize(np)


def test_booleans_of_one_place_are_joined():
    for storage in pair([False, True, True], bool):
        found = storage.canonicalize(np).data
        assert found.dtype == bool
        assert found.ravel()[-1]
    for storage in pair([False, False], bool):
        assert not storage.canonicalize(np).data.any()


def test_sums_in_float16_are_rounded_once():
    # 2048 + 1 is 2048 in float16, so adding one by one would stay there.
    for storage in pair([2048, *[1] * 8], "f2"):
        found = storage.canonicalize(np).data
        assert found.dtype == np.float16
        assert found.ravel()[-1] == 2056


@pytest.mark.parametrize(
    "dtype, values, total",
    [
        ("c8", [1 + 2j, 3 - 4j], 4 - 2j),
        ("c16", [1j, -1j], 0),
        ("f4", [np.nan, 1], np.nan),
        ("f8", [np.inf, -np.inf], np.nan),
        ("f8", [np.inf, 1], np.inf),
    ],
)
def test_floating_sums_follow_numpy(dtype, values, total):
    for storage in pair(values, dtype):
        with np.errstate(invalid="ignore"):
            found = storage.canonicalize(np).data
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.ravel()[-1], np.dtype(dtype).type(total))


def test_places_of_any_number_of_axes_are_merged():
    places = tuple(np.array(p) for p in ([1, 0, 1, 1], [0, 2, 0, 0], [3, 0, 3, 1]))
    for shape in ((2, 3, 4), (2**62, 3, 2**62)):
        values, found = merged(np.array([1, 2, 4, 8]), places, shape, np)
        assert values.tolist() == [2, 8, 5]
        assert [p.tolist() for p in found] == [[0, 1, 1], [2, 0, 0], [0, 1, 3]]
    with pytest.raises(so.DTypeError, match=r"entry \(1, 0, 3\)"):
        merged(np.array([100] * 4, "i1"), places, (2, 3, 4), np)
