"""NumPy's functions as calls of operators, by tables.

What has no operator is refused: NumPy would take the values off the tape, or make a sparse array
dense.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from sparseops.protocols import is_asked_by_scipy, overwrite
from sparseops.registry import operators

_PACKAGE = __name__.partition(".")[0] + "."
_WAY_OUT = "x.asnumpy() takes the values out: a dense copy, off every tape"

#: The operators of those ufuncs that have another name.
_UFUNCS = {
    "absolute": "abs",
    "conjugate": "conj",
    "deg2rad": "radians",
    "matmul": "dot",
    "rad2deg": "degrees",
    "remainder": "mod",
}


def call_ufunc(
    kind: type, ufunc: np.ufunc, method: str, inputs: Sequence[Any], given: Mapping[str, Any]
) -> Any:
    """What a ufunc of NumPy gives for `inputs`, some of which are of `kind`: the operator's answer.

    NotImplemented where another type among `inputs` takes ufuncs over.
    """
    if not isinstance(ufunc, np.ufunc):
        raise TypeError(f"ufunc is {type(ufunc).__name__}; it must be a ufunc of NumPy")
    if any(_is_foreign(type(x), kind) for x in inputs):
        return NotImplemented
    name, is_numpys = ufunc.__name__, getattr(np, ufunc.__name__, None) is ufunc
    operator = _built_in(_UFUNCS.get(name, name)) if is_numpys else None
    if operator is None or method != "__call__":
        called = f"np.{name}" if is_numpys else name
        _refuse(called if method == "__call__" else f"{called}.{method}")
    given = dict(given)
    (target,) = given.pop("out", (None,))
    if given:
        raise TypeError(f"np.{name} takes no {', '.join(given)} here: it is so.{operator.__name__}")
    if target is None:
        return operator(*inputs)
    if not hasattr(target, "assign"):
        raise TypeError(
            f"np.{name} would write into {type(target).__name__}, off every tape; use its result, "
            "and .asnumpy() of it if it must be one of NumPy"
        )
    return overwrite(target, operator, inputs, inputs, f"np.{name}(..., out=x)")


def _is_foreign(found: type, kind: type) -> bool:
    if issubclass(found, (kind, np.ndarray)):
        return found.__array_ufunc__ not in (kind.__array_ufunc__, np.ndarray.__array_ufunc__)
    return hasattr(found, "__array_ufunc__")


def call_function(
    kind: type, function: Callable, types: Sequence[type], args: Sequence[Any], given: Mapping
) -> Any:
    """What another function of NumPy gives: the answer of the operator that serves it."""
    if not all(issubclass(found, (kind, np.ndarray)) for found in types):
        return NotImplemented
    module = function.__module__.removeprefix("numpy")
    name = f"{module}.{function.__name__}".lstrip(".")
    served, adapter = _SERVED.get(function, (None, None))
    if adapter is None or (served and _built_in(served) is None):
        _refuse(f"np.{name}")
    leading = (operators[served],) if served else ()
    try:
        return adapter(*leading, *args, **given)
    except TypeError:
        try:
            inspect.signature(adapter).bind(*leading, *args, **given)
        except TypeError as error:
            raise TypeError(f"np.{name} of arrays of sparseops: {error}") from None
        raise


def _built_in(name: str) -> Any:
    found = operators.get(name)
    return found if found is not None and found.__module__.startswith(_PACKAGE) else None


def _refuse(name: str) -> NoReturn:
    raise TypeError(f"{name} has no operator here; {_WAY_OUT}")


#: For each function of NumPy the operator that serves it, if one does, and how it is called.
_SERVED: dict[Callable, tuple[str | None, Callable]] = {}


def _serves(*functions: Callable, by: str | None = None) -> Callable[[Callable], Callable]:
    def enter(adapter: Callable) -> Callable:
        _SERVED.update(dict.fromkeys(functions, (by, adapter)))
        return adapter

    return enter


def _reduction(operator, a, axis=None, *, keepdims=False):
    return operator(a, axis=axis, keepdims=keepdims)


for _name, *_functions in (
    ("sum", np.sum),
    ("mean", np.mean),
    ("max", np.max, np.amax),
    ("min", np.min, np.amin),
    ("argmax", np.argmax),
    ("argmin", np.argmin),
):
    _serves(*_functions, by=_name)(_reduction)


@_serves(np.diagonal, by="diagonal")
@_serves(np.zeros_like, by="zeros_like")
@_serves(np.real, by="real")
@_serves(np.imag, by="imag")
def _of_one(operator, a):
    return operator(a)


@_serves(np.dot, by="dot")
def _dot(operator, a, b):
    return operator(a, b)


@_serves(np.where, by="where")
def _where(operator, condition, x, y):
    return operator(condition, x, y)


@_serves(np.concatenate, by="concat")
def _concatenate(operator, arrays, /, axis=0):
    return operator(*arrays, axis=axis)


@_serves(np.linalg.norm, by="norm")
def _norm(operator, x, ord=None, axis=None, keepdims=False):
    return operator(x, ord=ord, axis=axis, keepdims=keepdims)


@_serves(np.clip, by="clip")
def _clip(operator, a, a_min=None, a_max=None, *, min=None, max=None):
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    return operator(a, low=low, high=high)


@_serves(np.reshape, by="reshape")
def _reshape(operator, a, /, shape):
    return operator(a, shape=shape)


@_serves(np.broadcast_to, by="broadcast_to")
def _broadcast_to(operator, array, shape):
    return operator(array, shape=shape)


@_serves(np.transpose, by="transpose")
def _transpose(operator, a, axes=None):
    reversed_axes = list(range(len(a.shape)))[::-1], list(range(-1, -len(a.shape) - 1, -1))
    if axes is not None and not (isinstance(axes, (tuple, list)) and list(axes) in reversed_axes):
        raise TypeError(f"np.transpose with axes={axes} has no operator here; {_WAY_OUT}")
    return operator(a)


@_serves(np.take, by="take")
def _take(operator, a, indices, axis=None):
    if axis != 0 and not (axis is None and len(a.shape) == 1):
        raise TypeError("np.take of arrays of sparseops takes rows: write axis=0")
    return operator(a, indices)


@_serves(np.round, np.around, by="rint")
def _round(operator, a, decimals=0):
    if decimals or a.dtype.kind not in "fc":
        raise TypeError(f"np.round rounds floating values to whole ones here; {_WAY_OUT}")
    return operator(a)


@_serves(np.atleast_2d)
def _atleast_2d(a):
    if not is_asked_by_scipy():
        _refuse("np.atleast_2d")
    # In scipy 1.13 it stands where newer versions convert the array.
    return np.empty((1, 1), object)


@_serves(np.copy)
def _copy(a):
    return a.copy()


@_serves(np.shape)
def _shape(a):
    return a.shape


@_serves(np.ndim)
def _ndim(a):
    return len(a.shape)


@_serves(np.size)
def _size(a, axis=None):
    return a.size if axis is None else a.shape[axis]


@_serves(np.iscomplexobj)
def _iscomplexobj(x):
    return x.dtype.kind == "c"


@_serves(np.isrealobj)
def _isrealobj(x):
    return x.dtype.kind != "c"


@_serves(np.result_type)
def _result_type(*arrays_and_dtypes):
    return np.result_type(*(x.dtype if hasattr(x, "stype") else x for x in arrays_and_dtypes))
