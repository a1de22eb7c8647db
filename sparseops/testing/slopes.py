"""One case of an operator, differentiated."""

from functools import cached_property
from typing import Any

import numpy as np

from sparseops.autograd import Tape
from sparseops.ndarray import NDArray
from sparseops.policy import fallback
from sparseops.testing.dense import densify
from sparseops.testing.limits import within
from sparseops.testing.run import Run


class Slopes:
    """One case differentiated: a tape, heads, and the gradients by the inputs."""

    def __init__(self, run: Run):
        self.run = run
        self.case = run.case
        self.subject = run.subject
        self.inputs = run.new_inputs()
        self.tape = Tape(persistent=True)
        with self.tape:
            self.results, _ = self.subject.call(self.inputs, run.params, self.case.declared)
        self.targets = [y for y in self.results if y.dtype.kind in "fc"]
        self.heads = [head_for(y, n) for n, y in enumerate(self.targets)]

    def weighted(self, results: Any) -> Any:
        """The sum of `results` times the heads: the number that is differentiated."""
        floating = [y for y in results if y.dtype.kind in "fc"]
        pairs = zip(self.heads, floating, strict=True)
        return sum((np.conj(head) * densify(y)).sum() for head, y in pairs)

    @cached_property
    def slots(self) -> list[int]:
        """The inputs by which there is a gradient."""
        operator = self.subject.operator
        found = []
        for slot, x in enumerate(self.inputs):
            name = self.subject.input_name(slot)
            known = operator is None or name in operator.gradients
            if isinstance(x, NDArray) and x.dtype.kind in "fc" and known:
                found.append(slot)
        return found

    @cached_property
    def gradients(self) -> dict[int, NDArray]:
        """The gradient by each of `slots`."""
        return dict(zip(self.slots, self.by(self.heads), strict=True))

    def by(self, heads: list[Any], stypes: Any = None, into: Any = None) -> list[NDArray]:
        """The gradients by all slots, from `heads`."""
        sources = [self.inputs[slot] for slot in self.slots]
        with fallback("allow", limit=None), np.errstate(all="ignore"), within(self.run.seconds):
            return self.tape.gradient(
                self.targets, sources, output_gradients=heads, stypes=stypes, into=into
            )


def head_for(y: NDArray, number: int = 0) -> np.ndarray:
    """A gradient to start from: small integers, no two alike beside each other."""
    count = int(np.prod(y.shape))
    values = (np.arange(count) % 5 + 1 + number) * np.where(np.arange(count) % 3 == 1, -1, 1)
    found = values.reshape(y.shape).astype(y.dtype)
    return found * (1 + 0.5j) if y.dtype.kind == "c" else found
