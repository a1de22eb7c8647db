"""Sums over axes, and their opposite, broadcasting."""

from typing import Any

from sparseops.errors import ShapeError
from sparseops.ndarray import NDArray
from sparseops.operators import operator
from sparseops.ops.broadcasting import (
    added_axes,
    check_broadcast,
    report_dense,
    spread_csr,
    spread_rows,
)
from sparseops.ops.cast import cast_storage, sparse_mask
from sparseops.ops.totals import (
    as_axes,
    count_over,
    keeps_rows,
    mean_dtype,
    reduced_shape,
    reduces,
    sum_dtype,
    total,
)
from sparseops.spec import Spec, as_shape
from sparseops.storage import Dense, RowSparse

__all__ = ["broadcast_to", "mean", "sum", "sum_to"]

SPARSE = ("csr -> csr", "row_sparse -> row_sparse")


@operator
def sum(x, *, axis=None, keepdims=False):
    """The sum of the values of `x` over the axes `axis`.

    Parameters
    ----------
    x : array of any storage
        The values.
    axis : int or tuple of int, optional
        What to sum over, negative numbers counted from the end; by default all axes.
    keepdims : bool, optional
        Whether the axes stay, with length 1.

    Returns
    -------
    NDArray
        Dense. Small integers and bool add up in int64 or uint64, float16 in float32 (the result is
        float16). A row_sparse `x` whose rows stay apart may be asked for ``stype="row_sparse"``.

    Raises
    ------
    ShapeError
        If an axis does not exist or stands twice.

    Notes
    -----
    O(stored + result). Over no axis, ``axis=()``, a csr `x` is a fallback.

    Examples
    --------
    >>> import sparseops as so
    >>> so.sum(so.csr_array([[0, 2, 0], [1, 0, 4]]), axis=1)
    <int64[2] dense>
      [2 5]
    """
    return reduced_shape(x.shape, axis, keepdims), sum_dtype(x.dtype)


@operator
def mean(x, *, axis=None, keepdims=False):
    """The mean of the values of `x`, stored or not, over the axes `axis`.

    Parameters
    ----------
    x : array of any storage
        The values.
    axis : int or tuple of int, optional
        What to average over, negative numbers counted from the end; by default all axes.
    keepdims : bool, optional
        Whether the axes stay, with length 1.

    Returns
    -------
    NDArray
        Dense; float64 for integers and bool. The mean of nothing is NaN.

    Raises
    ------
    ShapeError
        If an axis does not exist or stands twice.

    Notes
    -----
    O(stored + result); float16 is averaged in float32. Over no axis, ``axis=()``, a csr `x` is a
    fallback.

    Examples
    --------
    >>> import sparseops as so
    >>> so.mean(so.csr_array([[0.0, 2.0], [1.0, 0.0]]), axis=0)
    <float64[2] dense>
      [0.5 1. ]
    """
    return reduced_shape(x.shape, axis, keepdims), mean_dtype(x.dtype)


@operator
def sum_to(x, *, shape):
    """`x` summed over the axes that broadcasting `shape` would repeat.

    Parameters
    ----------
    x : array of any storage
        The values.
    shape : tuple of int
        A shape that broadcasts to that of `x`.

    Returns
    -------
    NDArray
        Dense, of the dtypes of `sum`. O(stored + result); a sparse `x` that already has the shape
        becomes dense, which is reported as a fallback.

    Raises
    ------
    ShapeError
        If `shape` does not broadcast to that of `x`.

    Examples
    --------
    >>> import sparseops as so
    >>> so.sum_to(so.csr_array([[0, 2, 0], [1, 0, 4]]), shape=(2, 1))
    <int64[2,1] dense>
      [[2]
       [5]]
    """
    shape = as_shape(shape)
    check_broadcast(shape, x.shape)
    return shape, sum_dtype(x.dtype)


@operator
def broadcast_to(x, *, shape, axis=None):
    """`x` with values repeated along new axes and axes of length 1.

    Parameters
    ----------
    x : array of any storage
        The values.
    shape : tuple of int
        The result's shape.
    axis : int or tuple of int, optional
        The axes of the result that `x` lacks; by default the leading ones.

    Returns
    -------
    NDArray
        In the storage of `x`. A dense result is a view that takes no memory; a csr one stores each
        repeated entry, O(entries made); a row_sparse one takes O(rows), but is as good as dense,
        which is reported as a fallback, where the leading axis is new.

    Raises
    ------
    ShapeError
        If `x` does not broadcast to `shape`.

    Examples
    --------
    >>> import sparseops as so
    >>> so.broadcast_to(so.array([1, 2]), shape=(2, 3), axis=1)
    <int64[2,3] dense>
      [[1 1 1]
       [2 2 2]]
    """
    shape = as_shape(shape)
    added = added_axes(x.shape, shape, axis)
    if len(added) + x.ndim != len(shape):
        raise ShapeError(
            f"x of shape {x.shape} and {len(added)} new axes make no array of shape {shape}"
        )
    lengths = iter(x.shape)
    check_broadcast(tuple(1 if n in added else next(lengths) for n in range(len(shape))), shape)
    return shape, x.dtype


