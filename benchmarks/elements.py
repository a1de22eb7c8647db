"""Sums, products and reductions of csr matrices, and rows taken out of them."""

import numpy as np

from sparseops.bench import Case, Matrix, grid

added = Case("csr + csr", data=("text", "graph"), targets={"scipy": 0.95})
multiplied = Case("csr * csr", data=("text", "graph"), targets={"scipy": 0.95})


@added.inputs
@multiplied.inputs
def _(rng, a):
    # The other matrix shares about half of the places: its columns are shifted in every second row.
    rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    columns = (a.indices.astype(np.int64) + rows % 2) % a.shape[1]
    order = np.argsort(rows * a.shape[1] + columns, kind="stable")
    b = Matrix(a.data[order], columns[order].astype(np.int32), a.indptr, a.shape)
    return {"a": a, "b": b}


@added.by("sparseops", "scipy", "torch")
def _(library, a, b):
    return lambda: a + b


@added.by("mxnet")
def _(mx, a, b):
    return lambda: mx.nd.sparse.add(a, b)


@added.by("graphblas")
def _(gb, a, b):
    return lambda: a.ewise_add(b, gb.binary.plus).new()


@multiplied.by("sparseops")
def _(so, a, b):
    return lambda: a * b


@multiplied.by("scipy")
def _(sp, a, b):
    return lambda: a.multiply(b)


@multiplied.by("graphblas")
def _(gb, a, b):
    return lambda: a.ewise_mult(b, gb.binary.times).new()


summed = Case(
    "sum of csr", data=("text", "graph"), sizes=grid(axis=(0, 1)), targets={"scipy": 0.95}
)


@summed.inputs
def _(rng, a, axis):
    return {"a": a}


@summed.by("sparseops")
def _(so, a, axis):
    return lambda: so.sum(a, axis=axis)


@summed.by("scipy")
def _(sp, a, axis):
    return lambda: a.sum(axis=axis)


@summed.by("graphblas")
def _(gb, a, axis):
    reduce = a.reduce_rowwise if axis else a.reduce_columnwise
    return lambda: reduce(gb.monoid.plus).new()


length = Case("norm of csr", data=("text",), targets={"scipy": 0.95})


@length.inputs
def _(rng, a):
    return {"a": a}


@length.by("sparseops")
def _(so, a):
    return lambda: so.norm(a)


@length.by("scipy")
def _(sp, a):
    return lambda: sp.linalg.norm(a)


picked = Case(
    "rows of csr by number",
    data=("text", "ctr"),
    sizes=grid(count=(4096,)),
    targets={"scipy": 0.95},
)


@picked.inputs
def _(rng, a, count):
    return {"a": a, "ids": rng.integers(0, a.shape[0], min(count, a.shape[0]))}


@picked.bytes
def _(a, ids, count):
    return 16 * int(np.diff(a.indptr)[ids].sum()) + 16 * len(ids)


@picked.by("sparseops")
def _(so, a, ids):
    return lambda: so.take(a, ids)


@picked.by("scipy", "sklearn")
def _(library, a, ids):
    return lambda: a[ids]


sliced = Case("64 rows of csr in order", data=("ctr",), targets={"scipy": 0.95})


@sliced.inputs
def _(rng, a):
    return {"a": a}


@sliced.bytes
def _(a):
    return 16 * int(a.indptr[:75][-1] - a.indptr[10])


@sliced.by("sparseops", "scipy")
def _(library, a):
    return lambda: a[10:74]
