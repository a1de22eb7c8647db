"""Matrix products of a csr matrix."""

import numpy as np

from sparseops.bench import Case, grid


def values(rng, *shape):
    """Eighths, whose sums are almost always exact in float32."""
    return rng.integers(-8, 9, shape).astype(np.float32) / 8


vector = Case(
    "csr @ vector",
    data=("ctr2k", "ctr", "graph10k", "graph", "pde", "text"),
    targets={"scipy": 0.95},
)


@vector.inputs
def _(rng, a):
    return {"a": a, "x": values(rng, a.shape[1])}


@vector.bytes
def _(a, x):
    return a.nbytes + 4 * len(np.unique(a.indices)) + 4 * a.shape[0]


@vector.by("scipy", "torch")
def _(library, a, x):
    return lambda: a @ x


@vector.by("sparseops")
def _(so, a, x):
    return lambda: so.dot(a, x)


@vector.by("mxnet")
def _(mx, a, x):
    column = x.reshape((-1, 1))
    return lambda: mx.nd.sparse.dot(a, column).reshape((-1,))


@vector.by("mkl")
def _(mkl, a, x):
    return lambda: mkl.dot_product_mkl(a, x)


@vector.by("graphblas")
def _(gb, a, x):
    return lambda: gb.semiring.plus_times(a @ x).new()


@vector.by("jax")
def _(jax, a, x):
    product = jax.jit(lambda a, x: a @ x)
    return lambda: product(a, x)


wide = Case(
    "csr @ dense",
    data=("ctr2k", "ctr", "graph10k", "text"),
    sizes=grid(k=(64, 8, 128)),
    targets={"scipy": 0.95},
)


@wide.inputs
def _(rng, a, k):
    return {"a": a, "d": values(rng, a.shape[1], k)}


@wide.bytes
def _(a, d, k):
    return a.nbytes + 4 * k * (len(np.unique(a.indices)) + a.shape[0])


@wide.by("scipy", "torch")
def _(library, a, d):
    return lambda: a @ d


@wide.by("sparseops")
def _(so, a, d):
    return lambda: so.dot(a, d)


@wide.by("mxnet")
def _(mx, a, d):
    return lambda: mx.nd.sparse.dot(a, d)


@wide.by("torch", label="embedding_bag")
def _(torch, a, d):
    ids, offsets, weights = a.col_indices(), a.crow_indices()[:-1], a.values()
    bag = torch.nn.functional.embedding_bag
    return lambda: bag(ids, d, offsets, mode="sum", per_sample_weights=weights)


@wide.by("mkl")
def _(mkl, a, d):
    return lambda: mkl.dot_product_mkl(a, d)


transposed = Case(
    "csr.T @ dense -> row_sparse",
    data=("ctr2k", "ctr", "text"),
    sizes=grid(k=(64, 8, 1)),
    targets={"mxnet": 2, "torch": 4},
)


@transposed.inputs
def _(rng, a, k):
    return {"a": a, "g": values(rng, a.shape[0], k)}


@transposed.bytes
def _(a, g, k):
    return a.nbytes + g.nbytes + (4 * k + 4) * len(np.unique(a.indices))


@transposed.by("sparseops")
def _(so, a, g):
    return lambda: so.dot(a, g, transpose_a=True)


@transposed.by("mxnet")
def _(mx, a, g):
    return lambda: mx.nd.sparse.dot(a, g, transpose_a=True)


@transposed.by("scipy", label="dense result")
def _(sp, a, g):
    return lambda: a.T @ g


@transposed.by("torch")
def _(torch, a, g):
    w = torch.zeros(a.shape[1], g.shape[1], requires_grad=True)
    ids, offsets, weights = a.col_indices(), a.crow_indices()[:-1], a.values()
    bag = torch.nn.functional.embedding_bag
    out = bag(ids, w, offsets, mode="sum", per_sample_weights=weights, sparse=True)
    return lambda: torch.autograd.grad(out, w, g, retain_graph=True)[0].coalesce()


sparse = Case("csr @ csr", data=("graph10k",), targets={"scipy": 0.95})


@sparse.inputs
def _(rng, a):
    return {"a": a}


@sparse.by("sparseops")
def _(so, a):
    return lambda: so.dot(a, a)


@sparse.by("scipy", "torch")
def _(library, a):
    return lambda: a @ a


@sparse.by("scipy", label="sorted")
def _(sp, a):
    def product():
        found = a @ a
        found.sort_indices()
        return found

    return product


@sparse.by("mkl")
def _(mkl, a):
    return lambda: mkl.dot_product_mkl(a, a, reorder_output=True)


@sparse.by("graphblas")
def _(gb, a):
    return lambda: gb.semiring.plus_times(a @ a).new()
