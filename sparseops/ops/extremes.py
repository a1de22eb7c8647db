"""The larger and the smaller of two elements."""

from collections.abc import Callable

import numpy as np

from sparseops.operators import Operator, operator
from sparseops.ops.cast import sparse_mask
from sparseops.ops.comparison import greater, less
from sparseops.ops.elementwise import each, shape_of
from sparseops.ops.pairs import (
    declare_dense,
    declare_in_dense,
    declare_number_after,
    declare_number_before,
    declare_union,
    function_dtype,
)
from sparseops.ops.reduction import unbroadcast
from sparseops.spec import broadcast

__all__ = ["maximum", "minimum"]

_DOC = """The {which} of the elements of `a` and `b`, which broadcast; NaN where one of them is.

Parameters
----------
a, b : arrays of any storage, or a number
    What is compared; complex values are ordered by their real part first.

Returns
-------
NDArray
    Two csr arrays give csr, two row_sparse ones, or one of each, row_sparse, with what either
    stores; with a dense array the result is dense. A sparse array keeps its storage and structure
    with a number that is not {beyond} 0; with one that is it becomes dense, which is a fallback.

Raises
------
ShapeError
    If the shapes do not broadcast.

Notes
-----
O(stored values of both) for sparse results, O(result) for dense ones. The gradient goes to the
element that was taken, and to `a` where both are equal.

Examples
--------
>>> import sparseops as so
>>> x = so.csr_array([[0, 2, 0], [-1, 0, 4]])
>>> so.{name}(x, so.csr_array([[0, 3, 0], [0, 0, 1]]))
<int64[2,3] csr, 3 stored>
{shown}
"""


def max_keeps_zero_before(b):
    """b <= 0"""
    return np.maximum(0, b) == 0


def max_keeps_zero_after(a):
    """a <= 0"""
    return np.maximum(a, 0) == 0


def min_keeps_zero_before(b):
    """b >= 0"""
    return np.minimum(0, b) == 0


def min_keeps_zero_after(a):
    """a >= 0"""
    return np.minimum(a, 0) == 0


def _extreme(
    ufunc: np.ufunc,
    which: str,
    beyond: str,
    shown: str,
    keeps: tuple[Callable[..., bool], Callable[..., bool]],
    loses: Operator,
) -> Operator:
    """The operator of NumPy's `ufunc`, in which `a` is not taken where `loses` says so of it."""
    name = ufunc.__name__

    def describe(a, b):
        return broadcast(shape_of(a), shape_of(b)), function_dtype(ufunc, a, b)

    describe.__name__ = describe.__qualname__ = name
    describe.__doc__ = _DOC.format(which=which, beyond=beyond, name=name, shown=shown)
    made = operator(describe, shapes="(m,n),(m,n)->(m,n)", reference=ufunc)
    declare_dense(made, ufunc)
    declare_number_after(made, ufunc, keeps[0])
    declare_number_before(made, ufunc, keeps[1])
    declare_union(made, ufunc)
    declare_in_dense(made, ufunc)

    @made.backward("a", *each("dense, any -> dense"))
    def by_a(g, a, a_spec, b):
        return unbroadcast(g - g * loses(a, b), a_spec)

    @made.backward("a", *each("sparse, any -> sparse"))
    def by_sparse_a(g, a, a_spec, b):
        return sparse_mask(by_a(g, a, a_spec, b), a)

    @made.backward("b", *each("any, dense -> dense"))
    def by_b(g, a, b, b_spec):
        return unbroadcast(g * loses(a, b), b_spec)

    @made.backward("b", *each("any, sparse -> sparse"))
    def by_sparse_b(g, a, b, b_spec):
        return sparse_mask(by_b(g, a, b, b_spec), b)

    return made


maximum = _extreme(
    np.maximum,
    "larger",
    "above",
    "  (0, 1)  3\n  (1, 0)  0\n  (1, 2)  4",
    (max_keeps_zero_before, max_keeps_zero_after),
    less,
)
minimum = _extreme(
    np.minimum,
    "smaller",
    "below",
    "  (0, 1)  2\n  (1, 0)  -1\n  (1, 2)  1",
    (min_keeps_zero_before, min_keeps_zero_after),
    greater,
)
