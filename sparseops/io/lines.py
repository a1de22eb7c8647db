"""The lines of libsvm's format, parsed a block at a time: labels, query ids, columns and values."""

import re
from collections.abc import Iterator
from typing import IO, Any, NamedTuple, NoReturn

import numpy as np

from sparseops.errors import FormatError
from sparseops.io.decimals import Text

_BLOCK = 2**21
_LONGEST = 2**28
_COMMENT = re.compile(rb"#[^\n]*")
_CONTROL = bytes([*range(9), *range(14, 32)])
_QID = np.frombuffer(b"qid", np.uint8)


class Rows(NamedTuple):
    """Some rows of a file: a label, a query id and a number of entries each; columns as written.

    `qids` is None where no row has one; `line` is the number of the first line, `numbers` counts
    from it where each row stands.
    """

    labels: Any
    qids: Any
    counts: Any
    columns: Any
    values: Any
    numbers: Any
    line: int


def read_rows(file: IO[bytes], name: str) -> Iterator[Rows]:
    """The rows of `file`, which errors call `name`, some thousands at a time.

    Memory for a few blocks of the text.
    """
    line, rest = 1, b""
    while True:
        block = file.read(_BLOCK)
        cut = block.rfind(b"\n") + 1
        if block and not cut:
            rest += block
            if len(rest) > _LONGEST:
                raise FormatError(f"{name}, line {line}: more than {_LONGEST} bytes in one line")
            continue
        content = rest + block[:cut] if block else rest
        rest = block[cut:]
        if content:
            content += b"\n" * (content[-1:] != b"\n")
            yield _parsed(_COMMENT.sub(b"", content), name, line)
            line += content.count(b"\n")
        if not block:
            return


def _parsed(content: bytes, name: str, line: int) -> Rows:
    """The rows of `content`, which is whole lines without comments."""
    text = Text(content)
    spaces = text.bytes <= ord(" ")
    edges = np.flatnonzero(spaces[1:] != spaces[:-1]) + 1
    if not spaces[0]:
        edges = np.concatenate([[0], edges])
    starts, stops = edges[::2], edges[1::2]
    ends = np.flatnonzero(text.bytes == ord("\n"))
    tokens = np.searchsorted(starts, ends)
    firsts = np.concatenate([[0], tokens[:-1]])
    numbers = np.flatnonzero(tokens > firsts)
    firsts, tokens = firsts[numbers], tokens[numbers]
    place = _Place(text, name, line, ends)
    if len(content.translate(None, _CONTROL)) < len(content):
        at = int(np.isin(text.bytes, list(_CONTROL)).argmax())
        place.refuse(at, f"byte {content[at : at + 1]!r} has no place in a text")
    # Where the n-th row begins, behind the n labels before it.
    paired = np.ones(len(starts), bool)
    paired[firsts] = False
    labels = _checked(place, "label", *text.floats(starts[firsts], stops[firsts]), starts[firsts])
    starts, stops, counts = starts[paired], stops[paired], tokens - firsts - 1
    colons = np.flatnonzero(text.bytes == ord(":"))
    if len(colons) != len(starts) or (colons < starts).any() or (colons >= stops).any():
        _refuse_pairs(place, colons, starts, stops)
    qids = None
    if b"q" in content:
        qids, named = _query_ids(place, starts, stops, colons, counts)
        starts, stops, colons = starts[~named], stops[~named], colons[~named]
        counts = counts - (qids >= 0)
    columns = _checked(place, "column", *text.integers(starts, colons), starts)
    values = _checked(place, "value", *text.floats(colons + 1, stops), colons + 1)
    return Rows(labels, qids, counts, columns, values, numbers, line)


def _query_ids(
    place: "_Place", starts: Any, stops: Any, colons: Any, counts: Any
) -> tuple[Any, Any]:
    """The query id of each row, -1 for none, and which of the pairs are such ids."""
    named = colons - starts == 3
    at = np.flatnonzero(named)
    named[at] = (place.text.bytes[starts[at, None] + np.arange(3)] == _QID).all(axis=1)
    at = np.flatnonzero(named)
    found = np.cumsum(counts) - counts
    rows = np.searchsorted(found + counts, at, side="right")
    late = at != found[rows]
    if late.any():
        place.refuse(int(starts[at[late.argmax()]]), "qid stands behind the label alone")
    qids = np.full(len(counts), -1, np.int64)
    read = place.text.integers(colons[at] + 1, stops[at])
    qids[rows] = _checked(place, "query id", *read, colons[at] + 1)
    return qids, named


def _checked(place: "_Place", what: str, values: Any, good: Any, starts: Any) -> Any:
    if not good.all():
        rule = "a number" if what in ("label", "value") else "an integer of up to 18 digits"
        at = int(starts[int((~good).argmax())])
        place.refuse(at, f"{what} {place.token(at, what == 'label')!r} is not {rule}")
    return values


def _refuse_pairs(place: "_Place", colons: Any, starts: Any, stops: Any) -> NoReturn:
    inside = np.searchsorted(colons, stops) - np.searchsorted(colons, starts)
    wrong = inside != 1
    at = int(starts[wrong.argmax()])
    place.refuse(at, f"{place.token(at, pair=True)!r} is not column:value")


class _Place:
    """What errors need to say where they are."""

    def __init__(self, text: Text, name: str, line: int, ends: Any):
        self.text, self.name, self.line, self.ends = text, name, line, ends

    def token(self, start: int, pair: bool = False) -> str:
        """What stands at `start`, shortened."""
        found = self.text.content[start : start + 40].split()
        text = found[0].decode("utf-8", "replace") if found else ""
        return text if pair else text.split(":")[0]

    def refuse(self, start: int, fact: str) -> NoReturn:
        """Raise for what stands at `start`."""
        line = self.line + int(np.searchsorted(self.ends, start))
        raise FormatError(f"{self.name}, line {line}: {fact}")
