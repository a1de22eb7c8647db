"""Adam, and with weight decay that is not part of the gradient."""

from functools import partial
from math import sqrt
from typing import Any

from sparseops.optim.checks import check_positive, check_share
from sparseops.optim.update import Optimizer, Rate


def adam(
    learning_rate: Rate,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    *,
    weight_decay: float = 0.0,
    rescale: float = 1.0,
    clip: float | None = None,
    lazy: bool = True,
) -> Optimizer:
    """Adam, with the correction of the averages in the learning rate.

    In step t, with ``rate = learning_rate * sqrt(1 - beta2**t) / (1 - beta1**t)``::

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        w -= rate * m / (sqrt(v) + epsilon)

    Parameters
    ----------
    learning_rate : float or callable
        The length of a step, or a schedule: a function of the number of the step, from 1.
    beta1, beta2 : float, optional
        How much of the averages stays from step to step, in [0, 1).
    epsilon : float, optional
        What keeps the denominator above 0. It is added after the correction, as in MXNet, and not
        before it as in the paper.
    weight_decay, rescale, clip : float, optional
        What makes `g` of the gradient; see `sparseops.optim`.
    lazy : bool, optional
        Whether rows that a sparse gradient leaves out keep their averages and do not move;
        otherwise the update is that of a dense gradient. The step t counts the updates of the
        parameter, not of a row, in both: a row that is first touched in step 100 is corrected
        for step 100.

    Returns
    -------
    Optimizer
        Its state has the arrays "mean" and "variance", of the shape of the parameter.

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops import optim
    >>> w = so.array([1.0])
    >>> descent = optim.adam(0.25)
    >>> state = descent.init(w)
    >>> descent.update(so.array([4.0]), state, w)
    >>> w.asnumpy().round(6)
    array([0.75])

    References
    ----------
    Kingma, Ba: Adam: a method for stochastic optimization, ICLR (2015).
    """
    check_share("beta1", beta1)
    check_share("beta2", beta2)
    check_positive("epsilon", epsilon)
    move = partial(_adam, beta1=beta1, beta2=beta2, epsilon=epsilon)
    slots = ("mean", "variance")
    return Optimizer(
        "adam",
        move,
        slots,
        learning_rate,
        weight_decay,
        rescale,
        clip,
        lazy,
        compiled="adam",
    )


def _adam(
    xp: Any,
    w: Any,
    g: Any,
    mean: Any,
    variance: Any,
    *,
    rate: float,
    step: int,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> None:
    rate *= sqrt(1 - beta2**step) / (1 - beta1**step)
    mean *= beta1
    mean += (1 - beta1) * g
    variance *= beta2
    variance += (1 - beta2) * g * g
    w -= rate * mean / (xp.sqrt(variance) + epsilon)


def adamw(
    learning_rate: Rate,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    *,
    weight_decay: float = 0.01,
    rescale: float = 1.0,
    clip: float | None = None,
    lazy: bool = True,
) -> Optimizer:
    """Adam with decoupled weight decay, which the averages do not see.

    In step t::

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        w -= learning_rate * (m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + epsilon)
                              + weight_decay * w)

    Parameters
    ----------
    learning_rate : float or callable
        The length of a step, or a schedule: a function of the number of the step, from 1.
    beta1, beta2 : float, optional
        How much of the averages stays from step to step, in [0, 1).
    epsilon : float, optional
        What keeps the denominator above 0, added behind the correction as in the paper.
    weight_decay : float, optional
        How much of the weights goes in a step, times the learning rate.
    rescale, clip : float, optional
        What makes `g` of the gradient, which is ``clip(rescale * gradient)`` here.
    lazy : bool, optional
        Whether rows that a sparse gradient leaves out keep their averages, do not move and do not
        decay; otherwise the update is that of a dense gradient. As in `adam`, t counts the updates
        of the parameter.

    Returns
    -------
    Optimizer
        Its state has the arrays "mean" and "variance", of the shape of the parameter.

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops import optim
    >>> w = so.array([1.0])
    >>> descent = optim.adamw(0.25, weight_decay=0.5)
    >>> state = descent.init(w)
    >>> descent.update(so.array([4.0]), state, w)
    >>> w.asnumpy().round(6)
    array([0.625])

    References
    ----------
    Loshchilov, Hutter: Decoupled weight decay regularization, ICLR (2019), algorithm 2.
    """
    check_share("beta1", beta1)
    check_share("beta2", beta2)
    check_positive("epsilon", epsilon)
    move = partial(_adamw, beta1=beta1, beta2=beta2, epsilon=epsilon)
    slots = ("mean", "variance")
    return Optimizer(
        "adamw",
        move,
        slots,
        learning_rate,
        weight_decay,
        rescale,
        clip,
        lazy,
        decoupled=True,
        compiled="adamw",
    )


def _adamw(
    xp: Any,
    w: Any,
    g: Any,
    mean: Any,
    variance: Any,
    *,
    rate: float,
    step: int,
    weight_decay: float,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> None:
    mean *= beta1
    mean += (1 - beta1) * g
    variance *= beta2
    variance += (1 - beta2) * g * g
    root = xp.sqrt(variance / (1 - beta2**step)) + epsilon
    w -= rate * (mean / (1 - beta1**step) / root + weight_decay * w)
