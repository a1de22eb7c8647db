"""The ways in which an array's values lie in memory: dense, row_sparse and csr.

A storage is a few arrays of a backend and the shape that they stand for. Canonical form is an
invariant of the two sparse ones: indices in range and strictly ascending (per row for csr), hence
no duplicates, `indptr` exact, and nothing in memory behind what `indptr` counts. Explicit zeros are
legal. `validate` tells what is wrong with a structure, `canonicalize` sorts and merges it.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from sparseops.coalesce import merged
from sparseops.errors import FormatError
from sparseops.spec import Spec

_INT32_MAX = 2**31 - 1


class Storage:
    """Base of the storages: values, and the shape that they stand for.

    Storages are never changed: operators and mutations make new ones.
    """

    __slots__ = ("data", "shape")
    stype: ClassVar[str]
    aux: ClassVar[tuple[str, ...]] = ()

    data: Any
    shape: tuple[int, ...]

    @property
    def dtype(self) -> np.dtype:
        """The type of the values."""
        return self.data.dtype

    @property
    def spec(self) -> Spec:
        """The shape, dtype and storage type."""
        return Spec(self.shape, self.data.dtype, self.stype)

    @property
    def nbytes(self) -> int:
        """The bytes of values and indices together."""
        return sum(part.nbytes for part in self.parts)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The arrays: values, then index arrays in MXNet's order."""
        return (self.data, *(getattr(self, name) for name in self.aux))

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The shape that `data` has for the index arrays that there are."""
        raise NotImplementedError

    def with_data(self, data: Any) -> Self:
        """The same structure with the values `data`."""
        raise NotImplementedError

    def map(self, function: Callable[[Any], Any]) -> Self:
        """The storage with each of its arrays changed by `function`."""
        parts = {name: function(getattr(self, name)) for name in self.aux}
        return type(self)(function(self.data), **parts, shape=self.shape)

    def validate(self) -> None:
        """Raise FormatError at the first place where the structure is not canonical."""

    def __reduce__(self) -> tuple:
        names = ("data", *self.aux, "shape") if self.aux else ("data",)
        return _made, (type(self), {name: getattr(self, name) for name in names})

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("data", *self.aux))
        return f"{type(self).__name__}({parts}, shape={self.shape})"


class Dense(Storage):
    """Every value is stored.

    Parameters
    ----------
    data : array of any shape
        The values.
    """

    __slots__ = ()
    stype = "dense"

    def __init__(self, data: Any):
        self.data = data
        try:
            self.shape = data.shape
        except AttributeError:
            kind = type(data).__name__
            raise FormatError(f"data is {kind}; it must be an array", slot="data") from None

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.shape

    def with_data(self, data: Any) -> "Dense":
        """A dense storage of the values `data`."""
        return Dense(data)

    def map(self, function: Callable[[Any], Any]) -> "Dense":
        """A dense storage of `function` of the values."""
        return Dense(function(self.data))


class RowSparse(Storage):
    """Some rows of an n-dimensional array are stored whole; the others are zero.

    Parameters
    ----------
    data : array of shape (rows stored, ...)
        The stored rows.
    indices : int32 or int64 array of shape (rows stored,)
        Their numbers, strictly ascending.
    shape : tuple of int
        The shape of the whole array; its tail is that of `data`.
    """

    __slots__ = ("indices",)
    stype = "row_sparse"
    aux = ("indices",)

    def __init__(self, data: Any, indices: Any, shape: tuple[int, ...]):
        self.data = data
        self.indices = indices
        self.shape = tuple(shape)

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """A row of the array for each index."""
        return (len(self.indices), *self.shape[1:])

    def with_data(self, data: Any) -> "RowSparse":
        """The same rows with the values `data`."""
        return RowSparse(data, self.indices, self.shape)

    def validate(self) -> None:
        """Raise FormatError unless `indices` are row numbers, strictly ascending."""
        self.validate_parts()
        _refuse(self.indices[1:] <= self.indices[:-1], "indices", self.indices, "not above")

    def validate_parts(self) -> None:
        """Raise FormatError unless lengths agree and `indices` are row numbers in any order."""
        _check_parts(self)
        if self.data.shape != self.stored_shape:
            raise FormatError(
                f"data has shape {self.data.shape}; {len(self.indices)} indices in an array of "
                f"shape {self.shape} need {self.stored_shape}",
                slot="data",
            )
        _check_range(self.indices, self.shape[0], "rows")

    def canonicalize(self, xp: Any) -> "RowSparse":
        """The same array with its rows in order and rows that stand twice added up."""
        if not (self.indices[1:] <= self.indices[:-1]).any():
            return self
        data, (indices,) = merged(self.data, (self.indices,), self.shape[:1], xp)
        return RowSparse(data, indices, self.shape)


class CSR(Storage):
    """Compressed sparse rows: row `i` stores `data[indptr[i]:indptr[i + 1]]`.

    Parameters
    ----------
    data : array of shape (nnz,)
        The stored values, row by row.
    indices : int32 or int64 array of shape (nnz,)
        Their columns, strictly ascending in each row.
    indptr : array of shape (rows + 1,), of the width of `indices`
        Where each row starts; the last entry is nnz.
    shape : tuple of two int
        Rows and columns.

    Attributes
    ----------
    derived : dict
        What kernels have found out about the structure and may need again. Storages of the same
        index arrays share it, and it goes with the last of them.
    """

    __slots__ = ("derived", "indices", "indptr")
    stype = "csr"
    aux = ("indptr", "indices")

    def __init__(self, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]):
        self.data = data
        self.indices = indices
        self.indptr = indptr
        self.shape = tuple(shape)
        self.derived: dict[str, Any] = {}

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """A value for each index."""
        return (len(self.indices),)

    def with_data(self, data: Any) -> "CSR":
        """The same structure with the values `data`."""
        made = CSR(data, self.indices, self.indptr, self.shape)
        made.derived = self.derived
        return made

    def validate(self) -> None:
        """Raise FormatError unless `indptr` is exact and columns ascend in each row."""
        self.validate_parts()
        _refuse(self._descents(), "indices", self.indices, "not above", " in the same row")

    def validate_parts(self) -> None:
        """Raise FormatError unless `indptr` and lengths agree and `indices` are columns."""
        _check_parts(self)
        rows, columns = self.shape
        indptr, nnz = self.indptr, len(self.indices)
        if self.data.shape != (nnz,):
            raise FormatError(
                f"data has shape {self.data.shape}, but there are {nnz} indices", slot="data"
            )
        if len(indptr) != rows + 1:
            raise FormatError(
                f"indptr has {len(indptr)} entries; {rows} rows need {rows + 1}", slot="indptr"
            )
        if indptr[0] != 0:
            raise FormatError(f"indptr[0]={int(indptr[0])}; it must be 0", slot="indptr")
        _refuse(indptr[1:] < indptr[:-1], "indptr", indptr, "below", "; it must not decrease")
        if indptr[-1] != nnz:
            raise FormatError(
                f"indptr[{rows}]={int(indptr[-1])}, but there are {nnz} indices", slot="indptr"
            )
        _check_range(self.indices, columns, "columns")

    def canonicalize(self, xp: Any) -> "CSR":
        """The same matrix with columns in order and entries that stand twice added up."""
        if not self._descents().any():
            return self
        rows = self.shape[0]
        row_ids = xp.repeat(xp.arange(rows), xp.diff(self.indptr).astype("int64"))
        data, (row_ids, indices) = merged(self.data, (row_ids, self.indices), self.shape, xp)
        counts = xp.bincount(row_ids, minlength=rows)
        indptr = xp.zeros(rows + 1, self.indptr.dtype)
        xp.cumsum(counts, out=indptr[1:])
        return CSR(data, indices, indptr, self.shape)

    def _descents(self) -> Any:
        """Where an entry's column is not above that of the entry before it in its row."""
        descents = self.indices[1:] <= self.indices[:-1]
        first = self.indptr[1:-1]
        first = first[(first > 0) & (first < len(self.indices))]
        descents[first - 1] = False
        return descents


