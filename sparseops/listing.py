"""Reports as text and HTML."""

from pathlib import Path
from textwrap import wrap
from typing import Any

from sparseops.policy import format_bytes

_WIDTH = 100
_COLORS = {"dense": "36", "csr": "32", "row_sparse": "33"}
_RED, _BOLD = "31", "1"
_HEADS = ("value", "shape", "storage", "stored", "dense", "line")
_ROOMS = (33, 23, 10, 11, 10, 6)


def as_text(report: Any, color: bool = False) -> str:
    """The report as a table of 100 columns; `color` for terminals."""
    paint = _painted if color else lambda text, code: text
    lines = [paint(_row(_HEADS), _BOLD)]
    forward = [line for line in report.calls if not line.backward]
    backward = [line for line in report.calls if line.backward]
    for part in (report.inputs, forward):
        lines += [_line(report, line, paint) for line in part]
    if backward:
        lines.append(paint("gradients".center(_WIDTH, "-").rstrip(), _BOLD))
        lines += [_line(report, line, paint) for line in backward]
        lines += [f"gradient by {name}: {spec}" for name, spec in report.gradients.items()]
    found = report.fallbacks
    lines.append("")
    if not found:
        return "\n".join([*lines, "nothing densifies"])
    total = sum(f.bytes_dense for f in found)
    calls = "1 call densifies" if len(found) == 1 else f"{len(found)} calls densify"
    lines.append(paint(f"{calls}, {format_bytes(total)} in dense copies", _RED))
    for fallback in found:
        lines += _fallback(fallback, report.exact, paint)
    return "\n".join(line.rstrip() for line in lines)


def as_html(report: Any) -> str:
    """The report as a drawing and a table, for notebooks."""
    rows = "".join(_html_row(report, line) for line in (*report.inputs, *report.calls))
    heads = "".join(f"<th style='text-align:left'>{head}</th>" for head in _HEADS)
    text = as_text(report).partition("\n\n")[2]
    return (
        f"<div style='overflow:auto'>{report.to_svg()}<table><tr>{heads}</tr>{rows}</table>"
        f"<pre>{escaped(text)}</pre></div>"
    )


def amount(count: int | None, exact: bool, stype: str) -> str:
    """Bytes for people: exact, as a bound, or unknown."""
    if count is None:
        return "unknown"
    return ("" if exact or stype == "dense" else "≤ ") + format_bytes(count).replace("bytes", "B")


def escaped(text: str) -> str:
    """`text` for HTML, SVG and their attributes."""
    for mark, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("'", "&#x27;")):
        text = text.replace(mark, entity)
    return text.replace('"', "&quot;")


def place(where: tuple[str, int]) -> str:
    """The line of a call, for people."""
    return f"{Path(where[0]).name}:{where[1]}" if where[1] else ""


def _cells(report: Any, line: Any) -> list[str]:
    spec = line.specs[0]
    return [
        ("! " if line.fallback else "") + _made(line),
        f"{spec.dtype.name}[{','.join(map(str, spec.shape))}]",
        spec.stype,
        amount(line.bytes, report.exact, spec.stype),
        format_bytes(line.bytes_dense).replace("bytes", "B"),
        f":{line.where[1]}" if line.where[1] else "",
    ]


def _made(line: Any) -> str:
    """The value, and the call that makes it; named where it is not called like its operator."""
    if line.operator == "input":
        return line.name
    call = f"{line.operator}({', '.join(line.inputs)})"
    return call if line.name == line.operator else f"{line.name} = {call}"


def _line(report: Any, line: Any, paint: Any) -> str:
    text = _row(_cells(report, line))
    return paint(text, _RED if line.fallback else _COLORS[line.specs[0].stype])


def _row(cells: Any) -> str:
    fitted = [
        text if len(text) <= room else text[: room - 1] + "…"
        for text, room in zip(cells, _ROOMS, strict=True)
    ]
    return " ".join(f"{text:<{room}}" for text, room in zip(fitted, _ROOMS, strict=True)).rstrip()


def _fallback(found: Any, exact: bool, paint: Any) -> list[str]:
    *taken, _ = found.stypes
    head = f"{place(found.where)}  {found.operator}({', '.join(taken)})"
    stored = amount(found.bytes_sparse, exact, "csr")
    ratio = f", {found.ratio:,.0f} times as many" if found.ratio and found.ratio >= 2 else ""
    lines = [paint(head, _RED)]
    lines += wrap(found.reason, _WIDTH, initial_indent="  why   ", subsequent_indent="        ")
    lines.append(f"  cost  {stored} become {format_bytes(found.bytes_dense)}{ratio}")
    way = found.suggestion or "none: declare a signature for these storages"
    return [*lines, f"  write {way}"]


def _html_row(report: Any, line: Any) -> str:
    cells = [escaped(text) for text in _cells(report, line)]
    style = "background:#fde0dd" if line.fallback else ""
    inside = "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells)
    return f"<tr style='{style}' title='{escaped(line.signature)}'>{inside}</tr>"


def _painted(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m"