@sum.forward("dense -> dense")
@sum.forward("csr -> dense", "row_sparse -> dense", where=reduces)
def _sum(backend, x, *, axis, keepdims):
    dtype = sum_dtype(x.data.dtype)
    found = total(backend, x, as_axes(axis, len(x.shape)), dtype)
    return Dense(found.astype(dtype).reshape(reduced_shape(x.shape, axis, keepdims)))


@sum.forward("row_sparse -> row_sparse", where=keeps_rows)
def _sum_rows(backend, x, *, axis, keepdims):
    found = _sum(backend, Dense(x.data), axis=axis, keepdims=keepdims)
    return RowSparse(found.data, x.indices, (x.shape[0], *found.shape[1:]))


@mean.forward("dense -> dense")
@mean.forward("csr -> dense", "row_sparse -> dense", where=reduces)
def _mean(backend, x, *, axis, keepdims):
    dtype, axes = mean_dtype(x.data.dtype), as_axes(axis, len(x.shape))
    found = total(backend, x, axes, dtype) / count_over(x.shape, axes)
    return Dense(found.astype(dtype).reshape(reduced_shape(x.shape, axis, keepdims)))


@sum_to.forward("dense -> dense", "csr -> dense", "row_sparse -> dense")
def _sum_to(backend, x, *, shape):
    shape = as_shape(shape)
    result = Spec(shape, sum_dtype(x.data.dtype))
    if shape == x.shape and x.stype != "dense":
        report_dense("sum_to", [x], result, f"x has shape {shape} already, so nothing is summed")
        x = cast_storage.kernel(x.stype, "dense")(backend, x)
    ahead = len(x.shape) - len(shape)
    repeated = [n for n, length in enumerate(shape, ahead) if length != x.shape[n]]
    found = total(backend, x, (*range(ahead), *repeated), result.dtype)
    return Dense(found.astype(result.dtype).reshape(shape))


@broadcast_to.forward("dense -> dense")
def _broadcast_dense(backend, x, *, shape, axis):
    shape = as_shape(shape)
    data = backend.xp.expand_dims(x.data, added_axes(x.shape, shape, axis))
    return Dense(backend.xp.broadcast_to(data, shape))


@broadcast_to.forward("csr -> csr")
def _broadcast_csr(backend, x, *, shape):
    return spread_csr(backend, x, as_shape(shape))


@broadcast_to.forward("row_sparse -> row_sparse")
def _broadcast_rows(backend, x, *, shape, axis):
    shape = as_shape(shape)
    added = added_axes(x.shape, shape, axis)
    if 0 in added and len(x.indices):
        reason = "the leading axis is new, so every row of the result holds all of x"
        report_dense("broadcast_to", [x], Spec(x.shape, x.data.dtype, "row_sparse"), reason)
    return spread_rows(backend, x, shape, added)


@sum.backward("x", "dense -> dense")
def _sum_x(g, x_spec, axis, keepdims):
    return unreduce(g, x_spec, axis, keepdims)


@sum.backward("x", *SPARSE)
def _sum_sparse_x(g, x, x_spec, axis, keepdims):
    return sparse_mask(unreduce(g, x_spec, axis, keepdims), x)


@mean.backward("x", "dense -> dense")
def _mean_x(g, x_spec, axis, keepdims):
    return unreduce(_shared(g, x_spec, axis), x_spec, axis, keepdims)


@mean.backward("x", *SPARSE)
def _mean_sparse_x(g, x, x_spec, axis, keepdims):
    return sparse_mask(unreduce(_shared(g, x_spec, axis), x_spec, axis, keepdims), x)


@sum_to.backward("x", "dense -> dense")
def _sum_to_x(g, x_spec):
    return broadcast_to(g, shape=x_spec.shape)


@sum_to.backward("x", *SPARSE)
def _sum_to_sparse_x(g, x, x_spec):
    return sparse_mask(broadcast_to(g, shape=x_spec.shape), x)


@broadcast_to.backward("x", "dense -> dense")
def _broadcast_to_x(g, x_spec, axis):
    return unbroadcast(g if axis in (None, ()) else sum(g, axis=axis), x_spec)


@broadcast_to.backward("x", *SPARSE)
def _broadcast_to_sparse_x(g, x, x_spec, axis):
    return sparse_mask(unbroadcast(g if axis in (None, ()) else sum(g, axis=axis), x_spec), x)


def unbroadcast(g: NDArray, spec: Spec) -> NDArray:
    """The gradient by an input known as `spec`, from `g` by what it was broadcast to."""
    return g if g.shape == spec.shape else sum_to(g, shape=spec.shape)


def unreduce(g: NDArray, spec: Spec, axis: Any, keepdims: bool) -> NDArray:
    """`g`, by a result reduced over `axis`, repeated to the shape of the input known as `spec`."""
    added = None if keepdims else as_axes(axis, spec.ndim)
    return broadcast_to(g, shape=spec.shape, axis=added)


def _shared(g: NDArray, spec: Spec, axis: Any) -> NDArray:
    """The part of the gradient `g` by a mean that each value has."""
    return g * (1 / max(count_over(spec.shape, as_axes(axis, spec.ndim)), 1))
