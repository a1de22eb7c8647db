"""What a function can be called with, and what it is called."""

from collections.abc import Callable
from inspect import CO_VARARGS, CO_VARKEYWORDS, Parameter, signature
from types import FunctionType
from typing import Any, NamedTuple


class Arguments(NamedTuple):
    """What a function can be called with."""

    positional: tuple[str, ...]
    keyword_only: tuple[str, ...]
    star: bool
    double_star: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments that have a name of their own."""
        return self.positional + self.keyword_only


def arguments_of(function: Callable[..., Any]) -> Arguments:
    """The arguments of a function, or of what is called like one."""
    if type(function) is FunctionType and not function.__dict__:
        # A plain function says so itself, many times faster than `inspect`: there are hundreds.
        code = function.__code__
        first, last = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
        names = code.co_varnames
        flags = bool(code.co_flags & CO_VARARGS), bool(code.co_flags & CO_VARKEYWORDS)
        return Arguments(names[:first], names[first:last], *flags)
    kinds: dict[Any, list[str]] = {}
    for p in signature(function).parameters.values():
        kinds.setdefault(p.kind, []).append(p.name)
    positional = kinds.get(Parameter.POSITIONAL_ONLY, []) + kinds.get(
        Parameter.POSITIONAL_OR_KEYWORD, []
    )
    return Arguments(
        tuple(positional),
        tuple(kinds.get(Parameter.KEYWORD_ONLY, ())),
        Parameter.VAR_POSITIONAL in kinds,
        Parameter.VAR_KEYWORD in kinds,
    )


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, or of the type of what is called like one."""
    return getattr(function, "__name__", type(function).__name__)
