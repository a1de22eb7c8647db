"""Optimizers: objects that change a parameter and their state in place, by its gradient.

``optimizer.init(param)`` makes the state, and ``optimizer.update(gradient, state, param)`` is a
step. The state is a dict of arrays and the number of steps, which can be copied and saved.

**What ``lazy`` means.** A row_sparse gradient leaves most rows of a table out, and so does a csr
one, whose rows count as left out where they store nothing.

* ``lazy=True``, the default, touches only the rows that the gradient stores. A row that it leaves
  out keeps its weights *and* its state: no weight decay, no decay of momentum or averages. That is
  what MXNet's ``lazy_update=True`` does; it is *not* the update that a dense gradient would make.
* ``lazy=False`` makes exactly the update that the same gradient would make if it were dense, bit
  for bit. It visits every row that the parameter stores.

A dense gradient leaves nothing out, so for it the two are the same.

**The gradient that is used** is ``g = clip(rescale * gradient)``, each value limited to
``[-clip, clip]``, and then ``g + weight_decay * w``. The formulas are those of MXNet's operators.

**Precision.** State and arithmetic have the dtype of the parameter, float32 where that is float16.
"""

from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Any

from sparseops.optim.update import Optimizer

__all__ = ["Optimizer", "adagrad", "adam", "momentum", "sgd"]

Rate = float | Callable[[int], float]


def sgd(
    learning_rate: Rate,
    *,
    weight_decay: float = 0.0,
    rescale: float = 1.0,
    clip: float | None = None,
    lazy: bool = True,
) -> Optimizer:
    """Gradient descent: ``w -= learning_rate * g``.

    Parameters
    ----------
    learning_rate : float or callable
        The length of a step, or a schedule: a function of the number of the step, from 1.
    weight_decay, rescale, clip : float, optional
        What makes `g` of the gradient; see `sparseops.optim`.
    lazy : bool, optional
        Whether rows that a sparse gradient leaves out are left as they are, without weight decay;
        otherwise the update is that of a dense gradient.

    Returns
    -------
    Optimizer
        Its state counts the steps.

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops import optim
    >>> w = so.array([[1.0], [1.0], [1.0]])
    >>> descent = optim.sgd(0.5, weight_decay=1.0)
    >>> state = descent.init(w)
    >>> descent.update(so.row_sparse_array(([[1.0]], [1]), shape=(3, 1)), state, w)
    >>> w.asnumpy().ravel(), state
    (array([1., 0., 1.]), {'step': 1})
    """
    return Optimizer("sgd", _sgd, (), learning_rate, weight_decay, rescale, clip, lazy)


def _sgd(xp: Any, w: Any, g: Any, *, rate: float, step: int) -> None:
    w -= rate * g


def momentum(
    learning_rate: Rate,
    momentum: float = 0.9,
    *,
    weight_decay: float = 0.0,
    rescale: float = 1.0,
    clip: float | None = None,
    lazy: bool = True,
) -> Optimizer:
    """Gradient descent with momentum: ``v = momentum * v - learning_rate * g; w += v``.

    Parameters
    ----------
    learning_rate : float or callable
        The length of a step, or a schedule: a function of the number of the step, from 1.
    momentum : float, optional
        How much of the velocity stays from step to step, in [0, 1).
    weight_decay, rescale, clip : float, optional
        What makes `g` of the gradient; see `sparseops.optim`.
    lazy : bool, optional
        Whether rows that a sparse gradient leaves out keep their velocity and do not move;
        otherwise the update is that of a dense gradient.

    Returns
    -------
    Optimizer
        Its state has the array "velocity", of the shape of the parameter.

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops import optim
    >>> w = so.array([1.0])
    >>> descent = optim.momentum(0.5, 0.5)
    >>> state = descent.init(w)
    >>> for _ in range(2):
    ...     descent.update(so.array([1.0]), state, w)
    >>> w.asnumpy(), state["velocity"].asnumpy()
    (array([-0.25]), array([-0.75]))
    """
    _check_share("momentum", momentum)
    move = partial(_momentum, momentum=momentum)
    return Optimizer(
        "momentum", move, ("velocity",), learning_rate, weight_decay, rescale, clip, lazy
    )


def _momentum(xp: Any, w: Any, g: Any, velocity: Any, *, rate: float, step: int, momentum: float):
    velocity *= momentum
    velocity -= rate * g
    w += velocity


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
    _check_positive("epsilon", epsilon)
    move = partial(_adagrad, epsilon=epsilon)
    return Optimizer(
        "adagrad", move, ("history",), learning_rate, weight_decay, rescale, clip, lazy
    )


def _adagrad(xp: Any, w: Any, g: Any, history: Any, *, rate: float, step: int, epsilon: float):
    history += g * g
    w -= rate * g / xp.sqrt(history + epsilon)


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
    _check_share("beta1", beta1)
    _check_share("beta2", beta2)
    _check_positive("epsilon", epsilon)
    move = partial(_adam, beta1=beta1, beta2=beta2, epsilon=epsilon)
    slots = ("mean", "variance")
    return Optimizer("adam", move, slots, learning_rate, weight_decay, rescale, clip, lazy)


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


def _check_share(name: str, value: float) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"{name}={value}, but it lies in [0, 1)")


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise ValueError(f"{name}={value}, but it is above 0")
