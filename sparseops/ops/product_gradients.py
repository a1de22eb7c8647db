"""The gradients of `dot` and `sddmm`, which are products again.

For C = A B the gradient by A is G B*, and by B it is A* G, with G the gradient by C and * the
conjugate transpose. By a dense factor that is a `dot`; by a sparse one it is an `sddmm` at the
places that the factor stores. A vector is written as a matrix of one column, which stands
transposed where the vector is on the left.
"""

from itertools import product as pairs

from sparseops.ops.cast import sparse_mask
from sparseops.ops.linalg import dot
from sparseops.ops.sampled import sddmm
from sparseops.ops.shape import reshape
from sparseops.registry import operators

__all__ = []

_STYPES = ("dense", "row_sparse", "csr")
_SPARSE = _STYPES[1:]
_NO_TRANSPOSE = {"transpose_a": False, "transpose_b": False}
_TRANSPOSE_B = {"transpose_a": False, "transpose_b": True}


@dot.backward("a", *[f"dense, {b} -> dense" for b in _STYPES])
def _dot_dense_a(g, a_spec, b, transpose_a, transpose_b):
    factors, flags = _factors_a(g, a_spec, b, transpose_a, transpose_b)
    return _shaped(dot(*factors, **flags, stype="dense"), a_spec)


@dot.backward("a", *[f"{a}, {b} -> {a}" for a, b in pairs(_SPARSE, _STYPES)])
def _dot_sparse_a(g, a, b, transpose_a, transpose_b):
    factors, flags = _factors_a(g, a, b, transpose_a, transpose_b)
    return _shaped(sddmm(_column(a), *factors, **flags), a)


@dot.backward("b", "csr, dense -> row_sparse", where=_NO_TRANSPOSE)
def _dot_rows_b(g, a):
    return dot(_conj(a), g, transpose_a=True)


@dot.backward("b", *[f"{a}, dense -> dense" for a in _STYPES])
def _dot_dense_b(g, a, b_spec, transpose_a, transpose_b):
    factors, flags = _factors_b(g, a, b_spec, transpose_a, transpose_b)
    return _shaped(dot(*factors, **flags, stype="dense"), b_spec)


@dot.backward("b", "csr, dense -> csr", where=_TRANSPOSE_B)
def _dot_csr_b(g, a, b_spec):
    factors, flags = _factors_b(g, a, b_spec, **_TRANSPOSE_B)
    return dot(*factors, **flags, stype="csr")


@dot.backward("b", *[f"{a}, {b} -> {b}" for a, b in pairs(_STYPES, _SPARSE)])
def _dot_sparse_b(g, a, b, transpose_a, transpose_b):
    factors, flags = _factors_b(g, a, b, transpose_a, transpose_b)
    return _shaped(sddmm(_column(b), *factors, **flags), b)


@sddmm.backward("a", *[f"{p}, dense, {b} -> dense" for p, b in pairs(_STYPES, _STYPES)])
def _sddmm_dense_a(g, pattern, a_spec, b, transpose_a, transpose_b):
    g = sparse_mask(g, pattern)
    factors, flags = _factors_a(g, a_spec, b, transpose_a, transpose_b)
    return dot(*factors, **flags, stype="dense")


@sddmm.backward("a", *[f"{p}, {a}, {b} -> {a}" for p, a, b in pairs(_STYPES, _SPARSE, _STYPES)])
def _sddmm_sparse_a(g, pattern, a, b, transpose_a, transpose_b):
    g = sparse_mask(g, pattern)
    factors, flags = _factors_a(g, a, b, transpose_a, transpose_b)
    return sddmm(a, *factors, **flags)


@sddmm.backward("b", *[f"{p}, {a}, dense -> dense" for p, a in pairs(_STYPES, _STYPES)])
def _sddmm_dense_b(g, pattern, a, b_spec, transpose_a, transpose_b):
    g = sparse_mask(g, pattern)
    factors, flags = _factors_b(g, a, b_spec, transpose_a, transpose_b)
    return dot(*factors, **flags, stype="dense")


@sddmm.backward("b", *[f"{p}, {a}, {b} -> {b}" for p, a, b in pairs(_STYPES, _STYPES, _SPARSE)])
def _sddmm_sparse_b(g, pattern, a, b, transpose_a, transpose_b):
    g = sparse_mask(g, pattern)
    factors, flags = _factors_b(g, a, b, transpose_a, transpose_b)
    return sddmm(b, *factors, **flags)


@sddmm.backward("pattern", *[f"{p}, {a}, {b} -> {p}" for p, a, b in pairs(*[_STYPES] * 3)])
def _sddmm_pattern(g):
    # Only places count, so the gradient is zero, whatever values stand there.
    return operators["zeros_like"](g)


def _factors_a(g, a, b, transpose_a, transpose_b):
    """The factors of the gradient by `a`, and which of them are transposed."""
    left, right, row = _transposed(g, a, b, transpose_a, transpose_b)
    g, b = _column(g), _column(_conj(b))
    if left:
        return (b, g), {"transpose_a": right, "transpose_b": not row}
    return (g, b), {"transpose_a": row, "transpose_b": not right}


def _factors_b(g, a, b, transpose_a, transpose_b):
    """The factors of the gradient by `b`, and which of them are transposed."""
    left, right, row = _transposed(g, a, b, transpose_a, transpose_b)
    g, a = _column(g), _column(_conj(a))
    if right:
        return (g, a), {"transpose_a": not row, "transpose_b": left}
    return (a, g), {"transpose_a": not left, "transpose_b": row}


def _transposed(g, a, b, transpose_a, transpose_b):
    """Which of `a`, `b` and `g` stand transposed, all written as matrices."""
    left = bool(transpose_a) or a.ndim == 1
    right = bool(transpose_b) and b.ndim == 2
    return left, right, g.ndim == 1 and a.ndim == 1


def _column(x):
    return x if x.ndim == 2 else reshape(x, shape=(-1, 1))


def _shaped(x, like):
    return x if x.ndim == like.ndim else reshape(x, shape=like.shape)


def _conj(x):
    return operators["conj"](x) if x.dtype.kind == "c" else x
