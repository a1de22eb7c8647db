"""The array type: a storage, a backend, and a version."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any, NoReturn

import numpy as np

from sparseops.backend import Backend, get_backend
from sparseops.errors import DTypeError, GradientError, ShapeError, StorageError
from sparseops.form import Form, form_of
from sparseops.hints import hint
from sparseops.operand import Operand
from sparseops.picture import html, spy
from sparseops.preview import preview
from sparseops.protocols import dlpack_device, to_dlpack, to_numpy
from sparseops.reading import read
from sparseops.registry import operators
from sparseops.spec import Spec
from sparseops.storage import Dense, Storage
from sparseops.writing import write

#: The tapes that record in this thread or task, outermost first.
tapes: ContextVar[tuple] = ContextVar("tapes", default=())

_new_token = count().__next__


class NDArray(Operand):
    """An array in dense, row_sparse or csr storage.

    Made by `array`, `asarray`, `csr_array`, `row_sparse_array`, `zeros` and `random`, and by
    operators. Immutable but for ``x[...] = value``, optimizer updates and operators that declare
    states, each of which counts up `version`. `token` is a number that no other array has had, by
    which tapes know this one.

    Examples
    --------
    >>> import sparseops as so
    >>> so.csr_array([[0.0, 2.0], [0.0, 0.0]])
    <float64[2,2] csr, 1 stored>
      (0, 1)  2.0
    """

    __slots__ = ("__weakref__", "form", "storage", "token", "version")

    def __init_subclass__(cls) -> None:
        raise TypeError("NDArray has no subclasses: operators know it by its exact type")

    def __init__(self, storage: Storage, form: Form | Backend):
        self.storage = storage
        self.form = form if type(form) is Form else form_of(storage, form)
        self.version = 0
        self.token = _new_token()

    @property
    def spec(self) -> Spec:
        """The shape, dtype and storage type."""
        return self.form.spec

    @property
    def backend(self) -> Backend:
        """The library that holds the values."""
        return self.form.backend

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.form.spec.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.storage.shape)

    @property
    def size(self) -> int:
        """The number of values, stored or not."""
        return self.spec.size

    @property
    def dtype(self) -> np.dtype:
        """The type of the values."""
        return self.form.spec.dtype

    @property
    def stype(self) -> str:
        """The storage type: "dense", "row_sparse" or "csr"."""
        return self.storage.stype

    @property
    def nnz(self) -> int:
        """The number of stored values, explicit zeros included."""
        return int(self.storage.data.size)

    @property
    def nbytes(self) -> int:
        """The bytes stored, index arrays included."""
        return self.storage.nbytes

    @property
    def dense_nbytes(self) -> int:
        """The bytes that dense storage takes."""
        return self.spec.dense_nbytes

    @property
    def data(self) -> Any:
        """The stored values: a read-only view, never a copy."""
        return _view(self.storage.data)

    @property
    def indices(self) -> Any:
        """The columns (csr) or rows (row_sparse) of what is stored: a read-only view."""
        return self._aux("indices")

    @property
    def indptr(self) -> Any:
        """Where each row of a csr array starts: a read-only view."""
        return self._aux("indptr")

    @property
    def aux(self) -> dict[str, Any]:
        """The index arrays by name, in MXNet's order, as read-only views."""
        return {name: self._aux(name) for name in self.storage.aux}

    def _aux(self, name: str) -> Any:
        return _view(getattr(self.storage, name))

    def __getattr__(self, name: str) -> NoReturn:
        # Of an array that is being unpickled there is no form yet.
        kind = "NDArray" if name in NDArray.__slots__ else str(self.spec)
        raise AttributeError(f"{kind} has no {name!r}{hint(name)}", name=name, obj=self)

    def asnumpy(self) -> np.ndarray:
        """The values as a dense NumPy array of the caller's own; O(size)."""
        dense = self.storage
        if type(dense) is not Dense:
            dense = operators["cast_storage"].kernel(self.stype, "dense")(self.backend, dense)
        return np.array(self.backend.asnumpy(dense.data), order="C")

    def asscipy(self) -> Any:
        """A csr array as a csr_array of the backend's sparse library, with values of its own.

        Structure is shared: it is read-only in the result.
        """
        if self.stype != "csr":
            raise StorageError(
                f"{self.spec} has no form in scipy.sparse; x.tostype('csr') has",
                declared=self.stype,
                available="csr",
            )
        if self.dtype == np.float16:
            raise DTypeError("scipy.sparse has no float16; write x.astype('float32').asscipy()")
        storage = self.storage
        return self.backend.matrix(storage.with_data(storage.data.copy()))

    def to(self, backend: str) -> "NDArray":
        """The array on another backend; itself if it is there."""
        target, source = get_backend(backend), self.backend
        if target is source:
            return self
        if tapes.get():
            raise GradientError("a tape records, and to() has no gradient: move arrays before it")
        storage = self.storage.map(lambda part: target.xp.array(source.asnumpy(part)))
        target.freeze(*storage.parts)
        return NDArray(storage, target)

    def alias(self) -> "NDArray":
        """Another array for the same value, known to tapes as this one; neither sees later writes
        to the other.
        """
        other = NDArray(self.storage, self.form)
        other.token, other.version = self.token, self.version
        return other

    def copy(self) -> "NDArray":
        """An equal array with memory of its own."""
        if tapes.get():
            return operators["cast"](self, dtype=self.dtype)
        storage = self.storage.map(lambda part: part.copy())
        self.backend.freeze(*storage.parts)
        return NDArray(storage, self.form)

    __copy__ = copy

    def __deepcopy__(self, memo: dict) -> "NDArray":
        return self.copy()

    def __reduce__(self) -> tuple:
        return _restore, (self.storage, self.backend)

    def __repr__(self) -> str:
        return preview(self.storage, self.backend.asnumpy)

    def _repr_html_(self) -> str:
        return html(self)

    def spy(self, ax: Any = None, **options: Any) -> Any:
        """A picture of where values are stored, drawn by Matplotlib; see `picture.spy`."""
        return spy(self, ax, **options)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array of shape () has no length")
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(self._one("the truth value"))

    def __float__(self) -> float:
        return float(self._one("float()"))

    def __int__(self) -> int:
        return int(self._one("int()"))

    def __complex__(self) -> complex:
        return complex(self._one("complex()"))

    def item(self) -> Any:
        """The only value, as a Python number."""
        return self._one("item()").item()

    def _one(self, what: str) -> np.ndarray:
        if self.size != 1:
            raise ShapeError(f"{what} needs one value; shape {self.shape} has {self.size}")
        return self.asnumpy().reshape(())

    @property
    def recorded(self) -> bool:
        """Whether a tape records what is done with the array."""
        return bool(tapes.get())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return to_numpy(self, dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        return to_dlpack(self, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack_device(self)

    def __format__(self, spec: str) -> str:
        return format(self._one("a format").item(), spec) if spec else str(self)

    def __getitem__(self, key: Any) -> "NDArray":
        return read(self, key)

    def __iter__(self) -> Iterator["NDArray"]:
        row = operators["row"]
        return (row(self, number) for number in range(len(self)))

    def __setitem__(self, key: Any, value: Any) -> None:
        write(self, key, value)

    def assign(self, storage: Storage) -> None:
        """Replace the values by `storage`, of the same spec, and count up `version`."""
        if storage.spec != self.spec:
            raise ShapeError(f"an array {self.spec} cannot become {storage.spec}")
        self.storage = storage
        self.version += 1

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """The stored values, writable inside the block; `version` counts up behind it.

        Memory that anything else can see is copied first, so nobody else sees the change.
        """
        # Counted before any local name refers to the memory.
        alone = _references(self.storage) == _ALONE and self.storage.data.base is None
        if not alone:
            self.storage = self.storage.with_data(self.storage.data.copy())
        data = self.storage.data
        if self.backend.xp is np:
            data.setflags(write=True)
        try:
            yield data
        finally:
            self.version += 1
            if self.backend.xp is np:
                data.setflags(write=False)


def _references(storage: Storage) -> tuple[int, int]:
    return sys.getrefcount(storage), sys.getrefcount(storage.data)


def _view(array: Any) -> Any:
    view = array.view()
    if isinstance(view, np.ndarray):
        view.setflags(write=False)
    return view


def _restore(storage: Storage, backend: Backend) -> NDArray:
    """A pickled array, checked like all that comes in."""
    storage.validate()
    backend.freeze(*storage.parts)
    return NDArray(storage, backend)


def _alone() -> tuple[int, int]:
    """What `_references` says of a storage that one array alone holds."""
    array = NDArray.__new__(NDArray)
    array.storage = Dense(np.zeros(1))
    return _references(array.storage)


_ALONE = _alone()
