"""The run of cases: inputs are made, results compared, and the peers timed in turns."""

import os
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sparseops.bench import arrays
from sparseops.bench.case import Case, Point
from sparseops.bench.data import DATA, Matrix
from sparseops.bench.files import read_matrix
from sparseops.bench.pool import PeerError, Process
from sparseops.bench.results import Result


@dataclass
class Settings:
    """How cases are run.

    Attributes
    ----------
    peers : sequence of str
        Who takes part, if installed.
    pythons : mapping
        From peers to their interpreters, where that is not this one.
    threads : int
        How many each may have.
    rounds : int
        How many samples each gives, in turns.
    scale : float
        What sizes are multiplied by.
    warming : float
        For how many seconds each is called before it is timed.
    budget : float
        The seconds after which a variant is given no more samples, beyond three.
    cpu : bool
        Whether seconds of processors count, as on a machine that others use.
    files : sequence of str
        Matrices to run on besides those that are made.
    quick : bool
        Whether the first data and sizes are enough.
    """

    peers: Sequence[str]
    pythons: Mapping[str, str] = field(default_factory=dict)
    threads: int = 1
    rounds: int = 15
    scale: float = 1.0
    warming: float = 0.15
    budget: float = 2.0
    cpu: bool = False
    files: Sequence[str] = ()
    quick: bool = False


class Experiment:
    """Peers that stay alive from case to case; to be closed, as a context."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.peers: dict[str, dict[str, Any]] = {}
        self._processes: dict[str, Process] = {}
        self._folder = TemporaryDirectory(prefix="sparseops-bench-")

    def __enter__(self) -> "Experiment":
        return self

    def __exit__(self, *exception: Any) -> None:
        for process in self._processes.values():
            process.close()
        self._folder.cleanup()

    def results(self, suite: str, point: Point) -> list[Result]:
        """One result for each variant of a point whose peer takes part."""
        case = point.case
        found = {
            one.name: Result(
                suite=os.path.splitext(os.path.basename(suite))[0],
                case=case.name,
                data=os.path.basename(point.data),
                size=dict(point.size),
                peer=one.peer,
                variant=one.name,
                target=case.targets.get(one.name, case.targets.get(one.peer)),
            )
            for one in case.variants
            if self._process(one.peer) is not None
        }
        inputs = self._inputs(point)
        moved = self._load(suite, point, inputs, found)
        for one in found.values():
            one.moved = moved
        self._time([one for one in found.values() if not one.error])
        return list(found.values())

    def _process(self, peer: str) -> Process | None:
        """The peer's process, started if it is not alive; None if the peer cannot be had."""
        known = self._processes.get(peer)
        if known is not None and known.alive:
            return known
        if peer not in self.settings.peers or "absent" in self.peers.get(peer, {}):
            return None
        python = self.settings.pythons.get(peer, sys.executable)
        started = Process(peer, python, self.settings.threads)
        try:
            self.peers[peer] = dict(started.ask("hello"))
        except PeerError as error:
            self.peers[peer] = {"absent": str(error)}
            started.close()
            if peer == "sparseops":
                raise ValueError(f"sparseops itself cannot be timed: {error}") from None
            return None
        self._processes[peer] = started
        return started

    def _inputs(self, point: Point) -> dict[str, Any]:
        scale = self.settings.scale
        rng = np.random.default_rng(zlib.crc32(f"{point.case.name} {point.name}".encode()))
        given = matrix(point.data, scale) if point.data else scale
        return point.case.make(rng, given, **point.size)

    def _load(self, suite: str, point: Point, inputs: Any, found: dict[str, Result]) -> int:
        """Prepare and compare the variants, and count the bytes to be moved."""
        path = os.path.join(self._folder.name, "inputs.npz")
        arrays.save(path, inputs)
        for peer in dict.fromkeys(one.peer for one in found.values()):
            request = {"suite": suite, "name": point.case.name, "size": point.size, "inputs": path}
            mine = [one for one in found.values() if one.peer == peer]
            answer = self._asked(mine, "load", **request)
            for one in mine:
                one.error = one.error or answer["errors"].get(one.variant, "")
                if one.variant in answer["absent"]:
                    del found[one.variant]
        given = self._compared([one for one in found.values() if not one.error])
        count = point.case.count
        return count(**inputs, **point.size) if count else arrays.nbytes(inputs) + given

    def _compared(self, found: list[Result]) -> int:
        """Give those an error whose results are others than sparseops', or than the first's."""
        found = sorted(found, key=lambda one: one.variant != "sparseops")
        path = os.path.join(self._folder.name, "result.npz")
        expected, size = None, 0
        for one in found:
            answer = self._asked([one], "check", variant=one.variant, path=path)
            if one.error:
                continue
            with np.load(path) as parts:
                sums = [parts[name] for name in parts]
            if not sums:
                continue
            if expected is None:
                expected, size = sums, answer["bytes"]
            one.error = arrays.difference(sums, expected)
        return size

    def _time(self, found: list[Result]) -> None:
        """Samples of all, in turns, each turn beginning with another one."""
        numbers = {}
        for one in found:
            answer = self._asked([one], "warm", variant=one.variant, warming=self.settings.warming)
            if not one.error:
                numbers[one.variant], one.peak = answer["number"], answer["peak"]
        for turn in range(self.settings.rounds):
            for place in range(len(found)):
                one = found[(turn + place) % len(found)]
                spent = sum(one.seconds) * numbers.get(one.variant, 0)
                if one.error or (turn >= 3 and spent > self.settings.budget):
                    continue
                number = numbers[one.variant]
                answer = self._asked([one], "sample", variant=one.variant, number=number)
                if not one.error:
                    one.seconds.append(answer["cpu" if self.settings.cpu else "wall"])

    def _asked(self, found: list[Result], do: str, **message: Any) -> Mapping[str, Any]:
        """The answer of a peer; if there is none, its results get the reason."""
        try:
            return self._processes[found[0].peer].ask(do, **message)
        except PeerError as error:
            for one in found:
                one.error, one.seconds = str(error), []
            return {"errors": {}, "absent": ()}


@lru_cache(maxsize=2)
def matrix(name: str, scale: float) -> Matrix:
    """The matrix that is made under a name, or read from a file."""
    if name not in DATA:
        return read_matrix(name)
    return DATA[name](np.random.default_rng(0), scale)


def points(cases: Mapping[str, Sequence[Case]], settings: Settings) -> Iterator[tuple[str, Point]]:
    """What is run, as pairs of a suite's path and a point."""
    for suite, found in cases.items():
        for case in found:
            for point in case.points(settings.files, settings.quick):
                yield suite, point


def measured(
    cases: Mapping[str, Sequence[Case]],
    settings: Settings,
    progress: Callable[[Sequence[Any]], Any] = iter,
) -> tuple[dict[str, Any], list[Result]]:
    """What is known of the peers, and all results."""
    found: list[Result] = []
    with Experiment(settings) as experiment:
        for suite, point in progress(list(points(cases, settings))):
            found += experiment.results(suite, point)
        return experiment.peers, found
