"""The values that an input takes, where they are not any."""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sparseops.testing.case import given_lengths
from sparseops.testing.misuse import Misuse
from sparseops.testing.pool import pool, strategy_of

Given = Iterable[Any] | Any


class Domain:
    """The values, or whole arrays, that one input takes.

    Parameters
    ----------
    given : iterable of numbers, function of lengths that gives one, or strategy of hypothesis
        A strategy draws numbers, or whole arrays of the right shape.
    """

    def __init__(self, name: str, given: Given, seed: int = 0):
        self.name = name
        self.arrays: list[Any] = []
        self._function = given if inspect.isfunction(given) else None
        self._values: list[Any] = []
        if strategy_of(given):
            drawn = pool(given, seed)
            if hasattr(drawn[0], "shape") and drawn[0].shape:
                self.arrays = drawn
            else:
                self._values = drawn
        elif self._function is None:
            self._values = _listed(name, given)

    def values(self, lengths: Mapping[str, int]) -> list[Any]:
        """The values for these lengths; none at all is possible."""
        if self._function is None:
            return self._values
        return _listed(self.name, given_lengths(self._function, lengths))

    def dtype(self, lengths: Mapping[str, int]) -> np.dtype:
        """The dtype of the values."""
        if self.arrays:
            return np.dtype(self.arrays[0].dtype)
        found = np.asarray(self.values(lengths) or [0])
        if found.dtype.kind not in "biufc":
            raise Misuse(f"domain of {self.name}: {found[0]!r} is not a number")
        return found.dtype


def _listed(name: str, given: Any) -> list[Any]:
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        raise Misuse(
            f"domain of {name} is {given!r}; it is a list of values, a function of lengths that "
            "gives one, or a strategy of hypothesis"
        )
    return list(given)
