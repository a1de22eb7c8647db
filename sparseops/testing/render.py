"""Reports as text, as HTML, and as JUnit's XML."""

from collections.abc import Iterator
from html import escape
from typing import Any
from xml.sax.saxutils import quoteattr

_MARKS = {
    "ok": "ok",
    "failed": "FAIL",
    "xfail": "xfail",
    "xpass": "XPASS",
    "not applicable": "-",
    "not reached": "?",
    "error": "ERROR",
}
_BAD = ("failed", "xpass", "error")


def text(report: Any) -> str:
    """The table of laws, then each failure with its example."""
    lines = [_headline(report)]
    width = max((len(result.title) for result in report.results), default=0)
    for result in report.results:
        mark = _MARKS[result.status]
        line = f"  {mark:<5} {result.law:<4} {result.title:<{width}}"
        if result.status in ("not applicable", "not reached"):
            line += f"  {result.note}"
        else:
            line += f"  {result.cases:>6} cases {1000 * result.seconds:>7.0f} ms"
            line += f"  ({result.note})" if result.note else ""
        lines.append(line.rstrip())
    lines += [f"  note: {note}" for note in report.notes]
    for group in grouped(report.failures):
        lines += ["", *_failure_lines(group)]
    return "\n".join(lines)


def _headline(report: Any) -> str:
    applied = [r for r in report.results if r.status not in ("not applicable", "not reached")]
    held = sum(result.status not in _BAD for result in applied)
    parts = [f"{report.name}: {held} of {len(applied)} laws hold", f"{report.seconds:.2f} s"]
    parts += [f"oracle: {report.oracle}"] if report.oracle else []
    parts += [f"seed {report.seed}"] if report.seed is not None else []
    return "   ".join([*parts, *([report.profile] if report.profile else [])])


def grouped(failures: list[Any]) -> Iterator[list[Any]]:
    """Failures that share an example, together."""
    groups: dict[Any, list[Any]] = {}
    for number, failure in enumerate(failures):
        key = _inputs(failure.example) if failure.example else number
        groups.setdefault(key, []).append(failure)
    yield from groups.values()


def _inputs(example: str) -> str:
    """The assignments of an example, without the call."""
    return "\n".join(line for line in example.splitlines() if " = so." in line) or example


def _failure_lines(group: list[Any]) -> Iterator[str]:
    for failure in group:
        where = f"  ({failure.signature})" if failure.signature else ""
        yield f"{failure.law}  {failure.title}{where}"
        yield f"    {failure.message}"
        yield f"    why: {failure.why}"
    example = group[0].example
    yield from (f"        {line}" for line in example.splitlines())


def html(report: Any) -> str:
    """A table for notebooks; each failure opens under it."""
    rows = []
    for result in report.results:
        color = {"ok": "#2a7", "failed": "#c33", "xpass": "#c33", "error": "#c33"}
        style = f"color:{color.get(result.status, '#888')}"
        rest = result.note or f"{result.cases} cases"
        rows.append(
            f"<tr><td style='{style}'>{_MARKS[result.status]}</td><td>{result.law}</td>"
            f"<td style='text-align:left'>{escape(result.title)}</td>"
            f"<td style='text-align:left'>{escape(rest)}</td></tr>"
        )
    failures = [
        f"<details open><summary>{escape(', '.join(f.law for f in group))}: "
        f"{escape(group[0].message)}</summary><p>{escape(group[0].why)}</p>"
        f"<pre>{escape(group[0].example)}</pre></details>"
        for group in grouped(report.failures)
    ]
    head = f"<b>{escape(_headline(report))}</b>"
    return f"<div>{head}<table>{''.join(rows)}</table>{''.join(failures)}</div>"


def junit(report: Any) -> str:
    """One test suite, with a test case for each law."""
    cases = []
    for result in report.results:
        body = ""
        if result.status in _BAD:
            kind = "error" if result.status == "error" else "failure"
            for failure in result.failures:
                content = escape(f"{failure.why}\n{failure.example}")
                body += f"<{kind} message={quoteattr(failure.message)}>{content}</{kind}>"
        elif result.status != "ok":
            body = f"<skipped message={quoteattr(result.note or result.status)}/>"
        name = quoteattr(f"{result.law} {result.title}")
        owner = quoteattr(report.name)
        cases.append(
            f"<testcase classname={owner} name={name} time='{result.seconds:.3f}'>{body}</testcase>"
        )
    bad = [result.status for result in report.results]
    counts = (
        f"tests='{len(cases)}' failures='{bad.count('failed') + bad.count('xpass')}' "
        f"errors='{bad.count('error')}' time='{report.seconds:.3f}'"
    )
    suite = f"<testsuite name={quoteattr(report.name)} {counts}>{''.join(cases)}</testsuite>"
    return f"<?xml version='1.0' encoding='utf-8'?>\n<testsuites>{suite}</testsuites>\n"
