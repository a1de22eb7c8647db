"""What results ought to be: a reference on NumPy arrays, or the operator's own dense kernel."""

from functools import partial
from typing import Any

import numpy as np

from sparseops.signature import SCALAR
from sparseops.testing.axes import shape_of
from sparseops.testing.case import Case
from sparseops.testing.dense import densify
from sparseops.testing.limits import Overdue, within
from sparseops.testing.sample import Sample
from sparseops.testing.subject import Subject
from sparseops.testing.unstored import excused

REFERENCE, DENSE, NOTHING = "reference", "dense kernel", "nothing"
#: How often inputs are changed by a rounding error, and how many such errors a result may have.
_NUDGES, _ROUNDINGS = 8, 8


class Oracle:
    """Where expected results come from.

    Attributes
    ----------
    kind : str
        "reference", "dense kernel", or "nothing" where only relations between results are checked.
    complaints : list of (str, Case)
        What the reference did wrong, and for which calls.
    """

    def __init__(self, subject: Subject, seconds: float = 3.0):
        self.subject = subject
        self.seconds = seconds
        self.complaints: list[tuple[str, Case]] = []
        self.kind = self._kind()

    def _kind(self) -> str:
        operator = self.subject.operator
        if self.subject.reference is not None:
            return REFERENCE
        if operator is None:
            return NOTHING if self.subject.dialect == "scipy" else DENSE
        dense = ("dense",) * (len(operator.inputs) + len(operator.outputs))
        tables = [rule.signature for rule in operator.kernels]
        known = any(s is None or s.inputs + s.outputs == dense for s in tables)
        return DENSE if known else NOTHING

    def expected(self, case: Case) -> tuple[np.ndarray, ...] | None:
        """The right results for `case`; None where nothing says what they are."""
        if self.kind == REFERENCE:
            return self._from_reference(case)
        return self._from_kernel(case) if self.kind == DENSE else None

    def refuses(self, case: Case) -> bool:
        """Whether the reference, too, raises for `case`, or there is none to ask."""
        if self.kind != REFERENCE:
            return True
        try:
            with within(self.seconds):
                self.subject.expected(case)
        except (Exception, Overdue):
            return True
        return False

    def excused(
        self, case: Case, number: int, found: np.ndarray, wanted: np.ndarray
    ) -> np.ndarray | None:
        """The places of result `number` that are NaN only because zeros that are not stored count.

        The policy "skip_unstored" lets `found` differ there; None where it does not say so.
        """
        strict = self.subject.nan_policy == "ieee" or self.kind == NOTHING
        if strict or found.shape != wanted.shape:
            return None
        known = len(self.complaints)
        try:
            return excused(lambda other: self.expected(other)[number], case, found, wanted)
        except Exception:
            return None
        finally:
            del self.complaints[known:]

    def rounded(self, case: Case, number: int, found: np.ndarray, wanted: np.ndarray) -> Any:
        """The places where `found` is what rounding of the inputs can make of `wanted`.

        Where large values cancel, every right way to add them up gives another result; so the
        results of inputs that are changed by a rounding error tell how far apart they may be.
        """
        apart = np.zeros(wanted.shape)
        known = len(self.complaints)
        try:
            with np.errstate(all="ignore"):
                for seed in range(_NUDGES):
                    other = self.expected(case.with_samples(partial(_nudged, seed)))[number]
                    np.maximum(apart, np.abs(other - wanted), out=apart)
                return np.abs(found - wanted) <= _ROUNDINGS * apart
        except Exception:
            return False
        finally:
            del self.complaints[known:]

    def _from_reference(self, case: Case) -> tuple[np.ndarray, ...] | None:
        try:
            with within(self.seconds):
                found = self.subject.expected(case)
        except Overdue:
            return self._complain(f"it was not done after {self.seconds:g} seconds", case)
        except Exception as error:
            return self._complain(f"it raised {describe(error)}", case)
        for values, group in zip(found, self.subject.axes.outputs, strict=False):
            known = all(isinstance(axis, int) or axis in case.lengths for axis in group)
            # With a number for an array, axes may be missing.
            if (
                known
                and SCALAR not in case.stypes
                and values.shape != shape_of(group, case.lengths)
            ):
                wanted = shape_of(group, case.lengths)
                text = f"it returned shape {values.shape}; the axes say {wanted}"
                return self._complain(text, case)
        return found

    def _from_kernel(self, case: Case) -> tuple[np.ndarray, ...] | None:
        inputs = [s.having(stype=_dense(s), stored=None, hazards=()).array() for s in case.samples]
        try:
            with within(self.seconds):
                results, _ = self.subject.call(inputs, case.resolved())
        except (Exception, Overdue):
            return None
        return tuple(map(densify, results))

    def _complain(self, message: str, case: Case) -> None:
        base = self.subject.dtypes[:1]
        if all(s.dtype in base for s in case.samples if s.dtype is not None):
            self.complaints.append((message, case))


def describe(error: BaseException) -> str:
    """An exception in one line."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _nudged(seed: int, sample: Sample) -> Sample:
    """The input with each value changed by a rounding error."""
    if sample.dtype is None or sample.dtype.kind not in "fc":
        return sample
    shares = np.random.default_rng(seed).uniform(-2, 2, sample.values.shape)
    values = sample.values * (1 + shares * np.finfo(sample.dtype).eps)
    return sample.having(values=values.astype(sample.dtype), hazards=())


def _dense(sample: Sample) -> str:
    return SCALAR if sample.stype == SCALAR else "dense"
