"""Learning rates that depend on the number of the step: what an optimizer calls with it, from 1."""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi

from sparseops.optim.checks import check_number, check_positive
from sparseops.optim.update import Rate


@dataclass(frozen=True)
class Stepwise:
    """A `rate` that is multiplied by `factor` behind every `every` steps, never below `least`.

    Examples
    --------
    >>> schedule = Stepwise(1.0, factor=0.5, every=2)
    >>> [schedule(step) for step in (1, 2, 3, 4, 5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    rate: float
    factor: float
    every: int
    least: float = 0.0

    def __post_init__(self):
        _check(self, "rate", "factor", "least")
        check_positive("every", self.every)

    def __call__(self, step: int) -> float:
        """The rate in step `step`."""
        # As a float, for a power of integers may have more digits than there is memory.
        return max(self.rate * float(self.factor) ** ((step - 1) // self.every), self.least)


@dataclass(frozen=True)
class Polynomial:
    """A `rate` that falls to `least` in `steps` steps, as the power `power` of what is left.

    Examples
    --------
    >>> schedule = Polynomial(1.0, steps=4)
    >>> [schedule(step) for step in (1, 2, 3, 4, 5, 6)]
    [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """

    rate: float
    steps: int
    power: float = 1.0
    least: float = 0.0

    def __post_init__(self):
        _check(self, "rate", "power", "least")
        check_positive("steps", self.steps)

    def __call__(self, step: int) -> float:
        """The rate in step `step`."""
        left = 1 - min(step - 1, self.steps) / self.steps
        return self.least + (self.rate - self.least) * left**self.power


@dataclass(frozen=True)
class Cosine:
    """A `rate` that falls to `least` in `steps` steps, as half a wave of the cosine.

    Examples
    --------
    >>> schedule = Cosine(1.0, steps=4)
    >>> [round(schedule(step), 3) for step in (1, 2, 3, 4, 5, 6)]
    [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """

    rate: float
    steps: int
    least: float = 0.0

    def __post_init__(self):
        _check(self, "rate", "least")
        check_positive("steps", self.steps)

    def __call__(self, step: int) -> float:
        """The rate in step `step`."""
        done = min(step - 1, self.steps) / self.steps
        return self.least + (self.rate - self.least) * (1 + cos(pi * done)) / 2


@dataclass(frozen=True)
class Warmup:
    """A `schedule`, or a constant, approached in equal parts in the first `steps` steps.

    The schedule's own steps are counted from behind the warmup.

    Examples
    --------
    >>> schedule = Warmup(Stepwise(1.0, factor=0.5, every=1), steps=2)
    >>> [schedule(step) for step in (1, 2, 3, 4)]
    [0.5, 1.0, 1.0, 0.5]
    """

    schedule: Rate
    steps: int

    def __post_init__(self):
        check_positive("steps", self.steps)
        if not isinstance(self.schedule, Callable):
            check_number("schedule", self.schedule, least=0)

    def __call__(self, step: int) -> float:
        """The rate in step `step`."""
        behind = max(step - self.steps, 1)
        full = self.schedule(behind) if callable(self.schedule) else self.schedule
        return full * min(step / self.steps, 1)


def _check(schedule: object, *names: str) -> None:
    for name in names:
        check_number(name, getattr(schedule, name), least=0)
