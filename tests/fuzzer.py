"""Calls of the public names with hostile arguments; each call is remade by its number alone.

``python tests/fuzzer.py FIRST COUNT`` makes them and prints what it finds as lines of JSON;
`fuzz` does so in child processes, which a crash or a hang ends.
"""

import faulthandler
import json
import linecache
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from types import FunctionType

import numpy as np
import scipy.sparse as sp
from hostile import Refusal
from hostile_calls import FAMILIES

import sparseops as so
from sparseops.ndarray import tapes

ALLOWED = (so.SparseOpsError, TypeError, ValueError, IndexError, OverflowError, NotImplementedError)
SECONDS, MEMORY = 5, 4 << 30
_PACKAGE = str(Path(so.__file__).parent)


class Hang(BaseException):
    """A call that took longer than `SECONDS`."""


_INEXACT = {
    "sparse_mask",
    "sddmm",
    "times_slope",
    "times_power",
    "retain",
    "replace",
    "gather",
    "share",
}


def call(number, families=FAMILIES):
    """The call of that number: its family, function, arguments and options."""
    rng = random.Random(str(number))
    family = rng.choice(families)
    return (family.__name__, *family(rng), rng)


def fingerprint(x, seen=()):
    """What must not change in a value that is handed in."""
    if any(x is outer for outer in seen) or len(seen) > 8:
        return "recursive"
    seen = (*seen, x)
    if isinstance(x, so.NDArray):
        return "NDArray", x.version, [fingerprint(part, seen) for part in x.storage.parts]
    if isinstance(x, np.ndarray):
        kept = x.tobytes() if x.dtype != object and x.size < 10**6 else x.size
        return x.dtype, x.shape, x.strides, x.flags.writeable, kept
    if sp.issparse(x):
        parts = [getattr(x, name, None) for name in ("data", "indices", "indptr", "coords")]
        return (
            type(x),
            x.shape,
            [fingerprint(p, seen) for p in parts if not isinstance(p, memoryview)],
        )
    if type(x) in (list, tuple):
        return type(x), [fingerprint(part, seen) for part in x]
    if type(x) is dict:
        return list(x), [fingerprint(part, seen) for part in x.values()]
    return id(x)


def check_result(found):
    """Every array among what a call gave is sound."""
    for x in found if isinstance(found, (tuple, list)) else (found,):
        if type(x) is so.NDArray:
            x.storage.validate()
            assert repr(x).startswith(f"<{x.spec}"), "repr"
            assert x.storage.spec == x.spec and x.dtype.isnative, "spec"
            assert all(not part.flags.writeable for part in x.storage.parts[1:]), "writable"


def check_value(op, args, params, found):
    """The values are those of the same call of dense arrays, where all is finite."""
    if not isinstance(op, so.Operator) or op.__name__ in _INEXACT or type(found) is not so.NDArray:
        return
    if any(type(x) is not so.NDArray or x.size > 1000 for x in args):
        return
    if found.size > 1000 or max(found.shape, default=0) > 1000:
        return
    try:
        dense = op(*(x.tostype("dense") for x in args), **params).asnumpy()
    except so.StorageError:  # some operators take sparse arrays alone
        return
    inputs = [x.asnumpy() for x in args]
    if all(np.isfinite(x).all() for x in (dense, *inputs)):
        got = found.asnumpy()
        wide = np.result_type(dense, np.float32)
        near = np.allclose(got.astype(wide), dense.astype(wide), 1e-2, 1e-2)
        assert near and got.dtype == dense.dtype, "value"


def _frames(error):
    """The file, the line's number and the line of each frame, outermost first."""
    found, step = [], error.__traceback__
    while step is not None:
        found.append((step.tb_frame.f_code.co_filename, step.tb_lineno))
        step = step.tb_next
    return [(path, at, linecache.getline(path, at).strip()) for path, at in found[-30:]]


def _where(error):
    """The line of the package that raised, and the one below it that is not of the package."""
    frames = _frames(error)
    ours = [frame for frame in frames if frame[0].startswith(_PACKAGE)]
    if not ours:
        return None
    path, at, line = ours[-1]
    inner = "" if ours[-1] is frames[-1] else f" < {Path(frames[-1][0]).name}:{frames[-1][1]}"
    return f"{os.path.relpath(path, _PACKAGE)}:{at} {line}{inner}"


