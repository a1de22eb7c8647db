"""The plugin of pytest: laws of operators as tests. It imports sparseops only where used."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

#: What was given on the command line; None where nothing was.
OPTIONS: dict[str, Any] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("sparseops", "laws of sparse operators")
    group.addoption("--sparseops-profile", help="quick, ci, deep, or a number of cases")
    group.addoption("--sparseops-laws", help="ids such as 'V*,G1'")
    group.addoption("--sparseops-seed", type=int, help="what the cases come from")
    group.addoption("--sparseops-isolate", action="store_true", help="check in a child process")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the options, and declare the marker."""
    profile = config.getoption("--sparseops-profile")
    OPTIONS.update(
        profile=int(profile) if profile and profile.isdigit() else profile,
        laws=config.getoption("--sparseops-laws"),
        seed=config.getoption("--sparseops-seed"),
        isolate=config.getoption("--sparseops-isolate") or None,
    )
    config.addinivalue_line(
        "markers",
        "sparseops(*operators, **arguments): one test for each operator and law; the arguments of "
        "the function are operator and law, and it calls law(operator)",
    )
    config.addinivalue_line(
        "markers", "no_fallback: the test fails where something sparse runs dense in its call"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize functions with the marker."""
    marker = metafunc.definition.get_closest_marker("sparseops")
    if marker is not None:
        from sparseops.testing import parametrize_with_laws

        listed = [(op, marker.kwargs) for op in marker.args]
        metafunc.parametrize(*parametrize_with_laws(listed).args)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Hold tests with the marker `no_fallback` to it."""
    if item.get_closest_marker("no_fallback") is None:
        return (yield)
    from sparseops.testing import assert_no_fallback

    with assert_no_fallback():
        return (yield)


def pytest_pycollect_makeitem(collector: Any, name: str, obj: Any) -> list[pytest.Item] | None:
    """A test for each law of each operator in a module's list OPERATORS."""
    if name != "OPERATORS" or not isinstance(obj, (list, tuple)) or not _names_operators(obj):
        return None
    from sparseops.testing.suite import law_checks

    return [
        LawItem.from_parent(collector, name=f"{check.op.__name__}-{check.law}", check=check)
        for check in law_checks(obj)
    ]


def _names_operators(listed: Any) -> bool:
    module = sys.modules.get("sparseops.operators")
    firsts = [entry[0] if isinstance(entry, tuple) and entry else entry for entry in listed]
    return module is not None and any(isinstance(op, module.Operator) for op in firsts)


class LawItem(pytest.Item):
    """One law of one operator."""

    def __init__(self, *, check: Any, **options: Any):
        super().__init__(**options)
        self.check = check
        self.add_marker("sparseops")

    def runtest(self) -> None:
        """Check the law."""
        from sparseops.testing.suite import run_check

        run_check(self.check)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The report, without the way through the checker."""
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple:
        """Where the test comes from."""
        return self.path, None, self.name
