"""Arrays that were drawn: how they were made, and how hypothesis prints them."""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from sparseops.backend import get_backend
from sparseops.ndarray import NDArray
from sparseops.testing import source
from sparseops.testing.features import unusual_values
from sparseops.testing.parts import STRUCTURES
from sparseops.testing.sample import Sample, sample_of, scipy_csr

#: Arrays by their identity, with what made them; forgotten from time to time.
_drawn: dict[int, tuple[Any, Sample | Callable[[], Sample]]] = {}
_MOST = 4096


def remember(array: Any, sample: Sample | Callable[[], Sample]) -> Any:
    """`array`, printed as the code of a sample, or of what makes that, from now on."""
    if len(_drawn) >= _MOST:
        _drawn.clear()
    _drawn[id(array)] = weakref.ref(array), sample
    if not _printed:
        _print_as_code()
    return array


def of_scipy(parts: tuple[np.ndarray, ...], shape: tuple[int, int], format: str) -> Any:
    """The array of scipy with these parts; that of "csc" is the transpose of the one of "csr"."""
    if format == "csr":
        return scipy_csr(parts, shape)
    sparse = get_backend("scipy").sparse
    data, indices, indptr = parts
    if format == "csc":
        made = sparse.csc_array(shape[::-1], dtype=data.dtype)
        made.data, made.indices, made.indptr = data, indices, indptr
        return made
    rows = np.repeat(np.arange(shape[0]), np.diff(indptr))
    return sparse.coo_array((data, (rows, indices)), shape=shape).asformat(format)


def as_code(x: Any) -> str:
    """An expression that makes `x`, an array of sparseops, scipy or NumPy, again.

    `np` and `so` stand for NumPy and sparseops.

    Examples
    --------
    >>> import sparseops as so
    >>> so.testing.as_code(so.csr_array([[0.0, 2.0]]))
    'so.csr_array(([2.0], [1], [0, 1]), shape=(1, 2))'
    """
    if isinstance(x, NDArray):
        known = _known(x)
        if known is not None:
            return known.code()
        indices = [x.aux[name] for name in ("indices", "indptr") if name in x.aux]
        return source.storage(x.stype, (x.data, *indices), x.shape)
    if getattr(x, "format", None) == "csr":
        parts = source.array(x.data), source.integers(x.indices), source.integers(x.indptr)
        return f"so.testing.scipy_csr(({', '.join(parts)}), {x.shape})"
    if hasattr(x, "tocoo"):
        coo = x.tocoo()
        places = ", ".join(str(axis.tolist()) for axis in coo.coords)
        values = source.array(coo.data)
        return f"scipy.sparse.coo_array(({values}, ({places})), shape={x.shape}).to{x.format}()"
    return source.array(np.asarray(x), exact=True)


def hazards_of(x: Any) -> tuple[str, ...]:
    """What is unusual about an array that a strategy drew; what it is now, for any other.

    Examples
    --------
    >>> import sparseops as so
    >>> so.testing.hazards_of(so.csr_array(([0.0], [1], [0, 1]), shape=(1, 2)))
    ('zeros', 'one row')
    """
    sample = _known(x)
    if sample is None:
        if not isinstance(x, NDArray):
            raise ValueError(f"{type(x).__name__} was not drawn by a strategy of so.testing")
        sample = sample_of("x", x)
    found = [hazard for hazard in sample.hazards if hazard not in STRUCTURES]
    found = [*_disorder(sample), *found]
    values = sample.values[sample.stored] if sample.sparse else sample.values
    strange = unusual_values(np.asarray(values))
    names = {
        "zeros": sample.sparse and bool((values == 0).any()),
        "int64": sample.sparse and sample.width == "int64",
        "special": bool(strange.any()),
        "no length": not sample.values.size,
        "one row": bool(sample.shape) and sample.shape[0] == 1,
        "nothing stored": sample.sparse and not sample.stored.any(),
        "empty rows": sample.sparse and len(sample.stored_rows) < sample.shape[0],
    }
    return (*found, *(name for name, holds in names.items() if holds))


def _disorder(sample: Sample) -> list[str]:
    """Which hazards of structure make a difference to this array."""
    if not sample.sparse:
        return []
    counts = sample.stored.sum(axis=1) if sample.stype == "csr" else [len(sample.stored_rows)]
    most = int(max(counts, default=0))
    several = "duplicates" in sample.hazards and most > 0
    unsorted = "unsorted" in sample.hazards and most > 1
    return ["unsorted"] * unsorted + ["duplicates"] * several


def _known(x: Any) -> Sample | None:
    found = _drawn.get(id(x))
    if found is None or found[0]() is not x:
        return None
    return found[1] if isinstance(found[1], Sample) else found[1]()


def _print_as_code() -> None:
    """Hypothesis prints arrays as `as_code` does, from the first one on that is drawn."""
    _printed.append(True)
    from hypothesis.vendor import pretty

    def printer(x: Any, p: Any, cycle: bool) -> None:
        p.text(as_code(x))

    register = getattr(pretty, "for_type_by_name", None)
    if register is None:
        return
    register(NDArray.__module__, NDArray.__name__, printer)
    sparse = get_backend("scipy").sparse
    for name in ("csr_array", "csc_array", "coo_array"):
        cls = getattr(sparse, name)
        register(cls.__module__, name, printer)


_printed: list[bool] = []
