"""What was measured, as it is kept in files, and what two runs differ by."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sparseops.bench.timing import quartiles


@dataclass
class Result:
    """What one library took for one case with its data and sizes.

    Attributes
    ----------
    suite, case, data, size : str and dict
        What was done.
    peer, variant : str
        Who did it, and in which way.
    seconds : list of float
        For one call, sample by sample; by the clock or of processors, as the settings say.
    peak : int or None
        The bytes by which a call lifts resident memory at most.
    moved : int
        The bytes that have to be moved whoever does it.
    target : float or None
        How many times as long as sparseops the peer is meant to take at least.
    error : str
        Why there are no samples.
    """

    suite: str
    case: str
    data: str
    size: dict[str, Any]
    peer: str
    variant: str
    seconds: list[float] = field(default_factory=list)
    peak: int | None = None
    moved: int = 0
    target: float | None = None
    error: str = ""

    @property
    def point(self) -> tuple[Any, ...]:
        """What all libraries share that do the same."""
        return self.suite, self.case, self.data, tuple(self.size.items())

    @property
    def title(self) -> str:
        """The case with its data and sizes, in words."""
        sizes = [f"{name}={value}" for name, value in self.size.items()]
        return ", ".join(part for part in (self.case, self.data, *sizes) if part)

    @property
    def median(self) -> float:
        """The median of the seconds."""
        return quartiles(self.seconds)[1]

    @property
    def spread(self) -> float:
        """The distance of the quartiles, as a share of the median."""
        low, middle, high = quartiles(self.seconds)
        return (high - low) / middle


@dataclass
class Run:
    """All results of one run, and what they were measured on."""

    machine: dict[str, Any]
    settings: dict[str, Any]
    peers: dict[str, dict[str, Any]]
    results: list[Result]

    def points(self) -> Iterator[list[Result]]:
        """The results of each point, in the order in which they were measured."""
        found: dict[Any, list[Result]] = {}
        for result in self.results:
            found.setdefault(result.point, []).append(result)
        yield from found.values()

    def save(self, path: str) -> None:
        """Write a JSON file."""
        with open(path, "w") as file:
            json.dump({"sparseops bench": 1, **asdict(self)}, file, indent=1)


def load(path: str) -> Run:
    """What `Run.save` wrote; ValueError if it was something else."""
    with open(path) as file:
        try:
            found = json.load(file)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path} is not a file of results: {error}") from None
    if not isinstance(found, Mapping) or found.get("sparseops bench") != 1:
        raise ValueError(f"{path} is not a file of results of `sparseops bench`")
    results = [Result(**one) for one in found["results"]]
    return Run(found["machine"], found["settings"], found["peers"], results)


def ours(point: list[Result]) -> Result | None:
    """The result of sparseops among those of a point, if it was measured."""
    found = [one for one in point if one.variant == "sparseops" and one.seconds]
    return found[0] if found else None


def ratios(point: list[Result]) -> dict[str, float]:
    """By variant of another library, how many times as long as sparseops it takes."""
    mine = ours(point)
    if mine is None:
        return {}
    others = [one for one in point if one.peer != "sparseops" and one.seconds]
    return {one.variant: one.median / mine.median for one in others}


def missed(point: list[Result]) -> list[str]:
    """The targets that a point does not hold, in words."""
    found = ratios(point)
    return [
        f"{found[one.variant]:.2f} of {one.variant}, target {one.target:g}"
        for one in point
        if one.target and one.variant in found and found[one.variant] < one.target
    ]


def changes(old: Run, new: Run) -> Iterator[tuple[Result, Result, float, bool]]:
    """What both runs measured: how many times as long it takes now, and if that is beyond noise.

    It is where the spans between the quartiles do not meet.
    """
    before = {(one.point, one.variant): one for one in old.results if one.seconds}
    for one in new.results:
        other = before.get((one.point, one.variant))
        if other is None or not one.seconds:
            continue
        low, _, high = quartiles(one.seconds)
        first, _, last = quartiles(other.seconds)
        yield other, one, one.median / other.median, low > last or high < first
