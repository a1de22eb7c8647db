"""How arrays meet NumPy, scipy.sparse and DLPack, and what operators like ``+=`` do to them."""

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from sparseops.errors import BackendError, DTypeError, GradientError, ShapeError, StorageError
from sparseops.registry import operators

_PACKAGE = __name__.partition(".")[0] + "."
#: The methods in which scipy.sparse asks NumPy whether the other operand is an array.
_ASKING = {
    f"__{name}__" for name in ("matmul", "mul", "truediv", "eq", "ne", "lt", "le", "gt", "ge")
}
_NUMBERS = (int, float, complex, np.number, np.bool_)
_SYMBOLS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "power": "**",
    "mod": "%",
    "floor_divide": "//",
    "dot": "@",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
}


def contains(x: Any, value: Any) -> bool:
    """Whether a value of `x`, stored or not, is `value`; O(values stored) for a number."""
    if not hasattr(x, "assign"):
        raise TypeError("what is traced has no values yet, so nothing is in it")
    if isinstance(value, _NUMBERS):
        return bool((x.data == value).any()) or (value == 0 and x.nnz < x.size)
    return bool(getattr(x == value, "data", np.False_).any())


def in_place(name: str, x: Any, other: Any) -> Any:
    """`x` after ``x += other``, or the like: changed, if it is an array that can be.

    What is traced has no memory to change: its name is bound to the result.
    """
    operator, symbol = operators[name], _SYMBOLS[name]
    if not hasattr(x, "assign"):
        return operator(x, other)
    written = f"x {symbol}= y"
    return overwrite(x, operator, (x, other), (other,), written, f"; write x = x {symbol} y")


def overwrite(
    target: Any,
    operator: Any,
    args: Sequence[Any],
    sources: Sequence[Any],
    written: str,
    instead: str = "; use its result",
) -> Any:
    """The array `target`, with the values that `operator` gives for `args`.

    Its shape, storage and dtype stay, the dtype by NumPy's rule for in-place operators.

    Raises
    ------
    GradientError
        If a tape records and one of `sources` may have a gradient, which would be lost.
    ShapeError, StorageError, DTypeError
        If the result is not such an array.
    """
    if target.recorded and any(_may_have_gradient(x) for x in sources):
        raise GradientError(
            f"a tape records, and {written} would take its operands off it{instead}"
        )
    if target.stype != "dense" and all(_is_known(x) for x in args):
        # Before anything is made dense.
        found = operator.infer(*(getattr(x, "spec", x) for x in args))
        _check_kept(found, target, written, instead)
    result = operator(*args)
    _check_kept(result, target, written, instead)
    if result.dtype != target.dtype:
        result = operators["cast"](result, dtype=target.dtype)
    target.assign(result.storage)
    return target


def _may_have_gradient(x: Any) -> bool:
    return hasattr(x, "assign") and x.dtype.kind in "fc"


def _is_known(x: Any) -> bool:
    return hasattr(x, "spec") or not hasattr(x, "__len__")


def _check_kept(found: Any, target: Any, written: str, instead: str) -> None:
    rest, kind = "", None
    if found.shape != target.shape:
        kind = ShapeError
    elif found.stype != target.stype:
        kind = StorageError
    elif found.dtype != target.dtype and not np.can_cast(found.dtype, target.dtype, "same_kind"):
        kind, rest = DTypeError, f": {found.dtype} values are not put into {target.dtype} unasked"
    if kind is not None:
        spec = getattr(found, "spec", found)
        raise kind(
            f"{written} gives {spec}, and x is {target.spec}{rest}{instead}",
            declared=target.spec,
            available=spec,
        )


def to_numpy(x: Any, dtype: Any, copy: bool | None) -> np.ndarray:
    """The values of the dense `x` for NumPy, read-only where they are shared."""
    if is_asked_by_scipy():
        # What scipy.sparse takes as "no array": it then leaves the operation to `x`.
        return np.empty((), object)
    _check_leaves(x, "NumPy")
    if x.backend.xp is not np:
        raise BackendError("NumPy cannot read cupyx arrays; write x.asnumpy()")
    return np.array(x.data, dtype, copy=copy)


def is_asked_by_scipy() -> bool:
    """Whether NumPy is called for an operator of a matrix of scipy, such as ``m @ x``."""
    frame = sys._getframe(1)
    while frame is not None and _module(frame).startswith(_PACKAGE):
        frame = frame.f_back
    while frame is not None and _module(frame).startswith("scipy.sparse._"):
        if frame.f_code.co_name in _ASKING:
            return True
        frame = frame.f_back
    return False


def _module(frame: FrameType) -> str:
    return frame.f_globals.get("__name__") or ""


def to_dlpack(x: Any, copy: bool | None = None, **options: Any) -> Any:
    """The values of the dense `x` for another library: a copy, unless ``copy=False`` asks for none.

    Memory that is shared is marked as read-only; not every library heeds the mark.
    """
    _check_leaves(x, "DLPack")
    if copy is False:
        return x.data.__dlpack__(copy=False, **options)
    return x.storage.data.copy().__dlpack__(**options)


def dlpack_device(x: Any) -> tuple[int, int]:
    """Where the values of the dense `x` lie, in DLPack's numbers."""
    _check_leaves(x, "DLPack")
    return x.storage.data.__dlpack_device__()


def _check_leaves(x: Any, what: str) -> None:
    """Raise unless the values of `x` may be handed to `what`."""
    if x.stype != "dense":
        raise StorageError(f"{what} would make {x.spec} dense; write x.asnumpy() to do so yourself")
    if x.recorded:
        raise GradientError(
            f"{what} would take values off the tape that records; write x.asnumpy() if no "
            "gradient is to flow, or use a sparseops operator"
        )
