"""Random programs: calls on (3, 3) arrays, with sharing, dead calls and several outputs."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import sparseops as so

SIDE = 3
STYPES = ("dense", "row_sparse", "csr")
UNARY = (so.negative, so.square, so.transpose, so.exp, so.relu)
BINARY = (so.add, so.subtract, so.multiply, so.dot)


def law(*strategies):
    """A test of a law; its `tried` looks for a first counterexample, and leaves no trace."""

    def decorate(function):
        test = settings(max_examples=25, deadline=None)(given(*strategies)(function))
        few = settings(
            max_examples=200,
            deadline=None,
            phases=[Phase.generate],
            database=None,
            print_blob=False,
        )
        test.tried = few(given(*strategies)(function))
        return test

    return decorate


class Line(NamedTuple):
    """One call: the operator, the places of its arguments, the storage declared."""

    operator: so.Operator
    args: tuple[int, ...]
    stype: str | None


class Drawn(NamedTuple):
    """A program, the storages of its inputs, and which of its values it returns."""

    stypes: tuple[str, ...]
    lines: tuple[Line, ...]
    outputs: tuple[int, ...]

    @property
    def function(self) -> Callable:
        """The program as a function of its inputs."""

        def run(*inputs):
            values = list(inputs)
            for line in self.lines:
                values.append(line.operator(*(values[at] for at in line.args), stype=line.stype))
            return tuple(values[at] for at in self.outputs)

        return run

    @property
    def specs(self) -> list[so.Spec]:
        """The specs of the inputs."""
        return [so.Spec((SIDE, SIDE), float, stype) for stype in self.stypes]

    def arrays(self, stypes=None) -> list[so.NDArray]:
        """Inputs of small exact numbers, in the storages given."""
        rng = np.random.default_rng(len(self.lines))
        made = [rng.integers(-1, 2, (SIDE, SIDE)) / 2 for _ in self.stypes]
        return [so.array(x, stype=s) for x, s in zip(made, stypes or self.stypes, strict=True)]


@st.composite
def programs(draw, stypes=(*STYPES, "undefined"), declared=True, most=12, operators=None):
    """Programs of up to `most` calls on one to three inputs."""
    inputs = tuple(draw(st.lists(st.sampled_from(stypes), min_size=1, max_size=3)))
    lines: list[Line] = []
    for _ in range(draw(st.integers(1, most))):
        known = len(inputs) + len(lines)
        operator = draw(st.sampled_from(operators or UNARY + BINARY))
        args = tuple(draw(st.integers(0, known - 1)) for _ in operator.inputs)
        options = (None, None, None, *STYPES) if declared else (None,)
        lines.append(Line(operator, args, draw(st.sampled_from(options))))
    last = len(inputs) + len(lines) - 1
    outputs = draw(st.lists(st.integers(0, last), max_size=2))
    return Drawn(inputs, tuple(lines), (last, *outputs))
