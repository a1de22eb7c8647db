"""What can stand in an expression: Python's operators and NumPy's habits, as calls of operators."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from sparseops.numpy_functions import call_function, call_ufunc
from sparseops.protocols import in_place
from sparseops.registry import operators
from sparseops.spec import as_stype

Method = Callable[[Any, Any], Any]


def _binary(name: str) -> tuple[Method, Method]:
    """The methods of an operator of two operands: as they stand, and for operands reversed."""

    def method(self: Any, other: Any) -> Any:
        return operators[name](self, other) if _is_operand(other) else NotImplemented

    def reversed_method(self: Any, other: Any) -> Any:
        return operators[name](other, self) if _is_operand(other) else NotImplemented

    return method, reversed_method


def _changing(name: str) -> Method:
    """The method of an operator like ``+=``."""

    def method(self: Any, other: Any) -> Any:
        return in_place(name, self, other) if _is_operand(other) else NotImplemented

    return method


class Operand:
    """What can stand in an expression: Python's operators, each a call of the operator.

    Comparisons are element by element, and hashing is by identity. With what is no operand, such as
    None or a string, ``==`` is False and every other operator a TypeError.
    """

    __slots__ = ()

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("subtract")
    __truediv__, __rtruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide")
    __mod__, __rmod__ = _binary("mod")
    __pow__, __rpow__ = _binary("power")
    __matmul__, __rmatmul__ = _binary("dot")
    _times, _timed_by = _binary("multiply")

    __iadd__ = _changing("add")
    __isub__ = _changing("subtract")
    __itruediv__ = _changing("divide")
    __ifloordiv__ = _changing("floor_divide")
    __imod__ = _changing("mod")
    __ipow__ = _changing("power")
    __imatmul__ = _changing("dot")
    _times_in_place = _changing("multiply")

    __eq__, _ = _binary("equal")
    __ne__, _ = _binary("not_equal")
    __lt__, _ = _binary("less")
    __le__, _ = _binary("less_equal")
    __gt__, _ = _binary("greater")
    __ge__, _ = _binary("greater_equal")
    __hash__ = object.__hash__
    del _

    def __mul__(self, other: Any) -> Self:
        _refuse_matrix(other)
        return self._times(other)

    def __rmul__(self, other: Any) -> Self:
        _refuse_matrix(other)
        return self._timed_by(other)

    def __imul__(self, other: Any) -> Self:
        _refuse_matrix(other)
        return self._times_in_place(other)

    def __neg__(self) -> Self:
        return operators["negative"](self)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return operators["abs"](self)

    def __invert__(self) -> Self:
        return operators["invert"](self)
