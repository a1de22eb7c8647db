"""Laws about values: the same results for every storage, structure, width, layout and dtype."""

from typing import Any

import numpy as np

from sparseops.errors import FormatError, StorageError
from sparseops.testing.dense import densify, difference, rounding
from sparseops.testing.features import FEATURES
from sparseops.testing.law import Breach, NotConcerned, law
from sparseops.testing.limits import Overdue
from sparseops.testing.oracle import NOTHING, REFERENCE, describe
from sparseops.testing.run import Run, fingerprint, lied

#: Features that leave the values alone: without an oracle they are compared with plain inputs.
_NEUTRAL = ("V3", "V8", "V7", "V6", "V4")


@law(
    "V1",
    "values are those of the oracle",
    "the kernel for these storages computes something else than the dense one",
)
def agrees(run: Run) -> Any:
    """Whether the results are what the oracle says, whatever is unusual about the case."""
    if run.refused:
        return NotConcerned
    if run.error is not None:
        return _raised(run)
    if run.oracle.kind == NOTHING:
        return _same_as_plain(run)
    expected = run.expected
    if expected is None:
        return NotConcerned
    found = run.dense
    if len(found) < len(expected):
        return Breach(f"{len(found)} results instead of {len(expected)}", "count")
    for number, wanted in enumerate(expected):
        breach = _compare(run, number, found[number], wanted)
        if breach:
            return breach
    return None


def _compare(run: Run, number: int, found: np.ndarray, wanted: np.ndarray) -> Any:
    name = _result_name(run, number)
    if found.shape != wanted.shape:
        text = f"{name}has shape {found.shape} instead of {wanted.shape}"
        return Breach(text, "shape")
    if run.oracle.kind == REFERENCE and found.dtype != wanted.dtype:
        if _declines(run, found.dtype):
            return NotConcerned
        text = f"{name}has dtype {found.dtype} instead of {wanted.dtype}"
        return Breach(text, "dtype", "V11")
    rtol = max(run.subject.rtol, rounding(found.dtype))
    text = difference(found, wanted, rtol=rtol)
    if text:
        excused = run.oracle.excused(run.case, number, found, wanted)
        text = difference(found, wanted, rtol=rtol, excused=excused)
    if text and found.dtype.kind in "fc":
        near = run.oracle.rounded(run.case, number, found, wanted)
        text = difference(
            found, wanted, rtol=rtol, excused=near if excused is None else near | excused
        )
    return Breach(f"{name}is {text}", "value") if text else None


def _result_name(run: Run, number: int) -> str:
    operator = run.subject.operator
    if operator is None:
        return "the result "
    names = (*operator.outputs, *(f"the new {state}" for state in operator.mutates))
    return f"{names[number]} "


def _raised(run: Run) -> Any:
    """What it means that the call raised."""
    error = run.error
    text = describe(error)
    if isinstance(error, Overdue):
        return Breach(f"the call was {error}", "hangs", "V0")
    if isinstance(error, ImportError):
        return Breach(f"it needs what is not installed: {text}", "import", "V0")
    if isinstance(error, MemoryError):
        return Breach(f"memory is exhausted: {text}", "memory", "M1")
    if lied(error):
        breach = _lie(error, text)
        return NotConcerned if breach.law == "V11" and _declines(run) else breach
    if isinstance(error, ValueError) and "read-only" in str(error):
        return Breach(f"it writes into its inputs: {text}", "read-only", "V8")
    if run.oracle.kind == REFERENCE and not isinstance(error, StorageError):
        # What the reference turns down too lies outside of what the operator is for.
        if run.oracle.refuses(run.case):
            return NotConcerned
    return Breach(f"the call raised {text}", type(error).__name__)


def _declines(run: Run, found: Any = None) -> bool:
    """Whether the operator is not for these dtypes: its dense kernel, too, gives another one.

    Such calls are turned down with a clear error, so that no result is wrong. Of results that have
    another dtype than NumPy's only those of booleans are let pass, which NumPy counts with.
    """
    dtypes = {s.dtype for s in run.case.samples if s.dtype is not None}
    usual = {np.dtype("float64"), np.dtype("float32")}
    if run.plain_dtype or dtypes & usual or (found is not None and found.kind != "b"):
        return False
    dense = run.case.having(declared=None).with_samples(
        lambda s: s.having(stype="dense", stored=None, hazards=())
    )
    other = run if dense.stypes == run.case.stypes else Run(run.subject, dense, run.oracle)
    if found is None and not (other.error is not None and lied(other.error)):
        return False
    run.subject.declined.update(dtype.name for dtype in dtypes)
    return True


def _lie(error: BaseException, text: str) -> Breach:
    if isinstance(error, FormatError):
        return Breach(text, "structure", "V2")
    declared, found = str(error.declared), str(error.available)
    kinds = [a != b for a, b in zip(declared.split(), found.split(), strict=False)]
    if len(kinds) == 2 and kinds[1] or error.available is None:
        return Breach(text, "storage", "I11")
    if declared.partition("[")[0] != found.partition("[")[0]:
        return Breach(text, "dtype", "V11")
    return Breach(text, "shape")


