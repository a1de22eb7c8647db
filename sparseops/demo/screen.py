"""Where the demo writes: plain lines into a pipe, colors and progress bars on a terminal."""

import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from itertools import count
from textwrap import fill, indent
from typing import Any

WIDTH = 79


class Plain:
    """Plain text on standard output, each line sent at once."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def step(self, title: str) -> None:
        """The heading of the next step."""
        self.heading(f"{next(self._numbers)}. {title}")

    def say(self, text: str) -> None:
        """A paragraph, and an empty line."""
        self.show(fill(" ".join(text.split()), WIDTH) + "\n")

    def heading(self, text: str) -> None:
        """A line that stands out."""
        self.show(f"{text}\n{'=' * len(text)}\n")

    def show(self, text: str) -> None:
        """Text as it is."""
        print(text, flush=True)

    def code(self, source: str) -> None:
        """Python source."""
        self.show(indent(source, "    "))

    def table(self, header: Sequence[str], *rows: Sequence[str]) -> None:
        """A header and rows of cells; columns of numbers end flush."""
        numeric = _numeric(rows)
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        rule = ["-" * width for width in widths]
        for row in (header, rule, *rows):
            cells = [
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, numeric, strict=True)
            ]
            self.show("    " + "  ".join(cells).rstrip())
        self.show("")

    def progress(self, items: Sequence[Any], what: str) -> Iterable[Any]:
        """The items, while the screen shows how far they are."""
        return items


class Rich(Plain):
    """The same with color and progress bars, drawn by rich."""

    def __init__(self) -> None:
        from rich.console import Console

        super().__init__()
        self._console = Console()

    def heading(self, text: str) -> None:
        """A line that stands out."""
        from rich.text import Text

        self._console.rule(Text(text, "bold"), align="left")
        self._console.print()

    def show(self, text: str) -> None:
        """Text as it is."""
        self._console.print(text, markup=False, emoji=False, soft_wrap=True)

    def code(self, source: str) -> None:
        """Python source, colored."""
        from rich.syntax import Syntax

        self._console.print(Syntax(source, "python", theme="ansi_dark", padding=(0, 0, 0, 4)))
        self._console.print()

    def table(self, header: Sequence[str], *rows: Sequence[str]) -> None:
        """A header and rows of cells."""
        from rich.table import Table
        from rich.text import Text

        drawn = Table()
        for title, right in zip(header, _numeric(rows), strict=True):
            drawn.add_column(Text(title), justify="right" if right else "left")
        for row in rows:
            drawn.add_row(*map(Text, row))
        self._console.print(drawn)
        self._console.print()

    def progress(self, items: Sequence[Any], what: str) -> Iterable[Any]:
        """The items, behind a bar that goes away when they are done."""
        from rich.progress import track

        return track(items, what, console=self._console, transient=True)


def open_screen() -> Plain:
    """A screen for standard output as it is."""
    return Rich() if sys.stdout.isatty() and find_spec("rich") else Plain()


def _numeric(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Whether each column holds numbers alone, units aside."""
    return [all(cell[:1].isdigit() for cell in column) for column in zip(*rows, strict=True)]
