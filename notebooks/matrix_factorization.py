"""Matrix factorization: a rating is the product of a vector of its user and one of its item.

    python matrix_factorization.py --file ratings.mtx --plot curve.png

A file is a Matrix Market file of users by items. Without one, ratings are generated from hidden
vectors and noise of 0.5, below which no model's error goes. Gradients are row_sparse: a batch
touches its users and items alone. As in Koren, Bell, Volinsky: Matrix Factorization Techniques for
Recommender Systems (2009).
"""

import sys

import numpy as np
from training import Curve, arguments, progress, split

import sparseops as so

NOISE = 0.5


def ratings(users, items, count, *, rank=4, seed=0):
    """A csr matrix of `count` ratings, at most, that hidden vectors and noise make."""
    rng = np.random.default_rng(seed)
    places = np.unique(rng.integers(0, users * items, count))
    rows, columns = np.divmod(places, items)
    left, right = rng.normal(0, 1, (users, rank)), rng.normal(0, 1, (items, rank))
    biases = rng.normal(0, 0.3, users)[rows] + rng.normal(0, 0.3, items)[columns]
    values = 3.5 + biases + (left[rows] * right[columns]).sum(axis=1) / np.sqrt(rank)
    values += rng.normal(0, NOISE, len(values))
    return so.csr_array((values.astype(np.float32), (rows, columns)), (users, items))


def predicted(params, users, items):
    """The ratings that users give to items, pair by pair."""
    left, right = so.take(params["users"], users), so.take(params["items"], items)
    biases = so.take(params["user_bias"], users) + so.take(params["item_bias"], items)
    return so.sum(left * right, axis=1) + biases + params["mean"]


def train(users, items, values, shape, *, rank, epochs, batch_size, rate, decay, seed):
    """The parameters, and the losses of the batches, after each epoch."""
    rng = np.random.default_rng(seed)

    def table(rows):
        return so.array(rng.normal(0, 0.1, (rows, rank)).astype(np.float32))

    params = {
        "users": table(shape[0]),
        "items": table(shape[1]),
        "user_bias": so.zeros(shape[0], np.float32),
        "item_bias": so.zeros(shape[1], np.float32),
        "mean": so.array(np.full(1, values.mean(), np.float32)),
    }
    optimizer = so.optim.groups({"*": so.optim.adam(rate, weight_decay=decay)})
    states = optimizer.init(params)
    numbers = so.io.batches(np.arange(len(values)), None, batch_size, shuffle=True, seed=seed)
    for epoch in range(1, epochs + 1):
        losses = []
        for batch in progress(list(numbers), f"epoch {epoch}"):
            rows = batch.asnumpy()
            with so.Tape() as tape:
                errors = predicted(params, users[rows], items[rows]) - values[rows]
                loss = so.mean(so.square(errors))
            found = tape.gradient(loss, list(params.values()))
            optimizer.update(dict(zip(params, found, strict=True)), states, params)
            losses.append(loss.item())
        yield params, losses


def main(argv=None):
    given = arguments(
        __doc__,
        argv,
        epochs=12,
        batch_size=256,
        rank=4,
        rate=0.02,
        decay=0.0003,
        users=600,
        items=400,
        rows=30_000,
    )
    if given.file:
        matrix = so.io.read_mtx(given.file).astype(np.float32)
    else:
        matrix = ratings(given.users, given.items, given.rows, seed=given.seed)
    users = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    items, values = np.array(matrix.indices), np.array(matrix.data)
    rows, test = split(len(values), np.random.default_rng(given.seed))
    print(
        f"{len(rows):,} ratings of {matrix.shape[0]:,} users to train on, {len(test):,} to test on"
    )
    curve = Curve("error", given.plot)
    settings = {"rank": given.rank, "epochs": given.epochs, "batch_size": given.batch_size}
    settings |= {"rate": given.rate, "decay": given.decay, "seed": given.seed}
    for params, losses in train(users[rows], items[rows], values[rows], matrix.shape, **settings):
        errors = predicted(params, users[test], items[test]).asnumpy() - values[test]
        curve.add(losses, np.sqrt(np.mean(errors**2)))
    curve.draw()
    return curve


if __name__ == "__main__":
    main(sys.argv[1:])
