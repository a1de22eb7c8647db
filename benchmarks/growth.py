"""How operators of sparseops grow with entries, rows and columns, one of which grows at a time."""

import numpy as np

from sparseops.bench import Case, Rows, grown, power_law

SIZES = grown((1, 4, 16), rows=20_000, columns=100_000, nnz=200_000)


def case_of(name, run, k=8):
    """A case of an operator of csr matrices."""
    case = Case(name, sizes=SIZES, quick=0)

    @case.inputs
    def _(rng, scale, rows, columns, nnz):
        a = power_law(rng, int(rows * scale), int(columns * scale), int(nnz * scale))
        g = np.ones((a.shape[0], k), np.float32)
        return {"a": a, "b": power_law(rng, *a.shape, len(a.data)), "g": g}

    @case.by("sparseops")
    def _(so, a, b, g):
        return lambda: run(so, a, b, g)

    return case


transposed = case_of(
    "csr.T @ dense -> row_sparse", lambda so, a, b, g: so.dot(a, g, transpose_a=True)
)
added = case_of("csr + csr", lambda so, a, b, g: so.add(a, b))
multiplied = case_of("csr * csr", lambda so, a, b, g: so.multiply(a, b))
by_row = case_of("sum of csr along rows", lambda so, a, b, g: so.sum(a, axis=1))

lazy = Case("lazy adagrad", sizes=grown((1, 4, 16), rows=100_000, stored=2_000), quick=0)


@lazy.inputs
def _(rng, scale, rows, stored):
    rows, stored = int(rows * scale), int(stored * scale)
    ids = np.sort(rng.permutation(rows)[:stored]).astype(np.int32)
    return {"g": Rows(np.ones((stored, 32), np.float32), ids, (rows, 32))}


@lazy.by("sparseops")
def _(so, g):
    w, optimizer = so.zeros(g.shape, np.float32), so.optim.adagrad(0.1)
    state = optimizer.init(w)

    def step():
        optimizer.update(g, state, w)
        return w

    return step
