"""Logical functions of elements, and bitwise ones, which have no gradient."""

import numpy as np

from sparseops.operators import Operator, operator
from sparseops.ops.broadcasting import ROWS, spread_both, spread_csr
from sparseops.ops.elementwise import shape_of
from sparseops.ops.merge import intersect_csr, intersect_rows
from sparseops.ops.pairs import (
    declare_dense,
    declare_in_dense,
    declare_number_after,
    declare_number_before,
    declare_union,
    function_dtype,
)
from sparseops.ops.places import csr_by_dense, rows_by_dense
from sparseops.spec import broadcast
from sparseops.storage import Dense, RowSparse

# fmt: off
__all__ = [
    "bitwise_and", "bitwise_or", "bitwise_xor", "invert",
    "logical_and", "logical_not", "logical_or", "logical_xor",
]
# fmt: on

_PAIR = """{summary} of the elements of `a` and `b`, which broadcast.

Parameters
----------
a, b : arrays of any storage, or a number
    {values}.

Returns
-------
NDArray
    {dtype}. {storage}

Raises
------
ShapeError
    If the shapes do not broadcast{csr}.{refused}

Notes
-----
O(stored values of both) for sparse results, O(result) for dense ones.

Examples
--------
>>> import sparseops as so
>>> x = so.csr_array([[False, True, True]])
>>> so.{name}(x, so.csr_array([[False, False, True]]))
{shown}
"""
_BOTH = """Two csr arrays give csr, two row_sparse ones, or one of each,
    row_sparse, with what both store. With a dense array or a number a sparse array keeps its
    storage and structure."""
_EITHER = """Two csr arrays give csr, two row_sparse ones, or one of each,
    row_sparse, with what either stores; with a dense array the result is dense. A sparse array
    keeps its storage with the number 0; with another one it becomes dense, which is a fallback."""

_SINGLE = """{summary}.

Parameters
----------
x : array of any storage
    {values}.

Returns
-------
NDArray
    Dense; {zero}, so a sparse `x` falls back to dense, on record. O(size).{raises}

Examples
--------
>>> import sparseops as so
>>> so.{name}(so.array([True, False]))
<bool[2] dense>
[False  True]
"""
_RAISES = """

Raises
------
DTypeError
    For floating and complex values."""


def zero_before_or(b):
    """b == 0"""
    return b == 0


def zero_after_or(a):
    """a == 0"""
    return a == 0


def _pair(ufunc: np.ufunc, summary: str, shown: str, both: bool) -> Operator:
    """The operator of NumPy's `ufunc`, which needs both elements not to be zero, or either."""
    name, bitwise = ufunc.__name__, ufunc.__name__.startswith("bitwise")

    def describe(a, b):
        return broadcast(shape_of(a), shape_of(b)), function_dtype(ufunc, a, b)

    describe.__name__ = describe.__qualname__ = name
    describe.__doc__ = _PAIR.format(
        summary=summary,
        values="Integers or bool" if bitwise else "Any values, true where they are not 0",
        dtype=f"The dtype is that of ``numpy.{name}``" if bitwise else "Of bool",
        storage=_BOTH if both else _EITHER,
        csr=", or a csr result would get more than two dimensions" if both else "",
        refused="\nDTypeError\n    For floating and complex values." if bitwise else "",
        name=name,
        shown=shown,
    )
    made = operator(describe, shapes="(m,n),(m,n)->(m,n)", reference=ufunc)
    declare_dense(made, ufunc)
    declare_number_after(made, ufunc, None if both else zero_before_or)
    declare_number_before(made, ufunc, None if both else zero_after_or)
    if both:
        _declare_intersection(made, ufunc)
    else:
        declare_union(made, ufunc)
        declare_in_dense(made, ufunc)
    return made


def _declare_intersection(op: Operator, ufunc: np.ufunc) -> None:
    """Declare the kernels of `op` for arrays, where `ufunc` of a zero and anything is zero."""
    name = op.__name__

    @op.forward("csr, csr -> csr")
    def both_csr(backend, a, b):
        shape = broadcast(a.shape, b.shape)
        spread = [spread_csr(backend, x, shape) for x in (a, b)]
        return intersect_csr(backend, *spread, ufunc)

    @op.forward(*ROWS)
    def both_rows(backend, a, b):
        wide = spread_both(name, backend, a, b, function_dtype(ufunc, a, b))
        rows, left, right = intersect_rows(backend, *wide)
        return RowSparse(ufunc(left, right), rows, wide[0].shape)

    @op.forward("csr, dense -> csr", "dense, csr -> csr")
    def csr_and_dense(backend, a, b):
        return csr_by_dense(backend, a, b, ufunc)

    @op.forward("row_sparse, dense -> row_sparse", "dense, row_sparse -> row_sparse")
    def rows_and_dense(backend, a, b):
        return rows_by_dense(name, backend, a, b, ufunc)


def _single(ufunc: np.ufunc, summary: str, values: str, zero: str, raises: str = "") -> Operator:
    """The operator of NumPy's `ufunc` of one element, which is never zero at zero."""
    name = ufunc.__name__

    def describe(x):
        return x.shape, function_dtype(ufunc, x)

    describe.__name__ = describe.__qualname__ = name
    describe.__doc__ = _SINGLE.format(
        summary=summary, values=values, zero=zero, raises=raises, name=name
    )
    made = operator(describe, shapes="(m,n)->(m,n)", reference=ufunc)

    @made.forward("dense -> dense")
    def dense(backend, x):
        return Dense(ufunc(x.data))

    return made


def _shown(*values: bool) -> str:
    lines = [f"  (0, {2 - len(values) + n + 1})  {value}" for n, value in enumerate(values)]
    return "\n".join([f"<bool[1,3] csr, {len(values)} stored>", *lines])


# fmt: off
bitwise_and = _pair(np.bitwise_and, "The bits that both have,", _shown(True), True)
bitwise_or = _pair(np.bitwise_or, "The bits that either has,", _shown(True, True), False)
bitwise_xor = _pair(np.bitwise_xor, "The bits that one alone has,", _shown(True, False), False)
logical_and = _pair(np.logical_and, "Whether both are true,", _shown(True), True)
logical_or = _pair(np.logical_or, "Whether one is true,", _shown(True, True), False)
logical_xor = _pair(np.logical_xor, "Whether just one is true,", _shown(True, False), False)
logical_not = _single(
    np.logical_not, "Whether each value is 0", "The values", "0 becomes True"
)
invert = _single(
    np.invert, "The other bits; of bool the other truth", "Integers or bool",
    "0 becomes -1, the largest value or True", _RAISES,
)
# fmt: on
