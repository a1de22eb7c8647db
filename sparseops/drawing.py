"""Reports as drawings: DOT for Graphviz, and SVG by a layout of our own."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

from sparseops.arrangement import arrange, bend, bent, layers_of, sunk
from sparseops.listing import amount, escaped

FILLS = {"dense": "#dbe4f0", "csr": "#c9e9cf", "row_sparse": "#fde3b4"}
EDGES = {"dense": "#7d93b2", "csr": "#3f9a55", "row_sparse": "#d08a1d"}
RED, INK, GRAY = "#c8322b", "#1f2933", "#7b8794"
_GAP, _HEIGHT, _STEP, _PAD = 26.0, 50.0, 88.0, 28.0
_CHARS = (7.7, 6.4, 6.2)
_SIDE, _TOP, _TRACK = 104.0, 86.0, 5.0
_MOST, _SECONDS = 200, 60


def as_dot(report: Any) -> str:
    """The report in the language of Graphviz, gradients in a cluster of their own."""
    gradients = {name: about for about, name in report.outputs.items()}
    lines = [
        "digraph sparseops {",
        '  node [shape=box, style="rounded,filled", fontname="Helvetica"];',
        f'  edge [color="{GRAY}"];',
    ]
    for line in (*report.inputs, *(x for x in report.calls if not x.backward)):
        lines.append(f"  {_dot_node(report, line, gradients)}")
    backward = [line for line in report.calls if line.backward]
    if backward:
        lines += ["  subgraph cluster_gradients {", '    label="gradients"; color="#9aa5b1";']
        lines += [f"    {_dot_node(report, line, gradients)}" for line in backward]
        lines.append("  }")
    known = {line.name: line for line in (*report.inputs, *report.calls)}
    for line in report.calls:
        for name in dict.fromkeys(line.inputs):
            if name in known:
                color = EDGES[known[name].specs[0].stype]
                lines.append(f'  {_quoted(name)} -> {_quoted(line.name)} [color="{color}"];')
    return "\n".join([*lines, "}"])


def _dot_node(report: Any, line: Any, about: Mapping[str, str]) -> str:
    first, second, third = _labels(report, line, about)
    color, fill = (RED, "#fbd5d2") if line.fallback else _colors(line)
    label = _quoted("\n".join((first, second, third)))
    return f'{_quoted(line.name)} [label={label}, color="{color}", fillcolor="{fill}"];'


def _quoted(text: str) -> str:
    """`text` as a string of Graphviz."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{plain}"'


def as_svg(report: Any) -> str:
    """The report as SVG: forward on the left, downwards; gradients on the right, upwards.

    Beyond 200 values it is Graphviz that draws, where its program `dot` is installed.
    """
    lines = [*report.inputs, *report.calls]
    if len(lines) > _MOST:
        return _by_graphviz(report) or _too_many(len(lines))
    about = {name: text for text, name in report.outputs.items()}
    boxes = _Boxes(report, about)
    parts = [*boxes.panels(), *boxes.edges(), *boxes.nodes(), *boxes.legend()]
    size = f'width="{boxes.width:.0f}" height="{boxes.height:.0f}"'
    view = f'viewBox="0 0 {boxes.width:.0f} {boxes.height:.0f}"'
    font = 'font-family="Helvetica, Arial, sans-serif"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} {font}>'
    white = f'<rect width="{boxes.width:.0f}" height="{boxes.height:.0f}" fill="#ffffff"/>'
    return "\n".join([head, white, *parts, "</svg>"])


