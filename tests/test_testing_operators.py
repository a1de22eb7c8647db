"""Every built-in operator keeps every law that users' operators are held to."""

import pytest
from operator_examples import calls

from sparseops.registry import operators
from sparseops.testing import check_inference, check_operator
from sparseops.testing.report import ERROR, FAILED, SKIPPED, UNTRIED

CALLS = calls()
NAMES = [f"{name}-{n}" for n, (name, _) in enumerate(CALLS)]
#: Cases of each call in CI; `deep` on demand.
CASES = 30


def check(name, given, **options):
    report = check_operator(operators[name], on_fail="report", **{**given, **options})
    assert report.ok, str(report)
    for result in report.results:
        assert result.status not in (FAILED, ERROR)
        assert result.note or result.status not in (SKIPPED, UNTRIED), result
    return report


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name, given", CALLS, ids=NAMES)
def test_all_laws_hold(name, given):
    check(name, given, profile=CASES)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name, given", CALLS, ids=NAMES)
def test_all_laws_hold_in_depth(name, given):
    check(name, given, profile="deep")


@pytest.mark.parametrize("name", sorted({name for name, _ in CALLS}))
def test_the_laws_of_inference_hold_over_all_assignments(name):
    assert check_inference(operators[name]).ok


def test_every_operator_of_the_package_is_checked():
    own = {name for name, op in operators.items() if op.__module__.startswith("sparseops.")}
    assert own == {name for name, _ in CALLS}
