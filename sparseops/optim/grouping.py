"""A dict of parameters, each moved by the optimizer that its name chooses."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from sparseops.ndarray import NDArray
from sparseops.optim.update import Optimizer


@dataclass(frozen=True)
class Groups:
    """Optimizers by patterns of names; see `groups`.

    Attributes
    ----------
    optimizers : dict
        For each pattern its optimizer; the first pattern that fits a name decides.
    """

    optimizers: dict[str, Optimizer]

    def of(self, name: str) -> Optimizer:
        """The optimizer of the parameter `name`."""
        for pattern, optimizer in self.optimizers.items():
            if fnmatchcase(name, pattern):
                return optimizer
        raise KeyError(f"no group for parameter {name!r}; there are {', '.join(self.optimizers)}")

    def init(self, params: Mapping[str, NDArray]) -> dict[str, dict[str, Any]]:
        """The states of `params` before the first step, by name."""
        return {name: self.of(name).init(param) for name, param in params.items()}

    def update(
        self,
        gradients: Mapping[str, NDArray],
        states: Mapping[str, dict[str, Any]],
        params: Mapping[str, NDArray],
    ) -> None:
        """Change `params` and `states` in place by `gradients`.

        A parameter without a gradient stays as it is. Everything is checked before anything
        changes.
        """
        for name, gradient in gradients.items():
            for kind, found in (("parameter", params), ("state", states)):
                if name not in found:
                    raise KeyError(f"gradient {name!r} has no {kind}; there are {', '.join(found)}")
            try:
                self.of(name).check(gradient, states[name], params[name])
            except Exception as error:
                error.add_note(f"at parameter {name!r}")
                raise
        for name, gradient in gradients.items():
            self.of(name).update(gradient, states[name], params[name])


def groups(optimizers: Mapping[str, Optimizer]) -> Groups:
    """Optimizers for a dict of parameters, chosen by name.

    Parameters
    ----------
    optimizers : mapping of str to Optimizer
        The keys are names, or patterns with ``*`` and ``?``; of those that fit a parameter's name
        the first decides, so ``"*"`` stands last.

    Returns
    -------
    Groups
        Its ``init(params)`` gives a dict of states, and ``update(gradients, states, params)`` is a
        step of every parameter that has a gradient.

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops import optim
    >>> params = {"table": so.zeros((3, 1)), "bias": so.zeros(1)}
    >>> descent = optim.groups({"bias": optim.sgd(1.0), "*": optim.adagrad(0.5)})
    >>> states = descent.init(params)
    >>> descent.update({"bias": so.array([2.0])}, states, params)
    >>> params["bias"].asnumpy(), states["bias"], states["table"]["step"]
    (array([-2.]), {'step': 1}, 0)
    """
    if not isinstance(optimizers, Mapping):
        kind = type(optimizers).__name__
        raise TypeError(f"optimizers is {kind}; it must be a mapping of patterns to Optimizers")
    for pattern, optimizer in optimizers.items():
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"group {pattern!r} is {type(optimizer).__name__}; it must be an Optimizer"
            )
    return Groups(dict(optimizers))
