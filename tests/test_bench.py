"""Benchmarks: what they measure is compared first, and what they print follows from the samples."""

import json
import os
import re
import sys
from textwrap import dedent

import numpy as np
import pytest
import scipy
import scipy.sparse as sp

import sparseops as so
from sparseops.bench import Case, Matrix, Rows, arrays, data, fit, grid, grown, timing
from sparseops.bench import results as bench_results
from sparseops.bench.command import main
from sparseops.bench.files import read_matrix
from sparseops.bench.pool import PeerError, Process

SUITE = """
    import time
    from sparseops.bench import Case, grid, power_law

    doubled = Case("doubled", data=("pde",), sizes=grid(k=(1, 2)), targets={"scipy": 1000})

    @doubled.inputs
    def _(rng, a, k):
        return {"a": a}

    @doubled.by("sparseops", "scipy")
    def _(library, a, k):
        return lambda: a + a

    @doubled.by("scipy", label="tripled")
    def _(library, a):
        return lambda: a + a + a

    @doubled.by("scipy", label="failing")
    def _(library, a):
        raise RuntimeError("no luck")

    @doubled.by("scipy", label="absent")
    def _(library, a):
        raise NotImplementedError

    @doubled.by("mxnet")
    def _(library, a):
        raise AssertionError

    fatal = Case("fatal")

    @fatal.by("sparseops")
    def _(library):
        return lambda: library.zeros(3)

    @fatal.by("scipy")
    def _(library):
        import os
        return lambda: os._exit(3)

    alive = Case("alive")

    @alive.by("scipy")
    def _(library):
        return lambda: None
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    path = tmp_path_factory.mktemp("suites") / "small.py"
    path.write_text(dedent(SUITE))
    return str(path)


@pytest.fixture(scope="module")
def measured(suite, tmp_path_factory):
    """The folder that a run of the suite has written, and its status."""
    folder = tmp_path_factory.mktemp("out")
    argv = ["--suite", suite, "--scale", "0.0005", "--rounds", "4", "--out", str(folder), "--cpu"]
    return folder, main([*argv, "--mxnet-python", sys.executable])


def by_variant(folder):
    found = bench_results.load(str(folder / "results.json"))
    return found, {one.variant: one for one in found.results if one.size == {"k": 1}}


def test_what_differs_or_fails_is_not_timed(measured):
    _, found = by_variant(measured[0])
    assert set(found) >= {"sparseops", "scipy", "scipy tripled", "scipy failing"}
    assert len(found["sparseops"].seconds) == len(found["scipy"].seconds) == 4
    assert found["scipy tripled"].error.startswith("results differ by")
    assert found["scipy failing"].error == "RuntimeError: no luck"
    assert not any(one.seconds for one in found.values() if one.error)
    assert "scipy absent" not in found


def test_a_peer_that_dies_is_started_again_for_the_next_case(measured):
    run, _ = by_variant(measured[0])
    found = {(one.case, one.peer): one for one in run.results}
    assert "status 3" in found["fatal", "scipy"].error
    assert found["fatal", "sparseops"].seconds
    assert found["alive", "scipy"].seconds


def test_a_peer_that_is_not_installed_is_absent_with_the_reason(measured):
    run, found = by_variant(measured[0])
    assert "mxnet" not in found
    assert "mxnet" in run.peers["mxnet"]["absent"]


def test_a_run_writes_what_can_be_read_alone(measured):
    folder, status = measured
    assert status == 0
    text = (folder / "report.html").read_text()
    assert "doubled, pde, k=2" in text
    assert not re.search(r'(src|href)="(?!#)|@import|<link|<script', text)
    assert json.loads((folder / "results.json").read_text())["machine"]["bandwidth"] > 0


def test_a_run_compared_with_itself_is_within_noise(measured, capsys):
    path = str(measured[0] / "results.json")
    assert main(["--compare", path, path]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert lines
    assert all("1.00   within noise" in line for line in lines)


def test_files_that_hold_no_results_are_refused(tmp_path, capsys):
    path = tmp_path / "a.json"
    for text in ("{}", "[", "[]"):
        path.write_text(text)
        assert main(["--compare", str(path), str(path)]) == 1
        assert "is not a file of results" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv, text",
    [
        (["nonsense"], "no case has nonsense in its name"),
        (["--peers", "numpy"], "no peer 'numpy'"),
        (["--data", "absent.mtx"], "there is no file absent.mtx"),
    ],
)
def test_misuse_is_said_in_a_line(argv, text, suite, capsys):
    assert main(["--suite", suite, *argv]) == 1
    assert text in capsys.readouterr().err


def test_words_choose_cases_and_list_runs_nothing(suite, capsys):
    assert main(["--suite", suite, "DOUB", "FATAL", "--list"]) == 0
    assert (
        capsys.readouterr().out
        == "small: doubled, pde, k=1\nsmall: doubled, pde, k=2\nsmall: fatal\n"
    )


def test_quick_runs_have_the_first_sizes_and_the_files_of_users():
    case = Case("a", data=("x", "y"), sizes=grid(k=(1, 2)))
    assert [point.name for point in case.points(quick=True)] == ["x, k=1"]
    assert [point.name for point in case.points(["f"], quick=True)] == ["x, k=1", "f, k=1"]
    assert len(list(case.points(["f"]))) == 6


@pytest.mark.parametrize("name", data.DATA)
def test_made_matrices_are_canonical(name):
    x = data.DATA[name](np.random.default_rng(0), 1 / 512)
    made = so.csr_array((x.data, x.indices, x.indptr), x.shape)
    made.storage.validate()
    assert made.nnz == len(x.data) > 0
    assert made.dtype == np.float32


def test_the_stencil_has_the_four_neighbors_of_each_place():
    x = data.DATA["pde"](np.random.default_rng(0), 9 / 1_000_000)
    assert np.diff(x.indptr).tolist() == [3, 4, 3, 4, 5, 4, 3, 4, 3]


def test_sums_tell_storages_of_the_same_values_from_no_others():
    a = np.array([[0, 2.0, 0], [0, 0, 0], [1, 0, 3]], np.float32)
    m = sp.csr_array(a)
    forms = [
        a,
        Matrix(m.data, m.indices, m.indptr, m.shape),
        Rows(a[[0, 2]], np.array([0, 2]), (3, 3)),
    ]
    sums = [arrays.marginals(one) for one in forms]
    assert arrays.difference(sums[0], sums[1]) == arrays.difference(sums[0], sums[2]) == ""
    for place in np.ndindex(3, 3):
        other = a.copy()
        other[place] += 1
        assert arrays.difference(arrays.marginals(other), sums[0]).startswith("results differ")
    assert arrays.difference(arrays.marginals(a * np.nan), sums[0]) != ""
    assert arrays.difference(arrays.marginals(a[:2]), sums[0]).startswith("shapes differ")


def test_arrays_come_back_from_a_file_as_they_were(tmp_path):
    x = data.power_law(np.random.default_rng(0), 5, 6, 9)
    rows = Rows(np.ones((2, 3)), np.array([0, 4]), (5, 3))
    given = {"x.y": x, "rows": rows, "d": np.arange(3), "number": np.array(4)}
    arrays.save(str(tmp_path / "a.npz"), given)
    found = arrays.load(str(tmp_path / "a.npz"))
    assert list(found) == list(given)
    assert type(found["x.y"]) is Matrix and found["x.y"].shape == (5, 6)
    assert type(found["rows"]) is Rows and found["rows"].shape == (5, 3)
    assert found["number"].shape == ()
    assert arrays.nbytes(given) == arrays.nbytes(found)


@pytest.mark.parametrize("suffix", ["mtx", "npz", "svm"])
def test_matrices_of_users_are_read(suffix, tmp_path):
    x = so.csr_array([[1.0, 0, 2], [0, 3, 0]])
    path = str(tmp_path / f"a.{suffix}")
    write = {
        "mtx": so.io.write_mtx,
        "npz": so.io.save,
        "svm": lambda path, x: so.io.write_libsvm(path, x, so.zeros(2)),
    }
    write[suffix](path, x)
    found = read_matrix(path)
    assert found.indices.tolist() == [0, 2, 1]
    assert found.data.dtype == np.float32


def series_of(sizes, times, variant="sparseops", along="density"):
    found = [
        bench_results.Result("s", "c", "", {along: size}, "sparseops", variant, [time])
        for size, time in zip(sizes, times, strict=True)
    ]
    machine = {"bandwidth": 1e9}
    return bench_results.Run(machine, {}, {}, found)


@pytest.mark.parametrize("exponent", [0, 1, 2])
def test_exponents_are_those_of_powers(exponent):
    sizes = [1, 4, 16]
    (one,) = fit.series(series_of(sizes, [3.0 * size**exponent for size in sizes], along="nnz"))
    assert one.exponent(lambda result: result.median) == pytest.approx(exponent)
    assert one.exponent(lambda result: result.peak) is None


def test_grown_sizes_change_one_at_a_time():
    sizes = grown((1, 4), rows=2, nnz=3)
    assert sizes == [{"rows": 2, "nnz": 3}, {"rows": 8, "nnz": 3}, {"rows": 2, "nnz": 12}]


def test_the_dense_way_wins_where_lines_cross():
    densities = [0.01, 0.1, 1.0]
    sparse = series_of(densities, [1.0, 10.0, 100.0])
    dense = series_of(densities, [30.0, 30.0, 30.0], "sparseops dense")
    both = bench_results.Run({}, {}, {}, sparse.results + dense.results)
    ((_, where, _),) = fit.crossings(both)
    assert where == pytest.approx(0.3)
    never = series_of(densities, [300.0] * 3, "sparseops dense")
    both = bench_results.Run({}, {}, {}, sparse.results + never.results)
    assert [where for _, where, _ in fit.crossings(both)] == [None]


def test_a_target_is_missed_below_its_ratio():
    point = [
        bench_results.Result("s", "c", "", {}, "sparseops", "sparseops", [1.0, 2.0, 3.0]),
        bench_results.Result("s", "c", "", {}, "scipy", "scipy", [4.0], target=2.5),
        bench_results.Result("s", "c", "", {}, "torch", "torch", [4.0], target=1.5),
    ]
    assert bench_results.ratios(point) == {"scipy": 2.0, "torch": 2.0}
    assert bench_results.missed(point) == ["2.00 of scipy, target 2.5"]


def test_a_sample_takes_long_enough_for_the_clock():
    number = timing.warm_up(lambda: None, None, 0.01)
    assert number > 1000
    wall, cpu = timing.sample(lambda: None, None, number)
    assert 0 < wall < 1e-4
    assert 0 <= cpu < 1e-4


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="Linux tells the peak")
def test_the_peak_counts_memory_that_is_gone_after_the_call():
    size = 2**25
    found = timing.peak(lambda: np.ones(size, np.int8).sum(), None)
    assert found is None or size * 0.9 < found < size * 1.5


def test_a_peer_has_the_threads_it_is_given_and_says_what_goes_wrong(tmp_path):
    slow = tmp_path / "slow.py"
    slow.write_text("import time\ntime.sleep(600)\n")
    process = Process("sparseops")
    try:
        assert process.ask("hello")["threads"] == 1
        with pytest.raises(PeerError, match="no answer in 0 s"):
            process.ask("load", seconds=0, suite=str(slow), name="any", size={}, inputs="")
        assert not process.alive
    finally:
        process.close()


def test_peers_run_where_sparseops_cannot_be_imported(tmp_path):
    # Of the package only its folder is needed: `import sparseops` itself would not be possible.
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    process = Process("scipy", str(python))
    try:
        with pytest.raises(PeerError, match="No module named 'numpy'"):
            process.ask("hello")
    finally:
        process.close()
    process = Process("scipy")
    try:
        assert process.ask("hello") == {"version": scipy.__version__, "threads": 1}
    finally:
        process.close()


def test_without_kernels_sparseops_runs_on_one_thread(suite, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARSEOPS_NATIVE", "0")
    argv = ["--suite", suite, "--peers", "scipy", "--scale", "0.0005", "--rounds", "1"]
    main([*argv, "--threads", "2", "--out", str(tmp_path), "doubled"])
    run = bench_results.load(str(tmp_path / "results.json"))
    assert run.peers["sparseops"] == {"version": "on SciPy alone", "threads": 1}
    assert any(one.seconds for one in run.results if one.peer == "sparseops")
