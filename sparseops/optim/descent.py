"""Gradient descent, and with momentum."""

from functools import partial
from typing import Any

from sparseops.optim.checks import check_share
from sparseops.optim.update import Optimizer, Rate


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
    return Optimizer(
        "sgd",
        _sgd,
        (),
        learning_rate,
        weight_decay,
        rescale,
        clip,
        lazy,
        compiled="sgd",
    )


def _sgd(xp: Any, w: Any, g: Any, *, rate: float, step: int) -> None:
    w -= rate * g


def momentum(
    learning_rate: Rate,
    momentum: float = 0.9,
    *,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    rescale: float = 1.0,
    clip: float | None = None,
    lazy: bool = True,
) -> Optimizer:
    """Gradient descent with momentum: ``v = momentum * v - learning_rate * g; w += v``.

    Nesterov's adds ``momentum * v - learning_rate * g`` with the new v instead, which is the
    gradient's step taken from where the velocity leads.

    Parameters
    ----------
    learning_rate : float or callable
        The length of a step, or a schedule: a function of the number of the step, from 1.
    momentum : float, optional
        How much of the velocity stays from step to step, in [0, 1).
    nesterov : bool, optional
        Whether the step is Nesterov's.
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

    References
    ----------
    Sutskever, Martens, Dahl, Hinton: On the importance of initialization and momentum in deep
    learning, ICML (2013), for both forms.
    """
    check_share("momentum", momentum)
    move = partial(_momentum, momentum=momentum, nesterov=nesterov)
    return Optimizer(
        "momentum",
        move,
        ("velocity",),
        learning_rate,
        weight_decay,
        rescale,
        clip,
        lazy,
        compiled="nesterov" if nesterov else "momentum",
    )


def _momentum(
    xp: Any,
    w: Any,
    g: Any,
    velocity: Any,
    *,
    rate: float,
    step: int,
    momentum: float,
    nesterov: bool,
) -> None:
    velocity *= momentum
    velocity -= rate * g
    w += momentum * velocity - rate * g if nesterov else velocity
