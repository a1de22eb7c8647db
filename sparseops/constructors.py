"""The public doors: whatever comes in is checked whole, made canonical, and then trusted."""

from typing import Any

from sparseops.backend import Backend, get_backend
from sparseops.errors import FormatError, ShapeError
from sparseops.intake import allocating, as_indices, as_values, is_scipy, needed_length
from sparseops.ndarray import NDArray
from sparseops.registry import operators
from sparseops.spec import as_dtype, as_shape, as_stype
from sparseops.storage import CSR, Dense, RowSparse, Storage, merged


def array(obj: Any, dtype: Any = None, *, stype: str | None = None, backend: Any = None) -> NDArray:
    """An array holding a copy of `obj`.

    Parameters
    ----------
    obj : array-like, NDArray, or scipy sparse array or matrix
        The values; 1-D and n-D sparse arrays of scipy become row_sparse.
    dtype : dtype-like, optional
        Type of the values; by default that of `obj`, by NumPy's rules.
    stype : str, optional
        Storage type; by default that of `obj`, csr for 2-D arrays of scipy.
    backend : str, optional
        The library that holds the values; by default the current one.

    Returns
    -------
    NDArray

    Raises
    ------
    DTypeError, ShapeError, FormatError
        If `obj` has no such values, or a structure that describes no array.

    Examples
    --------
    >>> array([[0, 1], [2, 0]], stype="csr")
    <int64[2,2] csr, 2 stored>
      (0, 1)  1
      (1, 0)  2
    """
    found = asarray(obj, dtype, stype=stype, backend=backend)
    return found.copy() if _shares(found, obj) else found


def asarray(
    obj: Any, dtype: Any = None, *, stype: str | None = None, backend: Any = None
) -> NDArray:
    """An array that shares memory with `obj` where it can, and is copied on first write.

    Parameters and errors are those of `array`. An NDArray that needs no change is returned itself.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.zeros(3)
    >>> x = asarray(values)
    >>> x[...] = 1
    >>> values
    array([0., 0., 0.])
    """
    wanted = None if stype is None else as_stype(stype, known=True)
    if isinstance(obj, NDArray):
        found = obj if backend is None else obj.to(backend)
        if dtype is not None and found.dtype != as_dtype(dtype):
            found = operators["cast"](found, dtype=as_dtype(dtype))
    elif is_scipy(obj):
        found = _from_scipy(obj, get_backend(backend), dtype)
    else:
        found = wrap(Dense(as_values(obj, get_backend(backend), dtype)), get_backend(backend))
    return found if wanted is None else found.tostype(wanted)


def csr_array(obj: Any, shape: Any = None, *, dtype: Any = None, backend: Any = None) -> NDArray:
    """A csr array.

    Parameters
    ----------
    obj : (data, indices, indptr), (data, (row, col)), or whatever `array` takes
        Structure and values. Unsorted columns are sorted and entries that stand twice are added.
        The memory of values is shared where nothing has to change; index arrays are copied unless
        they are read-only.
    shape : (int, int), optional
        By default what the structure needs.
    dtype : dtype-like, optional
        Type of the values; by default that of the data.
    backend : str, optional
        The library that holds the values; by default the current one.

    Returns
    -------
    NDArray

    Raises
    ------
    FormatError
        At the first place where the structure describes no array.

    Examples
    --------
    >>> csr_array(([1.0, 2.0, 3.0], ([0, 1, 0], [2, 0, 2])), shape=(2, 3))
    <float64[2,3] csr, 2 stored>
      (0, 2)  4.0
      (1, 0)  2.0
    """
    found, shape = get_backend(backend), None if shape is None else matrix_shape(shape)
    if isinstance(obj, tuple) and len(obj) == 3:
        data, indices, indptr = obj
        indices, indptr = as_indices(found, shape, indices=indices, indptr=indptr)
        if not len(indptr):
            raise FormatError("indptr is empty; its first entry is 0", slot="indptr")
        if shape is None:
            shape = matrix_shape((len(indptr) - 1, needed_length(indices)))
        storage = CSR(as_values(data, found, dtype), indices, indptr, shape)
        storage.validate_parts()
        return wrap(storage.canonicalize(found.xp), found)
    if isinstance(obj, tuple) and all(isinstance(n, int) for n in obj) and len(obj) == 2:
        raise ShapeError(f"{obj} is a shape; so.zeros({obj}, stype='csr') is the empty matrix")
    if isinstance(obj, tuple) and len(obj) == 2 and isinstance(obj[1], (tuple, list)):
        return _from_coordinates(*obj, shape, found, dtype)
    return _converted(obj, "csr", shape, dtype, backend)


def row_sparse_array(
    obj: Any, shape: Any = None, *, dtype: Any = None, backend: Any = None
) -> NDArray:
    """A row_sparse array.

    Parameters
    ----------
    obj : (data, indices), or whatever `array` takes
        Whole rows and their numbers. Rows out of order are sorted, and rows that stand twice are
        added. The memory of values is shared where nothing has to change; indices are copied
        unless they are read-only.
    shape : tuple of int, optional
        By default as many rows as the largest index needs.
    dtype : dtype-like, optional
        Type of the values; by default that of the data.
    backend : str, optional
        The library that holds the values; by default the current one.

    Returns
    -------
    NDArray

    Raises
    ------
    FormatError
        At the first place where the structure describes no array.

    Examples
    --------
    >>> row_sparse_array(([[1.0, 2.0]], [3]), shape=(5, 2))
    <float64[5,2] row_sparse, 1 row stored>
      row 3  [1. 2.]
    """
    found, shape = get_backend(backend), None if shape is None else as_shape(shape)
    if isinstance(obj, tuple) and len(obj) == 2:
        data, (indices,) = as_values(obj[0], found, dtype), as_indices(found, shape, indices=obj[1])
        if not data.ndim:
            raise ShapeError("data is a number; row_sparse data are whole rows")
        if shape is None:
            shape = needed_length(indices), *data.shape[1:]
        storage = RowSparse(data, indices, as_shape(shape))
        storage.validate_parts()
        return wrap(storage.canonicalize(found.xp), found)
    return _converted(obj, "row_sparse", shape, dtype, backend)


