"""Whole training steps through public interfaces: forward, gradient, Adagrad."""

import numpy as np

from sparseops.bench import Case

RATE, EPSILON, RANK = 0.1, 1e-4, 16


def labels(rng, rows):
    return rng.integers(0, 2, rows).astype(np.float32)


logistic = Case(
    "a step of logistic regression", data=("ctr", "ctr2k"), targets={"sklearn": 1, "torch": 5}
)


@logistic.inputs
def _(rng, x):
    w = rng.standard_normal(x.shape[1], np.float32) / 4
    return {"x": x, "y": labels(rng, x.shape[0]), "w": w}


@logistic.bytes
def _(x, y, w):
    # Read x, read and write w and the history, write and read the gradient and its row numbers.
    return 2 * x.nbytes + 24 * len(np.unique(x.indices))


@logistic.by("sparseops")
def _(so, x, y, w):
    w, y = so.reshape(w, shape=(-1, 1)), so.reshape(y, shape=(-1, 1))
    optimizer = so.optim.adagrad(RATE, epsilon=EPSILON)
    state = optimizer.init(w)

    def step():
        with so.Tape() as tape:
            loss = so.sum(so.logistic_loss(so.dot(x, w), y))
        optimizer.update(tape.gradient(loss, w), state, w)
        return w

    return step


@logistic.by("scipy", label="by hand")
def _(sp, x, y, w):
    from scipy.special import expit

    w, history = w[:, None].copy(), np.zeros((len(w), 1), np.float32)

    def step():
        g = x.T @ (expit(x @ w) - y[:, None])
        history[:] += g * g
        w[:] -= RATE * g / np.sqrt(history + EPSILON)
        return w

    return step


@logistic.by("torch")
def _(torch, x, y, w):
    w = w[:, None].clone().requires_grad_()
    optimizer = torch.optim.Adagrad([w], RATE, initial_accumulator_value=EPSILON, eps=0)
    scores = bag(torch, x)
    loss = torch.nn.functional.binary_cross_entropy_with_logits

    def step():
        optimizer.zero_grad()
        loss(scores(w)[:, 0], y, reduction="sum").backward()
        optimizer.step()
        return w

    return step


def bag(torch, x):
    """The product of a csr tensor and a table, with a sparse gradient by the table."""
    ids, offsets, weights = x.col_indices(), x.crow_indices()[:-1], x.values()
    given = {"mode": "sum", "per_sample_weights": weights, "sparse": True}
    return lambda w: torch.nn.functional.embedding_bag(ids, w, offsets, **given)


@logistic.by("mxnet")
def _(mx, x, y, w):
    w = w.reshape((-1, 1))
    w.attach_grad(stype="row_sparse")
    optimizer = mx.optimizer.create("adagrad", learning_rate=RATE, eps=EPSILON, wd=0.0)
    state = optimizer.create_state(0, w)

    def step():
        with mx.autograd.record():
            scores = mx.nd.sparse.dot(x, w).reshape((-1,))
            loss = mx.nd.sum(mx.nd.relu(scores) - scores * y + mx.nd.log1p(mx.nd.exp(-abs(scores))))
        loss.backward()
        optimizer.update(0, w, w.grad, state)
        return w

    return step


@logistic.by("jax", label="dense weight")
def _(jax, x, y, w):
    np_, rows = jax.numpy, len(y)
    places = np.repeat(np.arange(rows), np.diff(np.asarray(x.indptr)))

    def loss(w):
        sums = jax.ops.segment_sum(x.data * w[x.indices], places, rows, indices_are_sorted=True)
        return np_.sum(np_.logaddexp(0, sums) - y * sums)

    def move(w, history):
        g = jax.grad(loss)(w)
        history = history + g * g
        return w - RATE * g / np_.sqrt(history + EPSILON), history

    moved = jax.jit(move, donate_argnums=(0, 1))
    values = [w, np_.zeros_like(w)]

    def step():
        values[:] = moved(*values)
        return values[0][:, None]

    return step


@logistic.by("sklearn", label="SGD, one row after another")
def _(sklearn, x, y):
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", alpha=0, learning_rate="constant", eta0=RATE)

    def step():
        model.partial_fit(x, y, classes=[0, 1])

    return step


machine = Case(
    "a step of a factorization machine", data=("ctr2k", "ctr"), targets={"torch": 2, "mxnet": 2}
)


