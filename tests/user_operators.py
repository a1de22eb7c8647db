"""Operators as users declare them, from tables of signatures, and a registry to put back."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any

import numpy as np

import sparseops as so
from sparseops.registry import operators

SHAPE = (2, 3)


def restore_registry() -> Iterator[None]:
    """Whatever is declared meanwhile is forgotten behind the ``yield``."""
    before = dict(operators)
    yield
    operators.clear()
    operators.update(before)


@dataclass(frozen=True)
class Row:
    """One line of a table: the storages named, and for which calls."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    where: Mapping[str, Any] | Callable[..., bool] | None = None
    backend: str | None = None
    variadic: bool = False

    def expand(self, count: int) -> tuple[str, ...]:
        """The storages of `count` inputs and of the results."""
        more = count - len(self.inputs) if self.variadic else 0
        fixed, last = self.inputs[:-1], self.inputs[-1:]
        inputs = fixed + last * (1 + more) if self.variadic else self.inputs
        return inputs + self.outputs

    def __str__(self) -> str:
        return f"{', '.join(self.inputs)}{'...' * self.variadic} -> {', '.join(self.outputs)}"


def describing(inputs, *, outputs=1, variadic=False, params=None, name="drawn") -> Callable:
    """A describing function of arrays of `SHAPE`, with these names of inputs and parameters."""

    def describe(*args, **given):
        return [(SHAPE, np.dtype(float))] * outputs

    kinds = [Parameter.POSITIONAL_OR_KEYWORD] * len(inputs)
    if variadic:
        kinds[-1] = Parameter.VAR_POSITIONAL
    parameters = [Parameter(n, kind) for n, kind in zip(inputs, kinds, strict=True)]
    for parameter, default in (params or {}).items():
        parameters.append(Parameter(parameter, Parameter.KEYWORD_ONLY, default=default))
    describe.__signature__ = Signature(parameters)
    describe.__name__ = describe.__qualname__ = name
    return describe


def declare(op: so.Operator, row: Row) -> None:
    """Declare the kernel of `row`, which gives zeros in the storages named."""

    def kernel(backend, *args, **params):
        made = [so.zeros(SHAPE, stype=s, backend=backend.name).storage for s in row.outputs]
        return made[0] if len(made) == 1 else made

    op.forward(str(row), where=row.where, backend=row.backend)(kernel)


def operator_of(rows, *, params=None, name="drawn") -> so.Operator:
    """The operator whose table is `rows`, with inputs ``a``, ``b`` … and results ``r``, ``s``."""
    first = rows[0]
    outputs = tuple("rs"[: len(first.outputs)])
    describe = describing(
        tuple("abcd"[: len(first.inputs)]),
        outputs=len(outputs),
        variadic=first.variadic,
        params=params,
        name=name,
    )
    op = so.operator(describe, outputs=outputs)
    for row in rows:
        declare(op, row)
    return op


def table_of(*texts: str) -> so.Operator:
    """The operator with these signatures."""
    rows = []
    for text in texts:
        left, right = text.split("->")
        names = [n.strip() for n in left.split(",") if n.strip()]
        variadic = any(n.endswith("...") for n in names)
        inputs = tuple(n.removesuffix("...") for n in names)
        rows.append(Row(inputs, tuple(n.strip() for n in right.split(",")), variadic=variadic))
    return operator_of(rows)


def doubling(name="doubled") -> so.Operator:
    """Twice its input in every storage, with gradients that keep only g."""

    def describe(x):
        return x.shape, x.dtype

    describe.__name__ = describe.__qualname__ = name
    op = so.operator(describe)
    same = "dense -> dense", "row_sparse -> row_sparse", "csr -> csr"

    @op.forward(*same)
    def _double(backend, x):
        return x.with_data(x.data * 2)

    @op.backward("x", *same)
    def _double_x(g):
        return op(g)

    return op


def dense_only(name="dense_only") -> so.Operator:
    """Twice its input, declared for dense alone: anything sparse falls back."""

    def describe(x):
        return x.shape, x.dtype

    describe.__name__ = describe.__qualname__ = name
    op = so.operator(describe)

    @op.forward("dense -> dense")
    def _double(backend, x):
        return x.with_data(x.data * 2)

    @op.backward("x", "dense -> dense")
    def _double_x(g):
        return op(g)

    return op


SAME = "dense -> dense", "row_sparse -> row_sparse", "csr -> csr"


def summing() -> so.Operator:
    """The sum of a dense array, whose gradient keeps only a shape."""
    op, spread = so.operator(total), so.operator(filled)
    op.forward("dense -> dense")(lambda backend, x: so.Dense(x.data.sum(dtype=x.data.dtype)))
    op.backward("x", "dense -> dense")(lambda g, x_spec: spread(g, shape=x_spec.shape))

    @spread.forward("dense -> dense")
    def _spread(backend, x, *, shape):
        return so.Dense(np.full(shape, x.data))

    spread.backward("x", "dense -> dense")(lambda g: op(g))
    return op


def total(x):
    return (), x.dtype


def filled(x, *, shape):
    return shape, x.dtype


def times(a, b):
    """The product of two arrays of one structure, differentiable by both."""
    op = so.operator(describing("ab", name="times"))
    pairs = [s.replace(" ->", f", {s.partition(' ')[0]} ->") for s in SAME]
    op.forward(*pairs)(lambda backend, a, b: a.with_data(a.data * b.data))
    op.backward("a", *pairs)(lambda g, b: op(g, b))
    op.backward("b", *pairs)(lambda g, a: op(g, a))
    return op(a, b)


def squaring() -> so.Operator:
    """A square, whose rule keeps the input."""
    op = so.operator(describing("a", name="squared"))
    op.forward(*SAME)(lambda backend, a: a.with_data(a.data**2))
    op.backward("a", *SAME)(lambda g, a: times(doubling()(a), g))
    return op


def exponential() -> so.Operator:
    """An exponential, whose rule keeps the result."""
    op = so.operator(describing("a", name="exponential"))
    op.forward("dense -> dense")(lambda backend, a: so.Dense(np.exp(a.data)))
    op.backward("a", "dense -> dense")(lambda g, out: times(g, out))
    return op
