"""Rates that shrink by the squares of the gradients: Adagrad, of values and of rows; RMSProp."""

from functools import partial
from math import prod
from typing import Any

from sparseops.optim.checks import check_positive, check_share
from sparseops.optim.update import Optimizer, Rate


def adagrad(
    learning_rate: Rate,
    epsilon: float = 1e-7,
    *,
    weight_decay: float = 0.0,
    rescale: float = 1.0,
    clip: float | None = None,
    lazy: bool = True,
) -> Optimizer:
    """Adagrad: ``h += g**2; w -= learning_rate * g / sqrt(h + epsilon)``, epsilon inside the root.

    Parameters
    ----------
    learning_rate : float or callable
        The length of a step, or a schedule: a function of the number of the step, from 1.
    epsilon : float, optional
        What keeps the root above 0.
    weight_decay, rescale, clip : float, optional
        What makes `g` of the gradient; see `sparseops.optim`.
    lazy : bool, optional
        Whether rows that a sparse gradient leaves out are left as they are. Without weight decay
        that is also the update of a dense gradient.

    Returns
    -------
    Optimizer
        Its state has the array "history", of the shape of the parameter.

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops import optim
    >>> w = so.array([1.0])
    >>> descent = optim.adagrad(1.0, epsilon=1.0)
    >>> state = descent.init(w)
    >>> descent.update(so.array([0.75]), state, w)
    >>> w.asnumpy(), state["history"].asnumpy()
    (array([0.4]), array([0.5625]))

    References
    ----------
    Duchi, Hazan, Singer: Adaptive subgradient methods for online learning and stochastic
    optimization, JMLR 12 (2011).
    """
    check_positive("epsilon", epsilon)
    move = partial(_adagrad, epsilon=epsilon)
    return Optimizer(
        "adagrad",
        move,
        ("history",),
        learning_rate,
        weight_decay,
        rescale,
        clip,
        lazy,
        compiled="adagrad",
    )


def _adagrad(xp: Any, w: Any, g: Any, history: Any, *, rate: float, step: int, epsilon: float):
    history += g * g
    w -= rate * g / xp.sqrt(history + epsilon)


def group_adagrad(
    learning_rate: Rate,
    epsilon: float = 1e-5,
    *,
    weight_decay: float = 0.0,
    rescale: float = 1.0,
    clip: float | None = None,
    lazy: bool = True,
) -> Optimizer:
    """Adagrad with one history a row: ``h += mean(g**2)``, and then as `adagrad`.

    The history takes as many values as there are rows, and a row's step keeps the direction of its
    gradient: made for tables of embeddings.

    Parameters
    ----------
    learning_rate : float or callable
        The length of a step, or a schedule: a function of the number of the step, from 1.
    epsilon : float, optional
        What keeps the root above 0.
    weight_decay, rescale, clip : float, optional
        What makes `g` of the gradient; see `sparseops.optim`.
    lazy : bool, optional
        Whether rows that a sparse gradient leaves out are left as they are. Without weight decay
        that is also the update of a dense gradient.

    Returns
    -------
    Optimizer
        Its state has the array "history", of one value a row: the shape of the parameter with every
        axis behind the first of length 1.

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops import optim
    >>> w = so.array([[1.0, 1.0]])
    >>> descent = optim.group_adagrad(1.0, epsilon=1.0)
    >>> state = descent.init(w)
    >>> descent.update(so.array([[4.0, 4.0]]), state, w)
    >>> w.asnumpy().round(4), state["history"].asnumpy()
    (array([[0.0299, 0.0299]]), array([[16.]]))

    References
    ----------
    MXNet's operator ``contrib.group_adagrad_update``.
    """
    check_positive("epsilon", epsilon)
    move = partial(_group_adagrad, epsilon=epsilon)
    slots = ("history",)
    return Optimizer(
        "group_adagrad",
        move,
        slots,
        learning_rate,
        weight_decay,
        rescale,
        clip,
        lazy,
        by_row=True,
    )


def _group_adagrad(
    xp: Any, w: Any, g: Any, history: Any, *, rate: float, step: int, epsilon: float
):
    count = max(1, prod(g.shape[1:]))
    history += xp.sum(g * g, axis=tuple(range(1, g.ndim)), keepdims=True) / count
    w -= rate * g / xp.sqrt(history + epsilon)


def rmsprop(
    learning_rate: Rate,
    decay: float = 0.9,
    epsilon: float = 1e-8,
    *,
    weight_decay: float = 0.0,
    rescale: float = 1.0,
    clip: float | None = None,
    lazy: bool = True,
) -> Optimizer:
    """RMSProp, an Adagrad that forgets, with epsilon inside the root as in MXNet.

    In each step::

        v = decay * v + (1 - decay) * g**2
        w -= learning_rate * g / sqrt(v + epsilon)

    Parameters
    ----------
    learning_rate : float or callable
        The length of a step, or a schedule: a function of the number of the step, from 1.
    decay : float, optional
        How much of the average stays from step to step, in [0, 1).
    epsilon : float, optional
        What keeps the root above 0.
    weight_decay, rescale, clip : float, optional
        What makes `g` of the gradient; see `sparseops.optim`.
    lazy : bool, optional
        Whether rows that a sparse gradient leaves out keep their average; otherwise the update is
        that of a dense gradient.

    Returns
    -------
    Optimizer
        Its state has the array "variance", of the shape of the parameter.

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops import optim
    >>> w = so.array([1.0])
    >>> descent = optim.rmsprop(0.25, decay=0.75)
    >>> state = descent.init(w)
    >>> descent.update(so.array([4.0]), state, w)
    >>> w.asnumpy().round(6), state["variance"].asnumpy()
    (array([0.5]), array([4.]))

    References
    ----------
    Tieleman, Hinton: Lecture 6.5: RMSProp, Neural networks for machine learning (2012).
    """
    check_share("decay", decay)
    check_positive("epsilon", epsilon)
    move = partial(_rmsprop, decay=decay, epsilon=epsilon)
    return Optimizer(
        "rmsprop",
        move,
        ("variance",),
        learning_rate,
        weight_decay,
        rescale,
        clip,
        lazy,
        compiled="rmsprop",
    )


def _rmsprop(
    xp: Any,
    w: Any,
    g: Any,
    variance: Any,
    *,
    rate: float,
    step: int,
    decay: float,
    epsilon: float,
) -> None:
    variance *= decay
    variance += (1 - decay) * g * g
    w -= rate * g / xp.sqrt(variance + epsilon)
