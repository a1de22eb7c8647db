"""From one storage to another."""

import numpy as np

from sparseops.bench import Case, Rows, power_law

to_csr = Case("dense -> csr, 1 % stored", targets={"scipy": 3, "mxnet": 1})
from_csr = Case("csr -> dense, 1 % stored", targets={"scipy": 0.95})


@to_csr.inputs
def _(rng, scale):
    side = int(4096 * scale**0.5)
    return {"d": np.where(rng.random((side, side)) < 0.01, 0.5, 0).astype(np.float32)}


@to_csr.by("sparseops")
def _(so, d):
    return lambda: d.tostype("csr")


@to_csr.by("scipy")
def _(sp, d):
    return lambda: sp.csr_array(d)


@to_csr.by("torch")
def _(torch, d):
    return lambda: d.to_sparse_csr()


@to_csr.by("mxnet")
def _(mx, d):
    return lambda: d.tostype("csr")


@from_csr.inputs
def _(rng, scale):
    side = int(4096 * scale**0.5)
    return {"a": power_law(rng, side, side, side * side // 100)}


@from_csr.by("sparseops")
@from_csr.by("mxnet")
def _(library, a):
    return lambda: a.tostype("default" if hasattr(library, "nd") else "dense")


@from_csr.by("scipy")
def _(sp, a):
    return lambda: a.toarray()


@from_csr.by("torch")
def _(torch, a):
    return lambda: a.to_dense()


to_rows = Case("dense -> row_sparse, 5 % of rows", targets={"mxnet": 1.1})
from_rows = Case("row_sparse -> dense, 5 % of rows", targets={"mxnet": 1.1})


def some_rows(rng, scale):
    """One row in twenty of a million by 64."""
    rows = int(1_000_000 * scale)
    ids = np.flatnonzero(rng.random(rows) < 0.05).astype(np.int32)
    return Rows(rng.random((len(ids), 64)).astype(np.float32) + 0.5, ids, (rows, 64))


@to_rows.inputs
def _(rng, scale):
    x = some_rows(rng, scale)
    d = np.zeros(x.shape, np.float32)
    d[x.indices] = x.data
    return {"d": d}


@to_rows.by("sparseops", "mxnet")
def _(library, d):
    return lambda: d.tostype("row_sparse")


@from_rows.inputs
def _(rng, scale):
    return {"x": some_rows(rng, scale)}


@from_rows.by("sparseops")
@from_rows.by("mxnet")
def _(library, x):
    return lambda: x.tostype("default" if hasattr(library, "nd") else "dense")


@from_rows.by("torch")
def _(torch, x):
    return lambda: x.to_dense()
