"""Laws as tests of pytest: one for each operator and law."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sparseops.testing.catalogue import catalogue
from sparseops.testing.check import check_operator
from sparseops.testing.law import selected
from sparseops.testing.misuse import Misuse
from sparseops.testing.report import ERROR, EXPECTED, OK, SKIPPED, UNTRIED, LawResult, Report

_reports: dict[Any, Report] = {}


def entries(listed: Iterable[Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Operators, or pairs of one and the arguments with which it is checked, as pairs."""
    for entry in listed:
        if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], Mapping):
            yield entry[0], dict(entry[1])
        elif callable(entry):
            yield entry, {}
        else:
            raise Misuse(f"{entry!r} is neither an operator nor a pair (operator, arguments)")


class LawCheck:
    """One law of one operator; calling it raises AssertionError where the law is broken."""

    def __init__(self, op: Any, given: dict[str, Any], law: str):
        self.op = op
        self.given = given
        self.law = law

    def __call__(self, op: Any = None) -> LawResult:
        """Check the law; all laws of an operator are checked together, once."""
        report = _report(self.op, self.given)
        result = report.result(self.law)
        broken = Report(report.name, [result], seed=report.seed, profile=report.profile)
        setup = [r for r in report.results if r.status == ERROR]
        if setup and not result.cases:
            broken = Report(report.name, setup, seed=report.seed, profile=report.profile)
        broken.oracle = report.oracle
        broken.raise_for_failures()
        return result

    def __repr__(self) -> str:
        return f"<law {self.law} of {getattr(self.op, '__name__', self.op)}>"


def law_checks(listed: Iterable[Any]) -> Iterator[LawCheck]:
    """A check for each operator and law."""
    laws = [law.id for law in selected(_options().get("laws"))]
    for op, given in entries(listed):
        for law in laws:
            yield LawCheck(op, given, law)


def run_check(check: LawCheck) -> None:
    """Carry out a check as a test of pytest: skipped where the law does not apply."""
    import pytest

    result = check()
    if result.status in (SKIPPED, UNTRIED):
        pytest.skip(result.note)
    if result.status == EXPECTED:
        pytest.xfail(result.note)
    assert result.status == OK


def parametrize_with_laws(operators: Iterable[Any]) -> Any:
    """A decorator that makes one test of pytest for each operator and law.

    Parameters
    ----------
    operators : iterable
        Operators, or pairs of an operator and a mapping of arguments of `check_operator`.

    Examples
    --------
    A test module that holds::

        @so.testing.parametrize_with_laws([scale_rows, (gather, {"domain": {"ids": [0, 1]}})])
        def test_laws(operator, law):
            law(operator)
    """
    import pytest

    params = []
    for check in law_checks(operators):
        name = getattr(check.op, "__name__", type(check.op).__name__)
        params.append(pytest.param(check.op, _Skipping(check), id=f"{name}-{check.law}"))
    return pytest.mark.parametrize("operator, law", params)


class _Skipping:
    """A check that skips its test where the law does not apply."""

    def __init__(self, check: LawCheck):
        self.check = check

    def __call__(self, op: Any = None) -> None:
        run_check(self.check)

    def __repr__(self) -> str:
        return repr(self.check)


def _options() -> dict[str, Any]:
    """What was given to pytest on the command line."""
    plugin = sys.modules.get("pytest_sparseops")
    return dict(plugin.OPTIONS) if plugin is not None else {}


def _report(op: Any, given: dict[str, Any]) -> Report:
    options = {name: value for name, value in _options().items() if value is not None}
    options.pop("laws", None)
    key = id(op), repr(sorted(given.items(), key=lambda item: item[0])), repr(options)
    if key not in _reports:
        _reports[key] = check_operator(op, on_fail="report", **{**given, **options})
        known = {result.law for result in _reports[key].results}
        for law in catalogue():
            if law.id not in known:
                untried = LawResult(law.id, law.title, UNTRIED, note="the check did not begin")
                _reports[key].results.append(untried)
    return _reports[key]
