"""What is known of an array without its values."""

import math
from collections.abc import Iterable
from enum import StrEnum
from itertools import islice, zip_longest
from operator import index
from typing import Any

import numpy as np

from sparseops.errors import DTypeError, ShapeError, StorageError

type_names = (
    "bool, int8 to int64, uint8 to uint64, float16, float32, float64, complex64, complex128"
)
_DTYPES = {np.dtype(c) for c in "?bhilqBHILQefdFD"}
_MOST_AXES = 64


class StorageType(StrEnum):
    """The names of the storage types, equal to plain strings, with MXNet's facts about them.

    Examples
    --------
    >>> StorageType("csr").id, StorageType("csr").aux
    (2, ('indptr', 'indices'))
    """

    UNDEFINED = "undefined"
    DENSE = "dense"
    ROW_SPARSE = "row_sparse"
    CSR = "csr"

    @property
    def id(self) -> int:
        """MXNet's number of the type: -1 where nothing is known yet."""
        return list(StorageType).index(self) - 1

    @property
    def aux(self) -> tuple[str, ...]:
        """The index arrays of the type, in MXNet's order."""
        return {"row_sparse": ("indices",), "csr": ("indptr", "indices")}.get(self, ())


UNDEFINED = "undefined"
STORAGES = ("dense", "row_sparse", "csr")


class Spec:
    """The shape, dtype and storage type of an array; never changed, and equal by its parts.

    Parameters
    ----------
    shape : int or iterable of int
        Lengths of the axes.
    dtype : dtype-like
        Type of the values.
    stype : str
        "dense", "row_sparse", "csr" or "undefined".

    Examples
    --------
    >>> print(Spec((3, 4), np.float32, "csr"))
    float32[3,4] csr
    """

    __slots__ = ("dtype", "shape", "stype")

    def __init__(self, shape: Any, dtype: Any = float, stype: str = "dense"):
        fix = super().__setattr__
        fix("shape", as_shape(shape))
        fix("dtype", as_dtype(dtype))
        fix("stype", as_stype(stype))
        if stype == "csr" and len(self.shape) != 2:
            raise ShapeError(f"shape {self.shape} has {len(self.shape)} dimensions; csr has 2")
        if stype == "row_sparse" and not self.shape:
            raise ShapeError("shape () has no rows; row_sparse has at least 1 dimension")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Spec is never changed; make another: Spec(..., {name}={value!r})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Spec is never changed; its {name} stays")

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of values, stored or not."""
        return math.prod(self.shape)

    @property
    def dense_nbytes(self) -> int:
        """The bytes of all the values in dense storage."""
        return self.size * self.dtype.itemsize

    def with_stype(self, stype: str) -> "Spec":
        """The same shape and dtype in storage type `stype`."""
        return Spec(self.shape, self.dtype, stype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __str__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}] {self.stype}"

    def __repr__(self) -> str:
        return f"Spec({self.shape}, {self.dtype.name!r}, {self.stype!r})"

    def __reduce__(self) -> tuple:
        return Spec, self._parts()

    def _parts(self) -> tuple:
        return self.shape, self.dtype, self.stype


def as_shape(shape: Any) -> tuple[int, ...]:
    """`shape` as a tuple of non-negative Python integers."""
    if type(shape) is tuple and len(shape) < 5 and all([type(n) is int for n in shape]):
        if not shape or (min(shape) >= 0 and max(shape) < 2**63):
            return shape
    # Arrays of another dimension are not lists of lengths, though their type is iterable.
    several = type(shape) is tuple or (
        isinstance(shape, Iterable) and getattr(shape, "ndim", 1) == 1
    )
    # Cut off, so that an endless iterator ends too.
    lengths = list(islice(shape, _MOST_AXES + 1)) if several else [shape]
    try:
        found = tuple([index(n) for n in lengths])
    except TypeError:
        found = None
    if found is None or any([isinstance(n, bool) for n in lengths]):
        raise ShapeError(f"shape {shape!r} is not a tuple of integers")
    if len(found) > _MOST_AXES:
        raise ShapeError(
            f"the shape has more than {_MOST_AXES} dimensions, the most that NumPy has"
        )
    for axis, length in enumerate(found):
        if not 0 <= length < 2**63:
            raise ShapeError(f"shape[{axis}]={length}, but a length lies in [0, 2**63)")
    return found


def as_dtype(dtype: Any) -> np.dtype:
    """`dtype` as a NumPy dtype in native byte order, one that arrays can have."""
    if isinstance(dtype, np.dtype) and dtype in _DTYPES:
        return dtype
    try:
        found = np.dtype(dtype).newbyteorder("=")
    except (TypeError, ValueError):
        raise DTypeError(f"{dtype!r} is not a dtype; arrays hold {type_names}") from None
    if found not in _DTYPES:
        raise DTypeError(f"dtype {found} cannot be stored; arrays hold {type_names}")
    return found


def as_stype(stype: Any, *, known: bool = False) -> str:
    """`stype` as a plain string, one of the storage types' names; one of an array if `known`."""
    if type(stype) is str and stype in STORAGES:
        return stype
    try:
        found = StorageType(stype).value
    except ValueError:
        names = ", ".join(StorageType)
        raise StorageError(f"{stype!r} is not a storage type; there are {names}") from None
    if known and found == UNDEFINED:
        raise StorageError(f"an array is never undefined; its storage is {', '.join(STORAGES)}")
    return found


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that arrays of `shapes` have together, by NumPy's rule; of any size."""
    found = []
    for lengths in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        several = set(lengths) - {1}
        if len(several) > 1:
            raise ShapeError(f"shapes {' and '.join(map(str, shapes))} do not broadcast")
        found.append(several.pop() if several else 1)
    return tuple(reversed(found))