def wrap(storage: Storage, backend: Backend) -> NDArray:
    """An array of a storage that is checked."""
    backend.freeze(*storage.parts)
    return NDArray(storage, backend)


def _converted(obj: Any, stype: str, shape: Any, dtype: Any, backend: Any) -> NDArray:
    found = asarray(obj, dtype, stype=stype, backend=backend)
    if shape is not None and found.shape != shape:
        raise ShapeError(f"the values have shape {found.shape}, not {shape}")
    return found


def matrix_shape(shape: Any) -> tuple[int, int]:
    """`shape` as two lengths."""
    found = as_shape(shape)
    if len(found) != 2:
        raise ShapeError(f"shape {found} has {len(found)} dimensions; csr has 2")
    return found


def _from_coordinates(data: Any, places: Any, shape: Any, backend: Backend, dtype: Any) -> NDArray:
    if len(places) != 2:
        raise FormatError(f"{len(places)} index arrays; (data, (row, col)) has 2")
    xp = backend.xp
    places = as_indices(backend, shape, row=places[0], col=places[1])
    if shape is None:
        shape = matrix_shape([needed_length(indices) for indices in places])
    values, (rows, columns) = _merged(data, places, ("row", "col"), shape, backend, dtype)
    with allocating(f"indptr of {shape[0]} rows"):
        indptr = xp.zeros(shape[0] + 1, columns.dtype)
        counts = xp.bincount(rows, minlength=shape[0])
    xp.cumsum(counts, out=indptr[1:])
    return wrap(CSR(values, columns, indptr, shape), backend)


def _merged(
    data: Any, places: Any, names: Any, shape: tuple[int, ...], backend: Backend, dtype: Any
) -> tuple[Any, list[Any]]:
    """Checked values, and where they stand, in order and with those of one place added up."""
    values = as_values(data, backend, dtype)
    for name, indices, limit in zip(names, places, shape, strict=True):
        if values.shape != indices.shape:
            raise FormatError(
                f"data has shape {values.shape} and {name} {indices.shape}; they must be equal",
                slot=name,
            )
        outside = (indices < 0) | (indices >= limit)
        if outside.any():
            at = int(outside.argmax())
            raise FormatError(f"{name}[{at}]={int(indices[at])}, but shape is {shape}", slot=name)
    return merged(values, tuple(places), shape, backend.xp)


def _from_scipy(obj: Any, backend: Backend, dtype: Any) -> NDArray:
    if obj.ndim != 2:
        return _from_nd_coordinates(obj.tocoo(copy=False), backend, dtype)
    if obj.format == "csc":
        # Its own conversion would write anywhere if its structure were broken.
        _compressed(obj, obj.shape[::-1], backend, dtype).validate_parts()
        obj = obj.tocsr()
    if obj.format == "csr":
        storage = _compressed(obj, obj.shape, backend, dtype)
        storage.validate_parts()
        return wrap(storage.canonicalize(backend.xp), backend)
    coo = obj.tocoo(copy=False)
    return _from_coordinates(coo.data, (coo.row, coo.col), obj.shape, backend, dtype)


def _compressed(obj: Any, shape: tuple[int, int], backend: Backend, dtype: Any) -> CSR:
    """The parts of a csr or csc matrix, without what lies behind its last entry."""
    stored = slice(int(obj.indptr[-1]) if len(obj.indptr) else 0)
    indices, indptr = as_indices(backend, shape, indices=obj.indices[stored], indptr=obj.indptr)
    return CSR(as_values(obj.data[stored], backend, dtype), indices, indptr, shape)


def _from_nd_coordinates(coo: Any, backend: Backend, dtype: Any) -> NDArray:
    """The rows that a sparse array of scipy with any number of axes stores something in."""
    names = [f"coords[{axis}]" for axis in range(coo.ndim)]
    places = as_indices(backend, coo.shape, **dict(zip(names, coo.coords, strict=True)))
    values, (rows, *others) = _merged(coo.data, places, names, coo.shape, backend, dtype)
    xp = backend.xp
    firsts = xp.ones(len(rows), bool)
    firsts[1:] = rows[1:] != rows[:-1]
    indices = rows[firsts]
    with allocating(f"{len(indices)} rows of shape {coo.shape[1:]}"):
        data = xp.zeros((len(indices), *coo.shape[1:]), values.dtype)
    data[(xp.cumsum(firsts) - 1, *others)] = values
    return wrap(RowSparse(data, indices, coo.shape), backend)


def _shares(found: NDArray, obj: Any) -> bool:
    """Whether `found` has memory of somebody else's."""
    if found is obj:
        return True
    return any(part.base is not None for part in found.storage.parts)
