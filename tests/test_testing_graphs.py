"""`check_graph`: the laws of whole programs, for those of users."""

import numpy as np
import pytest
import test_graph_faults as faults
from graphs import law, programs

import sparseops as so
from sparseops.testing import check_graph

pytestmark = pytest.mark.filterwarnings("ignore::sparseops.FallbackWarning")

X, W = so.Spec((5, 4), float, "csr"), so.Spec((4, 2), float)


def model(x, w):
    h = so.dot(x, w)
    return so.sum(h * h) + so.sum(so.sin(x)), so.exp(x)


@law(programs(most=6))
def test_random_programs_keep_the_laws(drawn):
    report = check_graph(drawn.function, *drawn.specs)
    assert report.ok, str(report)


def test_arrays_and_open_storages_are_inputs_too():
    assert check_graph(model, so.csr_array(np.eye(5, 4)), so.Spec((4, 2), float, "undefined")).ok
    found = check_graph(lambda ids: so.sum(ids), so.Spec(3, int))
    assert [r.status for r in found.results].count("not applicable") == 2 and found.ok


@pytest.mark.parametrize(
    "fault, ids",
    [
        (faults.ignore_what_is_declared, "W1"),
        (faults.be_dense_the_second_time, "W1 W2 W3"),
        (faults.look_whether_anything_is_declared, "W3"),
        (faults.give_the_first_argument_twice, "W4 W6"),
        (faults.free_values_before_their_last_reader, "W4 W5 W6"),
        (faults.wait_for_nobody, "W5"),
        (faults.keep_the_last_gradient_alone, "W6"),
        (faults.let_gradients_settle_the_function, "W7"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_law_finds_a_planted_fault(fault, ids, monkeypatch):
    assert check_graph(model, X, W).ok
    fault(monkeypatch)
    report = check_graph(model, X, W)
    broken = {result.law for result in report.results if result.status == "failed"}
    assert broken & set(ids.split()), f"{broken}: {report}"


def test_functions_that_do_more_than_operators_are_found():
    calls = []

    def moody(x):
        calls.append(x)
        return x * float(len(calls))

    report = check_graph(moody, so.Spec((3, 3), float, "csr"))
    assert not report.result("W4").status == "ok"
    assert "of a run and of the function differ" in str(report)
    assert "so.testing.check_graph(moody, Spec((3, 3), 'float64', 'csr'))" in str(report)
