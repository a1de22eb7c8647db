"""Index arrays are int32 while everything fits, and keep a width that they are given."""

import numpy as np
import pytest

import sparseops as so

i4, i8 = np.int32, np.int64


@pytest.mark.parametrize(
    "row, col, shape, width",
    [
        ([0], [1], (2, 2), i4),
        ([0], [1], (2, 2**31 - 1), i4),
        ([0], [1], (2, 2**40), i8),
        ([0], [2**31], None, i8),
        (np.array([0], i4), np.array([1], i4), (2, 2**40), i4),
        (np.array([0], i8), np.array([1], i8), (2, 2), i8),
        (np.array([0], i4), np.array([1], i8), (2, 2), i8),
        (np.array([0], i8), [1], (2, 2), i8),
        (np.array([0], i4), [2**31], None, i8),
        (np.array([0], ">i8"), np.array([1], ">i8"), (2, 2), i8),
        (np.array([0], ">i4"), np.array([1], ">i4"), (2, 2), i4),
        (np.array([0], "u8"), np.array([1], "i2"), (2, 2), i4),
        (np.array([0], "u4"), np.array([2**31], "u4"), None, i8),
        (np.zeros(1, i8)[::-1], range(1), (2, 2), i8),
        (so.array([0]), so.array([1]), (2, 2), i8),
    ],
)
def test_a_given_width_is_kept_and_others_are_as_narrow_as_fits(row, col, shape, width):
    found = so.csr_array(([1.0], (row, col)), shape)
    assert found.indices.dtype == found.indptr.dtype == width
    found.storage.validate()


@pytest.mark.parametrize("first", [i4, i8, ">i8", "u1", list])
@pytest.mark.parametrize("second", [i4, i8, ">i8", "u1", list])
def test_the_index_arrays_of_csr_share_the_wider_of_their_widths(first, second):
    indices, indptr = [0, 2], [0, 1, 2]
    parts = [
        values if kind is list else np.array(values, kind)
        for values, kind in ((indices, first), (indptr, second))
    ]
    found = so.csr_array(([1.0, 2.0], *parts), (2, 3))
    wide = {first, second} & {i8, ">i8"}
    assert found.indices.dtype == found.indptr.dtype == (i8 if wide else i4)
    assert (found.indices.tolist(), found.indptr.tolist()) == (indices, indptr)


@pytest.mark.parametrize(
    "rows, shape, width",
    [
        *(([1], (3,), i4), ([1], (2**31,), i8), ([2**31], None, i8), ([], (2**40,), i8)),
        *((np.array([1], i8), (3,), i8), (np.array([1], ">i8"), (3,), i8)),
        *((np.array([1], i4), (2**40,), i4), (np.array([1], "u8"), (3,), i4)),
    ],
)
def test_row_numbers_keep_their_width(rows, shape, width):
    found = so.row_sparse_array((np.ones(len(rows)), rows), shape)
    assert found.indices.dtype == width