class _Boxes:
    """Where each line of a report stands."""

    def __init__(self, report: Any, about: Mapping[str, str]):
        self.report = report
        self.about = about
        self.lines = {line.name: line for line in (*report.inputs, *report.calls)}
        self.labels = {n: _labels(report, x, about) for n, x in self.lines.items()}
        self.widths = {
            name: max(len(t) * size for t, size in zip(labels, _CHARS, strict=True)) + _PAD
            for name, labels in self.labels.items()
        }
        forward = [x for x in self.lines.values() if not x.backward]
        backward = [x for x in self.lines.values() if x.backward]
        self.rows: dict[str, int] = {}
        self.layers: dict[str, int] = {}
        self.x: dict[str, float] = {}
        self.panel: list[tuple[str, float, float]] = []
        self.tracks: dict[str, int] = {}
        left = self._side("function", forward, 40.0, upwards=False)
        if backward:
            left = self._side("gradients", backward, left + _SIDE, upwards=True)
        self.width = max(left + 40.0, 560.0)
        self.height = _TOP + (max(self.rows.values()) + 1) * _STEP + 58.0

    def _side(self, title: str, lines: list, left: float, upwards: bool) -> float:
        """Place the lines of one side; the right end of what it takes."""
        inputs = {x.name: [n for n in x.inputs if n in self.lines] for x in lines}
        own = {name: [n for n in read if n in inputs] for name, read in inputs.items()}
        layers = sunk(layers_of(own), own)
        places, read = bent(layers, own)
        widths = {name: self.widths.get(name, 0.0) for name in places}
        middle = arrange(places, read, widths, _GAP)
        depth = max(layers.values())
        bottom = max(depth, max(self.rows.values(), default=0))
        shift = left - min(middle[n] - widths[n] / 2 for n in places)
        for name, layer in places.items():
            self.rows[name] = bottom - layer if upwards else layer
            self.x[name] = middle[name] + shift
        self.layers.update(layers)
        right = max(self.x[n] + widths[n] / 2 for n in places)
        self.panel.append((title, left, right))
        return right

    def y(self, name: str) -> float:
        """The top of a box."""
        return _TOP + self.rows[name] * _STEP

    def panels(self) -> Iterator[str]:
        """The ground of each side, with its title."""
        for title, left, right in self.panel:
            fill = "#f7f9fb" if title == "function" else "#fbf8f3"
            x, width, height = left - 22, right - left + 44, self.height - 84
            yield (
                f'<rect x="{x:.1f}" y="30" width="{width:.1f}" height="{height:.1f}" rx="14" '
                f'fill="{fill}"/>'
            )
            yield (
                f'<text x="{left - 6:.1f}" y="54" font-size="14" font-weight="bold" '
                f'fill="{GRAY}">{title}</text>'
            )

    def edges(self) -> Iterator[str]:
        """A curve from each value to each of its readers."""
        for line in self.report.calls:
            for name in dict.fromkeys(line.inputs):
                if name in self.lines:
                    yield self._edge(name, line)

    def _edge(self, name: str, line: Any) -> str:
        source = self.lines[name]
        if source.backward != line.backward:
            path = self._wire(name, line.name)
            style = 'stroke-dasharray="4 3" stroke-opacity="0.75" stroke-width="1.1"'
        else:
            path, style = self._bends(name, line), 'stroke-width="2"'
        color = EDGES[source.specs[0].stype]
        return f'<path d="{path}" fill="none" stroke="{color}" {style}/>'

    def _wire(self, name: str, reader: str) -> str:
        """The path from a box to one of the other side: between the rows, and between the sides.

        Wires of one box run together, those of others beside them.
        """
        track = self.tracks.setdefault(name, len(self.tracks))
        middle = (self.panel[0][2] + self.panel[1][1]) / 2
        across = middle + (track % 2 * 2 - 1) * (track + 1) // 2 * _TRACK
        apart = (track % 5 - 2) * 3.0
        # From the lower right corner of the box, to the upper left one of its reader.
        x1, y1 = self.x[name] + self.widths[name] / 2 - 12, self.y(name) + _HEIGHT
        x2, y2 = self.x[reader] - self.widths[reader] / 2 + 12 + track % 3 * 5, self.y(reader)
        low, high = y1 + (_STEP - _HEIGHT) / 2 + apart, y2 - (_STEP - _HEIGHT) / 2 + apart
        return _rounded([(x1, y1), (x1, low), (across, low), (across, high), (x2, high), (x2, y2)])

    def _bends(self, name: str, line: Any) -> str:
        """The path from a box to a later one of its side, through the bends between them."""
        up = line.backward
        x, y = self.x[name], self.y(name) + (0 if up else _HEIGHT)
        path = f"M{x:.1f},{y:.1f}"
        between = range(self.layers[name] + 1, self.layers[line.name])
        for stop in (*(bend(name, layer) for layer in between), line.name):
            x2, y2 = self.x[stop], self.y(stop) + (_HEIGHT if up else 0)
            half = (y2 - y) / 2
            path += f" C{x:.1f},{y + half:.1f} {x2:.1f},{y2 - half:.1f} {x2:.1f},{y2:.1f}"
            if stop != line.name:
                y2 += -_HEIGHT if up else _HEIGHT
                path += f" L{x2:.1f},{y2:.1f}"
            x, y = x2, y2
        return path

    def nodes(self) -> Iterator[str]:
        """The boxes and what stands in them."""
        for name, line in self.lines.items():
            color, fill = (RED, "#fbd5d2") if line.fallback else _colors(line)
            thick = 3 if line.fallback or name in self.about else 1.4
            x, y, width = self.x[name] - self.widths[name] / 2, self.y(name), self.widths[name]
            radius = _HEIGHT / 2 if line.operator == "input" else 7
            tip = escaped(_tip(line))
            yield (
                f'<g><title>{tip}</title><rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                f'height="{_HEIGHT:.0f}" rx="{radius:.0f}" fill="{fill}" stroke="{color}" '
                f'stroke-width="{thick}"/>'
            )
            for place, (text, size, weight, ink) in enumerate(
                zip(
                    self.labels[name],
                    (12.5, 10.5, 10),
                    ("bold", "normal", "normal"),
                    (RED if line.fallback else INK, INK, GRAY),
                    strict=True,
                )
            ):
                yield (
                    f'<text x="{self.x[name]:.1f}" y="{y + 17 + place * 13.5:.1f}" '
                    f'font-size="{size}" font-weight="{weight}" fill="{ink}" '
                    f'text-anchor="middle">{escaped(text)}</text>'
                )
            yield "</g>"

    def legend(self) -> Iterator[str]:
        """What the colors mean."""
        x, y = 24.0, self.height - 28.0
        entries = [(name, FILLS[name], EDGES[name]) for name in FILLS]
        for name, fill, color in (*entries, ("densifies", "#fbd5d2", RED)):
            yield (
                f'<rect x="{x:.0f}" y="{y - 12:.0f}" width="18" height="14" rx="3" fill="{fill}" '
                f'stroke="{color}" stroke-width="1.5"/>'
                f'<text x="{x + 25:.0f}" y="{y:.0f}" font-size="12" fill="{INK}">{name}</text>'
            )
            x += 40 + len(name) * 8
        if len(self.panel) > 1:
            yield (
                f'<path d="M{x:.0f},{y - 4:.0f} h26" stroke="{GRAY}" stroke-dasharray="4 3"/>'
                f'<text x="{x + 33:.0f}" y="{y:.0f}" font-size="12" fill="{INK}">'
                "kept for a gradient</text>"
            )


