"""What the constructors take in, checked part by part: values, index arrays, foreign arrays."""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Number
from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.errors import BackendError, DTypeError, FormatError, ShapeError, StorageError
from sparseops.ndarray import NDArray
from sparseops.spec import Spec, as_dtype, as_shape, type_names
from sparseops.storage import Storage, index_dtype


def as_values(obj: Any, backend: Backend, dtype: Any) -> Any:
    """`obj` as a view of an array of the backend, with a dtype that arrays can have."""
    if isinstance(obj, NDArray):
        raise StorageError("data is an NDArray; give its .data, or the array itself to so.array")
    if isinstance(obj, Storage):
        raise StorageError(
            f"a {type(obj).__name__} storage is what kernels compute with; operators take arrays: "
            "use its .data, .indices and .indptr"
        )
    if isinstance(obj, Spec):
        raise StorageError("a Spec has no values; so.trace and so.explain run functions on Specs")
    if _has_arrays(obj):
        raise StorageError(
            "a list of NDArrays is no array; give arrays one by one, as in so.concat(x, y)"
        )
    xp = backend.xp
    known = (backend.array_type, np.ndarray, np.generic, list, tuple, Number)
    if not (xp is np or isinstance(obj, known)):
        raise BackendError(f"{type(obj).__name__} cannot be moved to {backend.name}")
    _refuse_masked(obj, "data")
    try:
        found = xp.asarray(obj)
    except ValueError as error:
        raise ShapeError(f"the values do not form an array: {error}") from error
    if found.dtype.kind not in "biufc":
        raise DTypeError(
            f"values of dtype {found.dtype} cannot be stored; arrays hold {type_names}"
        )
    wanted = as_dtype(found.dtype if dtype is None else dtype)
    if found.dtype == wanted:
        return found.view()
    if found.dtype.kind == "c" and wanted.kind not in "cb":
        raise DTypeError(f"complex values do not fit {wanted}; take x.real or x.imag first")
    if hasattr(obj, "dtype"):
        return found.astype(wanted)
    try:
        # NumPy itself refuses a number of Python that does not fit; as an array it would wrap.
        return xp.asarray(obj, wanted)
    except (OverflowError, ValueError) as error:
        raise DTypeError(f"the values do not fit {wanted}: {error}") from error


def _has_arrays(obj: Any) -> bool:
    """Whether a list has an NDArray at its first level or at the start of a deeper one."""
    for _ in range(64):
        if not isinstance(obj, (list, tuple)) or not obj:
            break
        if any(isinstance(x, NDArray) for x in obj):
            return True
        obj = obj[0]
    return False


def as_indices(backend: Backend, shape: Any, **given: Any) -> list[Any]:
    """Index arrays as they come, where they are int32 or int64, else of the width that fits."""
    found, widths = [], []
    for name, values in given.items():
        if isinstance(values, NDArray):
            values = values.asnumpy()
        _refuse_masked(values, name)
        try:
            indices = backend.xp.asarray(values)
        except (ValueError, OverflowError) as error:
            raise FormatError(f"{name} is not an array of integers: {error}", slot=name) from error
        if not indices.size and indices.dtype.kind == "f":
            indices = indices.astype(np.int32)
        if indices.dtype.kind not in "iu":
            raise FormatError(f"{name} has dtype {indices.dtype}; it must hold integers", slot=name)
        if indices.ndim != 1:
            raise FormatError(f"{name} has {indices.ndim} dimensions; it must have 1", slot=name)
        if indices.dtype.kind == "u" and indices.size and int(indices.max()) >= 2**63:
            raise FormatError(f"{name} has {int(indices.max())}, above int64", slot=name)
        width = indices.dtype.newbyteorder("=")
        if getattr(values, "dtype", None) == indices.dtype and width in (np.int32, np.int64):
            widths.append(width)
        found.append(indices)
    lengths = as_shape(shape) if shape is not None and not widths else ()
    widths.append(index_dtype(*lengths, *(max(len(i), _reach(i)) for i in found)))
    width = np.result_type(*widths)
    return [
        _own(i.astype(width, copy=False), v) for i, v in zip(found, given.values(), strict=True)
    ]


def _own(indices: Any, given: Any) -> Any:
    """`indices` as an array that nobody else can write, copied if need be.

    Values may be shared, but kernels trust a structure that was checked, and would read beyond
    memory if its owner changed it.
    """
    if indices is not given and getattr(indices, "base", None) is None:
        return indices
    seen = indices
    while isinstance(seen, np.ndarray) and not seen.flags.writeable:
        seen = seen.base
    return indices.view() if seen is None else indices.copy()


def _reach(indices: Any) -> int:
    return max(int(indices.max()), -int(indices.min())) if indices.size else 0


def needed_length(indices: Any) -> int:
    """The length of an axis that `indices` need."""
    if not len(indices):
        raise ShapeError("nothing is stored, so the shape cannot be told: give shape=")
    return max(int(indices.max()) + 1, 0)


@contextmanager
def allocating(what: Any) -> Iterator[None]:
    """A block that makes arrays of a given shape, which may be more than memory holds."""
    try:
        yield
    except (MemoryError, ValueError) as error:
        raise ShapeError(f"there is no memory for {what}: {error}") from error


def is_scipy(obj: Any) -> bool:
    """Whether `obj` is a sparse array of scipy or cupyx, without importing either."""
    return hasattr(obj, "tocsr") and any(
        "scipy.sparse" in base.__module__ for base in type(obj).__mro__
    )


def _refuse_masked(obj: Any, name: str) -> None:
    if isinstance(obj, np.ndarray) and hasattr(obj, "filled"):
        raise DTypeError(f"{name} is masked, and masks are not kept; give {name}.filled(value)")
