"""Files in libsvm's format: a line is a label, perhaps a query id, and column:value pairs."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from sparseops.backend import get_backend
from sparseops.constructors import asarray, wrap
from sparseops.errors import DTypeError, FormatError
from sparseops.io.files import name_of_file, reading, unpacking
from sparseops.io.lines import Rows, read_rows
from sparseops.ndarray import NDArray
from sparseops.spec import as_dtype, as_shape
from sparseops.storage import CSR, index_dtype


def read_libsvm(
    file: Any,
    *,
    base: int | None = None,
    num_columns: int | None = None,
    dtype: Any = float,
    qid: bool = False,
) -> tuple[NDArray, ...]:
    """The csr matrix of a file in libsvm's format, and the labels of its rows.

    Parameters
    ----------
    file : path or binary file
        The text, packed by gzip or not. Empty lines, and what stands behind "#", are left out.
    base : {0, 1}, optional
        The number of the first column. Where it is not given it is 0 if a column 0 stands in the
        file, else 1, and a warning says which.
    num_columns : int, optional
        The width of the matrix; by default what the largest column needs.
    dtype : dtype-like, optional
        The type of the matrix; labels are float64.
    qid : bool, optional
        Whether to return the query ids too. They are checked and left out otherwise.

    Returns
    -------
    x : NDArray
        In csr storage. Zeros that stand in the file are stored.
    y : NDArray
        Dense labels, one a row.
    ids : NDArray, only if `qid`
        Dense int64 query ids, one a row, -1 where a row has none.

    Raises
    ------
    FormatError
        With file and line, where a line is not of the format, a column does not lie in the matrix,
        or columns do not ascend in their line.

    Notes
    -----
    Memory for the result and a few MiB of text. See `read_libsvm_batches` for larger files.

    Examples
    --------
    >>> from io import BytesIO
    >>> from sparseops import io
    >>> x, y = io.read_libsvm(BytesIO(b"1 1:0.5 3:2 # a comment\\n-1 2:1\\n"), base=1)
    >>> x
    <float64[2,3] csr, 3 stored>
      (0, 0)  0.5
      (0, 2)  2.0
      (1, 1)  1.0
    >>> y
    <float64[2] dense>
    [ 1. -1.]
    """
    name, dtype = name_of_file(file), _value_dtype(dtype)
    check_base(base)
    width = None if num_columns is None else as_shape(num_columns)[0]
    with reading(file) as opened, unpacking(name):
        blocks = [_narrow(_in_order(block, name), dtype, name) for block in read_rows(opened, name)]
    if base is None:
        base = 0 if any((block.columns == 0).any() for block in blocks) else 1
        reason = "a column 0 stands in it" if base == 0 else "no column 0 stands in it"
        warnings.warn(f"{name}: base={base} is assumed, since {reason}; give base=", stacklevel=2)
    found = max((int(block.columns.max(initial=base - 1)) for block in blocks), default=base - 1)
    width = found - base + 1 if width is None else width
    for block in blocks:
        _check_columns(block, base, width, name)
    return _arrays(_joined(blocks, dtype), base, width, qid)


def read_libsvm_batches(
    file: Any,
    batch_size: int,
    *,
    base: int,
    num_columns: int,
    dtype: Any = float,
    qid: bool = False,
) -> Iterator[tuple[NDArray, ...]]:
    """The matrices and labels of `batch_size` rows after the other of a file in libsvm's format.

    The file is read as far as needed, so it may be larger than memory. The last batch has the rows
    that are left.

    Parameters
    ----------
    file, dtype, qid
        As for `read_libsvm`.
    batch_size : int
        The rows of a batch.
    base : {0, 1}
        The number of the first column.
    num_columns : int
        The width of the matrices.

    Yields
    ------
    tuple of NDArray
        What `read_libsvm` returns, for the rows of a batch.

    Raises
    ------
    FormatError
        As for `read_libsvm`, when the line is reached.

    Notes
    -----
    Memory for a batch and a few MiB of text.

    Examples
    --------
    >>> from io import BytesIO
    >>> from sparseops import io
    >>> lines = BytesIO(b"1 0:2\\n2 1:3\\n3 0:4\\n")
    >>> for x, y in io.read_libsvm_batches(lines, 2, base=0, num_columns=2):
    ...     print(x.shape, y.asnumpy())
    (2, 2) [1. 2.]
    (1, 2) [3.]
    """
    name, dtype, width = name_of_file(file), _value_dtype(dtype), as_shape(num_columns)[0]
    check_base(base, stated=True)
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size}, but a batch has rows")
    waiting: list[Rows] = []
    with reading(file) as opened, unpacking(name):
        for block in read_rows(opened, name):
            _check_columns(_in_order(block, name), base, width, name)
            waiting.append(_narrow(block, dtype, name))
            if sum(len(b.labels) for b in waiting) < batch_size:
                continue
            rows = _joined(waiting, dtype)
            whole = len(rows.labels) // batch_size * batch_size
            for start in range(0, whole, batch_size):
                yield _arrays(_part(rows, start, start + batch_size), base, width, qid)
            waiting = [_part(rows, whole, len(rows.labels))]
    rows = _joined(waiting, dtype)
    if len(rows.labels):
        yield _arrays(rows, base, width, qid)


def _value_dtype(dtype: Any) -> np.dtype:
    found = as_dtype(dtype)
    if found.kind not in "fiu":
        raise DTypeError(f"dtype {found} is not that of numbers written in libsvm's format")
    return found


def check_base(base: Any, stated: bool = False) -> None:
    """Raise unless `base` is 0 or 1, or None where it need not be `stated`."""
    if base not in ((0, 1) if stated else (None, 0, 1)) or isinstance(base, bool):
        raise ValueError(f"base={base!r}, but columns count from 0 or 1")


def _in_order(block: Rows, name: str) -> Rows:
    """`block`, whose columns ascend in each row."""
    starts = np.cumsum(block.counts) - block.counts
    descents = block.columns[1:] <= block.columns[:-1]
    inner = starts[(starts > 0) & (starts < len(block.columns))]
    descents[inner - 1] = False
    if descents.any():
        at = int(descents.argmax()) + 1
        before, here = int(block.columns[at - 1]), int(block.columns[at])
        _refuse(block, at, name, f"column {here} behind column {before}; they ascend")
    return block


def _narrow(block: Rows, dtype: np.dtype, name: str) -> Rows:
    """`block` in the dtypes of the result, which take half of the memory."""
    with np.errstate(all="ignore"):
        values = block.values.astype(dtype)
    lost = (
        np.isinf(values) != np.isinf(block.values) if dtype.kind == "f" else values != block.values
    )
    if lost.any():
        at = int(lost.argmax())
        _refuse(block, at, name, f"value {block.values[at]} does not fit {dtype}")
    largest = int(block.columns.max(initial=0))
    return block._replace(columns=block.columns.astype(index_dtype(largest)), values=values)


def _check_columns(block: Rows, base: int, width: int, name: str) -> None:
    outside = (block.columns < base) | (block.columns >= width + base)
    if outside.any():
        at = int(outside.argmax())
        limits = f"[{base}, {width + base}): {width} columns counted from {base}"
        _refuse(block, at, name, f"column {int(block.columns[at])} is not in {limits}")


def _refuse(block: Rows, entry: int, name: str, fact: str) -> None:
    row = int(np.searchsorted(np.cumsum(block.counts), entry, side="right"))
    raise FormatError(f"{name}, line {block.line + int(block.numbers[row])}: {fact}")


def _joined(blocks: list[Rows], dtype: np.dtype) -> Rows:
    """All of `blocks` as one; the query ids are -1 where there are none."""
    if not blocks:
        none, nothing = np.zeros(0, np.int64), np.zeros(0)
        return Rows(nothing, none, none, none.astype(np.int32), nothing.astype(dtype), none, 1)
    qids = [np.full(len(b.labels), -1) if b.qids is None else b.qids for b in blocks]
    columns = ("labels", "counts", "columns", "values", "numbers")
    joined = {name: np.concatenate([getattr(b, name) for b in blocks]) for name in columns}
    return Rows(qids=np.concatenate(qids), line=blocks[0].line, **joined)


def _part(rows: Rows, start: int, stop: int) -> Rows:
    first = int(rows.counts[:start].sum())
    entries = slice(first, first + int(rows.counts[start:stop].sum()))
    columns, values = rows.columns[entries], rows.values[entries]
    labels, qids, counts, _, _, numbers, line = rows
    part = slice(start, stop)
    return Rows(labels[part], qids[part], counts[part], columns, values, numbers[part], line)


def _arrays(rows: Rows, base: int, width: int, qid: bool) -> tuple[NDArray, ...]:
    backend, count = get_backend(), len(rows.labels)
    wide = index_dtype(len(rows.columns), width, count)
    indptr = np.zeros(count + 1, wide)
    np.cumsum(rows.counts, out=indptr[1:])
    columns = rows.columns.astype(wide) - wide.type(base)
    parts = (backend.xp.asarray(part) for part in (rows.values, columns, indptr))
    x = wrap(CSR(*parts, (count, width)), backend)
    results = x, asarray(rows.labels), asarray(rows.qids)
    return results if qid else results[:2]
