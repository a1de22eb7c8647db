"""Matrix Market files, by SciPy's reader and writer, held to the format line by line."""

import re
from importlib import import_module
from io import BytesIO
from typing import Any, NamedTuple, NoReturn

import numpy as np

from sparseops.constructors import array, asarray, csr_array
from sparseops.errors import FormatError, ShapeError
from sparseops.io.files import name_of_file, read_whole, reading, unpacking, writing
from sparseops.ndarray import NDArray
from sparseops.registry import operators

_HEADER = {
    "object": ("matrix",),
    "format": ("coordinate", "array"),
    "field": ("real", "double", "integer", "unsigned-integer", "complex", "pattern"),
    "symmetry": ("general", "symmetric", "skew-symmetric", "hermitian"),
}
_INTEGER = rb"[+-]?\d+"
_REAL = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_FLOAT = rb"(?:" + _REAL + rb"|[+-]?(?:[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?))"
_VALUES = {
    "integer": (_INTEGER,),
    "unsigned-integer": (_INTEGER,),
    "complex": (_FLOAT, _FLOAT),
    "pattern": (),
}
_FIELDS = {"f": "real", "i": "integer", "u": "unsigned-integer", "c": "complex"}
_SPACE = rb"[ \t]+"
#: The signs of the mirrored half, and the least distance from it at which entries stand.
_MIRRORS = {"symmetric": (1, 0), "hermitian": (1, 0), "skew-symmetric": (-1, 1)}


class _Head(NamedTuple):
    """What the first lines say; `lines` of them, up to the byte `end`."""

    format: str
    field: str
    symmetry: bytes
    sizes: tuple[int, ...]
    lines: int
    end: int


def read_mtx(file: Any, *, limit: int | None = 2**30) -> NDArray:
    """The matrix of a Matrix Market file.

    Parameters
    ----------
    file : path or binary file
        The text, packed by gzip or not; read whole.
    limit : int or None, optional
        The most bytes that a packed file may unpack to, and that making the row pointers may
        take, whose number the file merely states.

    Returns
    -------
    NDArray
        csr of a file in coordinate format, with entries that stand twice added up and zeros that
        stand in it stored; dense of one in array format. The half of a symmetric, skew-symmetric or
        Hermitian matrix that is not in the file is filled in. A pattern's values are 1.0.

    Raises
    ------
    FormatError
        With file and line, where the file is not of the format.

    Examples
    --------
    >>> from io import BytesIO
    >>> from sparseops import io
    >>> text = b"%%MatrixMarket matrix coordinate real symmetric\\n3 3 2\\n1 1 0.5\\n3 1 2\\n"
    >>> io.read_mtx(BytesIO(text))
    <float64[3,3] csr, 3 stored>
      (0, 0)  0.5
      (0, 2)  2.0
      (2, 0)  2.0

    References
    ----------
    Boisvert, Pozo, Remington: The Matrix Market exchange formats: initial design, NISTIR 5935
    (1996).
    """
    name = name_of_file(file)
    with reading(file) as opened, unpacking(name):
        text = read_whole(opened, name, limit)
    text += b"\n" * (text[-1:] != b"\n")
    head = _head(text, name)
    _check_body(text, head, name)
    if head.format == "array" and 0 in head.sizes:  # which crash SciPy
        return _empty_array(text, head, name)
    if head.format == "array":
        return array(_scipy_read(text, name))
    rows, columns, _ = head.sizes
    if limit is not None and (rows + 1) * 16 > limit:
        fact = f"making the row pointers of {rows} rows takes more than limit={limit} bytes"
        _refuse(name, head.lines, fact)
    general = text
    if head.symmetry != b"general":
        general = text.replace(head.symmetry, b"general", 1)
    coo = _scipy_read(general, name)
    data, row, column = _filled(coo, head, text, name)
    return csr_array((data, (row, column)), (rows, columns))


