"""Powers, element by element."""

from typing import Any

import numpy as np

from sparseops.errors import ShapeError
from sparseops.operators import operator
from sparseops.ops.cast import sparse_mask
from sparseops.ops.comparison import equal
from sparseops.ops.elementwise import each, shape_of
from sparseops.ops.pairs import declare_dense, declare_number_after, function_dtype
from sparseops.ops.reduction import unbroadcast
from sparseops.ops.slope import PAIRS, conjugate, zeros_like
from sparseops.registry import operators
from sparseops.spec import broadcast

__all__ = ["power"]


@operator(shapes="(m,n),(m,n)->(m,n)", reference=np.power)
def power(a, b):
    """The elements of `a` raised to the powers `b`; the two broadcast.

    Parameters
    ----------
    a : array of any storage, or a number
        The bases.
    b : array of any storage, or a number
        The exponents. A sparse one is full of zeros, for which powers are 1: it becomes dense,
        which is a fallback.

    Returns
    -------
    NDArray
        A sparse `a` keeps its storage and structure with a number `b` above 0, since 0 becomes 0
        then. With another number, or with an array `b`, it becomes dense, which is a fallback. The
        dtype is that of ``numpy.power``.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.
    ValueError
        For integers to negative integer powers, which are not integers.

    Notes
    -----
    O(stored values of `a`), or O(result) where it is dense. The gradient by `a` is
    ``g * b * a**(b - 1)``, at the places that `a` stores, and 0 where `b` is 0; that by `b` is
    ``g * out * log(a)``, and 0 where `a` is 0. Complex factors are conjugated.

    Examples
    --------
    >>> import sparseops as so
    >>> so.power(so.csr_array([[0.0, 2.0], [3.0, 0.0]]), 2)
    <float64[2,2] csr, 2 stored>
      (0, 1)  4.0
      (1, 0)  9.0
    """
    return broadcast(shape_of(a), shape_of(b)), function_dtype(np.power, a, b)


def positive_exponent(b):
    """b > 0"""
    return b.imag == 0 and b.real > 0


declare_dense(power, np.power)
declare_number_after(power, np.power, positive_exponent)


@power.backward("a", "dense, dense -> dense")
def _power_a(g, a, a_spec, b):
    # Where b is 0 the factor is 0, and the power of 0 that it stands before must be finite.
    return unbroadcast(g * conjugate(b * power(a, b - 1 + equal(b, 0))), a_spec)


@power.backward("a", "dense, scalar -> dense", *each("sparse, scalar -> sparse"))
def _power_a_by_number(g, a, b):
    n = _plain(b)
    if n == 0:
        return zeros_like(g)
    return conjugate(times_power(conjugate(g), a, exponent=n - 1) * n)


@power.backward("b", "dense, dense -> dense")
def _power_b(g, a, b_spec, out):
    logarithm = operators["log"](a + equal(a, 0))
    return unbroadcast(g * conjugate(out * logarithm), b_spec)


@power.backward("b", "scalar, dense -> dense")
def _power_b_of_number(g, a, out):
    n = _plain(a)
    logarithm = np.log(complex(n) if out.dtype.kind == "c" else n).item() if n else 0.0
    return g * conjugate(out * logarithm)


def _plain(number: Any) -> Any:
    """`number` as one of Python, whose type counts for nothing beside an array."""
    return number.item() if isinstance(number, np.generic) else number


@operator
def times_power(y, x, *, exponent):
    """`y` times `x` raised to a number, where `y` is stored.

    Parameters
    ----------
    y, x : arrays of one shape and storage
        Factors; a place that a sparse `x` does not store is 0.
    exponent : number
        The power, which may be negative.

    Returns
    -------
    NDArray
        In the storage, and with the structure, of `y`; what it does not store stays 0 even where
        the power is infinite. O(values stored) if `x` stores the same places, else O(nnz log nnz).

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops.ops.power import times_power
    >>> y = so.csr_array([[0.0, 4.0]])
    >>> times_power(y, y, exponent=-0.5)
    <float64[1,2] csr, 1 stored>
      (0, 1)  2.0
    """
    if y.shape != x.shape:
        raise ShapeError(f"y has shape {y.shape} and x has {x.shape}; they must be the same")
    return y.shape, np.result_type(y.dtype, function_dtype(np.power, x, exponent))


@times_power.forward("dense, dense -> dense")
def _times_power(backend, y, x, *, exponent):
    return y.with_data(y.data * x.data**exponent)


@times_power.forward("row_sparse, row_sparse -> row_sparse")
def _times_power_row_sparse(backend, y, x, *, exponent):
    if x.indices is not y.indices:
        x = sparse_mask.kernel("row_sparse", "row_sparse", "row_sparse")(backend, x, y)
    return _times_power(backend, y, x, exponent=exponent)


@times_power.forward("csr, csr -> csr")
def _times_power_csr(backend, y, x, *, exponent):
    if x.indices is not y.indices or x.indptr is not y.indptr:
        x = sparse_mask.kernel("csr", "csr", "csr")(backend, x, y)
    return _times_power(backend, y, x, exponent=exponent)


@times_power.backward("y", *PAIRS)
def _times_power_y(g, x, exponent):
    return conjugate(times_power(conjugate(g), x, exponent=exponent))


@times_power.backward("x", "dense, dense -> dense")
def _times_power_x(g, y, x, exponent):
    if exponent == 0:
        return zeros_like(g)
    return conjugate(times_power(conjugate(g) * y, x, exponent=exponent - 1) * exponent)


@times_power.backward("x", *PAIRS[1:])
def _times_power_stored_x(g, y, x, exponent):
    return sparse_mask(_times_power_x(g, y, x, exponent), x)
