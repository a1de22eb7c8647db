"""Axes of an operator's arrays in NumPy's gufunc notation, such as ``"(m,n),(n,k)->(m,k)"``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sparseops.testing.misuse import Misuse

Lengths = Mapping[str, int]
Axis = str | int

_GROUP = re.compile(r"\(([^()]*)\)(\.\.\.)?")


@dataclass(frozen=True)
class Axes:
    """The axes of each input and result: a letter where arrays share a length, else a number.

    `repeated` says that the last input stands for any number of arrays; `outputs` is empty where
    nothing is said of the results. A letter of a result that no input has stands for any length.
    """

    inputs: tuple[tuple[Axis, ...], ...]
    outputs: tuple[tuple[Axis, ...], ...]
    repeated: bool = False

    @classmethod
    def parse(cls, text: str) -> "Axes":
        """The axes written in `text`.

        Examples
        --------
        >>> Axes.parse("(m,3),(m)->(m)").inputs
        (('m', 3), ('m',))
        """
        if not isinstance(text, str):
            raise Misuse(f"shapes={text!r} is not text like '(m,n),(n,k)->(m,k)'")
        left, arrow, right = text.partition("->")
        if "->" in right:
            raise Misuse(f"shapes={text!r} has '->' twice")
        inputs, starred = _groups(left, text)
        outputs, wrong = _groups(right, text) if arrow else ((), ())
        if arrow and not outputs:
            raise Misuse(f"shapes={text!r} says nothing behind '->': write '()' for a number")
        if wrong or starred not in ((), (len(inputs) - 1,)):
            raise Misuse(f"shapes={text!r}: '...' belongs behind the last input")
        return cls(inputs, outputs, bool(starred))

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters of the inputs, in order."""
        found = [axis for group in self.inputs for axis in group if isinstance(axis, str)]
        return tuple(dict.fromkeys(found))

    def expand(self, count: int) -> tuple[tuple[Axis, ...], ...]:
        """The axes of `count` inputs."""
        if not self.repeated:
            return self.inputs
        return self.inputs[:-1] + self.inputs[-1:] * (count - len(self.inputs) + 1)

    def __str__(self) -> str:
        left = ",".join(map(_group_text, self.inputs)) + "..." * self.repeated
        return f"{left}->{','.join(map(_group_text, self.outputs))}" if self.outputs else left


def shape_of(group: tuple[Axis, ...], lengths: Lengths) -> tuple[int, ...]:
    """The shape that the axes `group` have."""
    return tuple(axis if isinstance(axis, int) else lengths[axis] for axis in group)


def _group_text(group: tuple[Axis, ...]) -> str:
    return f"({','.join(map(str, group))})"


def _groups(text: str, whole: str) -> tuple[tuple[tuple[Axis, ...], ...], tuple[int, ...]]:
    """The groups in parentheses, and the positions of those with ``...``."""
    groups, starred, at = [], [], 0
    stripped = text.replace(" ", "")
    while at < len(stripped):
        found = _GROUP.match(stripped, at)
        if found is None:
            raise Misuse(
                f"shapes={whole!r}: {stripped[at:]!r} does not begin with axes in parentheses, "
                "such as '(m,n)'"
            )
        if found[2]:
            starred.append(len(groups))
        groups.append(tuple(_axis(name, whole) for name in found[1].split(",") if name))
        at = found.end()
        if at < len(stripped):
            if stripped[at] != "," or at + 1 == len(stripped):
                raise Misuse(f"shapes={whole!r}: ',' stands between two groups of axes")
            at += 1
    return tuple(groups), tuple(starred)


def _axis(name: str, whole: str) -> Axis:
    if name.isdigit():
        return int(name)
    if not name.isidentifier():
        raise Misuse(f"shapes={whole!r}: {name!r} is neither a letter nor a length")
    return name
