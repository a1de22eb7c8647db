"""The members of an npz archive: plain arrays in NumPy's format, written and read without pickles.

Nothing is allocated for an array before the archive is known to hold as many bytes.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy

from sparseops.errors import FormatError
from sparseops.spec import as_dtype

_PIECE = 2**20
_LONGEST = 10_000
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[a-zA-Z]\d*)', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,20}, ?)*(?:\d{1,20})?)\), ?\} *\n?"
)
_END = ".npy"
_DAMAGE = (BadZipFile, EOFError, NotImplementedError, RuntimeError, struct.error, zlib.error)
_ENCRYPTED = 1


def write_member(archive: ZipFile, name: str, data: Any) -> None:
    """Put the array `data` into the archive as `name`."""
    info = ZipInfo(name + _END)  # dated 1980, so that equal arrays make equal files
    info.compress_type = archive.compression
    with archive.open(info, "w", force_zip64=True) as member:
        npy.write_array(member, np.ascontiguousarray(data).reshape(data.shape), allow_pickle=False)


class Members:
    """The arrays of an archive by name, each read when it is asked for.

    Parameters
    ----------
    archive : ZipFile
        What is read.
    size : int
        The bytes of its file.
    limit : int or None
        The most bytes that compressed members may take together.
    """

    def __init__(self, archive: ZipFile, size: int, limit: int | None):
        self._archive = archive
        self.infos: dict[str, ZipInfo] = {}
        for info in archive.infolist():
            name = info.filename.removesuffix(_END)
            if name == info.filename:
                raise FormatError(f"member {_shown(name)} is no array: its name ends in {_END}")
            if name in self.infos:
                raise FormatError(f"member {_shown(name)} stands twice")
            if not 0 <= info.header_offset < size:
                at = info.header_offset
                raise FormatError(f"member {_shown(name)} starts at byte {at} of {size}")
            if info.flag_bits & _ENCRYPTED:
                raise FormatError(f"member {_shown(name)} is encrypted")
            if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                raise FormatError(f"member {_shown(name)} is packed in a way that no npz is")
            self.infos[name] = info
        if sum(info.compress_size for info in self.infos.values()) > size:
            raise FormatError(f"members claim more bytes than the {size} of the file")
        packed = [i.file_size for i in self.infos.values() if i.compress_type == ZIP_DEFLATED]
        if limit is not None and sum(packed) > limit:
            raise FormatError(f"members unpack to {sum(packed)} bytes; limit={limit}")

    def read(self, name: str) -> Any:
        """The array called `name`, in native byte order and of a dtype that arrays have."""
        if name not in self.infos:
            raise FormatError(f"member {_shown(name)} is missing")
        info = self.infos[name]
        if info.compress_type == ZIP_STORED and info.file_size != info.compress_size:
            raise FormatError(f"member {_shown(name)} has two sizes")
        with self._archive.open(info) as member:
            try:
                return _read_array(member, info.file_size)
            except (FormatError, ValueError, TypeError, EOFError, OverflowError) as error:
                raise FormatError(f"member {_shown(name)}: {error}") from error


@contextmanager
def opened_archive(file: IO[bytes], limit: int | None) -> Iterator[Members]:
    """The members of the archive in `file`; whatever is wrong with it is a FormatError."""
    try:
        size = file.seek(0, 2)
        file.seek(0)
        with ZipFile(file) as archive:
            yield Members(archive, size, limit)
    except _DAMAGE as error:
        raise FormatError(f"the archive is damaged or cut off: {error}") from error


def _read_array(member: IO[bytes], size: int) -> Any:
    dtype, by_columns, shape = _read_header(member)
    if dtype.hasobject:
        raise FormatError("it holds Python objects, which are never unpickled")
    if dtype.kind not in "SU" or not dtype.itemsize:
        as_dtype(dtype)
    count = prod(shape)
    if count * dtype.itemsize != size - member.tell():
        raise FormatError(
            f"shape {shape} of {dtype} needs {count * dtype.itemsize} bytes, but there are "
            f"{size - member.tell()}"
        )
    data = np.empty(count, dtype)
    view, at = memoryview(data).cast("B") if data.nbytes else memoryview(b""), 0
    while at < data.nbytes:
        piece = member.read(min(_PIECE, data.nbytes - at))
        if not piece:
            raise FormatError(f"it ends after {at} of {data.nbytes} bytes")
        view[at : at + len(piece)] = piece
        at += len(piece)
    member.read(1)  # at its end the checksum is compared
    if dtype.kind == "b" and data.size and data.view(np.uint8).max() > 1:
        raise FormatError("a value of bool is neither 0 nor 1")
    data = data.astype(dtype.newbyteorder("="), copy=False)
    return data.reshape(shape[::-1]).T if by_columns else data.reshape(shape)


def _read_header(member: IO[bytes]) -> tuple[np.dtype, bool, tuple[int, ...]]:
    """The dtype, whether columns come first, and the shape, from a header such as NumPy writes."""
    start = member.read(8)
    width = {b"\x93NUMPY\x01\x00": 2, b"\x93NUMPY\x02\x00": 4}.get(start)
    if width is None:
        raise FormatError(f"it starts with {start!r}; an npy array has version 1.0 or 2.0")
    length = int.from_bytes(member.read(width), "little")
    found = _HEADER.fullmatch(member.read(min(length, _LONGEST)))
    if not found:
        raise FormatError("its header is not one of the npy format")
    descr, order, lengths = (part.decode() for part in found.groups())
    shape = tuple(int(n) for n in lengths.split(",") if n.strip())
    if any(n >= 2**63 for n in shape):
        raise FormatError(f"shape {shape} is beyond int64")
    return np.dtype(descr), order == "True", shape


def _shown(name: str) -> str:
    return repr(name[:60])
