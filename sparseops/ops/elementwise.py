"""Sums and differences, element by element."""

import re
from numbers import Number
from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.errors import DTypeError
from sparseops.ndarray import NDArray
from sparseops.operators import Operator, operator
from sparseops.ops.broadcasting import ROWS, report_dense, sparse_first, spread_both, spread_csr
from sparseops.ops.cast import cast_storage, sparse_mask
from sparseops.ops.merge import merge_csr, merge_rows
from sparseops.ops.reduction import unbroadcast
from sparseops.ops.structure import entry_keys
from sparseops.spec import Spec, as_dtype, broadcast
from sparseops.storage import CSR, Dense, RowSparse, Storage

__all__ = ["add", "subtract"]


@operator(shapes="(m,n),(m,n)->(m,n)", reference=np.add)
def add(a, b):
    """The sums of the elements of `a` and `b`, which broadcast.

    Parameters
    ----------
    a, b : arrays of any storage, or a number
        The terms; bool values are joined by "or".

    Returns
    -------
    NDArray
        Two csr arrays give csr, two row_sparse ones, or one of each, row_sparse; any other pair
        of arrays dense. A sparse array keeps its storage with the number 0; with another number it
        becomes dense, which is a fallback. What either stores is stored: entries that cancel stay
        as explicit zeros.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Notes
    -----
    O(stored values of both) for sparse results, entries repeated by broadcasting counted as often
    as they are repeated. Where a sparse array meets a dense one that is smaller than the result,
    nothing of the result's size stood there before: that is reported as a fallback. So is a
    row_sparse array that is repeated along the first axis, since it fills every row.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.csr_array([[0, 2, 0], [1, 0, 4]])
    >>> so.add(x, so.csr_array([[0, -2, 3], [0, 0, 0]]))
    <int64[2,3] csr, 4 stored>
      (0, 1)  0
      (0, 2)  3
      (1, 0)  1
      (1, 2)  4
    >>> so.add(x, so.zeros((2, 3), int)).stype
    'dense'
    """
    return broadcast(shape_of(a), shape_of(b)), result_dtype(a, b)


@operator(shapes="(m,n),(m,n)->(m,n)", reference=np.subtract)
def subtract(a, b):
    """The elements of `a` less those of `b`, which broadcast.

    Parameters
    ----------
    a, b : arrays of any storage, or a number
        What is subtracted from, and what is subtracted.

    Returns
    -------
    NDArray
        Two csr arrays give csr, two row_sparse ones, or one of each, row_sparse; any other pair
        of arrays dense. A sparse array keeps its storage with the number 0; with another number it
        becomes dense, which is a fallback. What either stores is stored: entries that cancel stay
        as explicit zeros.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.
    DTypeError
        If both are bool.

    Notes
    -----
    O(nnz of both), or O(size) beside a dense array; fallbacks are those of `add`.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.row_sparse_array(([[1, 2]], [0]), shape=(3, 2))
    >>> so.subtract(x, so.row_sparse_array(([[1, 1]], [2]), shape=(3, 2)))
    <int64[3,2] row_sparse, 2 rows stored>
      row 0  [1 2]
      row 2  [-1 -1]
    """
    dtype = result_dtype(a, b)
    if dtype == np.bool_:
        raise DTypeError("bool values have no difference; so.cast(a, dtype='int8') has one")
    return broadcast(shape_of(a), shape_of(b)), dtype


def a_is_zero(a):
    """a == 0"""
    return a == 0


def b_is_zero(b):
    """b == 0"""
    return b == 0


def _declare_kernels(op: Operator, ufunc: np.ufunc) -> None:
    """Declare the kernels of `op`, a sum or difference; the operators differ by `ufunc` alone."""
    name = op.__name__

    @op.forward("dense, dense -> dense")
    def dense(backend, a, b):
        return Dense(ufunc(a.data, b.data))

    @op.forward("csr, scalar -> csr", "row_sparse, scalar -> row_sparse", where=b_is_zero)
    @op.forward("dense, scalar -> dense")
    def array_and_number(backend, a, b):
        return a.with_data(ufunc(a.data, b))

    @op.forward("scalar, csr -> csr", "scalar, row_sparse -> row_sparse", where=a_is_zero)
    @op.forward("scalar, dense -> dense")
    def number_and_array(backend, a, b):
        return b.with_data(ufunc(a, b.data))

    @op.forward("csr, csr -> csr")
    def csr(backend, a, b):
        shape = broadcast(a.shape, b.shape)
        return merge_csr(
            backend, spread_csr(backend, a, shape), spread_csr(backend, b, shape), ufunc
        )

    @op.forward(*ROWS)
    def rows(backend, a, b):
        return merge_rows(
            backend, *spread_both(name, backend, a, b, np.result_type(a.data, b.data)), ufunc
        )

    @op.forward(*each("sparse, dense -> dense"), *each("dense, sparse -> dense"))
    def in_dense(backend, a, b):
        return _in_dense(name, backend, a, b, ufunc)


