"""What can stand in an expression: Python's operators and NumPy's habits, as calls of operators."""

from typing import Any, Self

from sparseops.registry import operators
from sparseops.spec import as_stype


class Operand:
    """What can stand in an expression: Python's operators, each a call of the operator."""

    __slots__ = ()
    #: NumPy leaves mixed expressions to the methods below.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> Self:
        return operators["add"](self, other)

    def __radd__(self, other: Any) -> Self:
        return operators["add"](other, self)

    def __sub__(self, other: Any) -> Self:
        return operators["subtract"](self, other)

    def __rsub__(self, other: Any) -> Self:
        return operators["subtract"](other, self)

    def __mul__(self, other: Any) -> Self:
        return operators["multiply"](self, other)

    def __rmul__(self, other: Any) -> Self:
        return operators["multiply"](other, self)

    def __truediv__(self, other: Any) -> Self:
        return operators["divide"](self, other)

    def __rtruediv__(self, other: Any) -> Self:
        return operators["divide"](other, self)

    def __matmul__(self, other: Any) -> Self:
        return operators["dot"](self, other)

    def __rmatmul__(self, other: Any) -> Self:
        return operators["dot"](other, self)

    def __neg__(self) -> Self:
        return operators["negative"](self)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return operators["abs"](self)

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

    def astype(self, dtype: Any) -> Self:
        """The values as `dtype`, storage kept, by the operator `cast`."""
        return operators["cast"](self, dtype=dtype)

    def tostype(self, stype: str) -> Self:
        """The values in storage type `stype`; this array itself if that is its own."""
        if as_stype(stype, known=True) == self.stype:
            return self
        return operators["cast_storage"](self, stype=stype)
