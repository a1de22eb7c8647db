"""Operators of different kinds without a fault: no law may be broken, whatever the seed."""

from collections.abc import Callable
from typing import Any

import numpy as np

import sparseops as so

SOUND: dict[str, Callable[[], tuple[Any, dict]]] = {}
SAME = "dense -> dense", "row_sparse -> row_sparse", "csr -> csr"


def sound(make: Callable) -> Callable:
    """Enter the decorated function into the table."""
    SOUND[make.__name__] = make
    return make


@sound
def scaled_rows():
    """Two inputs, of which one is sparse."""

    def scaled(x, s):
        if s.shape != x.shape[:1]:
            raise so.ShapeError(f"x has {x.shape[0]} rows, s has {s.shape}")
        return x.shape, np.result_type(x.dtype, s.dtype)

    op = so.operator(scaled)
    op.forward("dense, dense -> dense")(lambda b, x, s: so.Dense(x.data * s.data[:, None]))
    op.forward("csr, dense -> csr")(lambda b, x, s: x.with_data(x.data * s.data[b.row_ids(x)]))
    op.backward("x", "dense, dense -> dense", "csr, dense -> csr")(lambda g, s: op(g, s))
    op.backward("s", "dense, dense -> dense", "csr, dense -> dense")(
        lambda g, x: so.sum(g * x, axis=1)
    )
    given = {"shapes": "(m,n),(m)->(m,n)", "reference": lambda x, s: x * s[:, None]}
    return op, given | {"traits": ["linear", "rowwise"]}


@sound
def added_arrays():
    """Any number of arrays."""

    def added(*arrays):
        return arrays[0].shape, np.result_type(*(x.dtype for x in arrays))

    op = so.operator(added)

    @op.forward("dense... -> dense")
    def _dense(backend, *arrays):
        total = arrays[0].data + np.zeros((), op.describe(*(x.spec for x in arrays))[1])
        for x in arrays[1:]:
            total = total + x.data
        return so.Dense(total)

    @op.forward("csr... -> csr")
    def _csr(backend, *arrays):
        places = [(backend.row_ids(x), x.indices) for x in arrays]
        rows, columns = (np.concatenate(part) for part in zip(*places, strict=True))
        dtype = np.result_type(*(x.dtype for x in arrays))
        data = np.concatenate([x.data.astype(dtype) for x in arrays])
        return so.csr_array((data, (rows, columns)), arrays[0].shape).storage

    op.backward("arrays", "dense... -> dense", "dense; csr... -> csr")(_added_gradient)
    return op, {"shapes": "(m,n)...->(m,n)", "reference": lambda *arrays: sum_of(arrays)}


def _added_gradient(g, arrays):
    return [so.sparse_mask(g, x) for x in arrays]


def sum_of(arrays):
    total = arrays[0].astype(np.result_type(*arrays))
    for x in arrays[1:]:
        total = total + x
    return total


@sound
def parts_of_a_number():
    """Several results."""

    def parts(x):
        return [(x.shape, x.dtype), (x.shape, x.dtype)]

    op = so.operator(parts, outputs=("whole", "fraction"))

    @op.forward("dense -> dense, dense", "csr -> csr, csr", "row_sparse -> row_sparse, row_sparse")
    def _parts(backend, x):
        whole = np.trunc(x.data) if x.data.dtype.kind == "f" else x.data
        return x.with_data(whole), x.with_data(x.data - whole)

    op.backward("x", *SAME)(lambda g_fraction: g_fraction)

    def reference(x):
        whole = np.trunc(x) if x.dtype.kind == "f" else x
        return whole, x - whole

    return op, {
        "shapes": "(m,n)->(m,n),(m,n)",
        "reference": reference,
        "domain": {"x": [1.25, -0.5, 2.75]},
    }


