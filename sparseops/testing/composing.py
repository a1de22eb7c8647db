"""How arrays are drawn: one string of bytes for what is unusual, the shape, and each entry."""

from collections.abc import Callable, Iterable
from math import prod
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from sparseops.spec import STORAGES, as_dtype
from sparseops.testing import palettes
from sparseops.testing.axes import Axes, shape_of
from sparseops.testing.features import whole_rows
from sparseops.testing.parts import array_of, csr_parts
from sparseops.testing.printing import of_scipy, remember
from sparseops.testing.sample import Sample

Strategy = st.SearchStrategy

#: What can be unusual about an array that is drawn.
HAZARDS = (
    "unsorted",
    "duplicates",
    "zeros",
    "strided",
    "offset",
    "read_only",
    "big_endian",
    "int64",
    "nan",
    "inf",
    "negative_zero",
    "no_length",
)
#: Lengths of axes, the one first to which examples shrink.
SIDES = (1, 2, 3, 4, 2, 3, 4, 0)
_STRUCTURE = ((), (), (), ("unsorted",), ("duplicates",), ("unsorted", "duplicates"))
_LAYOUT = ((), (), (), ("strided",), ("offset",), ("read_only",), ("big_endian",), ("strided",))
_SPECIAL = ((), (), (), (), ("nan",), ("inf",), ("negative_zero",), ("inf",))
_VALUES = {"nan": np.nan, "inf": np.inf, "negative_zero": -0.0}
_AXES = 3
#: A byte each: structure, layout, width, special value, background, number and lengths of axes.
_HEADER = 6 + _AXES
_BYTES: dict[int, Strategy[bytes]] = {}


class Options(NamedTuple):
    """What strategies of arrays have in common; a `format` is one of scipy."""

    elements: Strategy | None
    hazards: frozenset[str]
    max_nnz: int
    format: str | None = None


def options(
    elements: Strategy | None, hazards: Iterable[str], max_nnz: int, format: str | None = None
) -> Options:
    """The options, checked."""
    known = frozenset(hazards)
    for hazard in known:
        if hazard not in HAZARDS:
            raise ValueError(f"{hazard!r} is not a hazard; there are {', '.join(HAZARDS)}")
    return Options(elements, known, max_nnz, format)


@st.composite
def one_array(
    draw: Callable, stype: Any, shape: Any, dtype: Any, given: Options, ndim: int | None = None
) -> Any:
    """An array; storage, shape and dtype are values or strategies."""
    found = draw(stype) if isinstance(stype, Strategy) else stype
    shape = draw(shape) if isinstance(shape, Strategy) else shape
    dtype = as_dtype(draw(dtype) if isinstance(dtype, Strategy) else dtype)
    drawn = draw(_bytes(given.max_nnz))
    if shape is None:
        count = 2 if found == "csr" else ndim or 1 + drawn[5] % _AXES
        shape = tuple([SIDES[byte % len(SIDES)] for byte in drawn[6 : 6 + count]])
        if "no_length" not in given.hazards:
            shape = tuple([length or 2 for length in shape])
    return _made(draw, drawn, found, tuple(shape), dtype, given)


@st.composite
def fitting_arrays(
    draw: Callable, axes: Axes, stypes: Any, dtype: Any, given: Options
) -> tuple[Any, ...]:
    """Arrays that share the lengths of their axes."""
    sides = [side for side in SIDES if side or "no_length" in given.hazards]
    lengths = {letter: draw(st.sampled_from(sides)) for letter in axes.letters}
    made = []
    for slot, group in enumerate(axes.inputs):
        shape = shape_of(group, lengths)
        stype = stypes[slot] if stypes is not None else st.sampled_from(possible(shape))
        stype = draw(stype) if isinstance(stype, Strategy) else stype
        kind = as_dtype(draw(dtype) if isinstance(dtype, Strategy) else dtype)
        made.append(_made(draw, draw(_bytes(given.max_nnz)), stype, shape, kind, given))
    return tuple(made)


def possible(shape: tuple[int, ...]) -> tuple[str, ...]:
    """The storages that an array of `shape` can have."""
    return STORAGES[: 1 + (len(shape) >= 1) + (len(shape) == 2)]


def _made(
    draw: Callable,
    drawn: bytes,
    stype: str,
    shape: tuple[int, ...],
    dtype: np.dtype,
    given: Options,
) -> Any:
    """An array of what was drawn: a header, and a byte for each entry."""
    hazards = given.hazards
    palette = palettes.exact(dtype)
    if "zeros" not in hazards:
        palette = palettes.nonzero(palette)
    places, values = _cells(draw, drawn[_HEADER:], prod(shape), palette, dtype, given)
    special = _chosen(_SPECIAL, drawn[3], hazards)
    if special and len(places) and given.elements is None and dtype.kind in "fc":
        values[0] = _VALUES[special[0]]
    layout = _chosen(_LAYOUT, drawn[1], hazards)
    if stype == "dense":
        background = palette[drawn[4] % len(palette)] if drawn[4] % 2 else 0
        full = np.full(prod(shape), background, dtype)
        full[places] = values
        sample = Sample("x", stype, full.reshape(shape), hazards=layout)
        return remember(sample.array(), sample)
    width = "int64" if "int64" in hazards and drawn[2] % 4 == 3 else "int32"
    everything = (*_chosen(_STRUCTURE, drawn[0], hazards), *layout)

    def sampled() -> Sample:
        full, stored = np.zeros(shape, dtype), np.zeros(shape, bool)
        full.reshape(-1)[places], stored.reshape(-1)[places] = values, True
        stored = whole_rows(stored) if stype == "row_sparse" else stored
        return Sample("x", stype, full, stored, width, everything)

    if stype == "row_sparse":
        sample = sampled()
        return remember(sample.array(), sample)
    rows, columns = np.divmod(places, max(shape[1], 1))
    parts = csr_parts(rows, columns, values, shape, width, everything)
    if given.format is not None:
        return remember(of_scipy(parts, shape, given.format), sampled)
    return remember(array_of(stype, parts, shape, everything), sampled)


def _chosen(table: tuple, byte: int, hazards: frozenset[str]) -> tuple[str, ...]:
    return tuple([hazard for hazard in table[byte % len(table)] if hazard in hazards])


def _cells(
    draw: Callable, drawn: bytes, size: int, palette: np.ndarray, dtype: np.dtype, given: Options
) -> tuple[np.ndarray, np.ndarray]:
    """Different places in a flat array, ascending, and a value for each."""
    cells: dict[int, Any] = {}
    if size and given.elements is not None:
        entry = st.tuples(st.integers(0, size - 1), given.elements)
        cells = dict(draw(st.lists(entry, max_size=given.max_nnz)))
        places = sorted(cells)
        return np.array(places, int), np.array([cells[place] for place in places], dtype)
    if size > 16:
        limit = size * len(palette) - 1
        for number in draw(st.lists(st.integers(0, limit), max_size=given.max_nnz)):
            cells[number // len(palette)] = number % len(palette)
    elif size:
        # A byte for each entry: one draw for all, and the shrinker deletes entry by entry.
        for byte in drawn:
            cells[(byte >> 4) % size] = (byte & 15) % len(palette)
    places = sorted(cells)
    chosen = np.array([cells[place] for place in places], int)
    return np.array(places, int), palette[chosen]


def _bytes(max_nnz: int) -> Strategy[bytes]:
    if max_nnz not in _BYTES:
        _BYTES[max_nnz] = st.binary(min_size=_HEADER, max_size=_HEADER + max_nnz)
    return _BYTES[max_nnz]
