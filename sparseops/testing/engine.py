"""Cases drawn, run once, and held to every law; failures made small on the way."""

from collections.abc import Callable, Sequence
from time import perf_counter, thread_time
from typing import Any, NamedTuple

import numpy as np

from sparseops.testing.case import Case
from sparseops.testing.draw import Drawer
from sparseops.testing.features import present
from sparseops.testing.law import CASE, GRADIENT, WHOLE, Breach, Law, NotConcerned
from sparseops.testing.limits import Overdue, memory, within
from sparseops.testing.misuse import Misuse
from sparseops.testing.oracle import Oracle, describe
from sparseops.testing.report import Failure, LawResult
from sparseops.testing.run import Run
from sparseops.testing.shrink import Shrinker
from sparseops.testing.slopes import Slopes, usable
from sparseops.testing.subject import Subject


class Profile(NamedTuple):
    """How much is tried: cases, seconds for them, and seconds for making failures small."""

    cases: int
    seconds: float
    shrinking: float


PROFILES = {
    "quick": Profile(240, 1.3, 4.0),
    "ci": Profile(1000, 12.0, 15.0),
    "deep": Profile(20_000, 240.0, 60.0),
}
_MOST_FAILURES = 2
#: What a check may take beside what the process has; the inputs are small.
_MEMORY = 3 * 2**30


def as_profile(given: Any) -> Profile:
    """The profile of that name, or one of that many cases."""
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return Profile(given, 0.02 * given + 1, PROFILES["quick"].shrinking)
    if given not in PROFILES:
        raise Misuse(f"profile={given!r} is none of {', '.join(PROFILES)}, and no number of cases")
    return PROFILES[given]


class Tally:
    """What is known of one law so far."""

    def __init__(self, law: Law):
        self.law = law
        self.cases = 0
        self.seconds = 0.0
        self.note = ""
        self.failures: dict[str, tuple[Case | None, Failure]] = {}

    def result(self) -> LawResult:
        """The law's line in the report."""
        failures = [failure for _, failure in self.failures.values()]
        status = "failed" if failures else "ok" if self.cases else "not reached"
        note = self.note.strip() or ("" if self.cases else "no case was of its kind")
        law = self.law
        return LawResult(law.id, law.title, status, self.cases, self.seconds, note, failures)


