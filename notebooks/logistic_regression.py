"""Sparse logistic regression: one weight a feature, learnt from row_sparse gradients.

    python logistic_regression.py --file a9a.gz --test a9a.t.gz --plot curve.png

Files have libsvm's format. Without one, rows like those of a click log are generated; on them lazy
Adam and exact Adam (``--exact 1``) reach areas under the curve that are less than 0.01 apart,
though the lazy one leaves out the momentum of features that a batch does not have. With 1,000,000
columns and batches of 64 rows a lazy step takes about a sixth of the time of an exact one.
"""

import sys

from training import Curve, area_under_curve, arguments, generated_clicks, labeled_rows, progress

import sparseops as so


def scores(params, x):
    """The logits of the rows of `x`."""
    return so.dot(x, params["weights"]) + params["bias"]


def train(x, y, optimizer, *, epochs, batch_size, seed):
    """The parameters, and the losses of the batches, after each epoch."""
    params = {"weights": so.zeros(x.shape[1], x.dtype), "bias": so.zeros(1, x.dtype)}
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


def accuracy(params, x, y):
    """The share of rows whose label the sign of the score tells."""
    return ((scores(params, x).asnumpy() > 0) == (y > 0)).mean()


def main(argv=None):
    given = arguments(
        __doc__, argv, epochs=6, batch_size=64, rate=0.05, exact=0, rows=20_000, columns=0
    )
    if given.file:
        (x, y), (x_test, y_test) = labeled_rows(given)
    else:
        (x, y), (x_test, y_test) = generated_clicks(given.rows, given.seed)
    print(f"{x.spec} with {x.nnz:,} stored values to train on, {len(y_test):,} rows to test on")
    adam = so.optim.adam(given.rate, lazy=not given.exact)
    optimizer = adam if not given.file else so.optim.adagrad(given.rate, lazy=not given.exact)
    curve = Curve("accuracy", given.plot)
    settings = {"epochs": given.epochs, "batch_size": given.batch_size, "seed": given.seed}
    for params, losses in train(x, y, optimizer, **settings):
        curve.add(losses, accuracy(params, x_test, y_test))
    area = area_under_curve(scores(params, x_test).asnumpy(), y_test)
    print(f"area under the curve {area:.4f}")
    curve.draw()
    return curve


if __name__ == "__main__":
    main(sys.argv[1:])
