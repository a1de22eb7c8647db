"""Operators beside the same work in SciPy and PyTorch, on data like that of click logs and texts.

Run `python benchmarks/operators.py`. All run in one process, in turns; the figure of each is the
median over the turns in milliseconds; results are compared before anything is timed. Behind
each peer stands how many times as long as ours it takes: below 1, the peer is faster. PyTorch is
left out where it is not installed, and has as many threads as `--threads` says; others have one.
"""

import argparse
from statistics import median
from time import perf_counter

import numpy as np
import scipy.sparse as sp

import sparseops as so

try:
    import torch
except ImportError:
    torch = None

CASES = []


def case(function):
    """Enter a function that gives, for a size, what each library runs and how results compare."""
    CASES.append(function)
    return function


def power_law(rows, columns, per_row, seed=0):
    """A csr array of SciPy whose columns are drawn by a power law; float32 values."""
    rng = np.random.default_rng(seed)
    ranks = np.minimum(columns * rng.random((rows, per_row)) ** 4, columns - 1).astype(np.int64)
    ids = (ranks * 2654435761) % columns
    values = rng.random(ids.size).astype(np.float32) + 0.5
    row = np.repeat(np.arange(rows), per_row)
    found = sp.csr_array((values, (row, ids.reshape(-1))), shape=(rows, columns))
    found.sum_duplicates()
    return found


def tensor(matrix):
    """A csr tensor of PyTorch."""
    parts = (torch.from_numpy(part) for part in (matrix.indptr, matrix.indices, matrix.data))
    return torch.sparse_csr_tensor(*parts, size=matrix.shape)


def dense_of(found):
    """A result of any library, as an array of NumPy."""
    if isinstance(found, so.NDArray):
        return found.asnumpy()
    if sp.issparse(found):
        return found.toarray()
    return found.to_dense().numpy() if torch and isinstance(found, torch.Tensor) else found


@case
def csr_times_dense(scale):
    matrix = power_law(int(8192 * scale), 1_000_000, 40)
    w = np.random.default_rng(1).random((1_000_000, 16)).astype(np.float32)
    x, d = so.csr_array(matrix), so.array(w)
    yield (
        "csr @ dense, 16 columns",
        {
            "sparseops": lambda: so.dot(x, d),
            "scipy": lambda: matrix @ w,
        },
    )
    if torch:
        t, tw = tensor(matrix), torch.from_numpy(w)
        yield "", {"torch": lambda: t @ tw}


@case
def csr_transposed_times_dense(scale):
    matrix = power_law(int(8192 * scale), 1_000_000, 40)
    g = np.random.default_rng(1).random((matrix.shape[0], 16)).astype(np.float32)
    x, d = so.csr_array(matrix), so.array(g)
    yield (
        "csr.T @ dense -> row_sparse, 16 columns",
        {
            "sparseops": lambda: so.dot(x, d, transpose_a=True),
            "scipy (dense result)": lambda: matrix.T @ g,
        },
    )


@case
def embedding_backward(scale):
    rng = np.random.default_rng(0)
    rows, count = 1_000_000, int(100_000 * scale)
    ids = np.minimum(rows * rng.random(count) ** 4, rows - 1).astype(np.int64)
    g = rng.random((count, 64)).astype(np.float32)
    values, numbers = so.array(g), so.array(ids)
    yield (
        "embedding backward -> row_sparse, 64 columns",
        {
            "sparseops": lambda: so.scatter_rows(
                values, numbers, num_rows=rows, stype="row_sparse"
            ),
        },
    )
    if torch:
        ti, tg = torch.from_numpy(ids)[None], torch.from_numpy(g)
        yield (
            "",
            {"torch (coalesced)": lambda: torch.sparse_coo_tensor(ti, tg, (rows, 64)).coalesce()},
        )


@case
def row_sparse_sums(scale):
    rng, rows, count = np.random.default_rng(0), 1_000_000, int(100_000 * scale)
    parts = [
        (
            rng.random((count, 64)).astype(np.float32),
            np.sort(rng.choice(rows, count, replace=False)),
        )
        for _ in range(2)
    ]
    a, b = (so.row_sparse_array(part, (rows, 64)) for part in parts)
    yield "row_sparse + row_sparse, 64 columns", {"sparseops": lambda: so.add(a, b)}
    if torch:
        ta, tb = (
            torch.sparse_coo_tensor(
                torch.from_numpy(r)[None], torch.from_numpy(v), (rows, 64)
            ).coalesce()
            for v, r in parts
        )
        yield "", {"torch (coalesced)": lambda: (ta + tb).coalesce()}


