"""The policy "skip_unstored": what results may be where a zero that is not stored meets NaN."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparseops.testing.case import Case
from sparseops.testing.sample import Sample

_SMALL = 2.0**-10
#: Sizes of what stands in for NaN or infinity: functions that saturate see the small ones, the
#: largest and the least of some values are among the large ones.
_SCALES = (1, -1, 60, -60)

Expected = Callable[[Case], np.ndarray]
#: The number of an input, and a place in it.
Place = tuple[int, tuple[int, ...]]


def excused(expected: Expected, case: Case, found: np.ndarray, wanted: np.ndarray) -> Any:
    """The places where `wanted` is NaN only because zeros that are not stored count.

    Where such a zero makes a result of its own; where `found` is the result without the NaN and
    infinities that no stored value meets; and where something small in place of the zeros gives
    no NaN. None where there is no such place.
    """
    sparse = [s for s in case.samples if s.sparse and not s.stored.all()]
    doubtful = _isnan(wanted) & ~_isnan(found)
    if not sparse or not doubtful.any():
        return None
    alike = [~s.stored for s in sparse if s.shape == wanted.shape]
    zero = (found == 0) & np.any([np.zeros(wanted.shape, bool), *alike], axis=0)
    found_by_stored = found == _by_stored(expected, case, doubtful & ~zero, wanted)
    return doubtful & (zero | found_by_stored | np.isfinite(found) & _gone(expected, case))


def _by_stored(
    expected: Expected, case: Case, doubtful: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """`wanted`, at the doubtful places without those special values that do not reach them."""
    out, places = wanted.copy(), _special(case)
    reached = [_reached(expected, case, places, place) for place in places]
    for at in map(tuple, np.argwhere(doubtful)):
        idle = [place for place, by in zip(places, reached, strict=True) if not by[at]]
        out[at] = expected(_replaced(case, idle))[at]
    return out


def _special(case: Case) -> list[Place]:
    """Where NaN and infinity stand."""
    return [
        (slot, tuple(place))
        for slot, sample in enumerate(case.samples)
        if _is_float(sample)
        for place in np.argwhere(~np.isfinite(sample.values)).tolist()
    ]


def _reached(expected: Expected, case: Case, places: list[Place], place: Place) -> np.ndarray:
    """Which results depend on the value at `place`, if nothing that is stored is zero."""
    usual = _replaced(case.with_samples(_without_zeros), places)
    first, *others = (expected(_replaced(usual, [place], scale)) for scale in _SCALES)
    return np.any([first != other for other in others], axis=0)


def _replaced(case: Case, places: list[Place], scale: float = 1) -> Case:
    """The case with finite values of this size at some places."""
    samples = list(case.samples)
    for slot, place in places:
        values = samples[slot].values.copy()
        values[place] = _some(values.shape)[place] * scale
        samples[slot] = samples[slot].having(values=values, hazards=())
    return case.having(samples=tuple(samples))


def _without_zeros(sample: Sample) -> Sample:
    """The input with other values for the zeros that it stores, which may hide something."""
    if not _is_float(sample):
        return sample
    zero = sample.values == 0
    if sample.sparse:
        zero &= sample.stored
    values = np.where(zero, _some(sample.shape), sample.values).astype(sample.dtype)
    return sample.having(values=values, hazards=())


def _some(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.25, 0.75, shape)


def _gone(expected: Expected, case: Case) -> np.ndarray:
    """The places that are NaN, though not with something small for what is not stored."""
    infinite = case.with_samples(_infinite)
    return _isnan(expected(infinite)) & ~_isnan(expected(infinite.with_samples(_filled)))


def _infinite(sample: Sample) -> Sample:
    """NaN as infinity, of which a product with zero tells whether that zero counts."""
    if not _is_float(sample) or not np.isnan(sample.values).any():
        return sample
    values = np.where(np.isnan(sample.values), np.inf, sample.values).astype(sample.dtype)
    return sample.having(values=values, hazards=())


def _filled(sample: Sample) -> Sample:
    if not sample.sparse or sample.stored.all():
        return sample
    small: Any = _SMALL if _is_float(sample) else 1
    return sample.having(values=np.where(sample.stored, sample.values, small).astype(sample.dtype))


def _is_float(sample: Sample) -> bool:
    return sample.dtype is not None and sample.dtype.kind in "fc"


def _isnan(values: np.ndarray) -> np.ndarray:
    return np.isnan(values) if values.dtype.kind in "fc" else np.zeros(values.shape, bool)
