"""The laws of the demo's operator, checked on small random arrays."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import sparseops as so

CASES = 10
ROWS, COLUMNS, OUTPUTS = 5, 6, 3


class Law(NamedTuple):
    """What was claimed of one signature, in how many cases, and whether it held in all."""

    signature: str
    claim: str
    cases: int
    holds: bool


def check(op: so.Operator) -> Iterator[Law]:
    """The laws of `op(x, w)`, a product of matrices; one for each signature that is declared.

    All values are small integers, so sums and differences have no rounding errors and what is
    equal is exactly equal.
    """
    for rule in op.kernels:
        yield _law(rule, "equals x @ w in NumPy", lambda seed, rule=rule: _agrees(op, rule, seed))
    for rule in op.gradients["w"]:
        yield _law(
            rule, "equals central differences", lambda seed, rule=rule: _slopes(op, rule, seed)
        )


def _law(rule: object, claim: str, holds: Callable[[int], bool]) -> Law:
    return Law(str(rule), claim, CASES, all(holds(seed) for seed in range(CASES)))


def _agrees(op: so.Operator, rule: object, seed: int) -> bool:
    x, w, _ = _example(seed)
    found = op(*_stored(rule, x, w), stype=rule.signature.outputs[0])
    return np.array_equal(found.asnumpy(), x @ w)


def _slopes(op: so.Operator, rule: object, seed: int) -> bool:
    x, w, head = _example(seed)
    inputs = _stored(rule, x, w)
    with so.Tape() as tape:
        y = op(*inputs)
    ask = rule.signature.outputs[0]
    gradient = tape.gradient(y, inputs[1], output_gradients=head, stypes=ask)
    return np.array_equal(gradient.asnumpy(), _differences(op, x, w, head))


def _differences(op: so.Operator, x: np.ndarray, w: np.ndarray, head: np.ndarray) -> np.ndarray:
    """The slope of `sum(head * op(x, w))` by each entry of `w`."""
    slopes = np.empty_like(w)
    for place in np.ndindex(w.shape):
        step = np.zeros_like(w)
        step[place] = 1
        rise = op(x, w + step).asnumpy() - op(x, w - step).asnumpy()
        slopes[place] = (head * rise).sum() / 2
    return slopes


def _example(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs of which the first is mostly zeros, and a gradient by the result."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-4, 5, (ROWS, COLUMNS)) * (rng.random((ROWS, COLUMNS)) < 0.3)
    w = rng.integers(-4, 5, (COLUMNS, OUTPUTS))
    head = rng.integers(-4, 5, (ROWS, OUTPUTS))
    return x.astype(float), w.astype(float), head.astype(float)


def _stored(rule: object, *values: np.ndarray) -> list[so.NDArray]:
    """The arrays in the storages that the signature of `rule` names."""
    names = rule.signature.inputs
    return [so.array(value, stype=name) for value, name in zip(values, names, strict=True)]
