"""One call that tries to break an operator in every way."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any

from sparseops.operators import Operator
from sparseops.testing.catalogue import catalogue
from sparseops.testing.claims import subject_of
from sparseops.testing.engine import Engine, as_profile
from sparseops.testing.inference import inference_results
from sparseops.testing.isolate import crash_failures, isolated
from sparseops.testing.law import TABLE, Law, get_law, selected
from sparseops.testing.misuse import Misuse
from sparseops.testing.report import (
    ERROR,
    FAILED,
    SKIPPED,
    Failure,
    LawResult,
    Report,
    with_expectations,
)
from sparseops.testing.table import tables

_SETUP = "setup"


def check_operator(
    op: Callable[..., Any],
    shapes: str | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    params: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    domain: Mapping[str, Any] | None = None,
    traits: Iterable[str] = (),
    nan_policy: str = "skip_unstored",
    seed: int = 0,
    laws: str | Iterable[str] | None = None,
    profile: str | int = "quick",
    expected_failures: Mapping[str, str] | None = None,
    on_fail: str = "raise",
    rtol: float = 0.0,
    arrays: str | None = None,
    storages: str | Sequence[str] | None = None,
    compare_with: Callable[..., Any] | None = None,
    isolate: bool = False,
) -> Report:
    """Every law of `op`, tried on small inputs made to break it.

    Parameters
    ----------
    op : Operator or callable
        An operator, a function written with operators, or one on arrays of scipy and NumPy.
    shapes : str, optional
        Axes of inputs and results as in NumPy's gufuncs, ``"(m,n),(n,k)->(m,k)"``: inputs share a
        letter's length; a number is a fixed length; ``(m,n)...`` is any number of arrays. By
        default what the operator says.
    reference : callable, optional
        The same function on NumPy arrays, in dense values; new values of states follow the results.
        It gets the parameters that it names, and as `stored`, if it names that, where each input
        stores a value. By default what the operator says; without one its dense kernel says what is
        right.
    params : mapping or sequence of mappings, optional
        Parameters, several to take turns. A function among them gets lengths by their letters:
        ``{"shape": lambda m, n: (n, m)}``.
    domain : mapping, optional
        The values that an input takes, if not any: a list, a function of lengths that gives one
        (``{"ids": lambda m: range(m)}``), or a strategy of hypothesis of numbers or arrays.
    traits : iterable of str, optional
        What is claimed: "rowwise", "linear", "zero_preserving", "idempotent", "involution",
        "commutative", of the first input where there are several; and "complex": gradients by
        complex inputs are those of torch, with the conjugate.
    nan_policy : {"skip_unstored", "ieee"}, optional
        Whether zeros that are not stored may be left out of products with NaN and infinity.
    seed : int, optional
        What the cases come from; the same seed gives the same cases.
    laws : str or iterable of str, optional
        Ids such as ``"V*,G1"``; all by default.
    profile : {"quick", "ci", "deep"} or int, optional
        How much is tried: about 1 second, 10 seconds, or minutes; or a number of cases.
    expected_failures : mapping, optional
        Reasons by the ids of laws that are known to be broken. One that holds is a failure.
    on_fail : {"raise", "report"}, optional
        Whether a broken law raises LawsBroken, which shows the report.
    rtol : float, optional
        How far results may be from the reference, relative to the largest value, beside rounding.
    arrays : {"scipy", "sparseops"}, optional
        What a plain function takes; scipy's and NumPy's by default.
    storages : str or sequence of str, optional
        The storages of inputs to try, such as ``"csr, dense"``. By default all that the axes allow;
        every matrix is csr for a function on scipy's arrays.
    compare_with : callable, optional
        The same function in another library, on the same inputs as scipy's and NumPy's arrays.
    isolate : bool, optional
        Whether calls run in a child process, so that a crash is a counterexample; not on Windows.

    Returns
    -------
    Report
        What held, what is broken, and the smallest example of each failure, as code.

    Examples
    --------
    >>> import sparseops as so
    >>> so.testing.check_operator(so.negative, traits=["involution"]).ok
    True
    """
    if on_fail not in ("raise", "report"):
        raise ValueError(f"on_fail={on_fail!r} is neither 'raise' nor 'report'")
    start = perf_counter()
    name = getattr(op, "__name__", type(op).__name__)
    results: list[LawResult] = []
    engine = None
    try:
        amount = as_profile(profile)
        chosen = selected(laws)
        results = table_results(op, params, chosen)
        subject = subject_of(
            op,
            shapes,
            reference=reference,
            params=params,
            domain=domain,
            traits=traits,
            nan_policy=nan_policy,
            seed=seed,
            rtol=rtol,
            arrays=arrays,
            storages=storages,
            compare_with=compare_with,
        )
        engine = Engine(subject, chosen, amount, seed)
        found = isolated_results(engine) if isolate else results_of(engine)
        results = in_order([*results, *found])
        results = with_expectations(results, expected_failures)
    except Misuse as error:
        results.insert(0, trouble("the check can be done as asked for", str(error)))
    report = Report(name, results, seed=seed, profile=str(profile))
    report.oracle = engine.oracle.kind if engine is not None else ""
    report.seconds = perf_counter() - start
    if on_fail == "raise":
        report.raise_for_failures()
    return report


def results_of(engine: Engine) -> list[LawResult]:
    """What the engine finds, and what kept it from comparing values."""
    return [*engine.run(), *complaints(engine)]


def isolated_results(engine: Engine) -> list[LawResult]:
    """What an engine finds in a child process; where that dies, V0 is broken."""

    def work(skip: set, journal: Callable[[Any], None]) -> list[LawResult]:
        engine.skip, engine.journal = skip, journal
        return results_of(engine)

    profile = engine.profile
    found, crashes = isolated(work, 3 * profile.seconds + profile.shrinking)
    failures = crash_failures(engine.subject, engine.seed, crashes)
    if found is None:
        return [LawResult("V0", get_law("V0").title, FAILED, len(crashes), failures=failures)]
    for result in found:
        if result.law == "V0" and failures:
            result.status, result.failures = FAILED, [*result.failures, *failures]
    return found


def table_results(op: Any, params: Any, chosen: Sequence[Law]) -> list[LawResult]:
    """The results of the laws of inference."""
    wanted = [law for law in chosen if law.scope == TABLE]
    if not isinstance(op, Operator):
        reason = "a plain function has no table of signatures"
        return [LawResult(law.id, law.title, SKIPPED, note=reason) for law in wanted]
    listed = [params] if isinstance(params, Mapping) else list(params or [{}])
    plain = [{k: v for k, v in p.items() if not callable(v)} for p in listed]
    return inference_results(tables(op, plain, (), ()), wanted)


def complaints(engine: Engine) -> list[LawResult]:
    """What kept values from being compared."""
    found = []
    if engine.oracle.complaints:
        message, case = engine.oracle.complaints[0]
        example = f"{case.code('scipy')}\n{case.call('reference')}"
        found.append(trouble("the reference has an answer", f"the reference: {message}", example))
    tally = engine.tallies.get("V1")
    if tally is not None and not tally.cases and not engine.hung and not found:
        cause = engine.first_error or "no input could be drawn"
        found.append(trouble("something is compared", f"nothing was: {cause}"))
    return found


def trouble(title: str, message: str, example: str = "") -> LawResult:
    """What is wrong with the check itself, as a line of the report."""
    why = "what is checked, or what it is checked by, has to be mended first"
    failure = Failure(_SETUP, title, why, message, example)
    return LawResult(_SETUP, title, ERROR, failures=[failure])


def in_order(results: Sequence[LawResult]) -> list[LawResult]:
    """`results` in the order of the laws, trouble first."""
    order = {law.id: number for number, law in enumerate(catalogue())}
    return sorted(results, key=lambda result: order.get(result.law, -1))
