"""The libraries that run kernels.

A backend is a pair of namespaces that kernels are written against: `xp` for arrays (NumPy's
interface) and `sparse` for matrices (SciPy's). Nothing of a backend is imported before it is used.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from sparseops import native
from sparseops.errors import BackendError
from sparseops.storage import CSR, Storage, index_dtype


class Backend:
    """The namespaces and transfers of one array library.

    Parameters
    ----------
    name : str
        What arrays and `backend=` call it.
    xp : module
        NumPy's interface.
    sparse : str
        The module with SciPy's sparse interface, imported when a kernel first asks for it.
    asnumpy : callable
        From an array of `xp` to a NumPy array.
    kernels : callable, optional
        Gives a module of compiled kernels, or None, when one is first asked for.
    """

    def __init__(
        self,
        name: str,
        xp: ModuleType,
        sparse: str,
        asnumpy: Callable[[Any], Any],
        kernels: Callable[[], Any] = lambda: None,
    ):
        self.name = name
        self.xp = xp
        self.asnumpy = asnumpy
        self.array_type = xp.ndarray
        self._sparse = sparse
        self._load_kernels = kernels

    @cached_property
    def sparse(self) -> ModuleType:
        """SciPy's sparse interface."""
        return import_module(self._sparse)

    @cached_property
    def kernels(self) -> Any:
        """The module of compiled kernels, or None."""
        return self._load_kernels()

    def compiled(self, name: str, *args: Any) -> Any:
        """What the compiled kernel `name` makes of `args`; None if there is none for them."""
        return None if self.kernels is None else getattr(self.kernels, name)(*args)

    @cached_property
    def _csr_attributes(self) -> tuple[type, dict[str, Any]] | None:
        """The class of matrices and its constant attributes, where its layout is the known one."""
        made = self.sparse.csr_array((0, 0)).__dict__
        parts = {"_shape", "data", "indices", "indptr"}
        constant = {name: value for name, value in made.items() if name not in parts}
        known = parts <= set(made) and all(isinstance(v, int) for v in constant.values())
        return (self.sparse.csr_array, constant) if known else None

    def matrix(self, x: CSR) -> Any:
        """`x` as the library's own csr_array, sharing memory; O(1)."""
        if self._csr_attributes is None:
            return self.sparse.csr_array((x.data, x.indices, x.indptr), shape=x.shape)
        # The constructor's checks cost seventy times as much as the object, and x is canonical.
        cls, constant = self._csr_attributes
        made = cls.__new__(cls)
        made.__dict__.update(constant)
        made.data, made.indices, made.indptr = x.data, x.indices, x.indptr
        made._shape = x.shape
        made.has_sorted_indices = made.has_canonical_format = True
        return made

    def csr(self, matrix: Any) -> CSR:
        """A csr storage of the library's sparse `matrix`, made canonical if it is not."""
        found = matrix.tocsr()
        storage = CSR(found.data, found.indices, found.indptr, found.shape)
        nnz = int(found.indptr[-1])
        if len(found.indices) != nnz:
            storage = CSR(found.data[:nnz], found.indices[:nnz], found.indptr, found.shape)
        return storage.canonicalize(self.xp)

    def row_ids(self, x: CSR) -> Any:
        """The row of each stored entry of `x`, of the width of its indices; O(rows + nnz)."""
        xp = self.xp
        return xp.repeat(xp.arange(x.shape[0], dtype=x.indices.dtype), xp.diff(x.indptr))

    def index_dtype(self, *largest: int) -> np.dtype:
        """int32 while every one of the numbers `largest` fits, else int64."""
        return index_dtype(*largest)

    def freeze(self, *arrays: Any) -> None:
        """Make `arrays` read-only, where the library can."""
        if self.xp is np:
            for array in arrays:
                array.setflags(False)

    def structure(self, hollow: Storage, dtype: Any) -> Storage:
        """The storage `hollow`, which has no values, with zeros that take no memory."""
        zero = self.xp.zeros((), dtype)
        return hollow.with_data(self.xp.broadcast_to(zero, hollow.stored_shape))

    def __repr__(self) -> str:
        return f"<backend {self.name}>"

    def __reduce__(self) -> tuple:
        return get_backend, (self.name,)


_loaders: dict[str, Callable[[], Backend]] = {}
_loaded: dict[str, Backend] = {}
_current: ContextVar[str] = ContextVar("backend", default="scipy")


def register_backend(name: str, load: Callable[[], Backend]) -> None:
    """Declare a backend; `load` runs when it is first asked for, and may raise BackendError."""
    _loaders[name] = load
    _loaded.pop(name, None)


def get_backend(name: str | Backend | None = None) -> Backend:
    """The backend called `name`, or the current one."""
    if isinstance(name, Backend):
        return name
    if name is None:
        name = _current.get()
    if not isinstance(name, str) or name not in _loaders:
        shown = (
            repr(name) if isinstance(name, (str, bytes, int)) else f"named by {type(name).__name__}"
        )
        raise BackendError(f"no backend {shown}; there are {', '.join(sorted(_loaders))}")
    if name not in _loaded:
        # Threads that come here together share what the first of them made.
        _loaded.setdefault(name, _loaders[name]())
    return _loaded[name]


@contextmanager
def use_backend(name: str) -> Iterator[None]:
    """Create arrays on backend `name` inside the block; of this thread or task only.

    Examples
    --------
    >>> import sparseops as so
    >>> with so.use_backend("scipy"):
    ...     so.zeros(2).backend
    <backend scipy>
    """
    token = _current.set(get_backend(name).name)
    try:
        yield
    finally:
        _current.reset(token)


def _load_scipy() -> Backend:
    return Backend("scipy", np, "scipy.sparse", np.asarray, native.load)


def _load_cupyx() -> Backend:
    try:
        cupy = import_module("cupy")
    except ImportError as error:
        raise BackendError(
            f"backend 'cupyx' needs cupy ({error}): pip install 'sparseops[cupy]'"
        ) from error
    if not cupy.cuda.is_available():
        raise BackendError(
            f"backend 'cupyx' found cupy {cupy.__version__} but no usable CUDA driver and device"
        )
    return Backend("cupyx", cupy, "cupyx.scipy.sparse", cupy.asnumpy)


register_backend("scipy", _load_scipy)
register_backend("cupyx", _load_cupyx)
