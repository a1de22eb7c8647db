"""Checks in a child process, so that a crash of compiled code is a counterexample like others."""

import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

from sparseops.testing.case import Case
from sparseops.testing.draw import Drawer
from sparseops.testing.law import Law, get_law
from sparseops.testing.misuse import Misuse
from sparseops.testing.oracle import Oracle
from sparseops.testing.report import Failure, LawResult
from sparseops.testing.run import Run
from sparseops.testing.shrink import Shrinker
from sparseops.testing.subject import Subject

_MOST_CRASHES = 3
#: Beside the time that the engine gives itself.
_PATIENCE = 30.0

Results = list[LawResult]
Work = Callable[[set, Callable[[Any], None]], Any]


class Crash(Exception):
    """A child that died, or did not come to an end, at `step`."""

    def __init__(self, step: Any, how: str):
        super().__init__(how)
        self.step = step
        self.how = how


def isolated(work: Work, seconds: float) -> tuple[Any, list[Crash]]:
    """What `work(skip, journal)` returns in a child, and the steps at which it crashed.

    It calls `journal` before each step; after a crash a new child leaves that step out.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        raise Misuse("isolation forks the process, which this system cannot")
    crashes: list[Crash] = []
    while len(crashes) < _MOST_CRASHES:
        try:
            return _in_child(work, {crash.step for crash in crashes}, seconds), crashes
        except Crash as crash:
            crashes.append(crash)
    return None, crashes


def _in_child(work: Work, skip: set, seconds: float) -> Any:
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(work, skip, theirs))
    child.start()
    theirs.close()
    step, end = None, perf_counter() + seconds + _PATIENCE
    try:
        while mine.poll(max(end - perf_counter(), 0)):
            kind, value = pickle.loads(mine.recv_bytes())
            if kind == "done":
                return value
            step = value
    except EOFError:
        child.join()
        raise Crash(step, _death(child.exitcode)) from None
    finally:
        if child.is_alive():
            child.kill()
        child.join()
        mine.close()
    raise Crash(step, "did not come to an end")


def _work(work: Work, skip: set, pipe: Connection) -> None:
    def send(kind: str, value: Any) -> None:
        pipe.send_bytes(pickle.dumps((kind, value)))

    send("done", work(skip, lambda step: send("step", step)))


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        return f"died of {signal.Signals(-code).name}"
    return f"left the process with status {code}"


def crash_failures(subject: Subject, seed: int, crashes: Sequence[Crash]) -> list[Failure]:
    """The crashes as failures, with the smallest calls that die in a child, too."""
    law, found = get_law("V0"), []
    for crash in crashes:
        if not isinstance(crash.step, int):
            where = f"while {crash.step} was tried" if crash.step else "before the first call"
            found.append(_failure(law, f"the process {crash.how} {where}", ""))
            continue
        case = Drawer(subject, seed).case(crash.step)
        if crash.how.startswith("died"):
            case = _smaller(subject, case)
        example = f"{case.code(subject.dialect)}\n{case.call(subject.name)}"
        found.append(_failure(law, f"the process {crash.how}", example, subject.signature(case)))
    return found


def _failure(law: Law, message: str, example: str, signature: str = "") -> Failure:
    return Failure(law.id, law.title, law.why, message, example, signature)


def _smaller(subject: Subject, case: Case) -> Case:
    oracle = Oracle(subject)
    shrinker = Shrinker(subject, lambda tried: _dies(subject, tried, oracle), 150, 5.0)
    stripped, _ = shrinker.stripped(case)
    return shrinker.smaller(stripped, [])


def _dies(subject: Subject, case: Case, oracle: Oracle) -> bool:
    child = os.fork()
    if not child:
        os.close(2)  # the interpreter's traceback of a crash is of no interest here
        Run(subject, case, oracle)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])
