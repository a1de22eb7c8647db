"""A recorder of sparse arrays becoming dense in programs written on scipy.sparse."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from sparseops.policy import format_bytes

#: What gives a dense array, by the method's name.
_METHODS = (
    "toarray todense __array__ __add__ __radd__ __sub__ __rsub__ __truediv__ __rtruediv__ __pow__ "
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ multiply divide maximum minimum"
).split()
_LIBRARIES = ("scipy.sparse", "cupyx.scipy.sparse")
_LIBRARY_NAMES = ("scipy.", "numpy.", "cupyx.", "cupy.")
_reports: ContextVar[tuple["Densifications", ...]] = ContextVar("densifications", default=())
_inside: ContextVar[bool] = ContextVar("inside a method", default=False)


class Densification(NamedTuple):
    """One line of a program at which sparse arrays become dense.

    Attributes
    ----------
    operation : str
        The method of the sparse array.
    where : tuple of (str, int)
        File and line.
    times : int
        How often.
    bytes_sparse, bytes_dense : int
        What the sparse arrays and the dense results took, all together.
    """

    operation: str
    where: tuple[str, int]
    times: int
    bytes_sparse: int
    bytes_dense: int

    def __str__(self) -> str:
        times = f", {self.times} times" if self.times > 1 else ""
        return (
            f"{self.where[0]}:{self.where[1]}  {self.operation}: "
            f"{format_bytes(self.bytes_sparse)} become {format_bytes(self.bytes_dense)}{times}"
        )


class Densifications:
    """What `record_densification` notes; `.records` has a line each, most bytes first."""

    def __init__(self) -> None:
        self._found: dict[tuple, list[int]] = {}
        self._lock = threading.Lock()

    @property
    def records(self) -> list[Densification]:
        """The lines at which arrays became dense, those with the most bytes first."""
        found = [
            Densification(operation, (file, line), *counts)
            for (operation, file, line), counts in self._found.items()
        ]
        return sorted(found, key=lambda record: -record.bytes_dense)

    @property
    def bytes_dense(self) -> int:
        """The bytes of all dense results."""
        return sum(record.bytes_dense for record in self.records)

    def note(self, key: tuple[str, str, int], sparse: int, dense: int) -> None:
        """Count one array that became dense."""
        with self._lock:
            counts = self._found.setdefault(key, [0, 0, 0])
            for place, more in enumerate((1, sparse, dense)):
                counts[place] += more

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Densification]:
        return iter(self.records)

    def __str__(self) -> str:
        return "\n".join(map(str, self.records)) or "nothing became dense"


class _Patches:
    """The methods of the libraries' classes, replaced while a recorder is open anywhere."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.replaced: list[tuple[type, str, Any]] = []

    def enter(self) -> None:
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.replace()

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                for owner, name, method in reversed(self.replaced):
                    setattr(owner, name, method)
                self.replaced.clear()

    def replace(self) -> None:
        for library in _LIBRARIES:
            if library != "scipy.sparse" and library not in sys.modules:
                continue
            for owner in _classes(import_module(library)):
                for name in _METHODS:
                    method = owner.__dict__.get(name)
                    if callable(method):
                        self.replaced.append((owner, name, method))
                        setattr(owner, name, _noting(method, name))


_patches = _Patches()


@contextmanager
def record_densification() -> Iterator[Densifications]:
    """Note where sparse arrays of scipy (and cupyx) become dense inside the block.

    Noted are this thread or task, and the line of the innermost frame outside of scipy. Blocks
    nest, and each sees all that happens inside of it; everything is restored at the end, also after
    an exception.

    Yields
    ------
    Densifications
        `.records` has operation, file and line, count and bytes of each place.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> import sparseops as so
    >>> x = scipy.sparse.csr_array(np.eye(3))
    >>> with so.record_densification() as report:
    ...     y = x + np.ones((3, 3))
    >>> [(record.operation, record.bytes_dense) for record in report]
    [('+', 72)]
    """
    report = Densifications()
    token = _reports.set((*_reports.get(), report))
    try:
        _patches.enter()
        try:
            yield report
        finally:
            _patches.leave()
    finally:
        _reports.reset(token)


_SYMBOLS = {
    "add": "+", "radd": "+", "sub": "-", "rsub": "-", "truediv": "/", "rtruediv": "/",
    "pow": "**", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "array": "numpy.asarray",
}  # fmt: skip


def _noting(method: Callable, name: str) -> Callable:
    """The method, which also notes a dense result."""
    operation = _SYMBOLS.get(name.strip("_"), name)

    @wraps(method)
    def noting(self: Any, *args: Any, **given: Any) -> Any:
        # Within another method of the library, it is that one which the program called.
        if _inside.get() or not _reports.get():
            return method(self, *args, **given)
        token = _inside.set(True)
        try:
            result = method(self, *args, **given)
        finally:
            _inside.reset(token)
        if _is_dense(result) and result.ndim and result.shape == getattr(self, "shape", None):
            key = operation, *_place()
            size = _stored_bytes(self)
            for report in _reports.get():
                report.note(key, size, int(result.nbytes))
        return result

    return noting


def _place() -> tuple[str, int]:
    """File and line of the innermost frame outside of the libraries and this module."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__", "").startswith(_LIBRARY_NAMES) and frame.f_back:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _classes(library: Any) -> list[type]:
    """The classes of sparse arrays of a library, with their bases."""
    found: dict[type, None] = {}
    for value in vars(library).values():
        if isinstance(value, type) and library.__name__ in value.__module__:
            for base in value.__mro__:
                if base.__module__.startswith(library.__name__):
                    found[base] = None
    return list(found)


def _is_dense(result: Any) -> bool:
    return isinstance(result, np.ndarray) or type(result).__module__.startswith("cupy.")


def _stored_bytes(x: Any) -> int:
    """The bytes that a sparse array stores."""
    if getattr(x, "format", None) in ("lil", "dok"):
        return int(x.nnz) * (x.dtype.itemsize + 4)
    parts = [getattr(x, name, None) for name in ("data", "indices", "indptr", "row", "col")]
    return sum(int(part.nbytes) for part in parts if hasattr(part, "nbytes"))
