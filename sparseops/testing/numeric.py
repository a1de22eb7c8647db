"""Derivatives by central differences."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparseops.constructors import asarray
from sparseops.ndarray import NDArray
from sparseops.policy import fallback
from sparseops.testing.dense import densify, stored_places

#: A power of two, so that the differences of multilinear functions of dyadic values are exact.
STEP = 2.0**-13
_UNSURE = 1e-3
_KINK = 0.05


def slope(
    run: Any, slopes: Any, slot: int, place: tuple[int, ...], step: float = STEP
) -> tuple[Any, Any] | None:
    """The lowest and highest slope at one stored value of a case; None where there is none.

    They are one number where the function is smooth; at a kink every slope between is right.
    """
    sample = run.case.samples[slot]

    def value(offset: Any) -> Any:
        values = sample.values.copy()
        values[place] += offset
        inputs = list(slopes.inputs)
        for state in run.states:  # which an earlier call has changed
            inputs[state] = run.case.samples[state].array()
        inputs[slot] = restored(inputs[slot], values)
        return slopes.weighted(run.subject.call(inputs, run.params, run.case.declared)[0])

    try:
        with np.errstate(all="ignore"):
            if sample.dtype.kind == "c":
                return _complex_slope(value, step)
            return _bounds(value, slopes.weighted(slopes.results), step)
    except Exception:
        return None


def sure(middle: Any, closer: tuple[Any, Any] | None) -> bool:
    """Whether a slope is the same for a smaller step, `closer`; at a pole it is not."""
    if closer is None:
        return False
    return abs((closer[0] + closer[1]) / 2 - middle) <= _UNSURE * (1 + abs(middle))


def _bounds(value: Callable[[float], Any], here: Any, step: float) -> tuple[Any, Any] | None:
    right = (np.real(value(step)) - np.real(here)) / step
    left = (np.real(here) - np.real(value(-step))) / step
    if not (np.isfinite(right) and np.isfinite(left)):
        return None
    if abs(right - left) > _KINK * (1 + min(abs(right), abs(left))):
        return left, right
    middle = (left + right) / 2
    return middle, middle


def _complex_slope(value: Callable[[complex], Any], step: float) -> tuple[Any, Any] | None:
    real = (value(step) - value(-step)) / (2 * step)
    imaginary = (value(1j * step) - value(-1j * step)) / (2 * step)
    found = np.real(real) + 1j * np.real(imaginary)
    return (found, found) if np.isfinite(found) else None


def numerical_grad(
    function: Callable[..., Any],
    *arrays: Any,
    wrt: int | Sequence[int] = 0,
    head: Any = None,
    step: float = STEP,
    semantics: str = "structured",
) -> Any:
    """The gradient of ``sum(head * function(*arrays))``, by central differences.

    Parameters
    ----------
    function : callable
        From arrays to an array.
    *arrays : NDArray or array-like
        Where the gradient is taken; float64 or complex128.
    wrt : int or sequence of int, optional
        By which of `arrays`; a sequence gives a list.
    head : array-like, optional
        The gradient by the result; ones by default.
    step : float, optional
        Half the distance of the two points. A power of two is exact for multilinear functions of
        dyadic values.
    semantics : {"structured", "full"}, optional
        Whether the places that a sparse array does not store are left at zero, or varied too.

    Returns
    -------
    ndarray, or list of ndarray
        Dense, of the shape of the array.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.csr_array([[0.0, 3.0]])
    >>> so.testing.numerical_grad(so.square, x)
    array([[0., 6.]])
    """
    if semantics not in ("structured", "full"):
        raise ValueError(f"semantics={semantics!r} is neither 'structured' nor 'full'")
    inputs = [x if isinstance(x, NDArray) else asarray(x) for x in arrays]
    if isinstance(wrt, int):
        return _by(function, inputs, wrt, head, step, semantics)
    return [_by(function, inputs, slot, head, step, semantics) for slot in wrt]


def _by(
    function: Any, inputs: list[NDArray], slot: int, head: Any, step: float, semantics: str
) -> np.ndarray:
    x = inputs[slot]
    if x.dtype.kind not in "fc":
        raise ValueError(f"argument {slot} is {x.spec}; differences need floating values")
    places = stored_places(x) if semantics == "structured" else np.ones(x.shape, bool)
    found = np.zeros(x.shape, x.dtype)

    def value(place: tuple[int, ...], offset: Any) -> Any:
        moved = densify(x).copy()
        moved[place] += offset
        varied = list(inputs)
        varied[slot] = restored(x, moved) if semantics == "structured" else asarray(moved)
        with fallback("allow", limit=None):
            y = densify(function(*varied))
        return (y * (1 if head is None else np.conj(densify(head)))).sum()

    for place in map(tuple, np.argwhere(places)):
        found[place] = np.real(value(place, step) - value(place, -step)) / (2 * step)
        if x.dtype.kind == "c":
            change = value(place, 1j * step) - value(place, -1j * step)
            found[place] += 1j * np.real(change) / (2 * step)
    return found


def restored(x: NDArray, values: np.ndarray) -> NDArray:
    """`values` at the places that `x` stores, in its storage."""
    if x.stype == "dense":
        return asarray(values)
    if x.stype == "csr":
        data = values[np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)), x.indices]
    else:
        data = values[x.indices]
    storage = x.storage.with_data(data)
    x.backend.freeze(storage.data)
    return NDArray(storage, x.backend)