def _declare_gradients(op: Operator, sign: int) -> None:
    """Declare the gradients of `op`, which adds its second term with the sign `sign`."""

    @op.backward("a", *each("dense, any -> dense"))
    def by_a(g, a_spec):
        return unbroadcast(g, a_spec)

    @op.backward("a", *each("sparse, any -> sparse"))
    def by_sparse_a(g, a, a_spec):
        return sparse_mask(unbroadcast(g, a_spec), a)

    @op.backward("b", *each("any, dense -> dense"))
    def by_b(g, b_spec):
        return _signed(unbroadcast(g, b_spec), sign)

    @op.backward("b", *each("any, sparse -> sparse"))
    def by_sparse_b(g, b, b_spec):
        return _signed(sparse_mask(unbroadcast(g, b_spec), b), sign)


def each(pattern: str) -> list[str]:
    """The signatures that `pattern` stands for.

    In it "sparse" is csr or row_sparse, the same one wherever it stands, and "any" every storage
    and a number.

    Examples
    --------
    >>> each("sparse, dense -> sparse")
    ['csr, dense -> csr', 'row_sparse, dense -> row_sparse']
    """
    for word, names in _WORDS.items():
        if word.search(pattern):
            return [made for name in names for made in each(word.sub(name, pattern))]
    return [pattern]


_WORDS = {
    re.compile(r"\bsparse\b"): ("csr", "row_sparse"),
    re.compile(r"\bany\b"): ("dense", "csr", "row_sparse", "scalar"),
}


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array or a number."""
    return () if isinstance(x, Number) else x.shape


def result_dtype(a: Any, b: Any) -> np.dtype:
    """The dtype that NumPy gives `a` and `b`, Python's numbers counting by their type alone."""
    return as_dtype(np.result_type(*(_typed(x) for x in (a, b))))


def _typed(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else type(x)(0)


def _in_dense(name: str, backend: Backend, a: Storage, b: Storage, ufunc: np.ufunc) -> Dense:
    """`ufunc` of `a` and `b`, one of them dense, by the operator `name`."""
    sparse, dense = sparse_first(a, b)
    spec = Spec(broadcast(a.shape, b.shape), np.result_type(a.data, b.data))
    if dense.data.size < spec.size:
        reason = f"the dense array has shape {dense.shape}, the result {spec.shape}"
        report_dense(name, [a, b], spec, reason)
    zero = sparse.data.dtype.type(0)
    if sparse.shape != spec.shape and spec.size:
        zero = cast_storage.kernel(sparse.stype, "dense")(backend, sparse).data
    data = backend.xp.empty(spec.shape, spec.dtype)
    ufunc(*((zero, dense.data) if sparse is a else (dense.data, zero)), out=data)
    if sparse.shape == spec.shape:
        # 0 - b + a is a - b to the bit.
        _APPLY[sparse.stype](backend, data, sparse, np.add if sparse is a else ufunc)
    return Dense(data)


def _apply_csr(backend: Backend, data: Any, x: CSR, ufunc: np.ufunc) -> None:
    """Put `ufunc` of itself and of `x` into the dense `data`, at what `x` stores."""
    (keys,) = entry_keys(backend, x)
    ufunc.at(data.reshape(-1), keys, x.data.astype(data.dtype, copy=False))


def _apply_rows(backend: Backend, data: Any, x: RowSparse, ufunc: np.ufunc) -> None:
    data[x.indices] = ufunc(data[x.indices], x.data)


_APPLY = {"csr": _apply_csr, "row_sparse": _apply_rows}


def _signed(g: NDArray, sign: int) -> NDArray:
    return g if sign == 1 else g * sign


for _op, _ufunc, _sign in ((add, np.add, 1), (subtract, np.subtract, -1)):
    _declare_kernels(_op, _ufunc)
    _declare_gradients(_op, _sign)