def absurd(x, seen=0):
    """Whether a size that no memory holds is among the arguments."""
    if isinstance(x, (list, tuple)):
        return seen < 8 and any(absurd(part, seen + 1) for part in x)
    if isinstance(x, (int, float, np.number)):
        return not abs(x) < 2**24
    if isinstance(x, (np.ndarray, so.NDArray, so.Spec)) or sp.issparse(x):
        return max(x.shape, default=0) > 2**24
    return isinstance(x, (slice, range))


def attempt(number, families=FAMILIES):
    """What is wrong with a call, or None: (kind, place, text). Second: how it ended."""
    name, function, args, options, rng = call(number, families)
    targets = 1 if getattr(function, "changes", False) else 0
    before = [fingerprint(x) for x in (*args[targets:], *options.values())]
    policy = rng.choice(["allow", "allow", "warn", "error"])
    problem, ended = None, "answer"
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with so.fallback(policy), np.errstate(all="ignore"):
            found = function(*args, **options)
        with so.fallback("allow"), np.errstate(all="ignore"):
            stage = "result"
            check_result(found)
            check_result(args[:targets])
            if name == "operator_calls":
                check_value(function, args, options, found)
    except (Exception, Hang) as error:
        ended = kind = type(error).__name__
        place = _where(error)
        if "stage" in locals():
            problem = (f"result {kind}", place, str(error))
        elif isinstance(error, (Hang, SystemError)):
            problem = (kind, place, "")
        elif isinstance(error, MemoryError):
            parts = (function, *args)
            given = [getattr(x, "given", ()) if isinstance(x, FunctionType) else x for x in parts]
            problem = None if absurd((*given, *options.values())) else (kind, place, str(error))
        elif isinstance(error, AttributeError) and name == "attributes":
            wild = place and "raise AttributeError" not in place
            problem = (kind, place, str(error)) if wild else None
        elif place and not isinstance(error, (*ALLOWED, Refusal)):
            problem = (kind, place, str(error)[:200])
        elif place and not isinstance(error, Refusal) and not isinstance(error, so.SparseOpsError):
            if not _frames(error)[-1][2].startswith("raise"):
                ended = f"raw {kind} {place}: {str(error)[:90]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if [fingerprint(x) for x in (*args[targets:], *options.values())] != before:
        problem = ("changed", name, getattr(function, "__name__", ""))
    if tapes.get():
        tapes.set(())
        problem = ("tape left open", name, "")
    return problem, ended


def _text(x, length=300):
    try:
        return repr(x)[:length]
    except BaseException as error:
        return f"<{type(x).__name__}: {type(error).__name__}>"


def _overtime(*args):
    raise Hang


def main(first, count, progress):
    """Make the calls and print what is found; `progress` is a file that says which call runs."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _overtime)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.enable()
    file = os.open(progress, os.O_RDWR)
    for number in range(first, first + count):
        os.pwrite(file, str(number).ljust(20).encode(), 0)
        faulthandler.dump_traceback_later(4 * SECONDS, exit=True)
        problem, ended = attempt(number)
        print(json.dumps([number, problem, ended]), flush=number % 100 == 0)


def fuzz(first, count):
    """All that calls end in, by number: (number, problem, ended); a crash is a problem."""
    found, environment = [], {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    stop = first + count
    while first < stop:
        with tempfile.NamedTemporaryFile() as progress, tempfile.TemporaryFile("w+") as errors:
            command = [sys.executable, __file__, str(first), str(stop - first), progress.name]
            child = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=errors, env=environment, text=True
            )
            found += [json.loads(line) for line in child.stdout.splitlines() if line[-1] == "]"]
            if not child.returncode:
                break
            last = int(progress.read() or first)
            errors.seek(0)
            problem = (f"exit {child.returncode}", "", errors.read()[-1500:])
            # Nobody reads through a terabyte in time, nor can be stopped on the way.
            endless = child.returncode == 1 and absurd(call(last)[2])
            found.append([last, None if endless else problem, "crash"])
            first = last + 1
    return found


def show(number):
    """Print a call, and what it ends in."""
    name, function, args, options, _ = call(number)
    print(number, name, getattr(function, "__name__", function))
    for x in args:
        print("   ", type(x).__name__, _text(x))
    print("   ", _text(options))
    print("   ", attempt(number))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        warnings.simplefilter("ignore")
        signal.signal(signal.SIGALRM, _overtime)
        show(int(sys.argv[1]))
    else:
        main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
