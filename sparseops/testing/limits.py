"""An end for calls that do not end."""

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

try:
    import resource
except ImportError:  # not on Windows
    resource = None


class Overdue(BaseException):
    """A call that took longer than it may; no `except Exception` of the call stops it."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """A block that raises Overdue when it takes longer than `seconds`.

    Code that never returns to the interpreter is not interrupted; `--isolate` ends that too.
    """
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        with _alarm(seconds):
            yield
        return
    with _injected(seconds):
        yield


@contextmanager
def memory(more: int) -> Iterator[None]:
    """A block whose process raises MemoryError when it takes `more` bytes than now; on Linux."""
    if resource is None:
        yield
        return
    try:
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        before = resource.getrlimit(resource.RLIMIT_AS)
        limit = now + more
        if before[0] != resource.RLIM_INFINITY and before[0] < limit:
            raise OSError("the limit is lower already")
        resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    except (OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise Overdue(f"not done after {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    # Again and again, in case a handler of the call catches the first one.
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, left, interval)


@contextmanager
def _injected(seconds: float) -> Iterator[None]:
    """For threads other than the main one, which get no signals."""
    done = threading.Event()
    target = ctypes.c_ulong(threading.get_ident())

    def watch() -> None:
        if not done.wait(seconds):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(target, ctypes.py_object(Overdue))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
