"""Products and quotients, element by element, which skip what is not stored."""

from numbers import Number
from typing import Any

import numpy as np

from sparseops.errors import ShapeError
from sparseops.operators import operator
from sparseops.ops.cast import cast_storage, sparse_mask
from sparseops.ops.elementwise import each, result_dtype, shape_of
from sparseops.ops.places import (
    csr_by_csr,
    csr_by_dense,
    csr_by_rows,
    rows_by_dense,
    rows_by_rows,
)
from sparseops.ops.reduction import unbroadcast
from sparseops.registry import operators
from sparseops.spec import broadcast
from sparseops.storage import Dense

__all__ = ["divide", "multiply"]


@operator(shapes="(m,n),(m,n)->(m,n)", reference=np.multiply)
def multiply(a, b):
    """The products of the elements of `a` and `b`, which broadcast.

    Parameters
    ----------
    a, b : arrays of any storage, or a number
        The factors; bool values are joined by "and".

    Returns
    -------
    NDArray
        A csr array with any other gives csr, a row_sparse one with a dense or row_sparse one
        row_sparse, two dense ones dense; with a number the storage is kept. Stored are the places
        that both store: products that are zero stay as explicit zeros.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast, or a csr array would get more than two dimensions.

    Notes
    -----
    What is not stored is skipped: 0 times infinity is 0 there, NaN where the zero is stored.
    O(stored values of the sparse factors + result). Where a row_sparse array meets a dense one of
    more dimensions, the result stores every row.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.csr_array([[0, 2, 0], [1, 0, 4]])
    >>> so.multiply(x, so.array([1, 10, 100]))
    <int64[2,3] csr, 3 stored>
      (0, 1)  20
      (1, 0)  1
      (1, 2)  400
    """
    shape = broadcast(shape_of(a), shape_of(b))
    _check_csr(shape, a, b)
    return shape, result_dtype(a, b)


@operator(shapes="(m,n),(m,n)->(m,n)", reference=np.true_divide)
def divide(a, b):
    """The quotients of the elements of `a` and `b`, which broadcast.

    Parameters
    ----------
    a : array of any storage, or a number
        The dividends.
    b : array of any storage, or a number
        The divisors. A sparse one is full of zeros: it becomes dense, which is a fallback.

    Returns
    -------
    NDArray
        In the storage of `a`, and with its structure; float64 for integers and bool.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast, or a csr `a` would get more than two dimensions.

    Notes
    -----
    What `a` does not store is skipped: 0 / 0 is 0 there, NaN where the zero is stored.
    O(stored values of `a` + result). Where a row_sparse `a` meets a dense `b` of more dimensions,
    the result stores every row.

    Examples
    --------
    >>> import sparseops as so
    >>> so.divide(so.csr_array([[0, 2, 0], [1, 0, 4]]), so.array([[2], [4]]))
    <float64[2,3] csr, 3 stored>
      (0, 1)  1.0
      (1, 0)  0.25
      (1, 2)  1.0
    """
    shape, dtype = broadcast(shape_of(a), shape_of(b)), result_dtype(a, b)
    _check_csr(shape, a)
    return shape, dtype if dtype.kind in "fc" else np.dtype(np.float64)


@multiply.forward("dense, dense -> dense")
def _multiply(backend, a, b):
    return Dense(np.multiply(a.data, b.data))


@multiply.forward("csr, csr -> csr")
def _multiply_csr(backend, a, b):
    return csr_by_csr(backend, a, b)


@multiply.forward("row_sparse, row_sparse -> row_sparse")
def _multiply_rows(backend, a, b):
    return rows_by_rows(backend, a, b)


@multiply.forward("csr, row_sparse -> csr")
def _multiply_csr_by_rows(backend, a, b):
    return csr_by_rows(backend, a, b)


@multiply.forward("row_sparse, csr -> csr")
def _multiply_rows_by_csr(backend, a, b):
    return csr_by_rows(backend, b, a)


@multiply.forward("csr, dense -> csr", "dense, csr -> csr")
def _multiply_csr_and_dense(backend, a, b):
    return csr_by_dense(backend, a, b, np.multiply)


@multiply.forward("row_sparse, dense -> row_sparse", "dense, row_sparse -> row_sparse")
def _multiply_rows_and_dense(backend, a, b):
    return rows_by_dense("multiply", backend, a, b, np.multiply)


@multiply.forward("dense, scalar -> dense", *each("sparse, scalar -> sparse"))
def _multiply_by_number(backend, a, b):
    return a.with_data(np.multiply(a.data, b))


