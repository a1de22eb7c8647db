"""Laws about size: memory by what is stored, not by shapes, and indices that do not overflow."""

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np

from sparseops.autograd import Tape
from sparseops.ndarray import NDArray
from sparseops.policy import fallback
from sparseops.testing.case import Case, resolve
from sparseops.testing.grown import (
    large_lengths,
    sparse_letters,
    spread,
)
from sparseops.testing.law import WHOLE, Breach, NotConcerned, law
from sparseops.testing.limits import Overdue, within
from sparseops.testing.sample import Sample
from sparseops.testing.slopes import differentiable
from sparseops.testing.structure import only_operators

_LONG = 1536
SECONDS = 5.0


@law(
    "M1",
    "memory grows with what is stored, not with rows times columns",
    "a dense array of the shape of a sparse one is made on the way",
    WHOLE,
    only_operators,
)
def memory_of_calls(engine: Any) -> Any:
    """Whether the peak of a call is near what goes in and comes out."""
    concerned = False
    for case in cases(engine):
        inputs, params = _grown(engine, case, _LONG)
        if inputs is None:
            continue
        results = _sparingly(engine, inputs, params)
        if results is None:
            continue
        concerned = True
        peak = _peak(lambda i=inputs, p=params: _sparingly(engine, i, p))
        breach = _judge(peak, [*inputs, *results], case, engine, "the call")
        if breach:
            return breach
    return None if concerned else NotConcerned


@law(
    "M2",
    "memory of gradients grows with what is stored",
    "the gradient is computed dense and then cast, or the full gradient is computed and masked",
    WHOLE,
    lambda subject: differentiable(subject) or only_operators(subject),
)
def memory_of_gradients(engine: Any) -> Any:
    """Whether the peak of a gradient is near what goes in and comes out."""
    concerned = False
    for case in cases(engine):
        inputs, params = _grown(engine, case, _LONG)
        if inputs is None or _sparingly(engine, inputs, params) is None:
            continue
        operator = engine.subject.operator
        for slot, x in enumerate(inputs):
            name = engine.subject.input_name(slot)
            if not isinstance(x, NDArray) or x.dtype.kind not in "fc":
                continue
            if name not in operator.gradients:
                continue
            found = _gradient(engine, inputs, params, x)
            if found is None:
                continue
            concerned = True
            # The head is one more array, and so is what the tape keeps.
            arrays = [*inputs, *found[1], *found[1], found[0]]
            breach = _judge(found[2], arrays, case, engine, f"the gradient by {name}")
            if breach:
                return breach
    return None if concerned else NotConcerned


def _gradient(engine: Any, inputs: list, params: dict, x: NDArray) -> Any:
    """The gradient by `x`, the results, and the peak; None where something runs dense."""
    try:
        with fallback("error", limit=None), within(SECONDS), np.errstate(all="ignore"):
            with Tape(persistent=True) as tape:
                results = engine.subject.function(*inputs, **params)
            results = results if isinstance(results, tuple) else (results,)
            targets = [y for y in results if y.dtype.kind in "fc"]
            made: list[NDArray] = []

            def compute() -> None:
                made[:] = [tape.gradient(targets, x, output_gradients=list(targets))]

            compute()
            return made[0], results, _peak(compute)
    except (Exception, Overdue):
        return None


def cases(engine: Any) -> Iterator[Case]:
    """A small case for each combination of storages that has a sparse matrix."""
    for run in engine.kept_by_storages.values():
        large = [s for s in run.case.samples if s.sparse and len(s.shape) > 1]
        # Where small ones are wrong already, large ones say nothing new.
        if large and engine.subject.signature(run.case) not in engine.wrong_signatures:
            yield run.case


def _grown(engine: Any, case: Case, large: int) -> tuple[Any, Any]:
    subject = engine.subject
    params = resolve(case.params, large_lengths(case, subject, large))
    groups = subject.axes.expand(len(case.samples))
    for sample, group in zip(case.samples, groups, strict=True):
        letters = [axis for axis in group if axis in sparse_letters(case, subject)]
        # A dense input of the whole size makes everything on the way look small.
        if sample.stype == "dense" and len(letters) > 1:
            return None, None
    return spread(case, subject, large), params


def _sparingly(engine: Any, inputs: list, params: dict) -> tuple | None:
    """The results; None where the call is no call for such shapes, or falls back."""
    try:
        with fallback("error", limit=None), within(SECONDS), np.errstate(all="ignore"):
            found = engine.subject.function(*inputs, **params)
    except (Exception, Overdue):
        return None
    return found if isinstance(found, tuple) else (found,)


def _peak(function: Any) -> int:
    """The most bytes that were allocated at once while `function` ran."""
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not running:
            tracemalloc.stop()


def _judge(peak: int, arrays: list, case: Case, engine: Any, what: str) -> Breach | None:
    stored = sum(x.nbytes for x in arrays if isinstance(x, NDArray))
    allowed = 6 * stored + 250 * _LONG + 300_000
    if peak <= allowed:
        return None
    text = f"{what} takes {peak:,} bytes at once for {stored:,} that are stored"
    shapes = ", ".join(str(x.spec) for x in arrays[: len(case.samples)] if isinstance(x, NDArray))
    return Breach(
        f"{text}: {shapes}", ", ".join(case.stypes), example=grown_code(case, engine, _LONG)
    )


def grown_code(case: Case, engine: Any, large: int) -> str:
    """The call on arrays of that size, with one entry in each sparse one."""
    lines, lengths = [], large_lengths(case, engine.subject, large)
    for sample, group in zip(
        case.samples, engine.subject.axes.expand(len(case.samples)), strict=True
    ):
        lines.append(f"{sample.name} = {_sized(sample, group, lengths)}")
    return "\n".join(
        [*lines, case.having(lengths=lengths, declared=None).call(engine.subject.name)]
    )


def _sized(sample: Sample, group: Any, lengths: dict) -> str:
    if sample.stype == "scalar":
        return repr(sample.values)
    shape = tuple(axis if isinstance(axis, int) else lengths[axis] for axis in group)
    if sample.stype == "csr":
        last = [shape[1] - 1]
        return f"so.csr_array(([1.0], ([{shape[0] - 1}], {last})), shape={shape})"
    if sample.stype == "row_sparse":
        return f"so.row_sparse_array((np.ones((1, *{shape[1:]})), [{shape[0] - 1}]), shape={shape})"
    return f"so.array(np.ones({shape}))"


def is_dense_inside(engine: Any, case: Case) -> bool:
    """Whether a call takes memory by the shape, so that a far one would take all there is."""
    inputs, params = _grown(engine, case, _LONG)
    results = None if inputs is None else _sparingly(engine, inputs, params)
    if results is None:
        return True
    peak = _peak(lambda: _sparingly(engine, inputs, params))
    return _judge(peak, [*inputs, *results], case, engine, "") is not None
