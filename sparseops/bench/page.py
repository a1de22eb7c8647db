"""One HTML page of a run, with its charts inside: nothing else has to be loaded to read it."""

from collections.abc import Mapping, Sequence
from html import escape

from sparseops.bench import table
from sparseops.bench.results import Run

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff; }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; }
th, td { text-align: left; padding: .2rem .7rem .2rem 0; border-bottom: 1px solid #ddd; }
svg { max-width: 100%; height: auto; }
"""
_HEADINGS = {
    "peers": "Beside other libraries",
    "limit": "Beside the memory",
    "growth": "Growth",
    "density": "Sparse or dense",
}


def page(run: Run, charts: Mapping[str, str]) -> str:
    """The page as text; `charts` are SVG by name."""
    body = ["<h1>sparseops bench</h1>", "<p>" + "<br>".join(map(escape, table.facts(run))) + "</p>"]
    for name, svg in charts.items():
        body += [f"<h2>{_HEADINGS[name]}</h2>", svg[svg.index("<svg") :]]
    body += _section("Targets missed", ("case", "ratio"), list(table.misses(run)))
    body += _section("Not measured", ("case", "by", "because"), list(table.failures(run)))
    body += _section("All cases", table.HEADER, list(table.rows(run)))
    body += _section("Exponents", table.GROWTH, list(table.growth(run)))
    body += _section("Dense wins", ("case", "density"), list(table.dense_wins(run)))
    head = f'<meta charset="utf-8"><title>sparseops bench</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(
        [*body, "</body></html>\n"]
    )


def _section(heading: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    lines = [_line("th", header), *(_line("td", row) for row in rows)]
    return [f"<h2>{heading}</h2>", "<table>", *lines, "</table>"]


def _line(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
