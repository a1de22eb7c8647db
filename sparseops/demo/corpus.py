"""The demo's documents: sections of the docstrings of the installed NumPy and SciPy.

A document's label is the subpackage that it comes from, so a text classifier has something real
to learn and nothing has to be downloaded.
"""

import inspect
import re
import warnings
import zlib
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import NamedTuple

import numpy as np

# NumPy itself comes last: what a subpackage shares with it belongs to the subpackage.
MODULES = (
    "numpy.fft",
    "numpy.linalg",
    "numpy.ma",
    "numpy.polynomial",
    "numpy.random",
    "numpy.strings",
    "scipy.cluster.hierarchy",
    "scipy.cluster.vq",
    "scipy.fft",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.io",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse",
    "scipy.sparse.csgraph",
    "scipy.sparse.linalg",
    "scipy.spatial",
    "scipy.spatial.distance",
    "scipy.special",
    "scipy.stats",
    "numpy",
)
FEWEST_WORDS = 12  # a shorter section says next to nothing

_WORD = re.compile(r"[a-z]\w+")
_SECTION_END = re.compile(r"\n+(?=[A-Z].*\n---)")
_PATH_PARTS = {part for module in MODULES for part in module.split(".")} | {"np", "sp", "scp"}
_GIVEAWAY = re.compile(rf"\b(?:{'|'.join(sorted(_PATH_PARTS))})\b\.?", re.IGNORECASE)


class Document(NamedTuple):
    """One section: the subpackage it comes from, its text, and whose docstring it was."""

    label: str
    text: str
    source: str


def documents() -> list[Document]:
    """The sections of all public docstrings, in a fixed order, each text once.

    Words that are part of a module path, such as `linalg` or `np`, are left out of every text.
    """
    found = {}
    for label, source, docstring in _docstrings():
        for section in _SECTION_END.split(docstring):
            text = _GIVEAWAY.sub("", section)
            words = tuple(_WORD.findall(text.lower()))
            if len(words) >= FEWEST_WORDS:
                found.setdefault(words, Document(label, text, source))
    return list(found.values())


def split(
    corpus: Sequence[Document], *, percent: int = 20
) -> tuple[list[Document], list[Document]]:
    """The documents to train on, and the `percent` or so of them to test on.

    All sections of a docstring are on one side; its owner's name decides which, so the split is
    the same in every run.
    """
    sources = {document.source for document in corpus}
    held_out = {source for source in sources if zlib.crc32(source.encode()) % 100 < percent}
    train = [document for document in corpus if document.source not in held_out]
    test = [document for document in corpus if document.source in held_out]
    return train, test


def hashed(texts: Sequence[str], columns: int = 2**18) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The `(data, indices, indptr)` of a csr with a row for each text and a column for each word.

    A word's column is its CRC-32 modulo `columns`. A value is `1 + log(count)`, scaled so that
    each row has length one.
    """
    words = [_WORD.findall(text.lower()) for text in texts]
    column = {word: zlib.crc32(word.encode()) % columns for word in set(chain(*words))}
    rows = np.repeat(np.arange(len(words)), np.array([len(row) for row in words], dtype=np.int64))
    places = rows * columns + np.array([column[word] for word in chain(*words)], dtype=np.int64)
    places, counts = np.unique(places, return_counts=True)
    rows, indices = np.divmod(places, columns)
    data = 1 + np.log(counts)
    data /= np.sqrt(np.bincount(rows, data**2, minlength=len(words)))[rows]
    indptr = np.searchsorted(rows, np.arange(len(words) + 1))
    return data.astype(np.float32), indices.astype(np.int32), indptr.astype(np.int32)


def _docstrings() -> Iterator[tuple[str, str, str]]:
    """The label, owner and text of each public docstring, each text once."""
    seen = set()
    for name in MODULES:
        label = ".".join(name.split(".")[:2])
        for path, value in _public(import_module(name)):
            docstring = getattr(value, "__doc__", None)
            if isinstance(docstring, str) and docstring not in seen:
                seen.add(docstring)
                yield label, f"{name}.{path}", inspect.cleandoc(docstring)


def _public(module: ModuleType) -> Iterator[tuple[str, object]]:
    """The callables that `module` declares public, each class followed by its public members."""
    for name in sorted(module.__all__):
        with warnings.catch_warnings(action="ignore"):
            value = getattr(module, name, None)
        if callable(value):
            yield name, value
        if isinstance(value, type):
            yield from ((f"{name}.{member}", found) for member, found in _members(value))


def _members(cls: type) -> Iterator[tuple[str, object]]:
    """The public members of `cls` that NumPy or SciPy defines; `int` and the like are neither."""
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] in {"numpy", "scipy"}:
            yield from ((name, vars(base)[name]) for name in sorted(vars(base)) if name[0] != "_")
