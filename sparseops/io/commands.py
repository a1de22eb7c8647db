"""What `sparseops info FILE`, `sparseops convert IN OUT` and `sparseops spy FILE` do."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparseops.errors import FormatError, StorageError
from sparseops.io.archive import is_canonical, load, save
from sparseops.io.libsvm import read_libsvm
from sparseops.io.libsvm_text import write_libsvm
from sparseops.io.matrix_market import read_mtx, write_mtx
from sparseops.ndarray import NDArray

_LIBSVM = (".svm", ".libsvm", ".svmlight")
_KNOWN = f".npz, .mtx, {', '.join(_LIBSVM)}, the last four also with .gz"


def describe(path: str, base: int | None = None) -> None:
    """Print what is known of each array in the file `path`."""
    print(f"{'file':<14}{path}, {os.path.getsize(path)} bytes")
    arrays = list(_arrays(_read(path, base), ""))
    if not arrays:
        print("no arrays")
    for name, x in arrays:
        print()
        for fact, value in _facts(name, x, path):
            print(f"{fact:<14}{value}")


def convert(argv: Sequence[str]) -> int:
    """The exit status of converting a file of arrays to another format."""
    parser = argparse.ArgumentParser(
        "sparseops convert",
        description="Convert a file of arrays to another format, told by the end of its name: "
        f"{_KNOWN}.",
    )
    parser.add_argument("input", metavar="IN", help="the file to read")
    parser.add_argument("output", metavar="OUT", help="the file to write")
    add_base(parser)
    parser.add_argument("--compress", action="store_true", help="deflate an npz file")
    arguments = parser.parse_args(argv)
    _kind(arguments.output)
    value = _read(arguments.input, arguments.base)
    _WRITERS[_kind(arguments.output)](arguments, value)
    return 0


def spy(argv: Sequence[str]) -> int:
    """The exit status of drawing where the arrays of a file store values."""
    parser = argparse.ArgumentParser(
        "sparseops spy",
        description="Draw where the arrays of a file store values. The file is told by the end of "
        f"its name: {_KNOWN}.",
    )
    parser.add_argument("file", metavar="FILE", help="the file to read")
    parser.add_argument("--out", metavar="PNG", required=True, help="the picture to write")
    parser.add_argument("--name", help="which array, as `sparseops info FILE` calls it")
    add_base(parser)
    arguments = parser.parse_args(argv)
    found = dict(_arrays(_read(arguments.file, arguments.base), ""))
    drawn = [x for name, x in found.items() if arguments.name in (None, name) and x.ndim]
    if not drawn:
        listed = ", ".join(map(repr, found)) or "no arrays"
        raise FormatError(f"{arguments.file}: nothing to draw; it has {listed}")
    try:
        axes = drawn[0].spy()
    except ImportError as error:
        print(f"sparseops: {error}", file=sys.stderr)
        return 1
    axes.figure.savefig(arguments.out, dpi=150)
    print(f"{arguments.out}: {drawn[0].spec}, {drawn[0].nnz} stored")
    return 0


def add_base(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--base`` to `parser`."""
    parser.add_argument(
        "--base", type=int, choices=(0, 1), help="the number of the first column of libsvm files"
    )


def _kind(path: str) -> str:
    end = Path(path.removesuffix(".gz")).suffix.lower()
    kind = "libsvm" if end in _LIBSVM else end.lstrip(".")
    if kind not in _WRITERS or (kind == "npz" and path.endswith(".gz")):
        raise FormatError(f"{path}: the end of its name is none of {_KNOWN}")
    return kind


def _read(path: str, base: int | None) -> Any:
    kind = _kind(path)
    if kind == "npz":
        return load(path)
    if kind == "mtx":
        return read_mtx(path)
    x, y = read_libsvm(path, base=base)
    return {"x": x, "y": y}


def _arrays(value: Any, name: str) -> Iterator[tuple[str, NDArray]]:
    """The arrays in `value`, and where they stand."""
    if isinstance(value, NDArray):
        yield name, value
    elif isinstance(value, (dict, list, tuple)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _arrays(item, f"{name}.{key}".lstrip("."))


def _facts(name: str, x: NDArray, path: str) -> Iterator[tuple[str, Any]]:
    if name:
        yield "array", name
    yield "shape", " x ".join(map(str, x.shape)) or "()"
    yield "storage", f"{x.stype} of {x.dtype}"
    yield "stored", f"{x.nnz} of {x.size} values"
    yield "density", f"{x.nnz / x.size:.3g}" if x.size else "no values"
    if x.stype == "csr" and x.shape[0]:
        counts = np.diff(x.backend.asnumpy(x.storage.indptr))
        spread = f"{counts.min()} to {counts.max()}, mean {counts.mean():.4g}"
        yield "in a row", f"{spread}, median {np.median(counts):g}"
        yield "empty rows", int((counts == 0).sum())
    if x.stype == "row_sparse":
        yield "rows stored", f"{len(x.indices)} of {x.shape[0]}"
    if x.stype != "dense":
        values = x.backend.asnumpy(x.storage.data)
        yield "stored zeros", int((values == 0).sum())
        yield "indices", x.indices.dtype
        yield "canonical", "yes" if is_canonical(path) else "no: made so by sorting and adding up"
    yield "bytes", f"{x.nbytes}, dense {x.dense_nbytes}"


def _write_npz(arguments: Any, value: Any) -> None:
    save(arguments.output, value, compress=arguments.compress)


def _write_mtx(arguments: Any, value: Any) -> None:
    if isinstance(value, dict) and _kind(arguments.input) == "libsvm":
        print("sparseops: labels are left out: mtx files have none", file=sys.stderr)
        value = value["x"]
    write_mtx(arguments.output, _matrix(value, arguments.input))


def _write_libsvm(arguments: Any, value: Any) -> None:
    if not (isinstance(value, dict) and {"x", "y"} <= set(value)):
        raise StorageError(
            f"{arguments.input} has no labels: libsvm files are written of npz files with x and y"
        )
    base = 1 if arguments.base is None else arguments.base
    print(f"sparseops: columns are counted from {base}", file=sys.stderr)
    write_libsvm(arguments.output, value["x"], value["y"], base=base)


def _matrix(value: Any, path: str) -> NDArray:
    found = list(_arrays(value, ""))
    if len(found) != 1:
        raise StorageError(f"{path} has {len(found)} arrays; an mtx file has one")
    return found[0][1]


_WRITERS = {"npz": _write_npz, "mtx": _write_mtx, "libsvm": _write_libsvm}
