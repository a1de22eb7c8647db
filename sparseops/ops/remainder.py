"""Whole quotients and what they leave, element by element."""

import numpy as np

from sparseops.operators import Operator, operator
from sparseops.ops.cast import cast_storage, sparse_mask
from sparseops.ops.elementwise import each, shape_of
from sparseops.ops.pairs import declare_dense, declare_number_after, function_dtype
from sparseops.ops.places import csr_by_dense, rows_by_dense
from sparseops.ops.reduction import unbroadcast
from sparseops.ops.slope import zeros_like
from sparseops.spec import broadcast

__all__ = ["floor_divide", "mod"]


@operator(shapes="(m,n),(m,n)->(m,n)", reference=np.mod)
def mod(a, b):
    """What dividing the elements of `a` by those of `b` leaves, of the sign of `b`; they broadcast.

    Parameters
    ----------
    a : array of any storage, or a number
        The dividends; real.
    b : array of any storage, or a number
        The divisors; real. A sparse one is full of zeros: it becomes dense, which is a fallback.

    Returns
    -------
    NDArray
        In the storage of `a`, and with its structure; with the number 0 or NaN a sparse `a` becomes
        dense, which is a fallback. The dtype is that of ``numpy.mod``.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast, or a csr `a` would get more than two dimensions.
    DTypeError
        For complex values.

    Notes
    -----
    What `a` does not store is skipped: the remainder by a 0 of an array `b` is 0 there, NaN where
    the zero is stored. O(stored values of `a` + result). The gradient by `a` is `g`, that by `b`
    ``-g * floor_divide(a, b)``.

    Examples
    --------
    >>> import sparseops as so
    >>> so.mod(so.csr_array([[0, 7, 0], [-7, 0, 4]]), 4)
    <int64[2,3] csr, 3 stored>
      (0, 1)  3
      (1, 0)  1
      (1, 2)  0
    """
    return broadcast(shape_of(a), shape_of(b)), function_dtype(np.mod, a, b)


@operator(shapes="(m,n),(m,n)->(m,n)", reference=np.floor_divide)
def floor_divide(a, b):
    """The largest integers not above the quotients of `a` and `b`, which broadcast.

    Parameters
    ----------
    a : array of any storage, or a number
        The dividends; real.
    b : array of any storage, or a number
        The divisors; real. A sparse one is full of zeros: it becomes dense, which is a fallback.

    Returns
    -------
    NDArray
        In the storage of `a`, and with its structure; with the number 0 or NaN a sparse `a` becomes
        dense, which is a fallback. The dtype is that of ``numpy.floor_divide``.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast, or a csr `a` would get more than two dimensions.
    DTypeError
        For complex values.

    Notes
    -----
    What `a` does not store is skipped: its quotient by a 0 of an array `b` is 0 there, NaN where
    the zero is stored. O(stored values of `a` + result). The gradients are 0.

    Examples
    --------
    >>> import sparseops as so
    >>> so.floor_divide(so.csr_array([[0, 7, 0], [-7, 0, 4]]), 4)
    <int64[2,3] csr, 3 stored>
      (0, 1)  1
      (1, 0)  -2
      (1, 2)  1
    """
    return broadcast(shape_of(a), shape_of(b)), function_dtype(np.floor_divide, a, b)


def divides(b):
    """b is neither 0 nor NaN"""
    return b == b and b != 0


def _declare_kernels(op: Operator, ufunc: np.ufunc) -> None:
    name = op.__name__
    declare_dense(op, ufunc)
    declare_number_after(op, ufunc, divides)

    @op.forward("csr, dense -> csr")
    def csr_and_dense(backend, a, b):
        return csr_by_dense(backend, a, b, ufunc)

    @op.forward("row_sparse, dense -> row_sparse")
    def rows_and_dense(backend, a, b):
        return rows_by_dense(name, backend, a, b, ufunc)


_declare_kernels(mod, np.mod)
_declare_kernels(floor_divide, np.floor_divide)


@mod.backward("a", "dense, dense -> dense", "dense, scalar -> dense")
def _mod_a(g, a_spec):
    return unbroadcast(g, a_spec)


@mod.backward("a", *each("sparse, dense -> sparse"), *each("sparse, scalar -> sparse"))
def _mod_sparse_a(g, a, a_spec):
    return sparse_mask(unbroadcast(g, a_spec), a)


@mod.backward("b", "dense, dense -> dense", "scalar, dense -> dense")
def _mod_b(g, a, b, b_spec):
    return unbroadcast(g * floor_divide(a, b) * -1, b_spec)


@mod.backward("b", *each("sparse, dense -> dense"))
def _mod_dense_b(g, a, b, b_spec):
    return cast_storage(_mod_b(g, a, b, b_spec), stype="dense")


@mod.backward("b", *each("sparse, dense -> sparse"))
def _mod_dense_b_as_a(g, a, b, b_spec):
    return cast_storage(_mod_b(g, a, b, b_spec), stype=a.stype)


@floor_divide.backward(
    "a",
    "dense, dense -> dense",
    "dense, scalar -> dense",
    *each("sparse, dense -> sparse"),
    *each("sparse, scalar -> sparse"),
)
def _floor_divide_a(a):
    return zeros_like(a)


@floor_divide.backward(
    "b", "dense, dense -> dense", "scalar, dense -> dense", *each("sparse, dense -> dense")
)
def _floor_divide_b(b):
    return zeros_like(b)
