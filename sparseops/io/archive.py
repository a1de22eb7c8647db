"""Arrays in npz files: whatever is nested of them, SciPy's sparse matrices, and plain arrays."""

import os
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from sparseops.backend import Backend, get_backend
from sparseops.constructors import asarray, csr_array
from sparseops.errors import FormatError
from sparseops.io.files import name_of_file, writing
from sparseops.io.members import Members, opened_archive, write_member
from sparseops.io.tree import Reader, Writer, decoded, encoded
from sparseops.ndarray import NDArray
from sparseops.registry import operators
from sparseops.storage import CSR

_STRUCTURE = "structure"


def save(file: Any, value: Any, *, compress: bool = False) -> None:
    """Write arrays, and dicts, lists and tuples of them, to an npz file.

    Parameters
    ----------
    file : path or binary file
        The path is used as it is. The file of that name is replaced when all is written.
    value : NDArray, numpy array, number, str, None, or a dict, list or tuple of such
        Any nesting, such as parameters and the states of their optimizers. Storages, dtypes and the
        widths of indices are kept. Keys are strings.
    compress : bool, optional
        Whether to deflate, which takes several times as long.

    Raises
    ------
    TypeError
        For any other value: nothing is pickled.

    Examples
    --------
    >>> from io import BytesIO
    >>> import sparseops as so
    >>> from sparseops import io
    >>> file = BytesIO()
    >>> io.save(file, {"w": so.csr_array([[0.0, 2.0]]), "steps": [1, 2]})
    >>> io.load(file)
    {'w': <float64[1,2] csr, 1 stored>
      (0, 1)  2.0, 'steps': [1, 2]}
    """
    method = ZIP_DEFLATED if compress else ZIP_STORED
    with writing(file) as opened, ZipFile(opened, "w", method) as archive:
        writer = Writer(lambda name, data: write_member(archive, name, data))
        write_member(archive, _STRUCTURE, encoded(writer.node(value)))


def load(file: Any, *, limit: int | None = 2**30, backend: Any = None) -> Any:
    """What an npz file holds.

    Parameters
    ----------
    file : path or binary file
        Of `save`; or of ``scipy.sparse.save_npz`` in csr, csc or coo format, which gives a csr
        array; or of ``numpy.savez``, which gives a dict of dense arrays.
    limit : int or None, optional
        The most bytes that compressed members may unpack to, and that making the row pointers of
        a matrix in coo or csc format may take.
    backend : str, optional
        The library that holds the arrays; by default the current one.

    Returns
    -------
    NDArray, or what was saved
        Dicts, lists, tuples and numbers are as they were saved.

    Raises
    ------
    FormatError
        Naming the file and the member, if the file is damaged, cut off or hostile: lengths that do
        not fit, indices out of range, more bytes claimed than there are, Python objects.

    Notes
    -----
    Memory for the arrays; nothing is allocated before the file is known to hold it. Nothing is
    unpickled, and names in the file are never paths.

    Examples
    --------
    >>> from io import BytesIO
    >>> import sparseops as so
    >>> from sparseops import io
    >>> file = BytesIO()
    >>> io.save(file, so.row_sparse_array(([[1, 2]], [4]), shape=(6, 2)))
    >>> io.load(file)
    <int64[6,2] row_sparse, 1 row stored>
      row 4  [1 2]
    """
    found = get_backend(backend)
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as opened:
            return load(opened, limit=limit, backend=found)
    try:
        with opened_archive(file, limit) as members:
            return _kind(members)(members, found, limit)
    except (FormatError, TypeError, ValueError) as error:
        raise FormatError(f"{name_of_file(file)}: {error}") from error


def _kind(members: Members) -> Any:
    if _STRUCTURE in members.infos:
        return _own
    return _scipy if {"format", "shape", "data"} <= set(members.infos) else _plain


def _own(members: Members, backend: Backend, limit: int | None) -> Any:
    node = decoded(members.read(_STRUCTURE))
    reader = Reader(members.read, backend)
    value = reader.value(node)
    more = set(members.infos) - reader.taken - {_STRUCTURE}
    if more:
        raise FormatError(f"member {min(more)[:60]!r} belongs to nothing")
    return value


def _plain(members: Members, backend: Backend, limit: int | None) -> dict[str, NDArray]:
    return {name: asarray(members.read(name), backend=backend) for name in members.infos}


def _scipy(members: Members, backend: Backend, limit: int | None) -> NDArray:
    written = members.read("format")
    name = written.reshape(-1)[0] if written.size == 1 and written.dtype.kind in "SU" else b""
    name = name.decode("ascii", "replace") if isinstance(name, bytes) else str(name)
    shape, data = members.read("shape"), members.read("data")
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise FormatError(f"the shape of a matrix is two integers, not {shape.shape}")
    shape = tuple(int(n) for n in shape)
    if name != "csr" and limit is not None and (shape[0] + 1) * 16 > limit:
        raise FormatError(f"making row pointers of {shape[0]} rows takes more than limit={limit}")
    if name == "coo":
        pair = members.read("row"), members.read("col")
        return csr_array((data, pair), shape, backend=backend)
    if name not in ("csr", "csc"):
        raise FormatError(
            f"format {name[:40]!r} is not csr, csc or coo; "
            "so.asarray(scipy.sparse.load_npz(file)) takes all of SciPy's"
        )
    parts = data, members.read("indices"), members.read("indptr")
    if name == "csr":
        return csr_array(parts, shape, backend=backend)
    return operators["transpose"](csr_array(parts, shape[::-1], backend=backend))


def is_canonical(path: str) -> bool:
    """Whether an archive of SciPy in csr or csc format, where any order may stand, is sorted.

    True for all other files: their readers refuse what is not, or have no order to look at.
    """
    if not path.endswith(".npz"):
        return True
    with open(path, "rb") as opened, opened_archive(opened, None) as members:
        if _kind(members) is not _scipy or "indptr" not in members.infos:
            return True
        data, indices, indptr = (members.read(name) for name in ("data", "indices", "indptr"))
        columns = int(indices.max(initial=-1)) + 1
        try:
            CSR(data, indices, indptr, (len(indptr) - 1, columns)).validate()
        except FormatError:
            return False
        return True