class Engine:
    """One check of one subject.

    Attributes
    ----------
    tallies : dict
        What is known of each law that applies.
    kept_by_storages : dict
        A plain run without errors for each combination of storages, for laws about more than one.
    """

    def __init__(
        self, subject: Subject, laws: Sequence[Law], profile: Profile, seed: int, skip: Any = ()
    ):
        self.subject = subject
        self.profile = profile
        self.drawer = Drawer(subject, seed)
        self.seed = seed
        self.oracle = Oracle(subject)
        self.laws = list(laws)
        self.kept_by_storages: dict[tuple[str, ...], Run] = {}
        self.skip = set(skip)
        #: Told before each step, so that it is known at which one a process died.
        self.journal: Callable[[Any], None] = lambda step: None
        self.results: dict[str, LawResult] = {}
        self.tallies: dict[str, Tally] = {}
        self.shrinking = profile.shrinking
        self.first_error = ""
        self.hung = False
        self.looked_at = 0
        for law in laws:
            if law.scope in (CASE, GRADIENT, WHOLE):
                reason = law.applies(subject)
                if reason:
                    self.results[law.id] = LawResult(
                        law.id, law.title, "not applicable", note=reason
                    )
                else:
                    self.tallies[law.id] = Tally(law)

    def run(self) -> list[LawResult]:
        """The results of all laws but those of inference."""
        with memory(_MEMORY):
            return self._run()

    def _run(self) -> list[LawResult]:
        # By the processor's time, so that a busy machine does not cut the check short at once.
        end, last = thread_time() + self.profile.seconds, perf_counter() + 2 * self.profile.seconds
        for number in range(self.profile.cases):
            if thread_time() > end or perf_counter() > last or self.hung:
                self._cut_short(number)
                break
            if number not in self.skip:
                self._try(number)
        for law in self.laws:
            if law.scope == WHOLE and law.id in self.tallies and not self.hung:
                self._whole(law)
        if self.subject.declined and "V11" in self.tallies:
            names = ", ".join(sorted(self.subject.declined))
            self.tallies["V11"].note += f" not for {names}: it gives another dtype than it declares"
        return [
            self.tallies[law.id].result() if law.id in self.tallies else self.results[law.id]
            for law in self.laws
            if law.scope in (CASE, GRADIENT, WHOLE)
        ]

    def _cut_short(self, number: int) -> None:
        cause = "a call that hangs" if self.hung else "time"
        for tally in self.tallies.values():
            if tally.law.scope != WHOLE:
                tally.note = f"cut short by {cause} after {number} of {self.profile.cases} cases"

    def _try(self, number: int) -> None:
        case = self.drawer.case(number)
        if case is None:
            return
        self.journal(number)
        run = Run(self.subject, case, self.oracle)
        gradients = usable(run)
        if run.error is None:
            self._keep(run)
        elif not self.first_error:
            self.first_error = describe(run.error)
        self._count_features(run)
        for law in self.laws:
            first, every = law.turn
            due = law.scope == CASE or (law.scope == GRADIENT and gradients)
            if due and law.id in self.tallies and self.looked_at % every == first:
                self._hold(law, run)
        self.looked_at += 1

    def _keep(self, run: Run) -> None:
        case = run.case
        plain = all(np.isfinite(s.values).all() and not s.hazards for s in case.samples)
        known = self.kept_by_storages.get(case.stypes)
        if plain and (known is None or _larger(case, known.case)):
            self.kept_by_storages[case.stypes] = run

    @property
    def wrong_signatures(self) -> set[str]:
        """The signatures for which values are wrong even in small cases."""
        return set(self.tallies["V1"].failures) if "V1" in self.tallies else set()

    def _count_features(self, run: Run) -> None:
        """Count the case for each law whose unusual thing it has."""
        from_features = {f.law for f in present(run.case, self.subject)}
        for id in from_features & set(self.tallies):
            self.tallies[id].cases += 1

    def _hold(self, law: Law, run: Run) -> None:
        tally = self.tallies[law.id]
        start = perf_counter()
        breach = _checked(law, run)
        tally.seconds += perf_counter() - start
        if breach is NotConcerned:
            return
        tally.cases += 1
        if breach is not None:
            self._found(law, run.case, breach)

    def _found(self, law: Law, case: Case, breach: Breach) -> None:
        owner = breach.law or law.id
        signature = self.subject.signature(case)
        if breach.kind == "hangs":
            self.hung = True
            self._record(owner, case, breach)
            return
        if self._known(law, owner, case, breach, signature) or self.shrinking <= 0:
            return
        start = perf_counter()
        fails = self._failing(law, breach)
        shrinker = Shrinker(self.subject, fails, seconds=min(1.5, self.shrinking))
        stripped, needed = shrinker.stripped(case)
        if law.id == "V1" and not breach.law and needed:
            owner = needed[0].law
        small = shrinker.smaller(stripped, needed)
        self.shrinking -= perf_counter() - start
        again = _checked(law, Run(self.subject, small, self.oracle))
        self._record(owner, small, again if isinstance(again, Breach) else breach)

    def _known(self, law: Law, owner: str, case: Case, breach: Breach, signature: str) -> bool:
        """Whether the failure is one that was found before."""
        tally = self.tallies.get(owner)
        if tally is None:
            return breach.law == "" or owner not in self.results
        if signature in tally.failures:
            if law.id != "V1" or breach.law:
                return True
            # Something unusual may break another law, if the call is right without it.
            plain = case
            for feature in present(case, self.subject):
                plain = feature.without(plain, self.subject)
            return plain is case or self._failing(law, breach)(plain)
        return len(tally.failures) >= _MOST_FAILURES

    def _failing(self, law: Law, breach: Breach) -> Callable[[Case], bool]:
        def fails(case: Case) -> bool:
            found = _checked(law, Run(self.subject, case, self.oracle))
            if not isinstance(found, Breach):
                return False
            return (found.kind, found.law) == (breach.kind, breach.law)

        return fails

    def _record(self, owner: str, case: Case, breach: Breach) -> None:
        tally = self.tallies.get(owner)
        if tally is None:
            return
        signature = self.subject.signature(case)
        law = tally.law
        failure = Failure(
            law.id,
            law.title,
            law.why,
            breach.message,
            breach.example or example(self.subject, law, case),
            signature,
            case.number,
            sum(sample.stored_count for sample in case.samples),
        )
        known = tally.failures.get(signature)
        if known is None or (known[0] is not None and case.size < known[0].size):
            tally.failures[signature] = case, failure

    def _whole(self, law: Law) -> None:
        if law.id in self.skip:
            return
        self.journal(law.id)
        tally = self.tallies[law.id]
        start = perf_counter()
        try:
            with within(30):
                found = law.check(self)
        except Overdue:
            found = NotConcerned
            tally.note = "cut short by time"
        tally.seconds += perf_counter() - start
        if found is NotConcerned:
            return
        tally.cases += 1
        if isinstance(found, Breach):
            failure = Failure(law.id, law.title, law.why, found.message, found.example, found.kind)
            tally.failures[""] = None, failure


def _checked(law: Law, run: Run) -> Any:
    """What the check of `law` says; that it raised is a failure, too."""
    try:
        return law.check(run)
    except Exception as error:
        return Breach(f"checking it raised {describe(error)}", type(error).__name__)


def _larger(case: Case, known: Case) -> bool:
    """Whether `case` has longer axes, up to a point."""
    return min(case.lengths.values(), default=3) > min(known.lengths.values(), default=3)


def example(subject: Subject, law: Law, case: Case) -> str:
    """The call as code, with what a law of gradients adds to it."""
    lines = [case.code(subject.dialect)]
    call = case.call(subject.name)
    if law.scope != GRADIENT:
        return "\n".join([*lines, call])
    slopes = Slopes(Run(subject, case, Oracle(subject)))
    lines += ["with so.Tape() as tape:", f"    y = {call}"]
    heads = ", ".join(f"np.array({head.tolist()})" for head in slopes.heads)
    names = ", ".join(case.samples[slot].name for slot in slopes.slots)
    more = "y" if len(slopes.heads) == 1 else "list(y)"
    heads = heads if len(slopes.heads) == 1 else f"[{heads}]"
    return "\n".join([*lines, f"tape.gradient({more}, [{names}], output_gradients={heads})"])
