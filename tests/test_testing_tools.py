"""The command, the plugin, the minimiser and the assertions of `sparseops.testing`."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.metadata import entry_points
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
import scipy.sparse as sp

import sparseops as so
from sparseops.cli import main
from sparseops.testing import check_operator, minimise

ROOT = Path(__file__).parents[1]

RIGHT = """
import numpy as np
import sparseops as so


@so.operator
def scale_rows(x, s):
    if s.shape != x.shape[:1]:
        raise so.ShapeError("lengths")
    return x.shape, np.result_type(x.dtype, s.dtype)


scale_rows.forward("dense, dense -> dense")(lambda b, x, s: so.Dense(x.data * s.data[:, None]))


@scale_rows.forward("csr, dense -> csr")
def scale_csr(backend, x, s):
    return x.with_data(x.data * s.data[backend.row_ids(x)])


scale_rows.backward("x", "dense, dense -> dense", "csr, dense -> csr")(
    lambda g, s: scale_rows(g, s)
)
scale_rows.backward("s", "dense, dense -> dense", "csr, dense -> dense")(
    lambda g, x: so.sum(g * x, axis=1)
)


def plain(x, s):
    return x.multiply(s[:, None]).tocsr()


OPERATORS = [(scale_rows, {"shapes": "(m,n),(m)->(m,n)", "reference": lambda x, s: x * s[:, None]})]
"""
WRONG = RIGHT.replace("backend.row_ids(x)", "np.minimum(x.indices, len(s.data) - 1)")


@pytest.fixture
def module(tmp_path, monkeypatch, request):
    """A module of operators of a user, right or wrong, in the current folder."""
    monkeypatch.chdir(tmp_path)
    text = getattr(request, "param", RIGHT)
    (tmp_path / "ops.py").write_text(text)
    return tmp_path


def command(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "sparseops.cli", "check", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(),
    )


def environment():
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}


# the command


def test_sound_operators_end_in_status_0(module):
    found = command("ops", "--profile", "20", cwd=module)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "scale_rows: " in found.stdout and "laws hold" in found.stdout


@pytest.mark.parametrize("module", [WRONG], indirect=True)
def test_faults_end_in_status_1_with_code_to_paste(module):
    found = command("ops", "--laws", "V*", cwd=module)
    assert found.returncode == 1
    assert "values are those of the oracle" in found.stdout
    assert "so.csr_array(" in found.stdout and "scale_rows(x, s)" in found.stdout
    assert "G1" not in found.stdout


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["no_such_module"], "there is no module 'no_such_module'"),
        (["ops:nothing"], "ops has no 'nothing'"),
        (["none.py"], "there is no file none.py"),
        (["ops:OPERATORS"], "is list, not a function"),
        (["json"], "json declares no operators"),
        (["ops:plain"], "shapes"),
        (["ops:plain", "--shapes", "(m,n"], "(m,n"),
        (["ops", "--laws", "Q9"], "Q9"),
        (["ops", "--profile", "slow"], "slow"),
    ],
)
def test_misuse_ends_in_status_2_and_says_what_is_wrong(module, arguments, words):
    found = command(*arguments, cwd=module)
    assert found.returncode == 2, found.stdout + found.stderr
    assert words in found.stdout + found.stderr
    assert "Traceback" not in found.stderr


def test_a_reference_that_fails_ends_in_status_3(module):
    (module / "odd.py").write_text("def reference(x, s):\n    raise ValueError('not today')\n")
    found = command("ops", "--reference", "odd:reference", "--profile", "20", cwd=module)
    assert found.returncode == 3
    assert "the reference" in found.stdout and "not today" in found.stdout


def test_functions_on_arrays_of_scipy_are_checked(module):
    (module / "ref.py").write_text("def reference(x, s):\n    return x * s[:, None]\n")
    arguments = ("--shapes", "(m,n),(m)->(m,n)", "--storages", "csr, dense")
    found = command("ops:plain", *arguments, "--reference", "ref:reference", cwd=module)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "a plain function has no table of signatures" in found.stdout


@pytest.mark.parametrize("module", [WRONG], indirect=True)
def test_reports_are_json_and_junit(module):
    found = command("ops", "--json", "--junit", "out.xml", "--profile", "40", cwd=module)
    report = json.loads(found.stdout)
    assert report["status"] == "failed" and report["name"] == "scale_rows"
    failed = [result for result in report["results"] if result["status"] == "failed"]
    assert failed and all(f["example"] for result in failed for f in result["failures"])
    cases = ElementTree.parse(module / "out.xml").getroot().iter("testcase")
    assert sum(case.find("failure") is not None for case in cases) == len(failed)


CRASH = """
import ctypes
import sparseops as so


@so.operator
def crash(x):
    return x.shape, x.dtype