@case
def csr_sums_and_products(scale):
    a, b = (power_law(int(20_000 * scale), 100_000, 100, seed) for seed in (0, 1))
    x, y = so.csr_array(a), so.csr_array(b)
    yield "csr + csr", {"sparseops": lambda: so.add(x, y), "scipy": lambda: a + b}
    yield "csr * csr", {"sparseops": lambda: so.multiply(x, y), "scipy": lambda: a.multiply(b)}
    yield (
        "sum over rows of csr",
        {
            "sparseops": lambda: so.sum(x, axis=0),
            "scipy": lambda: a.sum(axis=0),
        },
    )
    rows = np.random.default_rng(2).permutation(a.shape[0])[:4096]
    ids = so.array(rows)
    yield (
        "4096 rows of csr by number",
        {"sparseops": lambda: so.take(x, ids), "scipy": lambda: a[rows]},
    )
    yield "64 rows of csr in order", {"sparseops": lambda: x[100:164], "scipy": lambda: a[100:164]}


@case
def dense_to_csr(scale):
    rng, n = np.random.default_rng(0), int(4096 * scale**0.5)
    values = np.where(rng.random((n, n)) < 0.01, rng.random((n, n)), 0).astype(np.float32)
    d = so.array(values)
    yield (
        "dense -> csr, 1 % stored",
        {
            "sparseops": lambda: d.tostype("csr"),
            "scipy": lambda: sp.csr_array(values),
        },
    )
    if torch:
        t = torch.from_numpy(values)
        yield "", {"torch": lambda: t.to_sparse_csr()}


def lazy_optimizer(name, make, peer, scale):
    rng, rows, count = np.random.default_rng(0), 1_000_000, int(60_000 * scale)
    ids = np.sort(rng.choice(rows, count, replace=False))
    g = rng.random((count, 64)).astype(np.float32)
    w = so.zeros((rows, 64), np.float32)
    gradient, optimizer = so.row_sparse_array((g, ids), (rows, 64)), make(0.1)
    state = optimizer.init(w)
    yield (
        f"lazy {name}, {count:,} rows of 1,000,000 x 64",
        {
            "sparseops": lambda: optimizer.update(gradient, state, w),
        },
    )
    if torch and peer:
        p = torch.zeros((rows, 64), requires_grad=True)
        p.grad = torch.sparse_coo_tensor(
            torch.from_numpy(ids)[None], torch.from_numpy(g), (rows, 64)
        ).coalesce()
        yield "", {"torch": peer([p]).step}


@case
def lazy_sgd(scale):
    peer = torch and (lambda p: torch.optim.SGD(p, 0.1))
    yield from lazy_optimizer("sgd", so.optim.sgd, peer, scale)


@case
def lazy_adagrad(scale):
    peer = torch and (lambda p: torch.optim.Adagrad(p, 0.1))
    yield from lazy_optimizer("adagrad", so.optim.adagrad, peer, scale)


@case
def lazy_adam(scale):
    peer = torch and (lambda p: torch.optim.SparseAdam(p, 0.1))
    yield from lazy_optimizer("adam", so.optim.adam, peer, scale)


def groups(made):
    """The libraries of each case, those of PyTorch with those before them."""
    found = []
    for name, libraries in made:
        if name:
            found.append((name, dict(libraries)))
        else:
            found[-1][1].update(libraries)
    return found


def compare(name, libraries):
    """Raise unless all of the libraries that return something small enough agree."""
    results = [run() for run in libraries.values()]
    sizes = [np.prod(getattr(found, "shape", (0,)), dtype=float) for found in results]
    if any(found is None for found in results) or max(sizes) > 2**27:
        return
    first, *others = map(dense_of, results)
    for label, other in zip(list(libraries)[1:], others, strict=True):
        np.testing.assert_allclose(other, first, rtol=1e-4, atol=1e-4, err_msg=f"{name}: {label}")


def measured(libraries, turns):
    """The median milliseconds of each library, over turns in which all run one after the other."""
    times = {label: [] for label in libraries}
    for _ in range(turns):
        for label, run in libraries.items():
            start = perf_counter()
            run()
            times[label].append((perf_counter() - start) * 1000)
    return {label: median(found) for label, found in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--scale", type=float, default=1.0, help="of the sizes; 0.05 for a look")
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    given = parser.parse_args()
    if torch:
        torch.set_num_threads(given.threads)
    for make in CASES:
        for name, libraries in groups(make(given.scale)):
            compare(name, libraries)
            found = measured(libraries, given.turns)
            ours = found.pop("sparseops")
            peers = [f"{label} {ms:.2f} ms ({ms / ours:.2f})" for label, ms in found.items()]
            print(f"{name:52} {ours:8.2f} ms   {'   '.join(peers)}", flush=True)


if __name__ == "__main__":
    main()
