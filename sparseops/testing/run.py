"""One case, carried out once, whatever number of laws looks at it."""

from functools import cached_property
from typing import Any

import numpy as np

from sparseops.errors import DTypeError, FormatError, StorageError
from sparseops.ndarray import NDArray
from sparseops.spec import Spec
from sparseops.testing.case import Case
from sparseops.testing.dense import densify
from sparseops.testing.limits import Overdue, within
from sparseops.testing.oracle import Oracle
from sparseops.testing.subject import Subject


class Run:
    """A case and what came of it.

    Attributes
    ----------
    results : tuple
        What the call returned; empty where it raised.
    error : BaseException or None
        What it raised.
    records : list of Fallback
        The fallbacks on the way.
    """

    #: The longest that one call may take.
    seconds = 3.0

    def __init__(self, subject: Subject, case: Case, oracle: Oracle):
        self.subject = subject
        self.case = case
        self.oracle = oracle
        self.error: BaseException | None = None
        self.results: tuple[Any, ...] = ()
        self.records: list[Any] = []
        self.inputs: list[Any] = []
        self.before: list[bytes] = []
        self.params = case.resolved()
        self._carry_out()

    def _carry_out(self) -> None:
        try:
            self.inputs = self.new_inputs()
            self.before = [fingerprint(x) for x in self.inputs]
            self.results, self.records = self.again(self.inputs)
        except (Exception, Overdue) as error:
            self.error = error

    def new_inputs(self) -> list[Any]:
        """The inputs in memory of their own."""
        scipy = self.subject.dialect == "scipy"
        return [sample.scipy() if scipy else sample.array() for sample in self.case.samples]

    def again(self, inputs: list[Any]) -> tuple[tuple[Any, ...], list[Any]]:
        """The results for `inputs`, and the fallbacks."""
        with within(self.seconds):
            return self.subject.call(inputs, self.params, self.case.declared)

    @cached_property
    def expected(self) -> tuple[np.ndarray, ...] | None:
        """What the oracle says; None where there is no oracle, or it has no answer."""
        return self.oracle.expected(self.case)

    @cached_property
    def dense(self) -> tuple[np.ndarray, ...]:
        """The results as dense arrays of NumPy, new values of states behind them."""
        return tuple(map(densify, (*self.results, *(self.inputs[slot] for slot in self.states))))

    @property
    def states(self) -> list[int]:
        """The slots of inputs that the operator changes."""
        operator = self.subject.operator
        return [] if operator is None else [operator.inputs.index(n) for n in operator.mutates]

    @cached_property
    def refused(self) -> bool:
        """Whether the call was turned down for its dtypes, which an operator may do."""
        if isinstance(self.error, DTypeError) and not lied(self.error):
            return not self.plain_dtype
        if isinstance(self.error, TypeError) and not isinstance(self.error, StorageError):
            return not self.plain_dtype and self.oracle.refuses(self.case)
        return False

    @cached_property
    def plain_dtype(self) -> bool:
        """Whether all inputs have the plainest dtype that they can have."""
        base = self.subject.dtypes[:1]
        free = [
            sample
            for sample in self.case.samples
            if sample.dtype is not None and self.subject.name_of(sample) not in self.subject.domain
        ]
        return all(sample.dtype in base for sample in free)


def lied(error: BaseException) -> bool:
    """Whether the package says that a kernel broke its declaration."""
    if isinstance(error, FormatError):
        return any("returned it for" in note for note in getattr(error, "__notes__", ()))
    return isinstance(getattr(error, "declared", None), Spec)


def fingerprint(x: Any) -> bytes:
    """The bytes of an array, values and structure."""
    if isinstance(x, NDArray):
        return b"|".join(np.asarray(part).tobytes() for part in x.storage.parts)
    if hasattr(x, "indptr"):
        return b"|".join(part.tobytes() for part in (x.data, x.indices, x.indptr))
    return np.asarray(x).tobytes()
