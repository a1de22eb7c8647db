"""Laws: what must hold of every operator, each with the usual reason why it breaks."""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from sparseops.testing.misuse import Misuse

#: What a check looks at: the table of signatures, one case, its gradients, or the whole operator.
TABLE, CASE, GRADIENT, WHOLE = "table", "case", "gradient", "whole"


class Breach(NamedTuple):
    """A law that does not hold: how that shows, of which kind, and which law if not the one asked.

    Breaches of one kind are taken for one and the same while an example is made smaller.
    """

    message: str
    kind: str = ""
    law: str = ""
    example: str = ""


@dataclass(frozen=True, eq=False)
class Law:
    """What must hold, why it usually breaks, and how it is checked.

    Attributes
    ----------
    id, title, why : str
        What reports show.
    scope : str
        What `check` looks at.
    check : callable
        Returns a Breach, None where the law holds, and NotConcerned where there is nothing to see.
    applies : callable
        From the subject to why the law says nothing of it; empty where it does.
    turn : (int, int)
        Which of every so many cases are looked at; all by default.
    """

    id: str
    title: str
    why: str
    scope: str
    check: Callable[..., Any]
    applies: Callable[[Any], str]
    turn: tuple[int, int] = (0, 1)


class _NotConcerned:
    def __repr__(self) -> str:
        return "NotConcerned"


#: The answer of a check that has nothing to say about a case.
NotConcerned = _NotConcerned()

_LAWS: dict[str, Law] = {}


def law(
    id: str,
    title: str,
    why: str,
    scope: str = CASE,
    applies: Callable[[Any], str] | None = None,
    turn: tuple[int, int] = (0, 1),
) -> Callable[[Callable], Callable]:
    """Declare the law that the decorated function checks."""

    def decorate(check: Callable) -> Callable:
        _LAWS[id] = Law(id, title, why, scope, check, applies or (lambda subject: ""), turn)
        return check

    return decorate


def all_laws() -> list[Law]:
    """Every law, in the order of reports."""
    return sorted(_LAWS.values(), key=lambda found: _order(found.id))


def get_law(id: str) -> Law:
    """The law called `id`."""
    return _LAWS[id]


def selected(patterns: Any) -> list[Law]:
    """The laws whose ids match one of `patterns`, such as ``"V*,G1"``; all for None."""
    if patterns is None:
        return all_laws()
    if isinstance(patterns, str):
        patterns = patterns.split(",")
    wanted = [pattern.strip() for pattern in patterns]
    for pattern in wanted:
        if not any(fnmatchcase(id, pattern) for id in _LAWS):
            raise Misuse(f"no law {pattern!r}; there are {', '.join(map(_id, all_laws()))}")
    return [found for found in all_laws() if any(fnmatchcase(found.id, p) for p in wanted)]


def _id(found: Law) -> str:
    return found.id


def _order(id: str) -> tuple[int, int]:
    return "IVGSPM".index(id[0]), int(id[1:])