def write_mtx(file: Any, x: Any, *, comment: str = "") -> None:
    """Write a matrix in Matrix Market's format: coordinate if it is sparse, array if dense.

    Parameters
    ----------
    file : path or binary file
        Packed by gzip where it is a path that ends in ".gz".
    x : array of shape (m, n), of any storage
        A row_sparse one is written as csr. Values are written with as many digits as tell them from
        every other value of their dtype; float16 as float32, and bool as integers.
    comment : str, optional
        What the file says of itself.

    Raises
    ------
    ShapeError
        If `x` has not two dimensions.

    Examples
    --------
    >>> from io import BytesIO
    >>> import sparseops as so
    >>> from sparseops import io
    >>> text = BytesIO()
    >>> io.write_mtx(text, so.csr_array([[0, 3], [0, 0]]))
    >>> print(text.getvalue().decode())
    %%MatrixMarket matrix coordinate integer general
    %
    2 2 1
    1 2 3
    """
    x = asarray(x)
    if x.ndim != 2:
        raise ShapeError(f"x has shape {x.shape}; a matrix has two dimensions")
    cast = operators["cast_storage"]
    if x.dtype in (np.float16, np.bool_):
        x = x.astype(np.float32 if x.dtype == np.float16 else np.int8)
    if x.stype == "dense":
        matrix = x.asnumpy()
    else:
        matrix = cast(x, stype="csr").to("scipy").asscipy().tocoo()
    field = _FIELDS[x.dtype.kind]
    with writing(file) as opened:
        if not x.nnz:  # SciPy calls these real if they are sparse, and refuses them if dense
            opened.write(_empty(x, field, comment))
            return
        given = {"comment": comment, "field": field, "symmetry": "general"}
        import_module("scipy.io").mmwrite(opened, matrix, **given)


def _empty(x: NDArray, field: str, comment: str) -> bytes:
    """The text of a matrix that stores nothing."""
    kind, end = ("array", "") if x.stype == "dense" else ("coordinate", " 0")
    notes = "".join(f"%{line}\n" for line in comment.split("\n"))
    sizes = f"{x.shape[0]} {x.shape[1]}{end}\n"
    return f"%%MatrixMarket matrix {kind} {field} general\n{notes}{sizes}".encode()


def _head(text: bytes, name: str) -> _Head:
    """The header and the size line."""
    first = text[: text.find(b"\n")]
    words = first.decode("utf-8", "replace").split()
    if not words or words[0].lower() != "%%matrixmarket":
        _refuse(name, 1, "the first line is '%%MatrixMarket object format field symmetry'")
    if len(words) != 5:
        _refuse(name, 1, f"the header has {len(words)} words; it has 5")
    for (kind, known), word in zip(_HEADER.items(), words[1:], strict=True):
        if word.lower() not in known:
            _refuse(name, 1, f"{kind} {word[:40]!r} is not {', '.join(known)}")
    _, form, field, symmetry = (word.lower() for word in words[1:])
    if form == "array" and field == "pattern":
        _refuse(name, 1, "an array has values, so it is no pattern")
    line, start = 2, len(first) + 1
    while start < len(text):
        stop = text.find(b"\n", start)
        stop = len(text) if stop < 0 else stop
        content = text[start:stop].strip()
        if content and not content.startswith(b"%"):
            sizes = _sizes(content, form, symmetry, name, line)
            return _Head(form, field, words[4].encode(), sizes, line, stop + 1)
        line, start = line + 1, stop + 1
    _refuse(name, line, "the file ends before its sizes")


def _sizes(content: bytes, form: str, symmetry: str, name: str, line: int) -> tuple[int, ...]:
    words = content.split()
    expected = ("rows", "columns", "entries")[: 3 if form == "coordinate" else 2]
    digits = all(word.isdigit() and len(word) < 19 for word in words)
    if len(words) != len(expected) or not digits:
        shown = content[:40].decode("utf-8", "replace")
        _refuse(name, line, f"{shown!r} is not {', '.join(expected)}")
    sizes = tuple(map(int, words))
    if symmetry != "general" and sizes[0] != sizes[1]:
        _refuse(name, line, f"{sizes[0]} rows and {sizes[1]} columns, but {symmetry} is square")
    return sizes