@sound
def sums_along_an_axis():
    """Kernels for some parameters only."""

    def total(x, *, axis=0):
        return (x.shape[1 - axis],), x.dtype

    op = so.operator(total)
    op.forward("dense -> dense")(
        lambda b, x, *, axis: so.Dense(x.data.sum(axis=axis, dtype=x.data.dtype))
    )

    @op.forward("csr -> dense", where={"axis": 1})
    def _rows(backend, x):
        out = np.zeros(x.shape[0], x.data.dtype)
        np.add.at(out, backend.row_ids(x), x.data)
        return so.Dense(out)

    @op.forward("csr -> dense", where={"axis": 0})
    def _columns(backend, x):
        out = np.zeros(x.shape[1], x.data.dtype)
        np.add.at(out, x.indices, x.data)
        return so.Dense(out)

    @op.backward("x", "dense -> dense", "csr -> csr")
    def _total_x(g, x, axis):
        shape = (1, -1) if axis == 0 else (-1, 1)
        spread = so.reshape(g, shape=shape)
        return (
            so.sparse_mask(so.multiply(so.add(so.zeros_like(x), 1.0), spread), x)
            if (x.stype == "dense")
            else so.multiply(ones_like(x), spread)
        )

    return op, {
        "shapes": "(m,n)->(k)",
        "params": [{"axis": 0}, {"axis": 1}],
        "reference": lambda x, axis: x.sum(axis=axis, dtype=x.dtype),
    }


def ones_like(x):
    return so.NDArray(x.storage.with_data(np.ones_like(x.data)), x.backend)


@sound
def clipped_with_memory():
    """What the backward needs is kept in the state of the call."""

    def clipped(x):
        if x.dtype.kind not in "f":
            raise so.DTypeError(f"{x.dtype} is not real")
        return x.shape, x.dtype

    op = so.operator(clipped)

    @op.forward(*SAME)
    def _clipped(backend, x, *, state):
        with np.errstate(invalid="ignore"):
            state.inside = (abs(x.data) < 2).astype(x.data.dtype)
        return x.with_data(np.clip(x.data, -2, 2))

    @op.backward("x", *SAME)
    def _clipped_x(g, x, state):
        like = so.NDArray(x.storage.with_data(state.inside), x.backend)
        return so.multiply(g, like)

    return op, {"shapes": "(m,n)->(m,n)", "reference": lambda x: np.clip(x, -2, 2)}


@sound
def whole_rows_taken():
    """Rows of an n-dimensional array."""

    def halved(x):
        if x.dtype.kind not in "fc":
            raise so.DTypeError(f"{x.dtype} is not floating")
        return x.shape, x.dtype

    op = so.operator(halved)
    op.forward("dense -> dense", "row_sparse -> row_sparse")(
        lambda b, x: x.with_data(x.data * x.dtype.type(0.5))
    )
    op.backward("x", "dense -> dense", "row_sparse -> row_sparse")(lambda g: op(g))
    return op, {"shapes": "(m,n,k)->(m,n,k)", "reference": lambda x: x * x.dtype.type(0.5)}


@sound
def transcendental():
    """Rounded differently on the way."""

    def bent(x):
        if x.dtype.kind != "f":
            raise so.DTypeError(f"{x.dtype} is not real")
        return x.shape, x.dtype

    op = so.operator(bent)
    op.forward(*SAME)(lambda b, x: x.with_data(np.sinh(np.arctan(x.data))))

    @op.backward("x", *SAME)
    def _bent_x(g, x):
        return so.multiply(g, slope_of(x))

    def slope_of(x):
        inner = np.cosh(np.arctan(x.data)) / (1 + x.data * x.data)
        return so.NDArray(x.storage.with_data(inner.astype(x.dtype)), x.backend)

    return op, {"shapes": "(m,n)->(m,n)", "reference": lambda x: np.sinh(np.arctan(x))}


@sound
def integers_only():
    """No floating values at all."""

    def masked(x, bits):
        if x.dtype.kind not in "biu" or bits.dtype != x.dtype:
            raise so.DTypeError(f"{x.dtype} and {bits.dtype} are not the same kind of integers")
        return x.shape, x.dtype

    op = so.operator(masked)
    op.forward("dense, dense -> dense")(lambda b, x, bits: so.Dense(x.data & bits.data))
    op.forward("csr, dense -> csr")(
        lambda b, x, bits: x.with_data(x.data & bits.data[b.row_ids(x), x.indices])
    )
    return op, {"shapes": "(m,n),(m,n)->(m,n)", "reference": np.bitwise_and}


