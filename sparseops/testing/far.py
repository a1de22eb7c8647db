"""The law about far places: a few entries spread over a matrix whose size passes int32."""

from typing import Any

import numpy as np

from sparseops.errors import DensifyError
from sparseops.ndarray import NDArray
from sparseops.policy import fallback
from sparseops.spec import Spec
from sparseops.testing.case import Case, resolve
from sparseops.testing.dense import densify, differing
from sparseops.testing.grown import gathered, large_lengths, positions, sparse_letters, spread
from sparseops.testing.law import WHOLE, Breach, NotConcerned, law
from sparseops.testing.limits import Overdue, within
from sparseops.testing.memory import SECONDS, cases, grown_code, is_dense_inside
from sparseops.testing.oracle import describe
from sparseops.testing.structure import only_operators

#: Rows times columns pass int32 and uint32.
_FAR = 2**16 + 2


@law(
    "V19",
    "far places are right: rows times columns beyond int32",
    "a position in the flattened matrix is computed in int32",
    WHOLE,
    only_operators,
)
def far_places(engine: Any) -> Any:
    """Whether a few entries, spread over a large matrix, give the small result, spread."""
    concerned = False
    groups = engine.subject.axes.outputs
    for case in cases(engine):
        case = case.having(declared=None)
        if not groups or not _indifferent(engine, case):
            continue
        breach = _far(engine, case)
        if breach is NotConcerned:
            continue
        concerned = True
        if breach:
            return breach
    return None if concerned else NotConcerned


def _far(engine: Any, case: Case) -> Any:
    subject = engine.subject
    if is_dense_inside(engine, case):
        return NotConcerned
    lengths = large_lengths(case, subject, _FAR)
    params = resolve(case.params, lengths)
    inputs = spread(case, subject, _FAR)
    if inputs is None or not _fits(engine, inputs, params):
        return NotConcerned
    expected = engine.oracle.expected(case)
    if expected is None:
        return NotConcerned
    try:
        with fallback("error", limit=None), within(SECONDS), np.errstate(all="ignore"):
            found = subject.function(*inputs, **params)
    except (DensifyError, Overdue):
        return NotConcerned
    except Exception as error:
        return _breach(engine, case, f"raises {describe(error)}")
    letters = sparse_letters(case, subject)
    for x, wanted, group in zip(_tuple(found), expected, subject.axes.outputs, strict=False):
        wide = tuple(axis in letters for axis in group)
        small, more = gathered(x, wanted.shape, wide)
        if more:
            return _breach(engine, case, "has values where nothing belongs")
        if differing(small, wanted.astype(small.dtype), 1e-6).any():
            text = f"gives {small.tolist()} instead of {wanted.tolist()} at the places stored"
            return _breach(engine, case, text)
    return None


def _tuple(found: Any) -> tuple:
    return found if isinstance(found, tuple) else (found,)


def _breach(engine: Any, case: Case, text: str) -> Breach:
    shown = f"spread over {_FAR} places an axis, it {text}"
    return Breach(shown, ", ".join(case.stypes), example=grown_code(case, engine, _FAR))


def _fits(engine: Any, inputs: list, params: dict) -> bool:
    """Whether no result is dense and large."""
    specs = [x.spec if isinstance(x, NDArray) else x for x in inputs]
    try:
        found = engine.subject.operator.infer(*specs, **params)
    except Exception:
        return False
    found = (found,) if isinstance(found, Spec) else found
    return all(s.stype == "csr" or s.size <= 2**22 for s in found)


def _indifferent(engine: Any, case: Case) -> bool:
    """Whether rows and columns of zeros between make no difference, by what the oracle says."""
    subject = engine.subject
    letters = sparse_letters(case, subject)
    large = 2 * max((case.lengths[letter] for letter in letters), default=1) + 1
    small = engine.oracle.expected(case)
    inputs = spread(case, subject, large)
    if small is None or inputs is None:
        return False
    samples = tuple(
        s
        if s.stype == "scalar"
        else s.having(stype="dense", values=densify(x), stored=None, hazards=())
        for s, x in zip(case.samples, inputs, strict=True)
    )
    wide = case.having(samples=samples, lengths=large_lengths(case, subject, large))
    between = engine.oracle.expected(wide)
    if between is None:
        return False
    for values, wanted, group in zip(between, small, subject.axes.outputs, strict=False):
        axes = [
            positions(n, large) if axis in letters else np.arange(n)
            for n, axis in zip(wanted.shape, group, strict=False)
        ]
        if values.ndim != len(axes) or any(
            len(a) and a[-1] >= n for a, n in zip(axes, values.shape, strict=True)
        ):
            return False
        inner = values[np.ix_(*axes)] if axes else values
        if differing(inner, wanted, 1e-9).any():
            return False
        if np.count_nonzero(values) > np.count_nonzero(inner):
            return False
    return True
