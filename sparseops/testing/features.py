"""What can be unusual about a call's inputs, and the law that says it makes no difference.

A failing call is stripped of one unusual thing after another; what cannot be taken away without
the failure going away names the law that is broken.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparseops.testing import palettes
from sparseops.testing.case import Case
from sparseops.testing.layout import LAYOUTS
from sparseops.testing.parts import STRUCTURES
from sparseops.testing.sample import Sample
from sparseops.testing.subject import Subject


class Feature(NamedTuple):
    """Something unusual: the law that it is for, and the call without it (itself if it has none).

    The function gets the call and the subject.
    """

    law: str
    without: Callable[[Case, Subject], Case]


def present(case: Case, subject: Subject) -> list[Feature]:
    """What is unusual about `case`."""
    return [feature for feature in FEATURES if feature.without(case, subject) is not case]


def _without_hazards(*names: str) -> Callable[[Case, Subject], Case]:
    def change(sample: Sample) -> Sample:
        kept = tuple(h for h in sample.hazards if h not in names)
        return sample if kept == sample.hazards else sample.having(hazards=kept)

    return lambda case, subject: case.with_samples(change)


def _undeclared(case: Case, subject: Subject) -> Case:
    always = any("stype" in params for params in subject.params)
    return case if case.declared is None or always else case.having(declared=None)


def _narrow(case: Case, subject: Subject) -> Case:
    return case.with_samples(
        lambda s: s.having(width="int32") if s.sparse and s.width != "int32" else s
    )


def _without_zeros(case: Case, subject: Subject) -> Case:
    def change(sample: Sample) -> Sample:
        if not sample.sparse:
            return sample
        kept = sample.stored & (sample.values != 0)
        if sample.stype == "row_sparse":
            kept = whole_rows(kept)
        if (kept == sample.stored).all():
            return sample
        return sample.having(stored=kept, values=np.where(kept, sample.values, 0))

    return case.with_samples(change)


def _without_special(case: Case, subject: Subject) -> Case:
    def change(sample: Sample) -> Sample:
        strange = unusual_values(sample.values)
        if not strange.any():
            return sample
        kept = tuple(h for h in sample.hazards if h != "broadcast")
        # A negative zero becomes a zero, which is explicit where it was.
        usual = np.where(sample.values == 0, 0, 1)
        values = np.where(strange, usual, sample.values).astype(sample.dtype)
        return sample.having(values=values, hazards=kept)

    return case.with_samples(change)


def _plain_dtype(case: Case, subject: Subject) -> Case:
    base = subject.dtypes[0] if subject.dtypes else None

    def change(sample: Sample) -> Sample:
        free = subject.name_of(sample) not in subject.domain
        if base is None or sample.dtype == base or not free or sample.dtype.kind == "c":
            return sample
        return sample.having(values=sample.values.astype(base))

    changed = case.with_samples(change)
    numbers = tuple(
        s.having(values=s.values.item()) if isinstance(s.values, np.generic) else s
        for s in changed.samples
    )
    same = all(new is old for new, old in zip(numbers, changed.samples, strict=True))
    return changed if same else changed.having(samples=numbers)


def _full(case: Case, subject: Subject) -> Case:
    """Each row and column of a sparse input stores something."""

    def change(sample: Sample) -> Sample:
        if not sample.sparse or not sample.values.size:
            return sample
        if sample.stype == "row_sparse":
            missing = whole_rows(~sample.stored)
        else:
            missing = np.zeros(sample.shape, bool)
            missing[~sample.stored.any(axis=1), 0] = True
            missing[0, ~(sample.stored | missing).any(axis=0)] = True
        if not missing.any():
            return sample
        fill = first_value(sample, case, subject)
        values = np.where(missing, fill, sample.values).astype(sample.dtype)
        return sample.having(values=values, stored=sample.stored | missing)

    return case.with_samples(change)


def _with_size(case: Case, subject: Subject) -> Case:
    """Axes of no length get length one."""
    empty = [letter for letter, length in case.lengths.items() if not length]
    groups = subject.axes.expand(len(case.samples))
    if not empty:
        return case
    lengths = dict(case.lengths) | dict.fromkeys(empty, 1)
    grown = case.having(lengths=lengths)
    samples = []
    for sample, group in zip(case.samples, groups, strict=True):
        for axis, letter in enumerate(group):
            if sample.stype != "scalar" and letter in empty:
                sample = _longer(sample, axis, first_value(sample, grown, subject))
        samples.append(sample)
    return grown.having(samples=tuple(samples))


def _longer(sample: Sample, axis: int, fill: object) -> Sample:
    shape = list(sample.shape)
    shape[axis] = 1
    values = np.full(shape, fill, sample.dtype)
    return sample.having(values=values, stored=np.ones(shape, bool) if sample.sparse else None)


def first_value(sample: Sample, case: Case, subject: Subject) -> object:
    """The simplest value that the input takes."""
    domain = subject.domain.get(subject.name_of(sample))
    values = list(domain.values(case.lengths)) if domain is not None else []
    return values[0] if values else palettes.exact(sample.dtype)[0]


def whole_rows(places: np.ndarray) -> np.ndarray:
    """`places` extended to the whole rows that hold one."""
    axes = tuple(range(1, places.ndim))
    return np.broadcast_to(places.any(axis=axes, keepdims=True), places.shape).copy()


def unusual_values(values: np.ndarray) -> np.ndarray:
    """Where NaN, an infinity or negative zero stands."""
    if values.dtype.kind not in "fc":
        return np.zeros(values.shape, bool)
    return ~np.isfinite(values) | ((values == 0) & np.signbit(values.real))


#: In the order in which they are taken away; of several that are needed the first names the law.
FEATURES = (
    Feature("I11", _undeclared),
    Feature("V3", _without_hazards(*STRUCTURES)),
    Feature("V8", _without_hazards("read_only")),
    Feature("V7", _without_hazards(*(name for name in LAYOUTS if name != "read_only"))),
    Feature("V6", _narrow),
    Feature("V10", _without_special),
    Feature("V4", _without_zeros),
    Feature("V11", _plain_dtype),
    Feature("V5", _with_size),
    Feature("V5", _full),
)
