"""Small cases spread over large shapes: the same few entries, far apart."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparseops.backend import get_backend
from sparseops.constructors import wrap
from sparseops.ndarray import NDArray
from sparseops.storage import CSR, Dense, RowSparse
from sparseops.testing.case import Case
from sparseops.testing.sample import Sample
from sparseops.testing.subject import Subject

#: The most values that a dense array may have in a spread case.
_MOST_DENSE = 2**22


def sparse_letters(case: Case, subject: Subject) -> tuple[str, ...]:
    """The letters along which some sparse input lies."""
    found: list[str] = []
    for sample, group in zip(case.samples, subject.axes.expand(len(case.samples)), strict=True):
        if sample.sparse:
            found += [axis for axis in group if isinstance(axis, str)]
    return tuple(dict.fromkeys(found))


def positions(length: int, large: int) -> np.ndarray:
    """Where `length` positions come to stand among `large`: the first, the last, and between."""
    return np.linspace(0, large - 1, length).astype(np.int64) if length else np.zeros(0, np.int64)


def spread(case: Case, subject: Subject, large: int) -> list[Any] | None:
    """The inputs of `case` with every axis of a sparse input `large` long; None if too large.

    What is new is not stored, and zero in dense inputs.
    """
    letters = sparse_letters(case, subject)
    inputs = []
    for sample, group in zip(case.samples, subject.axes.expand(len(case.samples)), strict=True):
        if sample.stype == "scalar":
            inputs.append(sample.values)
            continue
        places = {
            axis: positions(sample.shape[axis], large)
            for axis, letter in enumerate(group)
            if letter in letters
        }
        made = _spread(sample, places, large)
        if made is None:
            return None
        inputs.append(made)
    return inputs


def large_lengths(case: Case, subject: Subject, large: int) -> dict[str, int]:
    """The lengths of a case that is spread."""
    return dict(case.lengths) | dict.fromkeys(sparse_letters(case, subject), large)


def _spread(sample: Sample, places: Mapping[int, np.ndarray], large: int) -> NDArray | None:
    shape = tuple(large if axis in places else n for axis, n in enumerate(sample.shape))
    if sample.stype == "csr":
        return _spread_csr(sample, places, shape)
    if sample.stype == "row_sparse":
        return _spread_rows(sample, places, shape)
    if np.prod(shape, dtype=float) > _MOST_DENSE:
        return None
    values = np.zeros(shape, sample.dtype)
    values[np.ix_(*_indices(sample.shape, places))] = sample.values
    return _array(Dense(values))


def _indices(shape: tuple[int, ...], places: Mapping[int, np.ndarray]) -> list[np.ndarray]:
    return [places.get(axis, np.arange(length)) for axis, length in enumerate(shape)]


def _spread_csr(sample: Sample, places: Mapping[int, np.ndarray], shape: Any) -> NDArray:
    rows, columns = np.nonzero(sample.stored)
    data = sample.values[rows, columns]
    row_places, column_places = _indices(sample.shape, places)
    indptr = np.zeros(shape[0] + 1, sample.width)
    counts = np.bincount(row_places[rows], minlength=shape[0]) if len(rows) else 0
    indptr[1:] = np.cumsum(np.broadcast_to(counts, shape[0]))
    return _array(CSR(data, column_places[columns].astype(sample.width), indptr, shape))


def _spread_rows(sample: Sample, places: Mapping[int, np.ndarray], shape: Any) -> NDArray | None:
    rows = sample.stored_rows
    if len(rows) * np.prod(shape[1:], dtype=float) > _MOST_DENSE:
        return None
    data = np.zeros((len(rows), *shape[1:]), sample.dtype)
    first, *others = _indices(sample.shape, places)
    data[np.ix_(np.arange(len(rows)), *others)] = sample.values[rows]
    return _array(RowSparse(data, first[rows].astype(sample.width), shape))


def _array(storage: Any) -> NDArray:
    return wrap(storage, get_backend("scipy"))


def gathered(x: NDArray, lengths: tuple[int, ...], spread_axes: tuple[bool, ...]) -> Any:
    """What a spread result has at the places of the small one, and whether it has more elsewhere.

    None where the result is too large to look at.
    """
    axes = [
        positions(n, x.shape[axis]) if wide else np.arange(n)
        for axis, (n, wide) in enumerate(zip(lengths, spread_axes, strict=True))
    ]
    storage = x.storage
    if x.stype == "dense":
        small = storage.data[np.ix_(*axes)] if axes else storage.data
        return small, bool(np.count_nonzero(storage.data) > np.count_nonzero(small))
    small = np.zeros(lengths, x.dtype)
    back = [{int(p): n for n, p in enumerate(axis)} for axis in axes]
    more = False
    if x.stype == "row_sparse":
        for row, values in zip(storage.indices.tolist(), storage.data, strict=True):
            if row in back[0]:
                inner = values[np.ix_(*axes[1:])] if axes[1:] else values
                small[back[0][row]] = inner
                more |= np.count_nonzero(values) > np.count_nonzero(inner)
            else:
                more |= bool(np.count_nonzero(values))
        return small, more
    rows = np.repeat(np.arange(x.shape[0]), np.diff(storage.indptr))
    for row, column, value in zip(
        rows.tolist(), storage.indices.tolist(), storage.data, strict=True
    ):
        if row in back[0] and column in back[1]:
            small[back[0][row], back[1][column]] = value
        else:
            more |= bool(value != 0)
    return small, more