@multiply.forward("scalar, dense -> dense", *each("scalar, sparse -> sparse"))
def _multiply_number(backend, a, b):
    return b.with_data(np.multiply(a, b.data))


@divide.forward("dense, dense -> dense")
def _divide(backend, a, b):
    return Dense(np.true_divide(a.data, b.data))


@divide.forward("dense, scalar -> dense", *each("sparse, scalar -> sparse"))
def _divide_by_number(backend, a, b):
    return a.with_data(np.true_divide(a.data, b))


@divide.forward("scalar, dense -> dense")
def _divide_number(backend, a, b):
    return b.with_data(np.true_divide(a, b.data))


@divide.forward("csr, dense -> csr")
def _divide_csr_by_dense(backend, a, b):
    return csr_by_dense(backend, a, b, np.true_divide)


@divide.forward("row_sparse, dense -> row_sparse")
def _divide_rows_by_dense(backend, a, b):
    return rows_by_dense("divide", backend, a, b, np.true_divide)


@multiply.backward("a", "dense, dense -> dense", "dense, scalar -> dense")
def _multiply_a(g, a_spec, b):
    return unbroadcast(g * _conj(b), a_spec)


@multiply.backward("a", *each("sparse, any -> sparse"))
def _multiply_sparse_a(g, a, a_spec, b):
    return sparse_mask(unbroadcast(g * _conj(b), a_spec), a)


@multiply.backward("a", *each("dense, sparse -> dense"))
def _multiply_dense_a(g, a_spec, b):
    return cast_storage(unbroadcast(g * _conj(b), a_spec), stype="dense")


@multiply.backward("a", *each("dense, sparse -> sparse"))
def _multiply_dense_a_as_b(g, a_spec, b):
    return cast_storage(unbroadcast(g * _conj(b), a_spec), stype=b.stype)


@multiply.backward("b", "dense, dense -> dense", "scalar, dense -> dense")
def _multiply_b(g, a, b_spec):
    return unbroadcast(g * _conj(a), b_spec)


@multiply.backward("b", *each("any, sparse -> sparse"))
def _multiply_sparse_b(g, a, b, b_spec):
    return sparse_mask(unbroadcast(g * _conj(a), b_spec), b)


@multiply.backward("b", *each("sparse, dense -> dense"))
def _multiply_dense_b(g, a, b_spec):
    return cast_storage(unbroadcast(g * _conj(a), b_spec), stype="dense")


@multiply.backward("b", *each("sparse, dense -> sparse"))
def _multiply_dense_b_as_a(g, a, b_spec):
    return cast_storage(unbroadcast(g * _conj(a), b_spec), stype=a.stype)


@divide.backward("a", "dense, dense -> dense", "dense, scalar -> dense")
def _divide_a(g, a_spec, b):
    return unbroadcast(g / _conj(b), a_spec)


@divide.backward("a", *each("sparse, dense -> sparse"), *each("sparse, scalar -> sparse"))
def _divide_sparse_a(g, a, a_spec, b):
    return sparse_mask(unbroadcast(g / _conj(b), a_spec), a)


@divide.backward("b", "dense, dense -> dense", "scalar, dense -> dense")
def _divide_b(g, b, b_spec, out):
    return unbroadcast(g * _conj(out) / _conj(b) * -1, b_spec)


@divide.backward("b", *each("sparse, dense -> dense"))
def _divide_dense_b(g, b, b_spec, out):
    return cast_storage(unbroadcast(g * _conj(out) / _conj(b) * -1, b_spec), stype="dense")


@divide.backward("b", *each("sparse, dense -> sparse"))
def _divide_dense_b_as_a(g, a_spec, b, b_spec, out):
    quotient = unbroadcast(g * _conj(out) / _conj(b) * -1, b_spec)
    return cast_storage(quotient, stype=a_spec.stype)


def _conj(x: Any) -> Any:
    """The complex conjugate of an array or a number."""
    if isinstance(x, Number):
        return x.conjugate()
    return operators["conj"](x) if x.dtype.kind == "c" else x


def _check_csr(shape: tuple[int, ...], *given: Any) -> None:
    """Raise ShapeError if a result of `shape` would have the storage csr and cannot."""
    if len(shape) > 2 and any(not isinstance(x, Number) and x.stype == "csr" for x in given):
        raise ShapeError(
            f"the result has {len(shape)} dimensions; csr has 2: take x.tostype('row_sparse')"
        )
