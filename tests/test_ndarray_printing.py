"""An array prints its spec and a few of its values, at once however large it is."""

import time

import numpy as np
import pytest

import sparseops as so


@pytest.mark.parametrize(
    "x, text",
    [
        (so.array(1.5), "<float64[] dense>\n1.5"),
        (so.array([True, False]), "<bool[2] dense>\n[ True False]"),
        (so.zeros((0, 3)), "<float64[0,3] dense>\n[]"),
        (so.zeros((2, 3), stype="csr"), "<float64[2,3] csr, 0 stored>"),
        (so.csr_array([[0, 2j], [0, 0]]), "<complex128[2,2] csr, 1 stored>\n  (0, 1)  2j"),
        (
            so.csr_array(([1, 0], ([0, 10], [100, 2])), (11, 101)),
            "<int64[11,101] csr, 2 stored>\n  (0, 100)  1\n  (10, 2)   0",
        ),
        (
            so.row_sparse_array(([[1, 2], [3, 4]], [9, 10]), (12, 2)),
            "<int64[12,2] row_sparse, 2 rows stored>\n  row 9   [1 2]\n  row 10  [3 4]",
        ),
        (
            so.row_sparse_array(([True], [2])),
            "<bool[3] row_sparse, 1 row stored>\n  row 2  True",
        ),
        (
            so.row_sparse_array((np.arange(4).reshape(1, 2, 2), [0]), (1, 2, 2)),
            "<int64[1,2,2] row_sparse, 1 row stored>\n  row 0  [[0 1]\n          [2 3]]",
        ),
        (
            so.array(np.arange(9.0)[None], stype="row_sparse"),
            "<float64[1,9] row_sparse, 1 row stored>\n  row 0  [0. 1. 2. ... 6. 7. 8.]",
        ),
    ],
    ids=lambda x: str(getattr(x, "spec", "")),
)
def test_arrays_print_their_spec_and_what_is_stored(x, text):
    assert repr(x) == text
    assert str(x) == text


def test_long_listings_end_in_a_count():
    x = so.csr_array(np.ones((3, 4)))
    assert repr(x).splitlines()[-2:] == ["  (1, 3)  1.0", "  and 4 more"]
    y = so.row_sparse_array(np.ones((6, 1)))
    assert repr(y).splitlines()[-2:] == ["  row 3  [1.]", "  and 2 more"]


def test_empty_rows_are_skipped_in_print():
    x = so.csr_array(([5.0], ([7], [3])), (9, 4))
    assert repr(x).splitlines()[1:] == ["  (7, 3)  5.0"]


def test_large_arrays_print_their_corners():
    x = so.array(np.arange(10.0**4).reshape(100, 100))
    lines = repr(x).splitlines()
    assert lines[0] == "<float64[100,100] dense, corners>"
    assert len(lines) == 7
    assert [float(s) for s in lines[1].strip("[] ").split()] == [0, 1, 2, 97, 98, 99]
    assert [float(s) for s in lines[6].strip("[] ").split()][-1] == 9999


HUGE = {
    "flat": lambda: so.asarray(np.broadcast_to(1.0, 10**12)),
    "wide": lambda: so.asarray(np.broadcast_to(1.0, (7, 10**11))),
    "high": lambda: so.asarray(np.broadcast_to(1.0, (10**11, 7))),
    "many axes": lambda: so.asarray(np.broadcast_to(1, (4,) * 20)),
    "all axes": lambda: so.asarray(np.broadcast_to(True, (1,) * 12 + (2,) * 50)),
    "row": lambda: so.row_sparse_array((np.broadcast_to(1.0, (3, 10**6, 10**5)), [1, 2, 5])),
    "row of many axes": lambda: so.row_sparse_array((np.broadcast_to(1.0, (1, *(4,) * 20)), [3])),
    "rows": lambda: so.zeros((2**62, 3), stype="row_sparse"),
    "columns": lambda: so.zeros((3, 2**62), stype="csr"),
    "matrix": lambda: so.csr_array(([1, 2], ([0, 2**20 - 1], [5, 2**61])), (2**20, 2**62)),
}


@pytest.mark.parametrize("name", HUGE)
def test_an_array_of_any_size_prints_at_once_and_in_short(name):
    x = HUGE[name]()
    start = time.perf_counter()
    text = repr(x)
    assert time.perf_counter() - start < 1
    assert text.startswith(f"<{x.spec}")
    assert len(text) < 50_000


def test_printing_reads_the_print_options_of_nobody():
    x = so.array(np.arange(2000.0))
    with np.printoptions(threshold=10**9):
        assert len(repr(x)) < 200
    with np.printoptions(threshold=5):
        assert "..." not in repr(so.array(np.arange(100)))
