"""Functions of two elements that are neither sums nor products: their kernels and tables.

Where both elements are zero such a function may be zero, and then what neither of two sparse arrays
stores needs no look; with a dense array the result is dense.
"""

from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.errors import DTypeError
from sparseops.operators import Operator
from sparseops.ops.broadcasting import ROWS, report_dense, sparse_first, spread_both, spread_csr
from sparseops.ops.cast import cast_storage
from sparseops.ops.elementwise import each
from sparseops.ops.merge import merge_csr, same_rows, widened
from sparseops.ops.structure import find
from sparseops.signature import NUMBERS
from sparseops.spec import Spec, as_dtype, broadcast
from sparseops.storage import CSR, Dense, RowSparse


def function_dtype(function: Any, *given: Any) -> np.dtype:
    """The dtype of NumPy's `function` for specs and numbers, which count by their type alone."""
    try:
        samples = [type(x)(1) if isinstance(x, NUMBERS) else np.ones(0, x.dtype) for x in given]
        return as_dtype(np.asarray(function(*samples)).dtype)
    except (AttributeError, TypeError):
        names = [str(getattr(x, "dtype", type(x).__name__)) for x in given]
        raise DTypeError(f"numpy.{function.__name__} takes no {' and '.join(names)}") from None


def declare_dense(op: Operator, ufunc: np.ufunc) -> None:
    """Declare the kernels of `op` for dense arrays and numbers."""

    @op.forward("dense, dense -> dense")
    def both_dense(backend, a, b):
        return Dense(ufunc(a.data, b.data))

    @op.forward("dense, scalar -> dense")
    def dense_and_number(backend, a, b):
        return Dense(ufunc(a.data, b))

    @op.forward("scalar, dense -> dense")
    def number_and_dense(backend, a, b):
        return Dense(ufunc(a, b.data))


def declare_number_after(op: Operator, ufunc: np.ufunc, keeps: Any = None) -> None:
    """Declare that a sparse array, before a number for which `keeps` holds, keeps its storage."""

    @op.forward(*each("sparse, scalar -> sparse"), where=keeps)
    def sparse_and_number(backend, a, b):
        return a.with_data(ufunc(a.data, b))


def declare_number_before(op: Operator, ufunc: np.ufunc, keeps: Any = None) -> None:
    """Declare that a sparse array, after a number for which `keeps` holds, keeps its storage."""

    @op.forward(*each("scalar, sparse -> sparse"), where=keeps)
    def number_and_sparse(backend, a, b):
        return b.with_data(ufunc(a, b.data))


def declare_union(op: Operator, ufunc: np.ufunc) -> None:
    """Declare the kernels of `op` for sparse arrays, where `ufunc` of zeros is zero."""
    name = op.__name__

    @op.forward("csr, csr -> csr")
    def both_csr(backend, a, b):
        shape = broadcast(a.shape, b.shape)
        return merge_csr(
            backend, spread_csr(backend, a, shape), spread_csr(backend, b, shape), ufunc
        )

    @op.forward(*ROWS)
    def both_rows(backend, a, b):
        return _union_rows(
            backend, *spread_both(name, backend, a, b, function_dtype(ufunc, a, b)), ufunc
        )


def declare_in_dense(op: Operator, ufunc: np.ufunc) -> None:
    """Declare the kernels of `op` for a sparse array and a dense one, which give a dense one."""
    name = op.__name__

    @op.forward(*each("sparse, dense -> dense"), *each("dense, sparse -> dense"))
    def in_dense(backend, a, b):
        sparse, dense = sparse_first(a, b)
        dtype = function_dtype(ufunc, a, b)
        spec = Spec(broadcast(a.shape, b.shape), dtype)
        if dense.data.size < spec.size:
            reason = f"the dense array has shape {dense.shape}, the result {spec.shape}"
            report_dense(name, [a, b], spec, reason)
        zero = sparse.data.dtype.type(0)
        if sparse.shape != spec.shape:
            zero = cast_storage.kernel(sparse.stype, "dense")(backend, sparse).data
        data = backend.xp.empty(spec.shape, dtype)
        ufunc(*((zero, dense.data) if sparse is a else (dense.data, zero)), out=data)
        if sparse.shape == spec.shape:
            places = _PLACES[sparse.stype](backend, sparse)
            there = backend.xp.broadcast_to(dense.data, spec.shape)[places]
            pair = (sparse.data, there) if sparse is a else (there, sparse.data)
            data[places] = ufunc(*pair)
        return Dense(data)


def _csr_places(backend: Backend, x: CSR) -> tuple[Any, ...]:
    return backend.row_ids(x), x.indices


def _row_places(backend: Backend, x: RowSparse) -> tuple[Any, ...]:
    return (x.indices,)


_PLACES = {"csr": _csr_places, "row_sparse": _row_places}


def _union_rows(backend: Backend, a: RowSparse, b: RowSparse, ufunc: np.ufunc) -> RowSparse:
    """`ufunc` of `a` and `b`, of one shape, at the rows that either stores."""
    xp = backend.xp
    if same_rows(backend, a, b):
        return widened(a, b).with_data(ufunc(a.data, b.data))
    _, in_a = find(backend, b.indices, a.indices)
    rows = xp.sort(xp.concatenate([a.indices, b.indices[~in_a]]))
    spread = []
    for x in (a, b):
        data = xp.zeros((len(rows), *x.shape[1:]), x.data.dtype)
        data[xp.searchsorted(rows, x.indices)] = x.data
        spread.append(data)
    return RowSparse(ufunc(*spread), rows, a.shape)
