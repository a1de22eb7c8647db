"""From which density on the dense way is faster, on a square matrix of 1500 rows."""

import numpy as np

from sparseops.bench import Case, grid, power_law

SIZES = grid(density=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3))


def case_of(name, run):
    """A case of an operator of a matrix, once as csr and once as dense."""
    case = Case(name, sizes=SIZES, quick=0)

    @case.inputs
    def _(rng, scale, density):
        side = int(1500 * scale**0.5)
        # Columns are drawn by a power law, so some places come up several times.
        a = power_law(rng, side, side, int(side * side * density * 1.2))
        b = power_law(rng, side, side, len(a.data))
        return {"a": a, "b": b, "d": np.ones((side, 64), np.float32)}

    @case.by("sparseops")
    def _(so, a, b, d):
        return lambda: run(so, a, b, d)

    @case.by("sparseops", label="dense")
    def _(so, a, b, d):
        a, b = a.tostype("dense"), b.tostype("dense")
        return lambda: run(so, a, b, d)

    return case


product = case_of("matrix @ dense, 64 columns", lambda so, a, b, d: so.dot(a, d))
transposed = case_of(
    "matrix.T @ dense, 64 columns", lambda so, a, b, d: so.dot(a, d, transpose_a=True)
)
added = case_of("matrix + matrix", lambda so, a, b, d: a + b)
multiplied = case_of("matrix * matrix", lambda so, a, b, d: a * b)
summed = case_of("sum of columns", lambda so, a, b, d: so.sum(a, axis=0))
