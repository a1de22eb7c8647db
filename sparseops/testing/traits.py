"""Laws that hold if the author claims a trait: relations between results that need no oracle."""

from typing import Any

import numpy as np

from sparseops.testing.case import Case
from sparseops.testing.dense import densify, difference, rounding
from sparseops.testing.law import Breach, NotConcerned, law
from sparseops.testing.run import Run
from sparseops.testing.sample import Sample
from sparseops.testing.slopes import COMPLEX

ROWWISE = "rowwise"
_RELATIONS = ("linear", "zero_preserving", "idempotent", "involution", "commutative")
TRAITS = (ROWWISE, COMPLEX, *_RELATIONS)


def _claims_rows(subject: Any) -> str:
    return "" if ROWWISE in subject.traits else "traits= does not name 'rowwise'"


@law(
    "V14",
    "slices of the inputs give slices of the result",
    "a row's result depends on its number or on other rows",
    applies=_claims_rows,
)
def slices(run: Run) -> Any:
    """Whether some rows alone give what they give among all."""
    length = _rows(run)
    if run.error is not None or length < 2:
        return NotConcerned
    start, stop = length // 3, length - (length > 2)
    return _same(run, _part(run, start, stop), start, stop)


@law(
    "V15",
    "results of parts, one below the other, are the result of the whole",
    "the first row, or the last one, is treated in its own way",
    applies=_claims_rows,
)
def parts(run: Run) -> Any:
    """Whether each half of the rows gives its half of the result."""
    length = _rows(run)
    if run.error is not None or length < 2:
        return NotConcerned
    half = length // 2
    for start, stop in ((0, half), (half, length)):
        breach = _same(run, _part(run, start, stop), start, stop)
        if breach:
            return breach
    return None


def _rows(run: Run) -> int:
    """The length of the first axis of the first input; 0 where parameters depend on it."""
    group = run.subject.axes.inputs[0]
    return run.case.lengths.get(group[0], 0) if group else 0


def _part(run: Run, start: int, stop: int) -> Case:
    """The call on some of the rows: along the first axis of the first input, wherever it stands."""
    case, letter = run.case, run.subject.axes.inputs[0][0]
    samples = []
    for sample, group in zip(case.samples, run.subject.axes.expand(len(case.samples)), strict=True):
        for axis, name in enumerate(group):
            if name == letter and sample.stype != "scalar":
                sample = sample.taking(axis, range(start, stop))
        samples.append(sample)
    lengths = dict(case.lengths) | {letter: stop - start}
    return case.having(samples=tuple(samples), lengths=lengths, declared=None)


def _same(run: Run, part: Case, start: int, stop: int) -> Breach | None:
    other = Run(run.subject, part, run.oracle)
    if other.error is not None:
        return Breach(f"rows {start}:{stop} alone raise {other.error!r}", "error")
    for whole, alone in zip(run.dense, other.dense, strict=True):
        text = difference(alone, whole[start:stop], rtol=rounding(alone.dtype))
        if text:
            return Breach(f"the result of rows {start}:{stop} alone is {text}", "value")
    return None


def _claims_relation(subject: Any) -> str:
    named = [trait for trait in _RELATIONS if trait in subject.traits]
    return "" if named else f"traits= names none of {', '.join(_RELATIONS)}"


@law(
    "V16",
    "the traits claimed hold",
    "the operator is not what its author says of it",
    applies=_claims_relation,
)
def relations(run: Run) -> Any:
    """Whether each relation among the traits holds."""
    if run.error is not None or not run.results or not all(map(_finite, run.dense)):
        return NotConcerned
    for trait in run.subject.traits:
        if trait in _CHECKS:
            breach = _CHECKS[trait](run)
            if breach:
                return breach
    return None


def _finite(values: np.ndarray) -> bool:
    return values.dtype.kind not in "fc" or bool(np.isfinite(values).all())


def _first(run: Run, change: Any) -> Case:
    """The case with the first array among its inputs changed."""
    samples = list(run.case.samples)
    slot = next(n for n, s in enumerate(samples) if s.stype != "scalar")
    samples[slot] = change(samples[slot])
    return run.case.having(samples=tuple(samples))


def _result(run: Run, case: Case) -> np.ndarray | None:
    other = Run(run.subject, case, run.oracle)
    return None if other.error is not None else other.dense[0]


def _expect(trait: str, found: np.ndarray | None, wanted: np.ndarray) -> Breach | None:
    if found is None:
        return None
    text = difference(found, wanted, rtol=rounding(found.dtype))
    return Breach(f"not {trait}: {text}", trait) if text else None


def _linear(run: Run) -> Breach | None:
    first = next(s for s in run.case.samples if s.stype != "scalar")
    if first.dtype.kind not in "fc":
        return None
    twice = _result(run, _first(run, lambda s: s.having(values=s.values * 2)))
    breach = _expect("linear (twice the input)", twice, run.dense[0] * 2)
    if breach:
        return breach

    def rolled(sample: Sample) -> np.ndarray:
        values = np.roll(sample.values, 1)
        return np.where(sample.stored, values, 0) if sample.sparse else values

    other = _result(run, _first(run, lambda s: s.having(values=rolled(s))))
    both = _result(run, _first(run, lambda s: s.having(values=s.values + rolled(s))))
    if other is None or both is None:
        return None
    # Rounding is that of the terms, which may be far larger than their sum.
    terms = [run.dense[0], other]
    found, wanted = np.stack([both, *terms]), np.stack([terms[0] + other, *terms])
    if not difference(found, wanted, rtol=rounding(both.dtype)):
        return None
    return _expect("linear (a sum of inputs)", both, terms[0] + other)


def _zero_preserving(run: Run) -> Breach | None:
    nothing = run.case.with_samples(
        lambda s: (
            s
            if run.subject.name_of(s) in run.subject.domain
            else s.having(values=np.zeros_like(s.values))
        )
    )
    found = _result(run, nothing)
    return _expect("zero_preserving", found, np.zeros_like(run.dense[0]))


def _again(run: Run) -> np.ndarray | None:
    """The operator applied to its result."""
    try:
        results, _ = run.subject.call([*run.results[:1], *run.inputs[1:]], run.params)
    except Exception:
        return None
    return densify(results[0])


def _idempotent(run: Run) -> Breach | None:
    return _expect("idempotent", _again(run), run.dense[0])


def _involution(run: Run) -> Breach | None:
    return _expect("an involution", _again(run), run.case.samples[0].numpy())


def _commutative(run: Run) -> Breach | None:
    first, second, *rest = run.inputs
    try:
        results, _ = run.subject.call([second, first, *rest], run.params)
    except Exception as error:
        return Breach(f"not commutative: the other order raises {error!r}", "commutative")
    return _expect("commutative", densify(results[0]), run.dense[0])


_CHECKS = {
    "linear": _linear,
    "zero_preserving": _zero_preserving,
    "idempotent": _idempotent,
    "involution": _involution,
    "commutative": _commutative,
}
