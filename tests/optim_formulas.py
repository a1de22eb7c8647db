"""Each optimizer's published formula in plain NumPy, on whole arrays, and the settings tested."""

import numpy as np

from sparseops import optim

RATE = 0.25
MAKERS = {
    "sgd": lambda **common: optim.sgd(RATE, **common),
    "momentum": lambda **common: optim.momentum(RATE, 0.5, **common),
    "nesterov": lambda **common: optim.momentum(RATE, 0.5, nesterov=True, **common),
    "adagrad": lambda **common: optim.adagrad(RATE, 0.5, **common),
    "group_adagrad": lambda **common: optim.group_adagrad(RATE, 0.5, **common),
    "rmsprop": lambda **common: optim.rmsprop(RATE, 0.75, 0.125, **common),
    "adam": lambda **common: optim.adam(RATE, 0.5, 0.75, 0.125, **common),
    "adamw": lambda **common: optim.adamw(RATE, 0.5, 0.75, 0.125, **common),
    "ftrl": lambda **common: optim.ftrl(RATE, 0.5, 0.25, **common),
}
SETTINGS = (
    {},
    {"weight_decay": 0.5},
    {"rescale": 3.0, "clip": 2.0, "weight_decay": 0.125},
)
SLOTS = {
    "sgd": (),
    "momentum": ("velocity",),
    "nesterov": ("velocity",),
    "adagrad": ("history",),
    "group_adagrad": ("history",),
    "rmsprop": ("variance",),
    "adam": ("mean", "variance"),
    "adamw": ("mean", "variance"),
    "ftrl": ("z", "n"),
}


def zero_state(name, w):
    """The arrays of the state before the first step."""
    by_row = name == "group_adagrad"
    shape = w.shape[:1] + (1,) * (w.ndim - 1) if by_row else w.shape
    work = np.result_type(w.dtype, np.float32)
    return tuple(np.zeros(shape, work) for _ in SLOTS[name])


def formula(name, g, state, w, step, *, weight_decay=None, rescale=1.0, clip=None):
    """The new weights and state."""
    if weight_decay is None:
        weight_decay = 0.01 if name == "adamw" else 0.0
    g = rescale * g
    g = g if clip is None else np.clip(g, -clip, clip)
    if name in _OWN_DECAY:
        return _OWN_DECAY[name](g, state, w, step, weight_decay)
    return _FORMULAS[name](g + weight_decay * w, state, w, step)


def _sgd(g, state, w, step):
    return w - RATE * g, ()


def _momentum(g, state, w, step):
    # Sutskever and others (2013), equations 1 and 2.
    velocity = 0.5 * state[0] - RATE * g
    return w + velocity, (velocity,)


def _nesterov(g, state, w, step):
    # As above, equations 3 and 4, the weights being those ahead: w = theta + 0.5 * v.
    velocity = 0.5 * state[0] - RATE * g
    return w - 0.5 * state[0] + velocity + 0.5 * velocity, (velocity,)


def _adagrad(g, state, w, step):
    # Duchi and others (2011), the diagonal form, with MXNet's epsilon inside the root.
    history = state[0] + g**2
    return w - RATE * g / np.sqrt(history + 0.5), (history,)


def _group_adagrad(g, state, w, step):
    # MXNet's contrib.group_adagrad_update.
    squares = np.sum(g**2, axis=tuple(range(1, g.ndim)), keepdims=True)
    history = state[0] + squares / max(1, np.prod(g.shape[1:]))
    return w - RATE * g / np.sqrt(history + 0.5), (history,)


def _rmsprop(g, state, w, step):
    # Tieleman and Hinton (2012), lecture 6.5, slide 29, with MXNet's epsilon inside the root.
    variance = 0.75 * state[0] + 0.25 * g**2
    return w - RATE * g / np.sqrt(variance + 0.125), (variance,)


def _adam(g, state, w, step):
    # Kingma and Ba (2015), the efficient order of computation at the end of section 2.
    mean = 0.5 * state[0] + 0.5 * g
    variance = 0.75 * state[1] + 0.25 * g**2
    corrected = RATE * np.sqrt(1 - 0.75**step) / (1 - 0.5**step)
    return w - corrected * mean / (np.sqrt(variance) + 0.125), (mean, variance)


def _adamw(g, state, w, step, weight_decay):
    # Loshchilov and Hutter (2019), algorithm 2, lines 6 to 12, with alpha = 1 and eta = RATE.
    mean = 0.5 * state[0] + 0.5 * g
    variance = 0.75 * state[1] + 0.25 * g**2
    mean_hat, variance_hat = mean / (1 - 0.5**step), variance / (1 - 0.75**step)
    moved = w - RATE * (mean_hat / (np.sqrt(variance_hat) + 0.125) + weight_decay * w)
    return moved, (mean, variance)


def _ftrl(g, state, w, step, weight_decay):
    # McMahan and others (2013), algorithm 1.
    z, n = state
    sigma = (np.sqrt(n + g**2) - np.sqrt(n)) / RATE
    z, n = z + g - sigma * w, n + g**2
    moved = -(z - np.sign(z) * 0.5) / ((0.25 + np.sqrt(n)) / RATE + weight_decay)
    return np.where(np.abs(z) <= 0.5, 0, moved), (z, n)


_FORMULAS = {
    "sgd": _sgd,
    "momentum": _momentum,
    "nesterov": _nesterov,
    "adagrad": _adagrad,
    "group_adagrad": _group_adagrad,
    "rmsprop": _rmsprop,
    "adam": _adam,
}
_OWN_DECAY = {"adamw": _adamw, "ftrl": _ftrl}
