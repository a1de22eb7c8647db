"""Programs drawn at random: a few operators, one on the results of the others."""

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from sparseops.registry import operators as known

_UNARY = ("negative", "abs", "sin", "sqrt", "exp", "relu", "square")
_BINARY = ("add", "subtract", "multiply", "maximum")
_MOST_INPUTS = 3


class Program:
    """A function written with operators, of arrays of one shape.

    Attributes
    ----------
    calls : tuple
        The name of an operator and the numbers of its arguments, for each call: inputs first, then
        the results of the calls before.
    inputs : tuple of str
        The names of the arguments.
    """

    def __init__(self, count: int, calls: Sequence[tuple[str, tuple[int, ...]]]):
        self.inputs = tuple(f"x{n}" for n in range(count))
        self.calls = tuple(calls)
        self.__name__ = "program"

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The result of the last call."""
        values = [*arrays, *(named[name] for name in self.inputs[len(arrays) :])]
        for name, places in self.calls:
            values.append(known[name](*(values[place] for place in places)))
        return values[-1]

    def __repr__(self) -> str:
        texts = list(self.inputs)
        for name, places in self.calls:
            texts.append(f"so.{name}({', '.join(texts[place] for place in places)})")
        return f"lambda {', '.join(self.inputs)}: {texts[-1]}"


@st.composite
def graphs(draw: Callable, operators: Sequence[str] | None = None, max_nodes: int = 6) -> Program:
    """Programs of up to `max_nodes` calls of operators, which keep the shape of their arguments.

    Parameters
    ----------
    operators : sequence of str, optional
        The names of operators of one or two arrays; some of the built-in ones by default.
    max_nodes : int, optional
        The most calls.
    """
    names = _UNARY + _BINARY if operators is None else tuple(operators)
    count = draw(st.integers(1, _MOST_INPUTS))
    calls = []
    for position in range(draw(st.integers(1, max_nodes))):
        name = draw(st.sampled_from(names))
        # Near the last value more often than not: programs are deep rather than wide.
        reach = st.integers(0, count + position - 1).map(
            lambda n, top=count + position - 1: top - n
        )
        calls.append((name, tuple(draw(reach) for _ in known[name].inputs)))
    return Program(count, calls)
