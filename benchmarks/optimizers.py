"""Lazy steps of optimizers: 60k rows of a million by 64."""

import numpy as np

from sparseops.bench import Case, Rows, grid

lazy = Case(
    "lazy step, 60k of 1M x 64",
    sizes=grid(rule=("adagrad", "sgd", "momentum", "adam", "ftrl")),
    targets={"mxnet": 1, "torch": 1.2},
)
RATE = 0.1

#: The arrays that each rule reads and writes beside the gradient, which it reads.
ARRAYS = {"sgd": 1, "momentum": 2, "adagrad": 2, "adam": 3, "ftrl": 3}


@lazy.inputs
def _(rng, scale, rule):
    rows, count = int(1_000_000 * scale), int(60_000 * scale)
    ids = np.sort(rng.permutation(rows)[:count]).astype(np.int32)
    return {"g": Rows(rng.random((count, 64)).astype(np.float32) + 0.5, ids, (rows, 64))}


@lazy.bytes
def _(g, rule):
    return g.nbytes + 2 * ARRAYS[rule] * g.data.nbytes


@lazy.by("sparseops")
def _(so, g, rule):
    w = so.zeros(g.shape, np.float32)
    settings = {"beta": 1.0, "l1": 0.01} if rule == "ftrl" else {}
    optimizer = getattr(so.optim, rule)(RATE, **settings)
    state = optimizer.init(w)

    def step():
        optimizer.update(g, state, w)
        return w

    return step


@lazy.by("torch")
def _(torch, g, rule):
    w = torch.zeros(g.shape, requires_grad=True)
    w.grad = g
    rules = {
        "sgd": lambda: torch.optim.SGD([w], RATE),
        "momentum": lambda: torch.optim.SGD([w], RATE, momentum=0.9),
        "adagrad": lambda: torch.optim.Adagrad([w], RATE),
        "adam": lambda: torch.optim.SparseAdam([w], RATE),
    }
    if rule not in rules:
        raise NotImplementedError(rule)
    optimizer = rules[rule]()

    def step():
        optimizer.step()
        return w

    return step


@lazy.by("mxnet")
def _(mx, g, rule):
    w = mx.nd.zeros(g.shape)
    settings = {
        "sgd": {"lazy_update": True},
        "momentum": {"momentum": 0.9, "lazy_update": True},
        "adam": {"lazy_update": True},
        "ftrl": {"beta": 1.0, "lamda1": 0.01},
        "adagrad": {},
    }
    name = "sgd" if rule == "momentum" else rule
    optimizer = mx.optimizer.create(name, learning_rate=RATE, wd=0.0, **settings[rule])
    state = optimizer.create_state(0, w)

    def step():
        optimizer.update(0, w, g, state)
        return w

    return step
