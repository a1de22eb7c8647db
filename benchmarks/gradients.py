"""What gradients of tables are made of: rows added up, rows joined, rows kept."""

import numpy as np

from sparseops.bench import Case, Rows, zipf

embedding = Case("embedding backward -> row_sparse", targets={"torch": 3, "mxnet": 3})
ROWS, WIDTH = 1_000_000, 64


@embedding.inputs
def _(rng, scale):
    count = int(100_000 * scale)
    g = rng.integers(-8, 9, (count, WIDTH)).astype(np.float32) / 8
    return {"ids": zipf(rng, count, int(ROWS * scale)), "g": g, "rows": np.array(int(ROWS * scale))}


@embedding.bytes
def _(ids, g, rows):
    return ids.nbytes + g.nbytes + len(np.unique(ids)) * (4 * WIDTH + 8)


@embedding.by("sparseops")
def _(so, ids, g, rows):
    count = int(rows.asnumpy())
    return lambda: so.scatter_rows(g, ids, num_rows=count, stype="row_sparse")


@embedding.by("torch")
def _(torch, ids, g, rows):
    shape = (int(rows), WIDTH)
    return lambda: torch.sparse_coo_tensor(ids[None], g, shape, check_invariants=False).coalesce()


looked_up = Case("embedding forward and backward -> row_sparse", targets={"torch": 3, "mxnet": 3})


@looked_up.inputs
def _(rng, scale):
    return embedding.make(rng, scale)


@looked_up.bytes
def _(ids, g, rows):
    return embedding.count(ids, g, rows) + 2 * g.nbytes


@looked_up.by("sparseops")
def _(so, ids, g, rows):
    w = so.zeros((int(rows.asnumpy()), WIDTH), np.float32)

    def both():
        with so.Tape() as tape:
            out = so.take(w, ids)
        return tape.gradient(out, w, output_gradients=g)

    return both


@looked_up.by("torch")
def _(torch, ids, g, rows):
    w = torch.zeros(int(rows), WIDTH, requires_grad=True)

    def both():
        out = torch.nn.functional.embedding(ids, w, sparse=True)
        return torch.autograd.grad(out, w, g)[0].coalesce()

    return both


@looked_up.by("mxnet")
def _(mx, ids, g, rows):
    count = int(rows.asscalar())
    w = mx.nd.zeros((count, WIDTH))
    w.attach_grad(stype="row_sparse")

    def both():
        with mx.autograd.record():
            out = mx.nd.Embedding(ids, w, input_dim=count, output_dim=WIDTH, sparse_grad=True)
        out.backward(g)
        return w.grad

    return both


joined = Case("row_sparse + row_sparse", targets={"mxnet": 1, "torch": 1})


def chosen_rows(rng, rows, count):
    ids = np.sort(rng.permutation(rows)[:count]).astype(np.int32)
    return Rows(rng.integers(-8, 9, (count, WIDTH)).astype(np.float32) / 8, ids, (rows, WIDTH))


@joined.inputs
def _(rng, scale):
    rows, count = int(ROWS * scale), int(100_000 * scale)
    return {"a": chosen_rows(rng, rows, count), "b": chosen_rows(rng, rows, count)}


@joined.by("sparseops")
def _(so, a, b):
    return lambda: a + b


@joined.by("torch")
def _(torch, a, b):
    return lambda: (a + b).coalesce()


@joined.by("mxnet")
def _(mx, a, b):
    return lambda: mx.nd.sparse.add(a, b)


kept = Case("retain 50k of 100k rows", targets={"mxnet": 0.95, "torch": 0.95})


@kept.inputs
def _(rng, scale):
    x = chosen_rows(rng, int(ROWS * scale), int(100_000 * scale))
    return {"x": x, "ids": x.indices[::2].astype(np.int64)}


@kept.bytes
def _(x, ids):
    return ids.nbytes + 2 * len(ids) * 4 * WIDTH


@kept.by("sparseops")
def _(so, x, ids):
    return lambda: so.retain(x, ids)


@kept.by("mxnet")
def _(mx, x, ids):
    return lambda: mx.nd.sparse.retain(x, ids)
