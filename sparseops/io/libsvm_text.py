"""Text in libsvm's format, made of arrays."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sparseops.constructors import asarray
from sparseops.errors import DTypeError, ShapeError
from sparseops.io.files import writing
from sparseops.io.libsvm import check_base
from sparseops.registry import operators

_ENTRIES = 2**16


def write_libsvm(file: Any, x: Any, y: Any, *, base: int = 1, qid: Any = None) -> None:
    """Write the rows of a matrix and their labels in libsvm's format.

    Parameters
    ----------
    file : path or binary file
        Packed by gzip where it is a path that ends in ".gz".
    x : array of shape (m, n), of any storage
        Real values; what is stored is written, explicit zeros too, with as many digits as tell it
        from every other value of its dtype.
    y : array of shape (m,)
        Labels.
    base : {0, 1}, optional
        The number of the first column. Nothing in the file tells it: give it when reading, too.
    qid : integer array of shape (m,), optional
        Query ids.

    Raises
    ------
    ShapeError, DTypeError
        If the shapes do not fit, or values are complex.

    Examples
    --------
    >>> from io import BytesIO
    >>> import sparseops as so
    >>> from sparseops import io
    >>> lines = BytesIO()
    >>> io.write_libsvm(lines, so.csr_array([[0.0, 0.1], [2.0, 0.0]]), [1, 0])
    >>> lines.getvalue()
    b'1 2:0.1\\n0 1:2.0\\n'
    """
    check_base(base, stated=True)
    x, y = asarray(x), asarray(y).tostype("dense")
    if x.ndim != 2 or y.shape != x.shape[:1]:
        raise ShapeError(f"x has shape {x.shape} and y has {y.shape}: not (m, n) and (m,)")
    for label, values in (("x", x), ("y", y)):
        if values.dtype.kind == "c":
            raise DTypeError(f"{label} has {values.dtype} values; the format has real ones")
    matrix = operators["cast_storage"](x, stype="csr")
    heads = _written(y.asnumpy())
    if qid is not None:
        ids = asarray(qid)
        if ids.shape != y.shape or ids.dtype.kind not in "iu":
            raise ShapeError(f"qid is {ids.spec}; it must have an integer a row: shape {y.shape}")
        if (ids.asnumpy() < 0).any():
            raise ValueError("qid has a negative id; ids count from 0")
        heads = _beside(heads, b" qid:", _written(ids.asnumpy()))
    asnumpy = x.backend.asnumpy
    data, columns, indptr = (asnumpy(part) for part in (matrix.data, matrix.indices, matrix.indptr))
    with writing(file) as opened:
        for start, stop in _pieces(indptr):
            entries = slice(int(indptr[start]), int(indptr[stop]))
            numbers = _written(columns[entries].astype(np.int64) + base)
            pairs = _beside(_beside(np.array(b" "), b"", numbers), b":", _written(data[entries]))
            opened.write(_lines(heads[start:stop], pairs, np.diff(indptr[start : stop + 1])))


def _written(values: Any) -> Any:
    """The shortest texts that are read as `values` again."""
    if values.dtype.kind == "b":
        values = values.astype(np.int8)
    return values.astype("S32")


def _beside(left: Any, between: bytes, right: Any) -> Any:
    return np.char.add(np.char.add(left, between), right)


def _pieces(indptr: Any) -> Iterator[tuple[int, int]]:
    """Rows from where to where have about `_ENTRIES` entries together."""
    start, rows = 0, len(indptr) - 1
    while start < rows:
        room = int(indptr[start]) + _ENTRIES
        stop = int(np.searchsorted(indptr, room, side="right")) - 1
        stop = min(max(stop, start + 1), start + _ENTRIES, rows)
        yield start, stop
        start = stop


def _lines(heads: Any, pairs: Any, counts: Any) -> bytes:
    """The text of rows: each of `heads`, then as many of `pairs` as `counts` says."""
    pieces = np.empty(len(heads) + len(pairs), f"S{max(heads.itemsize + 1, pairs.itemsize)}")
    at = np.cumsum(counts) - counts + np.arange(len(heads))
    is_head = np.zeros(len(pieces), bool)
    is_head[at] = True
    pieces[is_head] = np.char.add(b"\n", heads)
    pieces[~is_head] = pairs
    return b"".join(pieces.tolist())[1:] + b"\n"
