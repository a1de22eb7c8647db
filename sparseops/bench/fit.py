"""How time and memory grow with one size, and the density from which the dense way wins."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sparseops.bench.results import Result, Run


class Series(NamedTuple):
    """The results of one variant along one size, the others being what they are."""

    case: str
    data: str
    variant: str
    along: str
    fixed: dict[str, Any]
    sizes: list[float]
    results: list[Result]

    def exponent(self, of: Callable[[Result], float | None]) -> float | None:
        """The e for which ``c * size ** e`` fits best; None where a value is absent or 0."""
        values = [of(result) for result in self.results]
        if not all(values):
            return None
        return slope(self.sizes, values)


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of the line through the logarithms, by least squares.

    Examples
    --------
    >>> slope([1, 4, 16], [3, 12, 48])
    1.0
    """
    x, y = [math.log(size) for size in sizes], [math.log(value) for value in values]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    rise = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return round(rise / sum((a - mean_x) ** 2 for a in x), 9)


def series(run: Run) -> Iterator[Series]:
    """All series of at least three results along a number."""
    groups: dict[Any, list[tuple[float, Result]]] = {}
    for one in run.results:
        numbers = {k: v for k, v in one.size.items() if isinstance(v, int | float)}
        for name, value in numbers.items() if one.seconds else ():
            fixed = tuple((k, v) for k, v in one.size.items() if k != name)
            key = one.suite, one.case, one.data, one.variant, name, fixed
            groups.setdefault(key, []).append((value, one))
    for (_, case, data, variant, along, fixed), found in groups.items():
        if len(found) >= 3:
            found.sort(key=lambda pair: pair[0])
            sizes, results = (list(part) for part in zip(*found, strict=True))
            yield Series(case, data, variant, along, dict(fixed), sizes, results)


def crossings(run: Run) -> Iterator[tuple[str, float | None, list[Series]]]:
    """For each case along a density, the density from which sparseops' dense way is faster.

    It is None where the dense way never is.
    """
    found: dict[str, dict[str, Series]] = {}
    for one in series(run):
        if one.along == "density":
            found.setdefault(one.case, {})[one.variant] = one
    for case, ways in found.items():
        if {"sparseops", "sparseops dense"} <= set(ways):
            sparse, dense = ways["sparseops"], ways["sparseops dense"]
            yield case, crossing(sparse, dense), [sparse, dense]


def crossing(sparse: Series, dense: Series) -> float | None:
    """Where two lines cross between the measured densities, on logarithmic scales."""
    steps = [
        math.log(a.median / b.median) for a, b in zip(sparse.results, dense.results, strict=True)
    ]
    if steps[0] > 0:
        return sparse.sizes[0]
    for place in range(1, len(steps)):
        low, high = steps[place - 1], steps[place]
        if low <= 0 < high:
            left, right = math.log(sparse.sizes[place - 1]), math.log(sparse.sizes[place])
            return math.exp(left + (right - left) * -low / (high - low))
    return None