def _made(cls: type[Storage], parts: dict[str, Any]) -> Storage:
    """A pickled storage."""
    return cls(**parts)


def index_dtype(*largest: int) -> np.dtype:
    """int32 while every one of the numbers `largest` fits, else int64."""
    return np.dtype(np.int32 if max(largest, default=0) <= _INT32_MAX else np.int64)


def _check_parts(storage: Storage) -> None:
    if not hasattr(storage.data, "dtype"):
        raise FormatError(f"data is {type(storage.data)}; it must be an array", slot="data")
    # Raises for a shape or a dtype that no array of the storage type has.
    Spec(storage.shape, storage.dtype, storage.stype)
    dtypes = []
    for name in storage.aux:
        found = getattr(storage, name)
        if getattr(found, "ndim", None) != 1 or found.dtype not in (np.int32, np.int64):
            kind = f"{found.dtype}{list(found.shape)}" if hasattr(found, "dtype") else type(found)
            raise FormatError(f"{name} is {kind}; it must be 1-D, int32 or int64", slot=name)
        dtypes.append(found.dtype)
    if len(set(dtypes)) > 1:
        raise FormatError(f"indptr is {dtypes[0]} and indices {dtypes[1]}; they share one width")


def _check_range(indices: Any, limit: int, what: str) -> None:
    if len(indices) and (indices.min() < 0 or indices.max() >= limit):
        at = int(((indices < 0) | (indices >= limit)).argmax())
        raise FormatError(
            f"indices[{at}]={int(indices[at])}, but there are {limit} {what}", slot="indices"
        )


def _refuse(bad: Any, name: str, found: Any, relation: str, rest: str = "") -> None:
    """Raise at the first entry of `found` that is bad beside the one before it."""
    if bad.any():
        at = int(bad.argmax())
        before, here = int(found[at]), int(found[at + 1])
        raise FormatError(
            f"{name}[{at + 1}]={here}, {relation} {name}[{at}]={before}{rest}", slot=name
        )
