"""Laws about gradients: right on the stored places, absent elsewhere, linear, and as declared."""

from typing import Any

import numpy as np

from sparseops.constructors import asarray
from sparseops.ndarray import NDArray
from sparseops.spec import STORAGES
from sparseops.testing.dense import densify, difference, differing, rounding, stored_places
from sparseops.testing.law import GRADIENT, Breach, NotConcerned, law
from sparseops.testing.limits import Overdue
from sparseops.testing.numeric import STEP, slope, sure
from sparseops.testing.oracle import describe
from sparseops.testing.run import Run, fingerprint, lied
from sparseops.testing.slopes import Slopes, differentiable, slopes_of, stored

_TOLERANCE = 1e-5


@law(
    "G1",
    "gradients equal central differences on the stored places",
    "the rule's formula is wrong: a factor, a sign, a transpose, or the wrong place",
    GRADIENT,
    differentiable,
)
def numeric(run: Run) -> Any:
    """Whether each gradient is the slope by each stored value, the structure held fixed."""
    slopes = slopes_of(run)
    if isinstance(slopes, BaseException):
        return _raised(slopes)
    concerned = False
    for slot, gradient in slopes.gradients.items():
        found = densify(gradient)
        for place in stored(run.case, slot):
            bounds = slope(run, slopes, slot, place)
            if bounds is None:
                continue
            concerned = True
            low, high = bounds
            if not _between(found[place], low, high):
                name, middle = run.case.samples[slot].name, (low + high) / 2
                if not sure(middle, slope(run, slopes, slot, place, STEP / 4)):
                    continue
                text = f"the gradient by {name} at {_at(place)} is {found[place]}, the slope is"
                return Breach(f"{text} {_short(middle)}", "slope")
    return None if concerned else NotConcerned


def _between(found: Any, low: Any, high: Any) -> bool:
    margin = _TOLERANCE * (1 + abs(low) + abs(high))
    if np.iscomplexobj(found):
        return abs(found - (low + high) / 2) <= margin + abs(high - low)
    return min(low, high) - margin <= found <= max(low, high) + margin


def _short(value: Any) -> Any:
    """A slope without the digits that a difference has too many."""
    return np.round(value, 6)


def _raised(error: BaseException) -> Breach:
    text = describe(error)
    if lied(error) or "is declared" in text:
        return Breach(text, "storage", "G3")
    return Breach(f"the gradient raised {text}", type(error).__name__)


def _at(place: tuple[int, ...]) -> str:
    return str(place) if len(place) != 1 else f"({place[0]})"


@law(
    "G2",
    "the gradient by a sparse input lives on the places that it stores",
    "the full gradient is returned: sparse_mask(gradient, x) keeps the stored places",
    GRADIENT,
    differentiable,
)
def structured(run: Run) -> Any:
    """Whether there is nothing beside the stored places."""
    slopes = slopes_of(run)
    if isinstance(slopes, BaseException):
        return NotConcerned
    concerned = False
    for slot, gradient in slopes.gradients.items():
        sample = run.case.samples[slot]
        if not sample.sparse:
            continue
        concerned = True
        beside = densify(gradient).copy()
        beside[stored_places(slopes.inputs[slot])] = 0
        if beside.any():
            place = tuple(int(n) for n in np.argwhere(beside)[0])
            text = f"the gradient by {sample.name} is {beside[place]} at {_at(place)}"
            return Breach(f"{text}, which {sample.name} does not store", "beside")
    return None if concerned else NotConcerned


@law(
    "G3",
    "gradients have the storage, shape and dtype declared, and any storage asked for",
    "a rule returns another storage than its signature says",
    GRADIENT,
    differentiable,
    turn=(0, 2),
)
def as_asked(run: Run) -> Any:
    """Whether gradients asked for in each storage come in it, with the same values."""
    slopes = slopes_of(run)
    if isinstance(slopes, BaseException):
        return NotConcerned
    for slot, gradient in slopes.gradients.items():
        x, name = slopes.inputs[slot], run.case.samples[slot].name
        if gradient.shape != x.shape or gradient.dtype != x.dtype:
            return Breach(f"the gradient by {name} is {gradient.spec}; {name} is {x.spec}", "spec")
    asks = STORAGES[run.case.number % 3 :][:1]
    for ask in asks:
        stypes = [ask if _can_be(x, ask) else None for x in _sources(slopes)]
        try:
            found = slopes.by(slopes.heads, stypes)
        except (Exception, Overdue) as error:
            return Breach(f"asked for {ask} it raised {describe(error)}", "error")
        for slot, stype, asked in zip(slopes.slots, stypes, found, strict=True):
            name = run.case.samples[slot].name
            if stype is not None and asked.stype != stype:
                return Breach(f"the gradient by {name} is {asked.stype}, not {stype}", "ask")
            text = _difference(asked, slopes.gradients[slot])
            if text:
                return Breach(f"asked for as {ask}, the gradient by {name} is {text}", "value")
    return None


