"""The command `sparseops check`: the laws of operators from the command line."""

import argparse
import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from sparseops.operators import Operator
from sparseops.registry import operators
from sparseops.testing.check import check_operator
from sparseops.testing.engine import PROFILES
from sparseops.testing.inference import check_inference
from sparseops.testing.report import ERROR, FAILED, Report
from sparseops.testing.suite import entries

OK, BROKEN, USAGE, TROUBLE = 0, 1, 2, 3

Given = dict[str, Any]


class Wrong(Exception):
    """A command line that names nothing to check."""


def main(argv: Sequence[str]) -> int:
    """The exit status: 0 all laws hold, 1 one is broken, 2 misused, 3 a check could not be done."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        found = [pair for target in arguments.targets for pair in _found(target)]
        given = _given(arguments)
    except Wrong as error:
        print(f"sparseops check: {error}", file=sys.stderr)
        return USAGE
    reports = [_checked(op, own | given) for op, own in found]
    _show(reports, arguments)
    statuses = {report.status for report in reports}
    if any(_misused(report) for report in reports):
        return USAGE
    return TROUBLE if ERROR in statuses else BROKEN if FAILED in statuses else OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "sparseops check",
        description="Try to break operators in every way, and show the smallest call that does.",
        epilog="exit status: 0 all laws hold, 1 one is broken, 2 misused, 3 a check failed to run",
    )
    add = parser.add_argument
    add(
        "targets",
        nargs="+",
        metavar="module[:operator]",
        help="a module or file, or one operator or function of it",
    )
    add("--shapes", help="axes, such as '(m,n),(n,k)->(m,k)'")
    add("--reference", metavar="module:function", help="the same function on NumPy arrays")
    add("--compare-with", metavar="module:function", help="the same function in another library")
    add("--storages", help="storages of the inputs, such as 'csr, dense'")
    add("--arrays", choices=("scipy", "sparseops"), help="what a plain function takes")
    add("--laws", help="ids such as 'V*,G1'; all by default")
    add("--profile", default="quick", help=f"{', '.join(PROFILES)}, or a number of cases")
    add("--seed", type=int, default=0, help="what the cases come from")
    add("--isolate", action="store_true", help="in a child process, so that a crash is found")
    add("--json", action="store_true", help="print JSON")
    add("--junit", metavar="FILE", help="write JUnit's XML, too")
    add("--brief", action="store_true", help="a line for each operator of which all laws hold")
    return parser


def _given(arguments: argparse.Namespace) -> Given:
    """The arguments of `check_operator` that the command line names."""
    profile = arguments.profile
    given: Given = {
        "laws": arguments.laws,
        "profile": int(profile) if profile.isdigit() else profile,
        "seed": arguments.seed,
        "isolate": arguments.isolate,
    }
    for name in ("shapes", "storages", "arrays"):
        if getattr(arguments, name) is not None:
            given[name] = getattr(arguments, name)
    for name in ("reference", "compare_with"):
        if getattr(arguments, name) is not None:
            given[name] = _named(getattr(arguments, name))
    return given


def _found(target: str) -> Iterator[tuple[Any, Given]]:
    """The operators that a target names, with what their module says of them."""
    module, colon, name = target.rpartition(":")
    if colon and not (os.name == "nt" and len(module) == 1):
        yield _named(target), {}
        return
    scope, known = _scope(target)
    listed = scope.get("OPERATORS")
    if listed:
        yield from entries(listed)
        return
    mine = [op for op in operators.values() if op.__module__ in known]
    mine += [op for op in operators.values() if op.__module__.startswith(f"{target}.")]
    if not mine:
        raise Wrong(f"{target} declares no operators; name a function: {target}:function")
    yield from ((op, {}) for op in mine)


def _named(target: str) -> Any:
    module, _, name = target.rpartition(":")
    if not module:
        raise Wrong(f"{target!r} is not of the form module:function")
    found: Any = _scope(module)[0]
    for part in name.split("."):
        missing = object()
        found = (
            found.get(part, missing) if isinstance(found, dict) else getattr(found, part, missing)
        )
        if found is missing:
            raise Wrong(f"{module} has no {name!r}")
    if not callable(found):
        raise Wrong(f"{target} is {type(found).__name__}, not a function")
    return found


_scopes: dict[str, tuple[dict[str, Any], set[str]]] = {}


def _scope(target: str) -> tuple[dict[str, Any], set[str]]:
    """The names of a module or file, and what its operators give as their module."""
    if target in _scopes:
        return _scopes[target]
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        if target.endswith(".py"):
            if not Path(target).is_file():
                raise Wrong(f"there is no file {target}")
            name = f"<{Path(target).name}>"
            found = runpy.run_path(target, run_name=name), {name}
        else:
            found = vars(import_module(target)), {target}
    except ModuleNotFoundError as error:
        if error.name is not None and target.startswith(error.name):
            raise Wrong(f"there is no module {target!r}") from None
        raise Wrong(f"{target} needs {error.name}, which is not installed") from None
    except Wrong:
        raise
    except Exception as error:
        raise Wrong(f"{target} cannot be imported: {type(error).__name__}: {error}") from None
    _scopes[target] = found
    return found


def _checked(op: Any, given: Given) -> Report:
    if isinstance(op, Operator) and not (given.get("shapes") or op.shapes):
        report = check_inference(op)
        report.notes.append("inference alone: the operator says nothing of its axes")
        return report
    return check_operator(op, on_fail="report", **given)


def _misused(report: Report) -> bool:
    return any(
        result.status == ERROR and result.title == "the check can be done as asked for"
        for result in report.results
    )


def _show(reports: Sequence[Report], arguments: argparse.Namespace) -> None:
    if arguments.json:
        texts = [report.to_json() for report in reports]
        print(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    else:
        for report in reports:
            text = str(report)
            print(text.partition("\n")[0] if arguments.brief and report.ok else f"{text}\n")
    if arguments.junit:
        suites = [report.to_junit().partition("\n")[2].strip() for report in reports]
        inner = "".join(
            s.removeprefix("<testsuites>").removesuffix("</testsuites>") for s in suites
        )
        head = "<?xml version='1.0' encoding='utf-8'?>"
        Path(arguments.junit).write_text(f"{head}\n<testsuites>{inner}</testsuites>\n")
