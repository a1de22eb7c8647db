"""A case: one piece of work, its inputs by data and size, and how each library does it."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple


class Variant(NamedTuple):
    """One library's way to do the work of a case."""

    peer: str
    label: str
    prepare: Callable[..., Callable[[], Any]]

    @property
    def name(self) -> str:
        """The peer, and the label if it has several ways."""
        return f"{self.peer} {self.label}".rstrip()


class Point(NamedTuple):
    """A case with its data and sizes chosen."""

    case: "Case"
    data: str
    size: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What tables call it."""
        sizes = [f"{name}={value}" for name, value in self.size.items()]
        return ", ".join([*([self.data] if self.data else []), *sizes])


class Case:
    """One piece of work that several libraries do.

    Parameters
    ----------
    name : str
        What is done.
    data : sequence of str, optional
        The matrices to do it on, by their names in `sparseops.bench.data`.
    sizes : sequence of mappings, optional
        The parameters to do it with, as `grid` and `grown` make them.
    targets : mapping, optional
        From peers to how many times as long as sparseops they are meant to take at least.
    quick : int, optional
        How many of the sizes a quick run has.

    Examples
    --------
    >>> from sparseops.bench import Case, grid
    >>> twice = Case("twice", sizes=grid(count=(10, 100)))
    >>> @twice.inputs
    ... def _(rng, scale, count):
    ...     return {"x": rng.random(count)}
    >>> @twice.by("sparseops", "scipy")
    ... def _(library, x):
    ...     return lambda: x + x
    >>> [point.name for point in twice.points()]
    ['count=10', 'count=100']
    """

    def __init__(
        self,
        name: str,
        *,
        data: Sequence[str] = (),
        sizes: Sequence[Mapping[str, Any]] = ({},),
        targets: Mapping[str, float] | None = None,
        quick: int = 1,
    ):
        self.name = name
        self.data = tuple(data)
        self.sizes = tuple(sizes)
        self.targets = dict(targets or {})
        self.quick = quick
        self.variants: list[Variant] = []
        self.make: Callable[..., dict[str, Any]] = lambda rng, given, **size: {}
        self.count: Callable[..., int] | None = None

    def inputs(self, function: Callable) -> Callable:
        """Declare the arrays: ``function(rng, matrix or scale, **size)`` gives them by name."""
        self.make = function
        return function

    def bytes(self, function: Callable) -> Callable:
        """Declare what has to be moved, where it is not all of the inputs and the result."""
        self.count = function
        return function

    def by(self, *peers: str, label: str = "") -> Callable[[Callable], Callable]:
        """Declare how `peers` do it.

        The function gets the peer's module and, by name, inputs as the peer's own arrays and sizes;
        it gives the function that is timed, which takes nothing and returns the result.
        """

        def declare(function):
            self.variants += [Variant(peer, label, function) for peer in peers]
            return function

        return declare

    def points(self, files: Sequence[str] = (), quick: bool = False) -> Iterator[Point]:
        """All of its data with all of its sizes; of a quick run, the first ones."""
        made = self.data[:1] if quick else self.data
        sizes = self.sizes[: self.quick] if quick else self.sizes
        for name in (*made, *files) if self.data else ("",):
            for size in sizes:
                yield Point(self, name, size)


def grid(**values: Sequence[Any]) -> list[dict[str, Any]]:
    """Each value of each parameter with each of the others.

    Examples
    --------
    >>> grid(k=(8, 64))
    [{'k': 8}, {'k': 64}]
    """
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def grown(factors: Sequence[int] = (1, 4, 16), **sizes: int) -> list[dict[str, int]]:
    """Sizes of which one at a time is multiplied by each factor.

    Examples
    --------
    >>> grown((1, 2), rows=10, nnz=30)
    [{'rows': 10, 'nnz': 30}, {'rows': 20, 'nnz': 30}, {'rows': 10, 'nnz': 60}]
    """
    found = [sizes | {name: sizes[name] * by} for name in sizes for by in factors]
    return [size for place, size in enumerate(found) if size not in found[:place]]


def load(path: str) -> list[Case]:
    """The cases of the suite at `path`, a file of Python."""
    spec = spec_from_file_location(f"suite_{Path(path).stem}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return [value for value in vars(module).values() if isinstance(value, Case)]


def chosen(function: Callable, known: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the values known by name that `function` has parameters for."""
    names = list(inspect.signature(function).parameters)
    return {name: known[name] for name in names if name in known}
