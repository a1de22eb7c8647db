"""Files as readers get them: by path or already open, compressed or not, with names for errors."""

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

from sparseops.errors import FormatError

_GZIP = b"\x1f\x8b"


def name_of_file(file: Any) -> str:
    """What errors call `file`, a path or an open file."""
    if isinstance(file, (str, os.PathLike)):
        return os.fspath(file)
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else f"<{type(file).__name__}>"


@contextmanager
def reading(file: Any) -> Iterator[IO[bytes]]:
    """The bytes of `file`, a path or a binary file that is open; what gzip made is unpacked."""
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as opened:
            yield _unpacked(opened)
        return
    buffered = file if hasattr(file, "peek") else BufferedReader(file)
    try:
        yield _unpacked(buffered)
    finally:
        if buffered is not file:
            buffered.detach()  # or it would close the caller's file with itself


@contextmanager
def writing(file: Any) -> Iterator[IO[bytes]]:
    """A binary file to write to; packed by gzip where `file` is a path that ends in ".gz".

    A path gets its new content only when the block ends without an error.
    """
    if not isinstance(file, (str, os.PathLike)):
        yield file
        return
    path = Path(file)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(partial, "wb") as made:
            yield made
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def unpacking(name: str) -> Iterator[None]:
    """A block in which damage to the compressed file `name` is a FormatError."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"{name}: the gzip file is damaged or cut off: {error}") from error


def read_whole(opened: IO[bytes], name: str, limit: int | None) -> bytes:
    """All of `opened`; FormatError if it unpacks to more than `limit` bytes."""
    if limit is None or not isinstance(opened, gzip.GzipFile):
        return opened.read()
    content = opened.read(limit + 1)
    if len(content) > limit:
        raise FormatError(f"{name}: it unpacks to more than {limit} bytes, which is the limit=")
    return content


def _unpacked(opened: Any) -> IO[bytes]:
    """`opened`, or what it unpacks to."""
    return gzip.GzipFile(fileobj=opened) if opened.peek(2)[:2] == _GZIP else opened
