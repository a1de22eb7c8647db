"""The process of one peer: it answers lines of JSON on its input, one after the other."""

import gc
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from sparseops.bench import arrays, case, timing
from sparseops.bench.peers import PEERS


class Worker:
    """What one peer has loaded: the functions of a point, by the names of variants."""

    def __init__(self, peer: str, threads: int):
        self.name = peer
        self.peer = PEERS[peer]()
        self.threads = self.peer.set_threads(threads)
        self.suites: dict[str, list[case.Case]] = {}
        self.runs: dict[str, Callable[[], Any]] = {}

    def hello(self) -> dict[str, Any]:
        """The version of the library, and how many threads it says it has."""
        return {"version": self.peer.version, "threads": self.threads}

    def load(self, suite: str, name: str, size: dict, inputs: str) -> dict[str, Any]:
        """Prepare each variant; those that cannot be prepared have an error, or are absent."""
        self.runs = {}
        gc.collect()
        found = self.suites.setdefault(suite, case.load(suite) if suite not in self.suites else [])
        work = next(one for one in found if one.name == name)
        errors, absent = {}, []
        for variant in work.variants:
            if variant.peer != self.name:
                continue
            try:
                # Each has arrays of its own: a variant may change its inputs.
                known = {k: self.peer.take(v) for k, v in arrays.load(inputs).items()} | size
                given = case.chosen(variant.prepare, known)
                self.runs[variant.name] = variant.prepare(self.peer.library, **given)
            except NotImplementedError:
                absent.append(variant.name)
            except Exception as error:
                errors[variant.name] = _short(error)
        return {"errors": errors, "absent": absent}

    def check(self, variant: str, path: str) -> dict[str, Any]:
        """Run once, and save the sums by which results are compared."""
        result = self.runs[variant]()
        if self.peer.finish is not None:
            self.peer.finish(result)
        if result is None:
            np.savez(path)
            return {"bytes": 0}
        value = self.peer.give(result)
        np.savez(path, *arrays.marginals(value))
        return {"bytes": value.nbytes}

    def warm(self, variant: str, warming: float) -> dict[str, Any]:
        """How many calls a sample has, and how much memory one call needs."""
        run, finish = self.runs[variant], self.peer.finish
        return {"number": timing.warm_up(run, finish, warming), "peak": timing.peak(run, finish)}

    def sample(self, variant: str, number: int) -> dict[str, Any]:
        """The seconds, and those of processors, of one of `number` calls."""
        wall, cpu = timing.sample(self.runs[variant], self.peer.finish, number)
        return {"wall": wall, "cpu": cpu}


def serve(peer: str, threads: int) -> None:
    """Answer until the input ends. What libraries print goes to the errors."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = None
    for line in sys.stdin:
        message = json.loads(line)
        try:
            worker = worker or Worker(peer, threads)
            answer = getattr(worker, message.pop("do"))(**message)
        except Exception as error:
            answer = {"error": _short(error)}
        print(json.dumps(answer), file=answers, flush=True)


def _short(error: Exception) -> str:
    # MXNet's messages begin with a stack and end with the reason.
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[-1]}"[:200]
