"""Follow the regularized leader: weights that are exactly zero until there is reason for more."""

from functools import partial
from typing import Any

from sparseops.optim.checks import check_number
from sparseops.optim.update import Optimizer, Rate


def ftrl(
    learning_rate: Rate,
    l1: float = 0.01,
    beta: float = 1.0,
    *,
    weight_decay: float = 0.0,
    rescale: float = 1.0,
    clip: float | None = None,
    lazy: bool = True,
) -> Optimizer:
    """FTRL-Proximal: online learning with an L1 term, which keeps weights at exactly 0.

    In each step, with ``g = clip(rescale * gradient)``::

        z += g - (sqrt(n + g**2) - sqrt(n)) / learning_rate * w
        n += g**2
        w = -sign(z) * max(abs(z) - l1, 0) / ((beta + sqrt(n)) / learning_rate + weight_decay)

    Parameters
    ----------
    learning_rate : float or callable
        The length of a step, above 0, or a schedule: a function of the number of the step, from 1.
    l1 : float, optional
        How strongly weights are held at 0.
    beta : float, optional
        What makes the first steps smaller.
    weight_decay : float, optional
        The L2 term of the paper.
    rescale, clip : float, optional
        What makes `g` of the gradient.
    lazy : bool, optional
        Whether rows that a sparse gradient leaves out are left as they are. Otherwise their weights
        follow from z and n too: those that no gradient has ever reached become 0, whatever they
        were at the start, and all change when the learning rate does.

    Returns
    -------
    Optimizer
        Its state has the arrays "z" and "n", of the shape of the parameter.

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops import optim
    >>> w = so.array([0.0, 0.0])
    >>> descent = optim.ftrl(0.5, l1=1.0)
    >>> state = descent.init(w)
    >>> descent.update(so.array([3.0, 0.5]), state, w)
    >>> w.asnumpy()
    array([-0.25,  0.  ])

    References
    ----------
    McMahan and others: Ad click prediction: a view from the trenches, KDD (2013), algorithm 1.
    """
    check_number("l1", l1, least=0)
    check_number("beta", beta, least=0)
    move = partial(_ftrl, l1=l1, beta=beta)
    return Optimizer(
        "ftrl",
        move,
        ("z", "n"),
        learning_rate,
        weight_decay,
        rescale,
        clip,
        lazy,
        decoupled=True,
        divides=True,
        compiled="ftrl",
    )


def _ftrl(
    xp: Any,
    w: Any,
    g: Any,
    z: Any,
    n: Any,
    *,
    rate: float,
    step: int,
    weight_decay: float,
    l1: float,
    beta: float,
) -> None:
    root = xp.sqrt(n)
    n += g * g
    new_root = xp.sqrt(n)
    z += g - (new_root - root) / rate * w
    scale = (beta + new_root) / rate + weight_decay
    moved = (xp.sign(z) * l1 - z) / scale
    # Written so that NaN, which is not below l1 either, is not taken for 0.
    w[...] = xp.where(xp.abs(z) <= l1, 0, moved)
