"""The recorder of scipy arrays that become dense."""

import linecache
import threading
from time import process_time

import numpy as np
import pytest
import scipy.sparse as sp

import sparseops as so

X = sp.csr_array(np.eye(4))
M = sp.csr_matrix(np.eye(4))
D = np.ones((4, 4))


def line_of(text):
    """Number of the line of this file that holds `text`."""
    with open(__file__) as lines:
        return next(n for n, line in enumerate(lines, 1) if text in line and "line_of" not in line)


def test_a_conversion_is_noted_with_line_bytes_and_count():
    with so.record_densification() as report:
        for _ in range(3):
            X.toarray()  # converted here
    (record,) = report.records
    assert record.where == (__file__, line_of("# converted here"))
    assert (record.operation, record.times, record.bytes_dense) == ("toarray", 3, 3 * 128)
    assert record.bytes_sparse == 3 * (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


@pytest.mark.parametrize(
    "densify, operation",
    [
        (lambda: X.toarray(), "toarray"),
        (lambda: X.todense(), "todense"),
        (lambda: M.todense(), "todense"),
        (lambda: X.tocoo().toarray(), "toarray"),
        (lambda: X.tocsc().toarray(), "toarray"),
        (lambda: X.tolil().toarray(), "toarray"),
        (lambda: X.todok().toarray(), "toarray"),
        (lambda: X.todia().toarray(), "toarray"),
        (lambda: X.tobsr().toarray(), "toarray"),
        (lambda: X + D, "+"),
        (lambda: D + X, "+"),
        (lambda: M + D, "+"),
        (lambda: X - D, "-"),
        (lambda: D - X, "-"),
        (lambda: X / X, "/"),
    ],
)
def test_what_becomes_dense_is_noted_once(densify, operation):
    with so.record_densification() as report:
        result = densify()
    assert isinstance(result, np.ndarray)
    assert [(r.operation, r.times) for r in report] == [(operation, 1)]
    assert report.records[0].where[0] == __file__


@pytest.mark.parametrize(
    "work",
    [
        lambda: X @ D,
        lambda: M * D,
        lambda: X * X,
        lambda: X + X,
        lambda: X.sum(axis=0),
        lambda: X[1:3],
        lambda: X.multiply(D),
        lambda: X @ X,
    ],
)
def test_products_sums_and_slices_are_not_noted(work):
    with so.record_densification() as report:
        work()
    assert report.records == []
    assert str(report) == "nothing became dense"


def test_the_line_is_the_program_s_not_scipy_s():
    with so.record_densification() as report:
        sp.linalg.inv(X.tocsc())
        sp.linalg.norm(X, 2)  # asks for dense singular values
    assert all(record.where[0] == __file__ for record in report)


def test_everything_is_restored_also_after_an_exception():
    before = {name: getattr(sp.csr_array, name) for name in ("toarray", "todense", "__add__")}
    with pytest.raises(ZeroDivisionError), so.record_densification():
        assert sp.csr_array.toarray is not before["toarray"]
        raise ZeroDivisionError
    assert before == {name: getattr(sp.csr_array, name) for name in before}


def test_blocks_nest():
    with so.record_densification() as outer:
        X.toarray()
        with so.record_densification() as inner:
            X.todense()
        X.toarray()
    assert sum(r.times for r in inner) == 1
    assert sum(r.times for r in outer) == 3


def test_threads_are_apart():
    seen = {}

    def work(count):
        with so.record_densification() as report:
            for _ in range(count):
                X.toarray()
            seen[count] = sum(record.times for record in report)

    with so.record_densification() as outer:
        threads = [threading.Thread(target=work, args=(count,)) for count in (1, 5, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == {1: 1, 5: 5, 9: 9}
    assert outer.records == []


def test_an_exception_of_scipy_passes():
    with so.record_densification() as report, pytest.raises(ValueError):
        X + np.ones((7, 9))
    assert report.records == []


def test_lines_of_programs_of_others_are_found():
    networkx = pytest.importorskip("networkx")
    graph = networkx.karate_club_graph()
    with so.record_densification() as report:
        networkx.laplacian_spectrum(graph)
        networkx.to_scipy_sparse_array(graph).toarray()  # of our own
    theirs, ours = sorted(report, key=lambda record: record.where[0] == __file__)
    assert theirs.where[0].endswith("networkx/linalg/spectrum.py")
    assert "todense" in linecache.getline(*theirs.where)
    assert ours.where == (__file__, line_of("# of our own"))


@pytest.mark.slow
def test_it_costs_less_than_five_percent():
    x = sp.random_array((2000, 2000), density=0.005, format="csr", rng=0)

    def work():
        start = process_time()
        for _ in range(10):
            (x @ x), (x + x).T, x.multiply(x), x[:100], x * 2.0
        return process_time() - start

    plain = recorded = np.inf
    for _ in range(8):
        plain = min(plain, work())
        with so.record_densification():
            recorded = min(recorded, work())
    assert recorded < 1.05 * plain
