"""Compiled kernels for the scipy backend: faster functions, same results, absent without harm.

`pip install` builds them where it finds a C++ compiler. `load` gives their module, or None. Which
kernels there are, and what each costs in bytes, stands in the headers of this folder.
"""

import os
from functools import cache
from importlib import import_module
from typing import Any

from sparseops.errors import BackendError


@cache
def load() -> Any:
    """`sparseops.native.kernels` with the threads that the environment says; None without it.

    ``SPARSEOPS_NATIVE=0`` leaves it out, ``SPARSEOPS_NATIVE=plain`` keeps to the instructions that
    every processor of the kind has.
    """
    wanted = os.environ.get("SPARSEOPS_NATIVE", "1")
    if wanted == "0":
        return None
    try:
        kernels = import_module("sparseops.native.kernels")
    except ImportError:
        return None
    if wanted == "plain":
        kernels.compiled.set_instructions("plain")
    kernels.compiled.set_num_threads(_default_threads())
    return kernels


def _default_threads() -> int:
    for name in ("SPARSEOPS_NUM_THREADS", "OMP_NUM_THREADS"):
        found = os.environ.get(name, "").partition(",")[0].strip()
        if found.isdecimal() and int(found):
            return int(found)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_num_threads(count: int) -> None:
    """Let the compiled kernels use `count` threads.

    Parameters
    ----------
    count : int
        1 or more. At the start it is ``SPARSEOPS_NUM_THREADS``, ``OMP_NUM_THREADS``, or the
        number of processors that this process may use.

    Raises
    ------
    ValueError
        If `count` is below 1.
    BackendError
        If `count` is above 1 and there are no compiled kernels.

    Notes
    -----
    Results do not depend on the number of threads. Kernels that run at the same time in several
    threads of Python take turns with the pool: one has it, the others work alone. Small arrays
    are worked on by one thread.

    Examples
    --------
    >>> import sparseops as so
    >>> so.set_num_threads(1)
    >>> so.get_num_threads()
    1
    """
    if isinstance(count, bool) or not hasattr(count, "__index__"):
        raise TypeError(f"count is {type(count).__name__}; it must be an integer")
    if not 1 <= count < 2**31:
        raise ValueError(f"count={count}; it must be 1 or more")
    kernels = load()
    if kernels is not None:
        kernels.compiled.set_num_threads(count)
    elif count > 1:
        raise BackendError(
            f"count={count}, but sparseops was installed without its compiled kernels, and SciPy's "
            "have one thread: install it where there is a C++ compiler"
        )


def get_num_threads() -> int:
    """How many threads the compiled kernels may use; 1 if there are none.

    Examples
    --------
    >>> import sparseops as so
    >>> so.get_num_threads() >= 1
    True
    """
    kernels = load()
    return 1 if kernels is None else kernels.compiled.num_threads()