def _sources(slopes: Slopes) -> list[NDArray]:
    return [slopes.inputs[slot] for slot in slopes.slots]


def _can_be(x: NDArray, stype: str) -> bool:
    return stype in STORAGES[: 1 + (x.ndim >= 1) + (x.ndim == 2)]


def _difference(a: NDArray, b: NDArray) -> str:
    return difference(densify(a), densify(b), rtol=rounding(a.dtype))


@law(
    "G6",
    "into= adds to earlier gradients",
    "the sum of two gradients of these storages is wrong",
    GRADIENT,
    differentiable,
    turn=(1, 2),
)
def accumulates(run: Run) -> Any:
    """Whether old + new is the gradient twice, and asking twice gives the same."""
    slopes = slopes_of(run)
    if isinstance(slopes, BaseException) or not slopes.slots:
        return NotConcerned
    old = [slopes.gradients[slot] for slot in slopes.slots]
    if run.case.number % 3 == 1:
        old = [asarray(densify(x)) for x in old]
    try:
        found = slopes.by(slopes.heads, into=old)
    except (Exception, Overdue) as error:
        return Breach(f"into= raised {describe(error)}", "error")
    for slot, total in zip(slopes.slots, found, strict=True):
        text = difference(
            densify(total), 2 * densify(slopes.gradients[slot]), rtol=rounding(total.dtype)
        )
        if text:
            return Breach(f"the sum by {run.case.samples[slot].name} is {text}", "sum")
    return None


@law(
    "G10",
    "gradients are linear in the gradient that arrives",
    "the rule adds a constant, uses g twice, or does not use it",
    GRADIENT,
    differentiable,
    turn=(0, 2),
)
def linear_in_heads(run: Run) -> Any:
    """Whether twice the head gives twice the gradient, and a head of zeros gives zeros."""
    slopes = slopes_of(run)
    if isinstance(slopes, BaseException) or not slopes.slots:
        return NotConcerned
    for factor in (2, 0):
        try:
            found = slopes.by([factor * head for head in slopes.heads])
        except (Exception, Overdue) as error:
            return Breach(f"with {factor} times the head it raised {describe(error)}", "error")
        for slot, gradient in zip(slopes.slots, found, strict=True):
            before = densify(slopes.gradients[slot])
            finite = np.isfinite(before)
            with np.errstate(all="ignore"):
                wrong = differing(densify(gradient), factor * before, rounding(gradient.dtype))
            if (wrong & finite).any():
                name = run.case.samples[slot].name
                text = f"{densify(gradient).tolist()} for {factor} times what gives"
                return Breach(f"the gradient by {name} is {text} {before.tolist()}", "linear")
    return None


@law(
    "G12",
    "a gradient computed twice is the same",
    "the rule changes what the tape keeps: its state, an input, or memory of its own",
    GRADIENT,
    differentiable,
    turn=(1, 2),
)
def repeatable(run: Run) -> Any:
    """Whether a persistent tape gives the same gradient again, bit for bit."""
    slopes = slopes_of(run)
    if isinstance(slopes, BaseException) or not slopes.slots:
        return NotConcerned
    try:
        second = slopes.by(slopes.heads)
    except (Exception, Overdue) as error:
        return Breach(f"the second time it raised {describe(error)}", "error")
    for slot, again in zip(slopes.slots, second, strict=True):
        first = slopes.gradients[slot]
        if fingerprint(first) != fingerprint(again):
            name = run.case.samples[slot].name
            text = f"{densify(first).tolist()} and then {densify(again).tolist()}"
            return Breach(f"the gradient by {name} is {text}", "repeat")
    return None
