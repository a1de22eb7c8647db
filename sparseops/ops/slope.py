"""What gradients of functions of single values are made of: products with slopes, and zeros."""

import numpy as np

from sparseops.errors import ShapeError
from sparseops.operators import operator
from sparseops.ops.cast import SAME, sparse_mask
from sparseops.registry import operators
from sparseops.storage import CSR, RowSparse

PAIRS = (
    "dense, dense -> dense",
    "row_sparse, row_sparse -> row_sparse",
    "csr, csr -> csr",
)


@operator
def times_slope(y, x, *, of):
    """`y` times the slope of the function named `of` at `x`, conjugated where it is complex.

    Parameters
    ----------
    y, x : arrays of one shape and storage
        Factors, and where to take the slope; a place that a sparse `x` does not store is 0.
    of : str
        The name of an operator: log, sin, sinh, expm1, log1p, arcsin, arctan, arcsinh or arctanh.

    Returns
    -------
    NDArray
        In the storage, and with the structure, of `y`; what it does not store stays 0 even where
        the slope is infinite. O(values stored) if `x` stores the same places, else O(nnz log nnz).

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops.ops.slope import times_slope
    >>> y = so.csr_array([[0.0, 3.0]])
    >>> times_slope(y, y, of="log1p")
    <float64[1,2] csr, 1 stored>
      (0, 1)  0.75
    """
    if y.shape != x.shape:
        raise ShapeError(f"y has shape {y.shape} and x has {x.shape}; they must be the same")
    if of not in SLOPES:
        raise ValueError(f"of={of!r} has no slope here; there are {', '.join(SLOPES)}")
    return y.shape, np.result_type(y.dtype, x.dtype)


def _arcsinh_slope(xp, y, x):
    # The square of a real value overflows long before the slope vanishes.
    return y / (xp.sqrt(1 + x * x) if x.dtype.kind == "c" else xp.hypot(1, x))


#: For each function its slope, as a factor of `y` ...
SLOPES = {
    "log": lambda xp, y, x: y / x,
    "sin": lambda xp, y, x: y * xp.cos(x),
    "sinh": lambda xp, y, x: y * xp.cosh(x),
    "expm1": lambda xp, y, x: y * xp.exp(x),
    "log1p": lambda xp, y, x: y / (1 + x),
    "arcsin": lambda xp, y, x: y / xp.sqrt((1 - x) * (1 + x)),
    "arctan": lambda xp, y, x: y / (1 + x * x),
    "arcsinh": _arcsinh_slope,
    "arctanh": lambda xp, y, x: y / ((1 - x) * (1 + x)),
}

#: ... and the slope of the slope, as a factor of `y` and in operators.
CURVATURES = {
    "log": lambda y, x: -_times_slopes(y, x, "log", 2),
    "sin": lambda y, x: -(y * operators["sin"](conjugate(x))),
    "sinh": lambda y, x: y * operators["sinh"](conjugate(x)),
    "expm1": lambda y, x: times_slope(y, x, of="expm1"),
    "log1p": lambda y, x: -_times_slopes(y, x, "log1p", 2),
    "arcsin": lambda y, x: conjugate(x) * _times_slopes(y, x, "arcsin", 3),
    "arctan": lambda y, x: -2 * (conjugate(x) * _times_slopes(y, x, "arctan", 2)),
    "arcsinh": lambda y, x: -(conjugate(x) * _times_slopes(y, x, "arcsinh", 3)),
    "arctanh": lambda y, x: 2 * (conjugate(x) * _times_slopes(y, x, "arctanh", 2)),
}


def _times_slopes(y, x, of, times):
    for _ in range(times):
        y = times_slope(y, x, of=of)
    return y


def conjugate(x):
    """`x` itself if it is real, else its conjugate."""
    return operators["conj"](x) if x.dtype.kind == "c" else x


@times_slope.forward("dense, dense -> dense")
def _times_slope(backend, y, x, *, of):
    xp = backend.xp
    at = xp.conj(x.data) if x.data.dtype.kind == "c" else x.data
    return y.with_data(SLOPES[of](xp, y.data, at))


@times_slope.forward("row_sparse, row_sparse -> row_sparse")
def _times_slope_row_sparse(backend, y, x, *, of):
    if x.indices is not y.indices:
        x = sparse_mask.kernel("row_sparse", "row_sparse", "row_sparse")(backend, x, y)
    return _times_slope(backend, y, x, of=of)


@times_slope.forward("csr, csr -> csr")
def _times_slope_csr(backend, y, x, *, of):
    if x.indices is not y.indices or x.indptr is not y.indptr:
        x = sparse_mask.kernel("csr", "csr", "csr")(backend, x, y)
    return _times_slope(backend, y, x, of=of)


@times_slope.backward("y", *PAIRS)
def _times_slope_y(g, x, of):
    return conjugate(times_slope(conjugate(g), x, of=of))


@times_slope.backward("x", "dense, dense -> dense")
def _times_slope_x(g, y, x, of):
    return CURVATURES[of](conjugate(g) * y, x)


@times_slope.backward("x", *PAIRS[1:])
def _times_slope_stored_x(g, y, x, of):
    return sparse_mask(CURVATURES[of](conjugate(g) * y, x), x)


@operator(shapes="(m,n)->(m,n)", reference=np.zeros_like)
def zeros_like(x):
    """Zeros of the shape, dtype and storage of `x`; a sparse result stores nothing.

    Parameters
    ----------
    x : array of any storage
        Its values are not read.

    Returns
    -------
    NDArray
        In the storage of `x`. O(size) if dense, O(rows) if csr, else O(1).

    Examples
    --------
    >>> import sparseops as so
    >>> so.zeros_like(so.csr_array([[0.0, 2.0]]))
    <float64[1,2] csr, 0 stored>
    """
    return x.shape, x.dtype


@zeros_like.forward("dense -> dense")
def _zeros_like(backend, x):
    return x.with_data(backend.xp.zeros_like(x.data))


@zeros_like.forward("row_sparse -> row_sparse")
def _zeros_like_row_sparse(backend, x):
    xp = backend.xp
    data = xp.zeros((0, *x.shape[1:]), x.data.dtype)
    return RowSparse(data, xp.zeros(0, x.indices.dtype), x.shape)


@zeros_like.forward("csr -> csr")
def _zeros_like_csr(backend, x):
    xp = backend.xp
    indices, indptr = xp.zeros(0, x.indices.dtype), xp.zeros_like(x.indptr)
    return CSR(xp.zeros(0, x.data.dtype), indices, indptr, x.shape)


@zeros_like.backward("x", *SAME)
def _zeros_like_x(g):
    return zeros_like(g)