@machine.inputs
def _(rng, x):
    columns = x.shape[1]
    w = rng.standard_normal((columns, 1), np.float32) / 4
    v = rng.standard_normal((columns, RANK), np.float32) / 16
    return {"x": x, "y": labels(rng, x.shape[0]), "w": w, "v": v}


@machine.bytes
def _(x, y, w, v):
    return 2 * x.nbytes + (20 * (RANK + 1) + 4) * len(np.unique(x.indices))


@machine.by("sparseops")
def _(so, x, y, w, v):
    pairs = pairs_operator(so)
    y = so.reshape(y, shape=(-1, 1))
    params = [w, v]
    optimizer = so.optim.adagrad(RATE, epsilon=EPSILON)
    states = [optimizer.init(param) for param in params]

    def step():
        with so.Tape() as tape:
            scores = so.dot(x, w) + so.reshape(pairs(x, v), shape=(-1, 1))
            loss = so.sum(so.logistic_loss(scores, y))
        for g, state, param in zip(tape.gradient(loss, params), states, params, strict=True):
            optimizer.update(g, state, param)
        return v

    return step


def pairs_operator(so):
    """The operator of a factorization machine's pairs, with a row_sparse gradient."""

    @so.operator
    def pairs(x, v):
        """The sum over pairs of columns of ``x_i * x_j * <v_i, v_j>``, for each row of `x`."""
        return x.shape[:1], np.result_type(x.dtype, v.dtype)

    product, rows = so.dot.kernel("csr", "dense", "dense"), so.take.kernel(*["dense"] * 3)

    @pairs.forward("csr, dense -> dense")
    def kernel(backend, x, v, *, state):
        state.sums = product(backend, x, v, transpose_a=False, transpose_b=False)
        own = rows(backend, v, so.Dense(x.indices)).data
        squares = np.einsum("ij,ij->i", own, own)
        squares *= np.square(x.data)
        squares = np.bincount(backend.row_ids(x), squares, x.shape[0])
        lengths = np.einsum("ij,ij->i", state.sums.data, state.sums.data)
        return so.Dense((lengths - squares.astype(lengths.dtype)) / 2)

    @pairs.backward("v", "csr, dense -> row_sparse")
    def rule(g, x, v, state):
        g = so.reshape(g, shape=(-1, 1))
        own = so.dot(so.square(x), g, transpose_a=True)
        return so.dot(x, g * so.array(state.sums.data), transpose_a=True) - own * v

    return pairs


@machine.by("torch")
def _(torch, x, y, w, v):
    params = [w.clone().requires_grad_(), v.clone().requires_grad_()]
    optimizer = torch.optim.Adagrad(params, RATE, initial_accumulator_value=EPSILON, eps=0)
    ids, rows = (
        x.col_indices().long(),
        torch.arange(len(y)).repeat_interleave(x.crow_indices().diff()),
    )
    linear, weights = bag(torch, x), x.values()[:, None]
    loss = torch.nn.functional.binary_cross_entropy_with_logits

    def step():
        optimizer.zero_grad()
        w, v = params
        own = torch.nn.functional.embedding(ids, v, sparse=True) * weights
        zeros = torch.zeros(len(y), RANK)
        sums, squares = zeros.index_add(0, rows, own), zeros.index_add(0, rows, own * own)
        scores = linear(w)[:, 0] + ((sums * sums - squares) / 2).sum(dim=1)
        loss(scores, y, reduction="sum").backward()
        optimizer.step()
        return v

    return step


@machine.by("mxnet")
def _(mx, x, y, w, v):
    w.attach_grad(stype="row_sparse")
    v.attach_grad(stype="row_sparse")
    optimizer = mx.optimizer.create("adagrad", learning_rate=RATE, eps=EPSILON, wd=0.0)
    states = [optimizer.create_state(place, param) for place, param in enumerate((w, v))]
    squares = mx.nd.sparse.square(x)

    def step():
        with mx.autograd.record():
            sums = mx.nd.sparse.dot(x, v)
            own = mx.nd.sparse.dot(squares, mx.nd.square(v).sum(axis=1, keepdims=True))
            scores = (
                mx.nd.sparse.dot(x, w) + (mx.nd.square(sums).sum(axis=1, keepdims=True) - own) / 2
            )
            scores = scores.reshape((-1,))
            loss = mx.nd.sum(mx.nd.relu(scores) - scores * y + mx.nd.log1p(mx.nd.exp(-abs(scores))))
        loss.backward()
        for place, param in enumerate((w, v)):
            optimizer.update(place, param, param.grad, states[place])
        return v

    return step
