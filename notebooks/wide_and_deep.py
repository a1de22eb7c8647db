"""Wide and deep: a linear model of all features beside a small network on embeddings of them.

    python wide_and_deep.py --plot curve.png

A file is an npz archive, as `so.io.save` writes it, of ``{"ids": ids, "y": labels}``: one category
number a field for each row, counted through all fields. Without one, clicks are generated.
Gradients by the table of embeddings and by the linear weights are row_sparse, those by the network
dense; each has an optimizer of its own. As in Cheng et al.: Wide & Deep Learning for Recommender
Systems (2016).
"""

import sys

import numpy as np
from training import Curve, area_under_curve, arguments, clicks, progress, split

import sparseops as so


def made(rng, fields, categories, width, hidden):
    """Parameters to start from."""

    def normal(*shape):
        return so.array((rng.normal(0, 1, shape) / np.sqrt(shape[0])).astype(np.float32))

    return {
        "wide": so.zeros(categories, np.float32),
        "table": so.array(rng.normal(0, 0.3, (categories, width)).astype(np.float32)),
        "first": normal(fields * width, hidden),
        "first_bias": so.zeros(hidden, np.float32),
        "last": normal(hidden, 1),
        "bias": so.zeros(1, np.float32),
    }


def scores(params, ids):
    """The logits of rows of category numbers."""
    wide = so.sum(so.take(params["wide"], ids), axis=1)
    embedded = so.reshape(so.take(params["table"], ids), shape=(ids.shape[0], -1))
    deep = so.relu(so.dot(embedded, params["first"]) + params["first_bias"])
    return wide + so.reshape(so.dot(deep, params["last"]), shape=(-1,)) + params["bias"]


def train(ids, y, *, categories, width, hidden, epochs, batch_size, rate, seed):
    """The parameters, and the losses of the batches, after each epoch."""
    params = made(np.random.default_rng(seed), ids.shape[1], categories, width, hidden)
    optimizer = so.optim.groups(
        {
            "wide": so.optim.ftrl(0.1, l1=1e-4),
            "table": so.optim.adam(rate),
            "*": so.optim.adam(rate),
        }
    )
    states = optimizer.init(params)
    batches = so.io.batches(ids, y, batch_size, shuffle=True, seed=seed)
    for epoch in range(1, epochs + 1):
        losses = []
        for rows, labels in progress(list(batches), f"epoch {epoch}"):
            with so.Tape() as tape:
                loss = so.mean(so.logistic_loss(scores(params, rows), labels))
            found = dict(zip(params, tape.gradient(loss, list(params.values())), strict=True))
            optimizer.update(found, states, params)
            losses.append(loss.item())
        yield params, losses


def main(argv=None):
    given = arguments(
        __doc__, argv, epochs=8, batch_size=128, width=8, hidden=32, rate=0.003, rows=20_000
    )
    if given.file:
        found = so.io.load(given.file)
        ids, y = found["ids"].asnumpy(), found["y"].asnumpy().astype(np.float32)
    else:
        _, y, ids = clicks(given.rows, seed=given.seed)
    rows, test = split(len(y), np.random.default_rng(given.seed))
    print(f"{len(rows):,} rows of {ids.shape[1]} fields to train on, {len(test):,} to test on")
    curve = Curve("area under the curve", given.plot)
    sizes = {"categories": int(ids.max()) + 1, "width": given.width, "hidden": given.hidden}
    settings = {"epochs": given.epochs, "batch_size": given.batch_size, "rate": given.rate}
    for params, losses in train(ids[rows], y[rows], **sizes, **settings, seed=given.seed):
        found = scores(params, so.array(ids[test])).asnumpy()
        curve.add(losses, area_under_curve(found, y[test]))
    curve.draw()
    return curve


if __name__ == "__main__":
    main(sys.argv[1:])