def _same_as_plain(run: Run) -> Any:
    """Without an oracle: the results equal those for the same values without hazards."""
    plain = run.case
    for feature in FEATURES:
        if feature.law in _NEUTRAL:
            plain = feature.without(plain, run.subject)
    if plain is run.case:
        return None
    base = Run(run.subject, plain, run.oracle)
    if base.error is not None:
        return NotConcerned
    for number, (found, wanted) in enumerate(zip(run.dense, base.dense, strict=False)):
        breach = _compare(run, number, found, wanted)
        if breach:
            return breach
    return None


def _attributed(id: str, title: str, why: str, applies: Any = None) -> None:
    """A law that `agrees` checks: a failure is its if the unusual thing in question is needed."""
    law(id, title, why, applies=applies)(lambda run: NotConcerned)


@law("V0", "every call ends", "the call hangs, crashes, or needs what is not there")
def _ends(run: Run) -> Any:
    return None  # `agrees` tells where one does not


_attributed(
    "V3",
    "unsorted and repeated entries count as sorted and added up",
    "the code relies on sorted indices, or lets the last of two entries win",
)
_attributed(
    "V4",
    "explicit zeros change nothing",
    "structure is computed from values that are not zero, and data from all that are stored",
)
_attributed(
    "V5",
    "empty rows, nothing stored and axes of length 0 are right",
    "the first or last entry of a row is read where there is none",
)
_attributed(
    "V7",
    "the memory layout changes nothing",
    "memory is read as if it were contiguous, in C order and native byte order",
)


@law("V8", "read-only inputs are enough", "the kernel writes into an input")
def _reads_only(run: Run) -> Any:
    # The package's own arrays are read-only always; of scipy's, those that have the hazard count.
    return None if run.subject.dialect == "sparseops" else NotConcerned


def _no_floats(subject: Any) -> str:
    known = any(dtype.kind in "fc" for dtype in subject.dtypes)
    return "" if known else "no input can be NaN or infinite"


_attributed(
    "V10",
    "NaN, infinities and negative zero come through",
    "special values are filtered, or products with zeros that are not stored are computed",
    _no_floats,
)


def _several_dtypes(subject: Any) -> str:
    return "" if len(subject.dtypes) > 1 else "the inputs have one dtype only"


_attributed(
    "V11",
    "every dtype is computed as NumPy does",
    "values are computed in another type than the result's, or its type is another one",
    _several_dtypes,
)


@law("V9", "inputs are not changed", "an input is sorted, scaled or written to in place")
def unchanged(run: Run) -> Any:
    """Whether inputs that are not states have the bytes they had."""
    operator = run.subject.operator
    states = operator.mutates if operator is not None else ()
    for x, before, sample in zip(run.inputs, run.before, run.case.samples, strict=False):
        if sample.name not in states and fingerprint(x) != before:
            return Breach(f"{sample.name} is changed by the call", "mutation")
    return None


@law("V12", "two calls give the same bits", "something survives from one call to the next")
def deterministic(run: Run) -> Any:
    """Whether a second call with the same values gives the same results, bit for bit."""
    if run.error is not None:
        return NotConcerned
    try:
        second, _ = run.again(run.new_inputs())
    except (Exception, Overdue) as error:
        return Breach(f"the second call raised {describe(error)}", "error")
    for number, (a, b) in enumerate(zip(run.results, second, strict=False)):
        if fingerprint(a) != fingerprint(b):
            text = f"{_result_name(run, number)}is {_text(a)} and then {_text(b)}"
            return Breach(text, "nondeterministic")
    return None


def _text(x: Any) -> str:
    return str(densify(x).tolist())


def _has_comparison(subject: Any) -> str:
    return "" if subject.compare_with is not None else "compare_with= names no other library"


@law("V18", "another library agrees", "one of the two is wrong", applies=_has_comparison)
def compared(run: Run) -> Any:
    """Whether `compare_with` gives the same for the same inputs."""
    if run.error is not None:
        return NotConcerned
    others = [sample.scipy() for sample in run.case.samples if sample.stype != "row_sparse"]
    if len(others) < len(run.case.samples):
        return NotConcerned
    try:
        found = run.subject.compare_with(*others)
    except Exception as error:
        return Breach(f"the other library raised {describe(error)}", "error")
    found = found if isinstance(found, tuple) else (found,)
    for number, (mine, other) in enumerate(zip(run.dense, found, strict=False)):
        other = densify(other)
        rtol = max(run.subject.rtol, rounding(mine.dtype))
        excused = run.oracle.excused(run.case, number, mine, other.astype(mine.dtype, copy=False))
        text = difference(mine, other, rtol=rtol, excused=excused)
        if text:
            return Breach(f"{_result_name(run, number)}is {text} in the other library", "value")
    return None