def _labels(report: Any, line: Any, about: Mapping[str, str]) -> tuple[str, str, str]:
    spec = line.specs[0]
    head = line.name if line.operator == "input" else line.operator
    if line.name in about:
        head += f"  → {about[line.name]}"
    shape = f"{spec.dtype.name}[{','.join(map(str, spec.shape))}] {spec.stype}"
    return head, shape, amount(line.bytes, report.exact, spec.stype)


def _colors(line: Any) -> tuple[str, str]:
    stype = line.specs[0].stype
    return EDGES[stype], FILLS[stype]


def _tip(line: Any) -> str:
    found = line.fallback
    text = f"{line.name}: {line.signature}" if line.signature else line.name
    return f"{text}\n{found.reason}\n{found.suggestion}" if found else text


def _rounded(corners: list[tuple[float, float]]) -> str:
    """The path through `corners` along the axes, its turns rounded."""
    path = f"M{corners[0][0]:.1f},{corners[0][1]:.1f}"
    for (x, y), (x2, y2), (x3, y3) in zip(corners, corners[1:], corners[2:], strict=False):
        near = min(7.0, (abs(x2 - x) + abs(y2 - y)) / 2, (abs(x3 - x2) + abs(y3 - y2)) / 2)
        before = x2 - near * ((x2 > x) - (x2 < x)), y2 - near * ((y2 > y) - (y2 < y))
        after = x2 + near * ((x3 > x2) - (x3 < x2)), y2 + near * ((y3 > y2) - (y3 < y2))
        path += f" L{before[0]:.1f},{before[1]:.1f} Q{x2:.1f},{y2:.1f} "
        path += f"{after[0]:.1f},{after[1]:.1f}"
    return f"{path} L{corners[-1][0]:.1f},{corners[-1][1]:.1f}"


def _by_graphviz(report: Any) -> str:
    """The drawing by the program `dot`; empty where it is not installed or fails."""
    program = shutil.which("dot")
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, "-Tsvg"],
            input=as_dot(report),
            capture_output=True,
            encoding="utf-8",
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout[max(done.stdout.find("<svg"), 0) :] if done.returncode == 0 else ""


def _too_many(count: int) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="520" height="40"><text x="10" y="25" '
        f'font-size="14">{count} values are too many to draw without Graphviz: install its dot'
        "</text></svg>"
    )
