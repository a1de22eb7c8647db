"""Time, processor time and memory of one function in this process, and what samples come to."""

import ctypes
import gc
import statistics
from collections.abc import Callable, Sequence
from itertools import repeat
from time import perf_counter, process_time
from typing import Any

SAMPLE_SECONDS = 0.01


def warm_up(run: Callable[[], Any], finish: Callable[[Any], None] | None, seconds: float) -> int:
    """How many calls make one sample, after as many `seconds` of calls to warm caches."""
    start, calls, best = perf_counter(), 0, float("inf")
    while calls < 2 or perf_counter() - start < seconds:
        # The shortest counts: others may have been interrupted.
        best = min(best, sample(run, finish, 1)[0])
        calls += 1
        if best > seconds:
            break
    return max(1, int(SAMPLE_SECONDS / max(best, 1e-9)))


def sample(
    run: Callable[[], Any], finish: Callable[[Any], None] | None, number: int
) -> tuple[float, float]:
    """Seconds, and seconds of processors, that one of `number` calls takes."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        cpu, start = process_time(), perf_counter()
        if finish is None:
            for _ in repeat(None, number):
                run()
        else:
            for _ in repeat(None, number):
                finish(run())
        seconds, cpu = perf_counter() - start, process_time() - cpu
    finally:
        if collecting:
            gc.enable()
    return seconds / number, cpu / number


def peak(run: Callable[[], Any], finish: Callable[[Any], None] | None) -> int | None:
    """The bytes by which one call lifts resident memory at most; None where Linux cannot say.

    The result counts. Memory that the allocator holds back is returned first.
    """
    try:
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before = _status("VmRSS")
        result = run()
        if finish is not None:
            finish(result)
        return max(0, _status("VmHWM") - before)
    except (OSError, AttributeError):
        return None


def _status(name: str) -> int:
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(name))
    return int(line.split()[1]) * 1024


def quartiles(samples: Sequence[float]) -> tuple[float, float, float]:
    """The first quartile, the median and the third.

    Examples
    --------
    >>> quartiles([1.0, 2.0, 3.0, 4.0, 5.0])
    (2.0, 3.0, 4.0)
    """
    if len(samples) == 1:
        return samples[0], samples[0], samples[0]
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    return low, middle, high
