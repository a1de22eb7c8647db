"""A factorization machine: pairs of features weigh in by the product of their vectors.

    python factorization_machine.py --file a9a.gz --test a9a.t.gz --plot curve.png

Files have libsvm's format. Without one, clicks are generated that depend on pairs of categories,
and a logistic regression is trained beside, which cannot see pairs.

The pairs are an operator of its own, with a kernel for csr rows and a row_sparse gradient by the
table of vectors: only the rows of features that a batch has. The formula is that of Rendle:
Factorization Machines, ICDM (2010).
"""

import sys

import numpy as np
from logistic_regression import scores as linear_scores
from logistic_regression import train as train_linear
from training import Curve, area_under_curve, arguments, generated_clicks, labeled_rows, progress

import sparseops as so


@so.operator(shapes="(m,n),(n,k)->(m)")
def pairs(x, v):
    """The sum over pairs of features of ``x_i * x_j * <v_i, v_j>``, for each row of `x`."""
    if x.shape[1] != v.shape[0]:
        raise so.ShapeError(f"x has {x.shape[1]} columns, v has {v.shape[0]} rows")
    return x.shape[:1], np.result_type(x.dtype, v.dtype)


@pairs.forward("dense, dense -> dense")
def _pairs_dense(backend, x, v):
    sums, squares = x.data @ v.data, x.data**2 @ (v.data**2).sum(axis=1)
    return so.Dense((backend.xp.square(sums).sum(axis=1) - squares) / 2)


@pairs.forward("csr, dense -> dense")
def _pairs_csr(backend, x, v):
    xp, matrix = backend.xp, backend.matrix(x)
    # The rows of v that occur, and no other: a table may be far larger than a batch.
    products = x.data[:, None] * v.data[x.indices]
    squares = xp.bincount(backend.row_ids(x), xp.square(products).sum(axis=1), x.shape[0])
    sums = matrix @ v.data
    return so.Dense(((xp.square(sums).sum(axis=1) - squares) / 2).astype(sums.dtype))


@pairs.backward("v", "dense, dense -> dense", "csr, dense -> row_sparse")
def _pairs_v(g, x, v):
    g = so.reshape(g, shape=(-1, 1))
    own = so.dot(so.square(x), so.broadcast_to(g, shape=(g.shape[0], v.shape[1])), transpose_a=True)
    return so.dot(x, g * so.dot(x, v), transpose_a=True) - own * v


def scores(params, x):
    """The logits of the rows of `x`."""
    return so.dot(x, params["weights"]) + pairs(x, params["vectors"]) + params["bias"]


def train(x, y, optimizer, *, rank, epochs, batch_size, seed):
    """The parameters, and the losses of the batches, after each epoch."""
    rng = np.random.default_rng(seed)
    params = {
        "weights": so.zeros(x.shape[1], x.dtype),
        "vectors": so.array(rng.normal(0, 0.1, (x.shape[1], rank)).astype(x.dtype)),
        "bias": so.zeros(1, x.dtype),
    }
    optimizer = so.optim.groups({"*": optimizer})
    states = optimizer.init(params)
    batches = so.io.batches(x, y, batch_size, shuffle=True, seed=seed)
    for epoch in range(1, epochs + 1):
        losses = []
        for rows, labels in progress(list(batches), f"epoch {epoch}"):
            with so.Tape() as tape:
                loss = so.mean(so.logistic_loss(scores(params, rows), labels))
            found = tape.gradient(loss, list(params.values()))
            optimizer.update(dict(zip(params, found, strict=True)), states, params)
            losses.append(loss.item())
        yield params, losses


def main(argv=None):
    given = arguments(__doc__, argv, epochs=8, batch_size=128, rank=4, rate=0.05, rows=20_000)
    if given.file:
        (x, y), (x_test, y_test) = labeled_rows(given)
    else:
        (x, y), (x_test, y_test) = generated_clicks(given.rows, given.seed)
    print(f"{x.spec} with {x.nnz:,} stored values to train on, {len(y_test):,} rows to test on")
    curve = Curve("area under the curve", given.plot)
    settings = {"epochs": given.epochs, "batch_size": given.batch_size, "seed": given.seed}
    optimizer = so.optim.adagrad(given.rate)
    for params, losses in train(x, y, optimizer, rank=given.rank, **settings):
        curve.add(losses, area_under_curve(scores(params, x_test).asnumpy(), y_test))
    *_, (linear, _) = train_linear(x, y, optimizer, **settings)
    area = area_under_curve(linear_scores(linear, x_test).asnumpy(), y_test)
    print(f"logistic regression: area under the curve {area:.4f}")
    curve.draw()
    return curve, area


if __name__ == "__main__":
    main(sys.argv[1:])
