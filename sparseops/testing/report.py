"""What a check found: a result for each law, and for each failure the smallest example."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sparseops.testing import render
from sparseops.testing.misuse import Misuse

OK, FAILED, EXPECTED, UNEXPECTED, SKIPPED, UNTRIED, ERROR = (
    "ok",
    "failed",
    "xfail",
    "xpass",
    "not applicable",
    "not reached",
    "error",
)


@dataclass
class Failure:
    """One law that does not hold.

    Attributes
    ----------
    law, title, why : str
        The law, and the usual reason why it breaks.
    message : str
        What was found.
    example : str
        The smallest call that shows it, as code; `np` is NumPy and `so` is sparseops.
    signature : str
        The storages of the call.
    case : int or None
        The number of the case, which with the seed gives it again.
    entries : int or None
        How many values its arrays store.
    """

    law: str
    title: str
    why: str
    message: str
    example: str
    signature: str = ""
    case: int | None = None
    entries: int | None = None


@dataclass
class LawResult:
    """What came of one law.

    Attributes
    ----------
    law, title : str
        The law.
    status : str
        "ok", "failed", "xfail" (an expected failure), "xpass" (one that did not happen), "not
        applicable", "not reached" or "error".
    cases : int
        How many calls, or assignments of storages, were tried.
    seconds : float
        The time that it took.
    note : str
        Why the law does not apply, or what cut it short.
    failures : list of Failure
        What was found.
    """

    law: str
    title: str
    status: str
    cases: int = 0
    seconds: float = 0.0
    note: str = ""
    failures: list[Failure] = field(default_factory=list)


class LawsBroken(AssertionError):
    """Some laws do not hold; `report` has them."""

    def __init__(self, report: "Report"):
        super().__init__(f"\n{report}")
        self.report = report

    def __reduce__(self) -> tuple:
        return type(self), (self.report,)


class Report:
    """What was found of one operator.

    Attributes
    ----------
    name : str
        The operator.
    results : list of LawResult
        A result for each law.
    oracle : str
        What the values were compared with.
    seed : int
        What the cases come from.
    profile : str
        How many were tried.
    seconds : float
        The time that the check took.
    """

    def __init__(
        self,
        name: str,
        results: Sequence[LawResult],
        *,
        oracle: str = "",
        seed: int | None = None,
        profile: str = "",
        seconds: float = 0.0,
        notes: Iterable[str] = (),
    ):
        self.name = name
        self.results = list(results)
        self.oracle = oracle
        self.seed = seed
        self.profile = profile
        self.seconds = seconds or sum(result.seconds for result in self.results)
        self.notes = list(notes)

    @property
    def failures(self) -> list[Failure]:
        """What is wrong, in the order of the laws; expected failures are left out."""
        bad = (FAILED, UNEXPECTED, ERROR)
        return [f for result in self.results if result.status in bad for f in result.failures]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.failures

    @property
    def status(self) -> str:
        """The worst that happened: "ok", "failed", or "error" where it could not be checked."""
        found = {result.status for result in self.results}
        if ERROR in found:
            return ERROR
        return FAILED if found & {FAILED, UNEXPECTED} else OK

    def result(self, law: str) -> LawResult:
        """The result for the law called `law`."""
        for found in self.results:
            if found.law == law:
                return found
        raise KeyError(f"{law}; there are {', '.join(found.law for found in self.results)}")

    def raise_for_failures(self) -> None:
        """Raise LawsBroken if something is wrong."""
        if not self.ok:
            raise LawsBroken(self)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "name": self.name,
            "status": self.status,
            "oracle": self.oracle,
            "seed": self.seed,
            "profile": self.profile,
            "seconds": self.seconds,
            "notes": self.notes,
            "results": [asdict(result) for result in self.results],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The report as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def to_junit(self) -> str:
        """The report as JUnit's XML, one test case for each law."""
        return render.junit(self)

    def __str__(self) -> str:
        return render.text(self)

    def __repr__(self) -> str:
        return f"<report of {self.name}: {len(self.failures)} failures>"

    def _repr_html_(self) -> str:
        return render.html(self)


def with_expectations(
    results: Sequence[LawResult], expected: dict[str, str] | None
) -> list[LawResult]:
    """`results` with the failures that are expected marked so, and those that did not happen."""
    found = list(results)
    for id, reason in (expected or {}).items():
        known = [result for result in found if result.law == id]
        if not known:
            raise Misuse(f"expected_failures names {id}, which was not tried")
        result = known[0]
        if result.status == FAILED:
            result.status, result.note = EXPECTED, reason
        elif result.status == OK:
            result.status, result.note = UNEXPECTED, f"expected to fail: {reason}"
            text = f"the law holds, though it is expected to fail: {reason}"
            why = "the fault is gone: take it out of expected_failures"
            result.failures = [Failure(id, result.title, why, text, "")]
    return found
