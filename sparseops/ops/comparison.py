"""Comparisons, element by element; their results are bool and have no gradient."""

from collections.abc import Callable

import numpy as np

from sparseops.operators import Operator, operator
from sparseops.ops.elementwise import shape_of
from sparseops.ops.pairs import (
    declare_dense,
    declare_in_dense,
    declare_number_after,
    declare_number_before,
    declare_union,
)
from sparseops.spec import broadcast

__all__ = ["equal", "greater", "greater_equal", "less", "less_equal", "not_equal"]

_DOC = """Whether ``a {symbol} b``, for the elements of `a` and `b`, which broadcast.

Parameters
----------
a, b : arrays of any storage, or a number
    What is compared; NaN is equal to nothing, complex values are ordered by their real part first.

Returns
-------
NDArray
    Of bool. A sparse array keeps its storage and structure with a number for which zero gives
    False: where ``0 {symbol} b``, or ``a {symbol} 0``, does not hold. With any other number it
    becomes dense, which is a fallback. {pairs}

Raises
------
ShapeError
    If the shapes do not broadcast.

Notes
-----
O(stored values of both) for sparse results, O(result) for dense ones. A number is held against zero
as it is, though NumPy rounds it to the dtype of the array first: one so small that it would round
to zero is told from zero where nothing is stored.

Examples
--------
>>> import sparseops as so
>>> x = so.csr_array([[0, 2, 0], [-1, 0, 4]])
>>> so.{name}(x, {number})
{shown}
"""

_UNION = """Two csr arrays give csr, two row_sparse ones, or
    one of each, row_sparse, with what either stores; with a dense array the result is dense."""
_FALLBACK = """Two zeros give True, so two sparse arrays
    become dense too; with a dense array the result is dense."""


def _false_at_zero_before(ufunc: np.ufunc, symbol: str) -> Callable[..., bool]:
    def keeps(b):
        return not ufunc(0, b)

    keeps.__doc__ = f"not 0 {symbol} b"
    return keeps


def _false_at_zero_after(ufunc: np.ufunc, symbol: str) -> Callable[..., bool]:
    def keeps(a):
        return not ufunc(a, 0)

    keeps.__doc__ = f"not a {symbol} 0"
    return keeps


def _comparison(ufunc: np.ufunc, symbol: str, number: int, entries: str) -> Operator:
    """The operator of NumPy's `ufunc`, with the example ``a symbol number``."""
    name = ufunc.__name__
    strict = not ufunc(0, 0)
    count = entries.count("(")

    def describe(a, b):
        return broadcast(shape_of(a), shape_of(b)), np.bool_

    describe.__name__ = describe.__qualname__ = name
    describe.__doc__ = _DOC.format(
        symbol=symbol,
        name=name,
        number=number,
        pairs=_UNION if strict else _FALLBACK,
        shown=f"<bool[2,3] csr, {count} stored>\n{entries}",
    )
    made = operator(describe, shapes="(m,n),(m,n)->(m,n)", reference=ufunc)
    declare_dense(made, ufunc)
    declare_number_after(made, ufunc, _false_at_zero_before(ufunc, symbol))
    declare_number_before(made, ufunc, _false_at_zero_after(ufunc, symbol))
    if strict:
        declare_union(made, ufunc)
    declare_in_dense(made, ufunc)
    return made


def _entries(first: bool, second: bool, third: bool) -> str:
    return f"  (0, 1)  {first}\n  (1, 0)  {second}\n  (1, 2)  {third}"


equal = _comparison(np.equal, "==", 2, _entries(True, False, False))
not_equal = _comparison(np.not_equal, "!=", 0, _entries(True, True, True))
less = _comparison(np.less, "<", 0, _entries(False, True, False))
less_equal = _comparison(np.less_equal, "<=", -1, _entries(False, True, False))
greater = _comparison(np.greater, ">", 2, _entries(False, False, True))
greater_equal = _comparison(np.greater_equal, ">=", 2, _entries(True, False, True))