def _check_body(text: bytes, head: _Head, name: str) -> None:
    """Raise unless the lines behind the sizes have the right form, and there is room for them."""
    values = _VALUES.get(head.field, (_FLOAT,))
    places = (rb"\d+", rb"\d+") if head.format == "coordinate" else ()
    entry = _SPACE.join((*places, *values))
    lines = re.compile(rb"(?:[ \t]*+(?:" + entry + rb"[ \t]*+)?\r?\n)*+")
    end = lines.match(text, min(head.end, len(text))).end()
    if text[end:].strip():
        line = 1 + text.count(b"\n", 0, end)
        shown = text[end : end + 60].split(b"\n")[0].strip().decode("utf-8", "replace")
        kind = f"{head.format} {head.field}"
        _refuse(name, line, f"{shown!r} is not the line of an entry of a {kind} matrix")
    sizes = head.sizes
    count = sizes[2] if head.format == "coordinate" else sizes[0] * sizes[1] // 2
    if count * 2 * max(1, len(places) + len(values)) > len(text) - head.end + 2:
        _refuse(name, head.lines, f"the sizes {sizes} need more lines than the file has")


def _scipy_read(text: bytes, name: str) -> Any:
    """What SciPy reads of `text`."""
    try:
        return import_module("scipy.io").mmread(BytesIO(text), spmatrix=False)
    except (ValueError, OverflowError, TypeError, MemoryError) as error:
        found = re.match(r"Line (\d+): (.*)", str(error), re.DOTALL)
        line, fact = found.groups() if found else (1 + text.rstrip().count(b"\n"), str(error))
        raise FormatError(f"{name}, line {line}: {fact.rstrip('.').lower()}") from error


def _empty_array(text: bytes, head: _Head, name: str) -> NDArray:
    if text[head.end :].strip():
        rest = text[head.end :]
        line = head.lines + 1 + rest[: len(rest) - len(rest.lstrip())].count(b"\n")
        _refuse(name, line, f"the sizes {head.sizes} have no values, but here is one")
    kinds = {"integer": np.int64, "unsigned-integer": np.uint64, "complex": np.complex128}
    return array(np.zeros(head.sizes, kinds.get(head.field, np.float64)))


def _filled(coo: Any, head: _Head, text: bytes, name: str) -> tuple[Any, Any, Any]:
    """The entries, and those of the half that the file leaves out."""
    (row, column), data = coo.coords, coo.data
    symmetry = head.symmetry.decode().lower()
    if symmetry == "general":
        return data, row, column
    sign, least = _MIRRORS[symmetry]
    wrong = row - column < least
    if wrong.any():
        at = int(wrong.argmax())
        place = f"({int(row[at]) + 1}, {int(column[at]) + 1})"
        side = "below" if least else "on or below"
        _refuse(name, _line_of(text, head, at), f"entry {place} is not {side} the diagonal")
    if symmetry == "hermitian" and head.field == "complex":
        wrong = (row == column) & (data.imag != 0)
        if wrong.any():
            at = int(wrong.argmax())
            _refuse(name, _line_of(text, head, at), "the diagonal of a Hermitian matrix is real")
    if sign < 0 and data.dtype.kind == "u":
        _refuse(name, 1, "unsigned integers have no skew-symmetric half")
    off = row != column
    mirrored = sign * data[off]
    if symmetry == "hermitian":
        mirrored = np.conj(mirrored)
    return (
        np.concatenate([data, mirrored]),
        np.concatenate([row, column[off]]),
        np.concatenate([column, row[off]]),
    )


def _line_of(text: bytes, head: _Head, entry: int) -> int:
    """The line of the entry numbered `entry`."""
    for line, content in enumerate(text[head.end :].split(b"\n"), head.lines + 1):
        if content.strip():
            if not entry:
                return line
            entry -= 1
    return head.lines


def _refuse(name: str, line: int, fact: str) -> NoReturn:
    raise FormatError(f"{name}, line {line}: {fact}")
