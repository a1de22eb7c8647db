"""What can stand in an expression: Python's operators and NumPy's habits, as calls of operators."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from sparseops.numpy_functions import call_function, call_ufunc
from sparseops.protocols import contains, in_place
from sparseops.registry import operators
from sparseops.spec import as_stype

Method = Callable[[Any, Any], Any]


def _is_operand(x: Any) -> bool:
    """Whether operators take `x` beside an array; anything else may have operators of its own."""
    if isinstance(x, _OPERANDS) or hasattr(x, "tocsr"):
        return True
    return hasattr(x, "__array__") and getattr(x, "__array_ufunc__", True) is not None


def _is_factor(x: Any) -> bool:
    """Whether operators take `x` as a factor; TypeError for a matrix, whose ``*`` is another."""
    names = {base.__name__ for base in type(x).__mro__} if hasattr(x, "__matmul__") else ()
    if "spmatrix" in names or "matrix" in names:
        kind = type(x).__name__
        raise TypeError(
            f"{kind} * x is ambiguous, since {kind} multiplies as a matrix: write @ for that, or "
            "so.multiply for the products of elements"
        )
    return _is_operand(x)


def _binary(name: str, takes: Callable[[Any], bool] = _is_operand) -> tuple[Method, Method]:
    """The methods of an operator of two operands: as they stand, and for operands reversed."""

    def method(self: Any, other: Any) -> Any:
        return operators[name](self, other) if takes(other) else NotImplemented

    def reversed_method(self: Any, other: Any) -> Any:
        return operators[name](other, self) if takes(other) else NotImplemented

    return method, reversed_method


def _quotient_and_rest() -> tuple[Method, Method]:
    """The methods of `divmod`, which are those of ``//`` and ``%``."""
    methods = zip(_binary("floor_divide"), _binary("mod"), strict=True)

    def both(quotient: Method, rest: Method) -> Method:
        def method(self: Any, other: Any) -> Any:
            found = quotient(self, other)
            return found if found is NotImplemented else (found, rest(self, other))

        return method

    one, reversed_one = (both(*pair) for pair in methods)
    return one, reversed_one


def _comparison(name: str) -> Method:
    """The method of a comparison, which Python itself reverses."""
    return _binary(name)[0]


def _changing(name: str, takes: Callable[[Any], bool] = _is_operand) -> Method:
    """The method of an operator like ``+=``."""

    def method(self: Any, other: Any) -> Any:
        return in_place(name, self, other) if takes(other) else NotImplemented

    return method


class Operand:
    """What can stand in an expression: Python's operators, each a call of the operator.

    Comparisons are element by element, and hashing is by identity. With what is no operand, such as
    None or a string, ``==`` is False, and the other operators raise TypeError.
    """

    __slots__ = ()

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("subtract")
    __mul__, __rmul__ = _binary("multiply", _is_factor)
    __truediv__, __rtruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide")
    __mod__, __rmod__ = _binary("mod")
    __divmod__, __rdivmod__ = _quotient_and_rest()
    __pow__, __rpow__ = _binary("power")
    __matmul__, __rmatmul__ = _binary("dot")
    __and__, __rand__ = _binary("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor")

    __iadd__ = _changing("add")
    __isub__ = _changing("subtract")
    __imul__ = _changing("multiply", _is_factor)
    __itruediv__ = _changing("divide")
    __ifloordiv__ = _changing("floor_divide")
    __imod__ = _changing("mod")
    __ipow__ = _changing("power")
    __imatmul__ = _changing("dot")
    __iand__ = _changing("bitwise_and")
    __ior__ = _changing("bitwise_or")
    __ixor__ = _changing("bitwise_xor")

    __eq__ = _comparison("equal")
    __ne__ = _comparison("not_equal")
    __lt__ = _comparison("less")
    __le__ = _comparison("less_equal")
    __gt__ = _comparison("greater")
    __ge__ = _comparison("greater_equal")
    __hash__ = object.__hash__

    def __contains__(self, value: Any) -> bool:
        return contains(self, value)

    def __neg__(self) -> Self:
        return operators["negative"](self)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return operators["abs"](self)

    def __invert__(self) -> Self:
        return operators["invert"](self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **given: Any) -> Any:
        return call_ufunc(Operand, ufunc, method, inputs, given)

    def __array_function__(
        self, function: Callable, types: Sequence[type], args: Sequence[Any], given: Mapping
    ) -> Any:
        return call_function(Operand, function, types, args, given)

    @property
    def T(self) -> Self:
        """The transpose."""
        return operators["transpose"](self)

    def transpose(self) -> Self:
        """The transpose, by the operator `transpose`."""
        return operators["transpose"](self)

    def reshape(self, *shape: Any) -> Self:
        """The values in another shape, by the operator `reshape`."""
        return operators["reshape"](self, shape=shape[0] if len(shape) == 1 else shape)

    def dot(self, other: Any) -> Self:
        """The matrix product, by the operator `dot`."""
        return operators["dot"](self, other)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Self:
        """The sum of the values, by the operator `sum`."""
        return operators["sum"](self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Self:
        """The mean of the values, by the operator `mean`."""
        return operators["mean"](self, axis=axis, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Self:
        """The largest of the values, by the operator `max`."""
        return operators["max"](self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Self:
        """The smallest of the values, by the operator `min`."""
        return operators["min"](self, axis=axis, keepdims=keepdims)

    def astype(self, dtype: Any) -> Self:
        """The values as `dtype`, storage kept, by the operator `cast`."""
        return operators["cast"](self, dtype=dtype)

    def tostype(self, stype: str) -> Self:
        """The values in storage type `stype`; this array itself if that is its own."""
        if as_stype(stype, known=True) == self.stype:
            return self
        return operators["cast_storage"](self, stype=stype)


_OPERANDS = (Operand, int, float, complex, np.ndarray, np.generic, list, tuple)
