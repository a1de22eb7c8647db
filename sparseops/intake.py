"""What the constructors take in, checked part by part: values, index arrays, foreign arrays."""

from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.errors import BackendError, DTypeError, FormatError, ShapeError, StorageError
from sparseops.ndarray import NDArray
from sparseops.spec import as_dtype, as_shape, type_names
from sparseops.storage import index_dtype


def as_values(obj: Any, backend: Backend, dtype: Any) -> Any:
    """`obj` as a view of an array of the backend, with a dtype that arrays can have."""
    if isinstance(obj, NDArray):
        raise StorageError("data is an NDArray; give its .data, or the array itself to so.array")
    if not (
        backend.xp is np or isinstance(obj, (backend.array_type, np.ndarray, list, tuple, int))
    ):
        raise BackendError(f"{type(obj).__name__} cannot be moved to {backend.name}")
    try:
        found = backend.xp.asarray(obj)
    except ValueError as error:
        raise ShapeError(f"the values do not form an array: {error}") from error
    if found.dtype.kind not in "biufc":
        raise DTypeError(
            f"values of dtype {found.dtype} cannot be stored; arrays hold {type_names}"
        )
    wanted = as_dtype(found.dtype if dtype is None else dtype)
    if found.dtype == wanted and found.dtype.isnative:
        return found.view()
    if found.dtype.kind == "c" and wanted.kind != "c":
        raise DTypeError(f"complex values do not fit {wanted}; take x.real or x.imag first")
    return found.astype(wanted)


def as_indices(backend: Backend, shape: Any, **given: Any) -> list[Any]:
    """Index arrays as they come, where they are int32 or int64, else of the width that fits."""
    found = []
    for name, values in given.items():
        if isinstance(values, NDArray):
            values = values.asnumpy()
        try:
            indices = backend.xp.asarray(values)
        except (ValueError, OverflowError) as error:
            raise FormatError(f"{name} is not an array of integers: {error}", slot=name) from error
        if not indices.size:
            known = indices.dtype in (np.int32, np.int64)
            indices = indices if known and indices.ndim == 1 else backend.xp.zeros(0, np.int32)
        if indices.dtype.kind not in "iu":
            raise FormatError(f"{name} has dtype {indices.dtype}; it holds integers", slot=name)
        if indices.ndim != 1:
            raise FormatError(f"{name} has {indices.ndim} dimensions; it has 1", slot=name)
        if indices.dtype.kind == "u" and indices.size and int(indices.max()) >= 2**63:
            raise FormatError(f"{name} has {int(indices.max())}, above int64", slot=name)
        explicit = hasattr(values, "dtype") and indices.dtype in (np.int32, np.int64)
        found.append((indices, explicit))
    widths = [i.dtype.newbyteorder("=") for i, explicit in found if explicit]
    lengths = as_shape(shape) if shape is not None and not widths else ()
    widths.append(index_dtype(*lengths, *(max(len(i), _reach(i)) for i, _ in found)))
    width = np.result_type(*widths)
    return [i.astype(width, copy=False).view() for i, _ in found]


def _reach(indices: Any) -> int:
    return max(int(indices.max()), -int(indices.min())) if indices.size else 0


def needed_length(indices: Any) -> int:
    """The length of an axis that `indices` need."""
    if not len(indices):
        raise ShapeError("nothing is stored, so the shape cannot be told: give shape=")
    return int(indices.max()) + 1


def is_scipy(obj: Any) -> bool:
    """Whether `obj` is a sparse array of scipy or cupyx, without importing either."""
    module = type(obj).__module__
    return "scipy.sparse" in module and hasattr(obj, "tocsr")
