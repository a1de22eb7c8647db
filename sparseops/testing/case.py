"""One call to try: inputs, the lengths that they share, parameters, and declared results."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparseops.signature import SCALAR
from sparseops.testing.misuse import Misuse
from sparseops.testing.sample import Sample
from sparseops.testing.source import literal


@dataclass(frozen=True, eq=False)
class Case:
    """One call to try.

    Attributes
    ----------
    samples : tuple of Sample
        The inputs.
    lengths : mapping
        The length of each letter of the axes.
    params : mapping
        Parameters; a function among them gets lengths by their letters.
    declared : str or tuple of str, optional
        The storages declared for the results.
    number : int
        Which one it is of the cases of its seed.
    """

    samples: tuple[Sample, ...]
    lengths: Mapping[str, int]
    params: Mapping[str, Any]
    declared: Any = None
    number: int = 0

    @property
    def stypes(self) -> tuple[str, ...]:
        """The storages of the inputs."""
        return tuple(sample.stype for sample in self.samples)

    @property
    def size(self) -> tuple:
        """What makes an example hard to read, the worst first."""
        return (
            sum(sample.stored_count for sample in self.samples),
            sum(self.lengths.values()),
            sum(len(sample.hazards) + (sample.width != "int32") for sample in self.samples),
            sum(_trouble(sample) for sample in self.samples),
        )

    def having(self, **changes: Any) -> "Case":
        """The same call with other parts."""
        return replace(self, **changes)

    def with_samples(self, change: Any) -> "Case":
        """The same call with each array among the inputs changed by the function `change`."""
        samples = tuple(s if s.stype == SCALAR else change(s) for s in self.samples)
        return self if samples == self.samples else replace(self, samples=samples)

    def resolved(self) -> dict[str, Any]:
        """The parameters as plain values."""
        return resolve(self.params, self.lengths)

    def code(self, dialect: str = "sparseops") -> str:
        """The inputs as assignments."""
        return "\n".join(f"{s.name} = {s.code(dialect)}" for s in self.samples)

    def call(self, name: str) -> str:
        """The call as an expression."""
        shown = [sample.name for sample in self.samples]
        shown += [f"{name}={_shown(value)}" for name, value in self.resolved().items()]
        if self.declared is not None:
            shown.append(f"stype={self.declared!r}")
        return f"{name}({', '.join(shown)})"


def resolve(params: Mapping[str, Any], lengths: Mapping[str, int]) -> dict[str, Any]:
    """`params` with each function replaced by what it says for these lengths."""
    return {
        name: given_lengths(value, lengths) if inspect.isfunction(value) else value
        for name, value in params.items()
    }


def given_lengths(function: Any, lengths: Mapping[str, int]) -> Any:
    """What `function` says for the lengths whose letters it names."""
    names = inspect.signature(function).parameters
    missing = [name for name in names if name not in lengths]
    if missing:
        raise Misuse(f"a function asks for {', '.join(missing)}; the axes are {', '.join(lengths)}")
    return function(**{name: lengths[name] for name in names})


def _shown(value: Any) -> str:
    return literal(value) if isinstance(value, (float, complex)) else repr(value)


def _trouble(sample: Sample) -> float:
    """How far the values that are stored are from ones."""
    values = sample.values[sample.stored] if sample.sparse else np.asarray(sample.values)
    with np.errstate(all="ignore"):
        others = (values != 1).sum() - 0.5 * (values == 0).sum() - 0.1 * (values == 2).sum()
    return float(others)
