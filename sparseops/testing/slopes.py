"""One case differentiated, once for all the laws of gradients."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from sparseops.autograd import Tape
from sparseops.ndarray import NDArray
from sparseops.policy import fallback
from sparseops.testing.case import Case
from sparseops.testing.dense import densify
from sparseops.testing.limits import Overdue, within
from sparseops.testing.run import Run

#: The trait of operators whose gradients are right for complex inputs, too.
COMPLEX = "complex"
_MOST_PLACES = 4


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


def usable(run: Run) -> bool:
    """Whether the case has gradients that can be compared with differences."""
    if run.error is not None or run.subject.dialect == "scipy":
        return False
    declared = run.case.declared
    if declared is not None and set((declared,) if isinstance(declared, str) else declared) != {
        "dense"
    }:
        # A result made sparse has a gradient at the places alone where it is not zero.
        return False
    dtypes = [s.dtype for s in run.case.samples if s.dtype is not None and s.stype != "scalar"]
    floating = [dtype for dtype in dtypes if dtype.kind in "fc"]
    known = ("float64", "complex128") if COMPLEX in run.subject.traits else ("float64",)
    if not floating or any(dtype.name not in known for dtype in floating):
        return False
    return all(np.isfinite(s.values).all() for s in run.case.samples) and any(
        x.dtype.kind in "fc" for x in run.results
    )


def slopes_of(run: Run) -> Any:
    """The gradients of a case, computed once; the exception where they cannot be."""
    if not hasattr(run, "slopes"):
        try:
            found = Slopes(run)
            _ = found.gradients
            run.slopes = found
        except (Exception, Overdue) as error:
            run.slopes = error
    return run.slopes


def differentiable(subject: Any) -> str:
    """Why there are no gradients to check; empty if there are."""
    if subject.dialect == "scipy":
        return "a function on scipy's arrays has no gradient"
    if subject.operator is not None and not subject.operator.gradients:
        return "no gradient is declared"
    known = any(dtype.kind in "fc" for dtype in subject.dtypes)
    return "" if known else "no input is floating"


def stored(case: Case, slot: int) -> Iterator[tuple[int, ...]]:
    """The places of input `slot` that are stored, not too many of them."""
    sample = case.samples[slot]
    mask = sample.stored if sample.sparse else np.ones(sample.shape, bool)
    places = np.argwhere(mask)
    # Other ones for other cases, the first and the last among them.
    first = case.number % max(len(places), 1)
    for place in np.roll(places, -first, axis=0)[:_MOST_PLACES]:
        yield tuple(int(n) for n in place)
