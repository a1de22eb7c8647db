"""The machine that benchmarks run on: what it is called, and how fast its memory is."""

import os
import platform
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np


def describe(threads: int) -> dict[str, Any]:
    """Processor, cores, memory, versions, and bytes a second that `threads` threads copy."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "threads": threads,
        "bandwidth": bandwidth(threads),
    }


def bandwidth(threads: int, size: int = 2**27, turns: int = 5) -> float:
    """Bytes a second that are read and written where long arrays are copied; the best of turns."""
    parts = [(np.zeros(size // threads, np.uint8), np.ones(size // threads, np.uint8))] * threads
    parts = [(a.copy(), b.copy()) for a, b in parts]
    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(turns):
            start = perf_counter()
            list(pool.map(lambda part: np.copyto(*part), parts))
            best = min(best, perf_counter() - start)
    return 2 * (size // threads) * threads / best


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            line = next(line for line in file if line.startswith("model name"))
        return line.partition(":")[2].strip()
    except (OSError, StopIteration):
        return platform.processor() or "unknown"
