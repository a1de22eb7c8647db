"""Norms: the length of the values, of a whole array or along axes."""

import numpy as np

from sparseops.errors import ShapeError
from sparseops.operators import operator
from sparseops.ops.cast import SAME, cast, sparse_mask
from sparseops.ops.comparison import equal
from sparseops.ops.elementwise import add
from sparseops.ops.extent import max, share
from sparseops.ops.multiply import divide
from sparseops.ops.reduction import unreduce
from sparseops.ops.totals import as_axes, count_over, reduced_shape, reduces, total
from sparseops.ops.unary import abs, sign
from sparseops.storage import Dense

__all__ = ["norm"]

#: So many values are squared at a time, which keeps copies of them in the processor's cache.
_BLOCK = 2**13
_ORDERS = (None, 1, 2, "fro", np.inf)


@operator
def norm(x, *, ord=None, axis=None, keepdims=False):
    """The norm of the values of `x`, as one vector along `axis`.

    Parameters
    ----------
    x : array of any storage
        The values.
    ord : {None, 2, "fro", 1, inf}, optional
        2, which is also None and "fro": the root of the sum of the squares; 1: the sum of the
        absolute values; inf: the largest absolute value. A matrix without `axis` is a vector too:
        norms of matrices as operators are not computed.
    axis : int or tuple of int, optional
        What to reduce, negative numbers counted from the end; by default all axes.
    keepdims : bool, optional
        Whether the axes stay, with length 1.

    Returns
    -------
    NDArray
        Dense; float64 for integers and bool, else of the real dtype of `x`. Small floats are added
        up in float64.

    Raises
    ------
    ShapeError
        If an axis does not exist or stands twice, or there are no values for ``ord=inf``.
    ValueError
        For other orders.

    Notes
    -----
    O(stored + result). The gradient is 0 where a norm of order 2 is 0, and is shared equally by the
    largest values for ``ord=inf``. Over no axis, ``axis=()``, a csr `x` is a fallback.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.csr_array([[3.0, 0.0], [-4.0, 0.0]])
    >>> print(so.norm(x).item(), so.norm(x, ord=1).item(), so.norm(x, ord=float("inf")).item())
    5.0 7.0 4.0
    >>> so.norm(x, axis=1)
    <float64[2] dense>
    [3. 4.]
    """
    if ord not in _ORDERS:
        raise ValueError(f"ord={ord!r} is not 1, 2, inf, 'fro' or None")
    shape = reduced_shape(x.shape, axis, keepdims)
    if ord == np.inf and 0 not in shape and not count_over(x.shape, as_axes(axis, x.ndim)):
        raise ShapeError(f"shape {x.shape} has no largest value along axis {axis}")
    return shape, _dtype(x.dtype)


@norm.forward("dense -> dense")
@norm.forward("csr -> dense", "row_sparse -> dense", where=reduces)
def _norm(backend, x, *, ord, axis, keepdims):
    xp, dtype, axes = backend.xp, _dtype(x.data.dtype), as_axes(axis, len(x.shape))
    if len(axes) == len(x.shape) and ord in (None, 2, "fro"):
        found = xp.sqrt(_sum_of_squares(xp, x.data.reshape(-1)))
        return Dense(found.astype(dtype).reshape(reduced_shape(x.shape, axis, keepdims)))
    sizes = x.with_data(
        xp.abs(x.data.astype(np.result_type(x.data.dtype, _WIDE[x.data.dtype.kind])))
    )
    if ord == np.inf:
        found = max.kernel(x.stype, "dense")(backend, sizes, axis=axes, keepdims=keepdims).data
    elif ord == 1:
        found = total(backend, sizes, axes, sizes.data.dtype)
    else:
        squares = sizes.with_data(sizes.data * sizes.data)
        found = xp.sqrt(total(backend, squares, axes, squares.data.dtype))
    shape = reduced_shape(x.shape, axis, keepdims)
    return Dense(xp.asarray(found).astype(dtype).reshape(shape))


def _sum_of_squares(xp, values):
    """The sum of the squares of the absolute values of a vector, in float64."""
    if values.dtype.kind == "c":
        return _sum_of_squares(xp, values.real) + _sum_of_squares(xp, values.imag)
    found, whole = xp.zeros((), np.float64), 0
    left = []
    if values.dtype == np.float32:
        # Of so few float32 values the sum is right to some 1e-6, if no square leaves their range.
        whole = len(values) // _BLOCK * _BLOCK
        blocks = values[:whole].reshape(-1, 1, _BLOCK)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = (blocks @ blocks.swapaxes(1, 2)).reshape(-1)
        fit = (sums > 1e-20) & (sums < 1e30)
        found += sums[fit].sum(dtype=np.float64)
        left = list(blocks[~fit].reshape(-1, _BLOCK))
    left += [values[start : start + _BLOCK] for start in range(whole, len(values), _BLOCK)]
    for block in left:
        block = block.astype(np.float64)
        found += xp.dot(block, block)
    return found


#: In what values are added up; complex64 has parts of float32, so its sizes are of float32.
_WIDE = {"b": np.float64, "i": np.float64, "u": np.float64, "f": np.float64, "c": np.complex128}


def _dtype(dtype: np.dtype) -> np.dtype:
    if dtype.kind == "c":
        return np.dtype(f"f{dtype.itemsize // 2}")
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


def by_order(ord):
    """ord is not inf"""
    return ord != np.inf


@norm.backward("x", *SAME, where=by_order)
def _norm_x(g, x, x_spec, out, ord, axis, keepdims):
    if ord == 1:
        return sign(x) * _spread(g, x, x_spec, axis, keepdims)
    # Where the norm is 0 so is x, and the quotient is 0 rather than NaN.
    safe = add(out, cast(equal(out, 0), dtype=out.dtype))
    return x * _spread(divide(g, safe), x, x_spec, axis, keepdims)


@norm.backward("x", *SAME, where={"ord": np.inf})
def _largest_x(g, x, out, axis, keepdims):
    return sign(x) * share(g, abs(x), out, axis=axis, keepdims=keepdims)


def _spread(g, x, spec, axis, keepdims):
    wide = unreduce(g, spec, axis, keepdims)
    return wide if spec.stype == "dense" else sparse_mask(wide, x)