@crash.forward("dense -> dense")
def kernel(backend, x):
    if x.shape[0] > 2:
        ctypes.string_at(0)
    return x


OPERATORS = [(crash, {"shapes": "(m,n)->(m,n)", "reference": lambda x: x})]
"""


@pytest.mark.parametrize("module", [CRASH], indirect=True)
def test_a_crash_of_compiled_code_is_a_counterexample_in_isolation(module):
    found = command("ops", "--isolate", "--profile", "20", cwd=module)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "SIGSEGV" in found.stdout or "signal 11" in found.stdout
    assert "crash(x)" in found.stdout


def test_the_command_is_found_from_the_main_one(capsys):
    assert main(["check", "--help"]) == 0
    assert "Try to break operators" in capsys.readouterr().out


# the plugin


def run_pytest(folder, *arguments):
    loaded = any(point.name == "sparseops" for point in entry_points(group="pytest11"))
    plugin = () if loaded else ("-p", "pytest_sparseops")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(),
    )


@pytest.mark.parametrize("module", [WRONG], indirect=True)
def test_a_list_of_operators_in_a_test_module_is_a_test_for_each_law(module):
    (module / "test_ops.py").write_text("from ops import OPERATORS\n")
    found = run_pytest(module, "-v", "--sparseops-profile", "40")
    assert found.returncode == 1, found.stdout + found.stderr
    assert "scale_rows-V1 FAILED" in found.stdout and "scale_rows-I1 PASSED" in found.stdout
    assert "scale_rows-S1 SKIPPED" in found.stdout
    only = run_pytest(module, "-v", "-k", "I1 or I2", "--sparseops-profile", "40")
    assert only.returncode == 0 and "V1" not in only.stdout
    some = run_pytest(module, "-v", "--sparseops-laws", "G*", "--sparseops-profile", "40")
    assert "-G1" in some.stdout and "-V1" not in some.stdout


@pytest.mark.parametrize("module", [WRONG], indirect=True)
def test_what_failed_last_runs_alone(module):
    (module / "test_ops.py").write_text("from ops import OPERATORS\n")
    first = run_pytest(module, "-v", "--sparseops-laws", "V*", "--sparseops-profile", "40")
    again = run_pytest(module, "-v", "--lf", "--sparseops-laws", "V*", "--sparseops-profile", "40")
    assert "scale_rows-V2 PASSED" in first.stdout and "scale_rows-V1 FAILED" in first.stdout
    assert "scale_rows-V2" not in again.stdout and "scale_rows-V1 FAILED" in again.stdout


def test_laws_parametrize_tests(module):
    (module / "test_ops.py").write_text(
        "import sparseops as so\n"
        "from ops import OPERATORS as listed\n\n"
        "@so.testing.parametrize_with_laws(listed)\n"
        "def test_laws(operator, law):\n"
        "    law(operator)\n"
    )
    found = run_pytest(module, "-v", "--sparseops-profile", "40")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "test_laws[scale_rows-V1] PASSED" in found.stdout


def test_the_marker_no_fallback_fails_where_something_densifies(module):
    (module / "test_dense.py").write_text(
        "import pytest\n"
        "import sparseops as so\n\n"
        "x = so.csr_array([[0.0, 1.0]])\n\n"
        "@pytest.mark.no_fallback\n"
        "def test_bad():\n"
        "    so.exp(x)\n\n"
        "@pytest.mark.no_fallback\n"
        "def test_good():\n"
        "    so.sin(x)\n\n"
        "def test_free():\n"
        "    with so.fallback('allow'):\n"
        "        so.exp(x)\n"
    )
    found = run_pytest(module, "-v")
    assert "test_bad FAILED" in found.stdout, found.stdout + found.stderr
    assert "test_good PASSED" in found.stdout and "test_free PASSED" in found.stdout
    assert "exp(csr, dense) falls back to dense" in found.stdout


# the minimiser


def test_a_huge_matrix_is_made_small():
    rng = np.random.default_rng(0)
    matrix = sp.random_array((8192, 1_000_000), density=4e-5, format="csr", rng=rng)
    matrix.data[rng.integers(matrix.nnz)] = np.nan
    start = perf_counter()
    found = minimise(lambda x: bool(np.isnan(x.data).any()), so.csr_array(matrix))
    assert perf_counter() - start < 30
    assert found.code == "x0 = so.csr_array(([np.nan], [0], [0, 1]), shape=(1, 1))"
    (again,) = minimise(lambda x: bool(np.isnan(x.data).any()), matrix)
    assert again.format == "csr" and again.shape == (1, 1)


def test_arrays_shrink_together_and_the_code_makes_them():
    rng = np.random.default_rng(1)
    a, b = sp.random_array((300, 500), density=0.02, format="csr", rng=rng), rng.random((500, 7))
    b[77] = -1000

    def fails(a, b):
        return bool(((a @ b) < 0).any())

    found = minimise(fails, a, b)
    scope = {"np": np, "so": so}
    exec(found.code, scope)
    assert fails(scope["x0"], scope["x1"])
    assert scope["x0"].nnz <= 2 and scope["x1"].size <= 2
    assert found.calls < 2000


def test_what_does_not_fail_is_refused():
    with pytest.raises(ValueError, match="does not hold for the arrays given"):
        minimise(lambda x: False, so.zeros((2, 2)))


# assertions


def test_assertions_say_what_is_wrong():
    x = so.csr_array([[0.0, 2.0]])
    so.testing.assert_allclose(x, [[0, 2]])
    with pytest.raises(AssertionError, match="values differ"):
        so.testing.assert_allclose(x, [[0, 3]])
    with pytest.raises(AssertionError, match="shape"):
        so.testing.assert_allclose(x, [0, 2])
    so.testing.assert_allclose(x, [[0, 2.1]], atol=0.2)
    so.testing.assert_storage(x, "csr")
    with pytest.raises(AssertionError, match="is not row_sparse"):
        so.testing.assert_storage(x, "row_sparse")
    with pytest.raises(AssertionError, match="no array of sparseops"):
        so.testing.assert_storage(np.ones(2), "dense")
    with pytest.raises(AssertionError, match=r"1 fallback to dense:\n.*exp"):
        with so.testing.assert_no_fallback():
            so.exp(x)
    with so.testing.assert_no_fallback():
        so.sin(x)


@pytest.mark.parametrize("stype", ["dense", "row_sparse", "csr"])
def test_numerical_gradients_are_by_stored_places_or_by_all(stype):
    x = so.array([[0.0, 3.0], [0.0, 0.0]]).tostype(stype)
    stored = {"csr": [[0, 6], [0, 0]], "row_sparse": [[0, 6], [0, 0]], "dense": [[0, 6], [0, 0]]}
    found = so.testing.numerical_grad(so.square, x)
    np.testing.assert_allclose(found, stored[stype], atol=1e-6)
    found = so.testing.numerical_grad(lambda x: so.sin(x), x, semantics="full")
    np.testing.assert_allclose(found, np.cos(x.asnumpy()), atol=1e-6)
    with pytest.raises(ValueError, match="neither 'structured' nor 'full'"):
        so.testing.numerical_grad(so.square, x, semantics="odd")


# misuse


def scaled(x):
    return x * 2.0


@pytest.mark.parametrize(
    "given, words",
    [
        ({"shapes": "m,n"}, "m,n"),
        ({"shapes": "(m,n)->"}, "(m,n)->"),
        ({"shapes": "(m,n)->(m,n)", "reference": 3}, "reference"),
        ({"shapes": "(m,n)->(m,n)", "traits": ["magic"]}, "magic"),
        ({"shapes": "(m,n)->(m,n)", "laws": "Z1"}, "Z1"),
        ({"shapes": "(m,n)->(m,n)", "profile": "leisurely"}, "leisurely"),
        ({"shapes": "(m,n)->(m,n)", "nan_policy": "hope"}, "hope"),
        ({"shapes": "(m,n)->(m,n)", "domain": {"y": [1.0]}}, "y"),
    ],
)
def test_misuse_is_a_clear_line_of_the_report(given, words):
    report = check_operator(scaled, on_fail="report", arrays="scipy", **given)
    assert report.status == "error"
    assert words in str(report) and "Traceback" not in str(report)


@pytest.mark.parametrize(
    "reference, words",
    [
        (lambda x: 1 / 0, "division by zero"),
        (lambda x: np.zeros(7), "shape"),
        (lambda x: "text", "reference"),
        (lambda x, y: x, "reference"),
    ],
)
def test_a_wrong_reference_is_a_clear_line_of_the_report(reference, words):
    report = check_operator(so.square, "(m,n)->(m,n)", reference=reference, on_fail="report")
    assert not report.ok
    assert words in str(report) and "Traceback" not in str(report)


def test_expected_failures_are_marked_and_missed():
    def wrong(x):
        return np.abs(x)

    given = {"shapes": "(m,n)->(m,n)", "reference": wrong, "on_fail": "report", "laws": "V1"}
    report = check_operator(so.negative, expected_failures={"V1": "known"}, **given)
    assert report.ok and report.result("V1").status == "xfail"
    report = check_operator(so.abs, expected_failures={"V1": "known"}, **given)
    assert not report.ok and "expected to fail" in str(report)


def test_a_report_raises_and_shows_itself_in_a_notebook():
    with pytest.raises(so.testing.LawsBroken, match="V1") as caught:
        check_operator(so.negative, "(m,n)->(m,n)", reference=np.abs)
    html = caught.value.report._repr_html_()
    assert html.count("<") > 20 and "so.array" in html
    assert check_operator(so.negative, seed=3, profile=20).seed == 3
