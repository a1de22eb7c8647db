"""A failing case made small: features first, then lengths, stored entries, and values."""

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

from sparseops.signature import SCALAR
from sparseops.testing.case import Case
from sparseops.testing.features import Feature, first_value, present, whole_rows
from sparseops.testing.sample import Sample
from sparseops.testing.subject import Subject

Fails = Callable[[Case], bool]


class Shrinker:
    """Makes a case smaller as long as it fails in the same way.

    Parameters
    ----------
    fails : callable
        Whether a case still fails so.
    calls, seconds : int, float
        How often that may be asked, and for how long.
    """

    def __init__(self, subject: Subject, fails: Fails, calls: int = 400, seconds: float = 1.5):
        self.subject = subject
        self.fails = fails
        self.calls = calls
        self.end = perf_counter() + seconds

    def stripped(self, case: Case) -> tuple[Case, list[Feature]]:
        """The case without what is unusual, and that which it cannot do without."""
        needed = []
        for feature in present(case, self.subject):
            plain = feature.without(case, self.subject)
            if plain is case:
                continue
            if self._still(plain):
                case = plain
            else:
                needed.append(feature)
        return case, needed

    def smaller(self, case: Case, needed: list[Feature]) -> Case:
        """The smallest case found that fails, and does not fail without any of `needed`."""

        def keeps(tried: Case) -> bool:
            if tried.size >= case.size or not self._still(tried):
                return False
            plain = [feature.without(tried, self.subject) for feature in needed]
            return all(other is not tried and not self._still(other) for other in plain)

        changed = True
        while changed and self._may():
            changed = False
            for move in (_lengths, _entries, _values, _hazards):
                for tried in move(case, self.subject):
                    if not self._may():
                        return case
                    if keeps(tried):
                        case, changed = tried, True
                        break
        return case

    def _still(self, case: Case) -> bool:
        self.calls -= 1
        try:
            return self.fails(case)
        except Exception:
            return False

    def _may(self) -> bool:
        return self.calls > 0 and perf_counter() < self.end


def _lengths(case: Case, subject: Subject) -> Iterator[Case]:
    """Fewer positions of each letter, and fewer arrays."""
    if subject.axes.repeated and len(case.samples) > len(subject.axes.inputs):
        yield case.having(samples=case.samples[:-1])
    groups = subject.axes.expand(len(case.samples))
    for letter, length in case.lengths.items():
        if length <= 1:
            continue
        kept = [[0], [length - 1], range(length // 2), range(length // 2, length)]
        kept += [[n for n in range(length) if n != out] for out in reversed(range(length))]
        for positions in kept:
            if len(positions) < length:
                yield _taking(case, groups, letter, positions)


def _taking(case: Case, groups: Any, letter: str, positions: Any) -> Case:
    samples = []
    for sample, group in zip(case.samples, groups, strict=True):
        for axis, name in enumerate(group):
            if name == letter and sample.stype != SCALAR:
                sample = sample.taking(axis, positions)
        samples.append(sample)
    lengths = dict(case.lengths) | {letter: len(positions)}
    return case.having(samples=tuple(samples), lengths=lengths)


def _entries(case: Case, subject: Subject) -> Iterator[Case]:
    """Fewer stored entries: all of an input's at once, then one after the other."""
    for slot, sample in enumerate(case.samples):
        if not sample.sparse or not sample.stored.any():
            continue
        yield _with(case, slot, _keeping(sample, np.zeros(sample.shape, bool)))
        places = np.argwhere(sample.stored)
        if sample.stype == "row_sparse":
            places = [(row,) for row in sample.stored_rows]
        for place in map(tuple, reversed(places)):
            kept = sample.stored.copy()
            kept[place] = False
            yield _with(case, slot, _keeping(sample, kept))


def _keeping(sample: Sample, kept: np.ndarray) -> Sample:
    if sample.stype == "row_sparse":
        kept = whole_rows(kept)
    values = np.where(kept, sample.values, 0).astype(sample.dtype)
    return sample.having(stored=kept, values=values)


def _values(case: Case, subject: Subject) -> Iterator[Case]:
    """Simpler values: ones everywhere, then one place after the other; zeros where dense."""
    for slot, sample in enumerate(case.samples):
        one = first_value(sample, case, subject) if sample.stype != SCALAR else 1.0
        if sample.stype == SCALAR:
            for number in (1.0, 2.0, 0.0):
                if sample.values != number:
                    yield _with(case, slot, sample.having(values=number))
            continue
        mask = sample.stored if sample.sparse else np.ones(sample.shape, bool)
        ones = np.where(mask, one, 0).astype(sample.dtype)
        if (sample.values != ones).any():
            yield _with(case, slot, sample.having(values=ones))
        for place in map(tuple, np.argwhere(mask & (sample.values != ones))):
            for simple in (one, 2):
                values = sample.values.copy()
                values[place] = simple
                yield _with(case, slot, sample.having(values=values))


def _hazards(case: Case, subject: Subject) -> Iterator[Case]:
    """Fewer unusual things about one input at a time."""
    for slot, sample in enumerate(case.samples):
        for hazard in sample.hazards:
            kept = tuple(other for other in sample.hazards if other != hazard)
            yield _with(case, slot, sample.having(hazards=kept))
        if sample.sparse and sample.width != "int32":
            yield _with(case, slot, sample.having(width="int32"))


def _with(case: Case, slot: int, sample: Sample) -> Case:
    samples = list(case.samples)
    samples[slot] = sample
    return case.having(samples=tuple(samples))