@sound
def running_mean():
    """A state that each call changes."""

    def centered(x, mean):
        if x.dtype.kind != "f" or mean.dtype != x.dtype:
            raise so.DTypeError(f"{x.dtype} and {mean.dtype} are not one real dtype")
        return x.shape, x.dtype

    op = so.operator(centered, mutates=("mean",))

    @op.forward("dense, dense -> dense")
    def _centered(backend, x, mean):
        new = mean.data * x.dtype.type(0.5) + x.data.sum(axis=0) * x.dtype.type(0.5)
        return so.Dense(x.data - mean.data), so.Dense(new)

    op.backward("x", "dense, dense -> dense")(lambda g: g)

    def reference(x, mean):
        half = x.dtype.type(0.5)
        return x - mean, mean * half + x.sum(axis=0) * half

    return op, {"shapes": "(m,n),(n)->(m,n)", "reference": reference}


@sound
def product_of_matrices():
    """A gradient with another storage than the input's."""

    def product(a, b):
        if a.shape[1] != b.shape[0]:
            raise so.ShapeError(f"inner sizes differ: {a.shape} and {b.shape}")
        return (a.shape[0], b.shape[1]), np.result_type(a.dtype, b.dtype)

    def multiplied(a, b):
        # Not np.dot, which takes 0 * NaN for 0 where it multiplies by a single number.
        dtype = np.result_type(a, b)
        return np.add.reduce(a[:, :, None] * b[None], axis=1, dtype=dtype)

    op = so.operator(product)
    op.forward("dense, dense -> dense")(lambda b, x, y: so.Dense(multiplied(x.data, y.data)))

    @op.forward("csr, dense -> dense")
    def _csr(backend, a, b):
        out = np.zeros((a.shape[0], b.shape[1]), np.result_type(a.dtype, b.dtype))
        np.add.at(out, backend.row_ids(a), a.data[:, None] * b.data[a.indices])
        return so.Dense(out)

    op.backward("a", "dense, dense -> dense")(lambda g, b: so.dot(g, b, transpose_b=True))
    op.backward("a", "dense; csr, dense -> csr")(
        lambda g, a, b: so.sddmm(ones_like(a), g, so.transpose(b))
    )
    op.backward("b", "dense, dense -> dense")(lambda g, a: so.dot(a, g, transpose_a=True))
    op.backward("b", "csr, dense -> row_sparse")(lambda g, a: so.dot(a, g, transpose_a=True))
    return op, {
        "shapes": "(m,n),(n,k)->(m,k)",
        "reference": multiplied,
        "traits": ["linear", "rowwise"],
    }


@sound
def inferring_by_a_function():
    """Storages that a function infers."""

    def kept(x):
        return x.shape, x.dtype

    op = so.operator(kept)

    @op.infer_storage
    def _infer(stypes):
        known = [stype for stype in stypes if stype != "undefined"]
        if len(set(known)) > 1:
            raise so.StorageError(f"x is {stypes[0]}, and out is declared {stypes[1]}")
        return (known[0] if known else "dense",) * 2

    op.forward()(lambda backend, x: x)
    return op, {"shapes": "(m,n)->(m,n)", "reference": lambda x: x}


@sound
def plain_function_of_scipy():
    """A function of scipy's arrays."""

    def columns_scaled(x, s):
        return x @ scipy_diagonal(s)

    return columns_scaled, {"shapes": "(m,n),(n)->(m,n)", "reference": lambda x, s: x * s}


def scipy_diagonal(s):
    import scipy.sparse

    indices = np.arange(len(s), dtype=np.int32)
    return scipy.sparse.csr_array(
        (s, indices, np.arange(len(s) + 1, dtype=np.int32)), shape=(len(s), len(s))
    )


@sound
def a_chain_of_operators():
    """A function written with operators."""

    def loss(x, w):
        return so.sum(so.tanh(so.dot(x, w)))

    def reference(x, w):
        return np.tanh(x @ w).sum()

    return loss, {
        "shapes": "(m,n),(n,k)->()",
        "reference": reference,
        "arrays": "sparseops",
    }
