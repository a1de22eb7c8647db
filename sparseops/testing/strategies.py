"""Strategies of hypothesis for arrays in every storage, with everything that can be unusual.

What is drawn shrinks to arrays of one entry, 1, without hazards, and is printed as code.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sparseops.spec import STORAGES, Spec
from sparseops.testing import palettes
from sparseops.testing.axes import Axes
from sparseops.testing.composing import (
    HAZARDS,
    SIDES,
    Strategy,
    fitting_arrays,
    one_array,
    options,
    possible,
)

_MOST_AXES = 3


def storage_types() -> Strategy[str]:
    """The names of the storages."""
    return st.sampled_from(STORAGES)


def dtypes(kinds: str = "fiubc") -> Strategy[np.dtype]:
    """The dtypes that arrays can have, of some kinds as NumPy names them."""
    return st.sampled_from([dtype for dtype in palettes.DTYPES if dtype.kind in kinds])


def specs(shape: Any = None, dtype: Any = None, stype: Any = None) -> Strategy[Spec]:
    """What is known of an array without its values; each part a value or a strategy."""
    return st.builds(
        _spec,
        shape if isinstance(shape, Strategy) else _shapes() if shape is None else st.just(shape),
        dtypes() if dtype is None else _strategy(dtype),
        storage_types() if stype is None else _strategy(stype),
    )


def csr_arrays(
    shape: Any = None,
    dtype: Any = float,
    *,
    elements: Strategy | None = None,
    hazards: Iterable[str] = HAZARDS,
    max_nnz: int = 10,
) -> Strategy[Any]:
    """Arrays in csr storage.

    Parameters
    ----------
    shape : (int, int) or strategy, optional
        By default up to 4 rows and columns.
    dtype : dtype-like or strategy, optional
        Type of the values.
    elements : strategy, optional
        The values; by default small numbers whose products and sums are exact.
    hazards : iterable of str, optional
        What may be unusual, of `HAZARDS`: what is unsorted or stands twice passes through the
        constructor, which makes it canonical.
    max_nnz : int, optional
        The most entries that are stored.
    """
    return one_array("csr", shape, dtype, options(elements, hazards, max_nnz))


def row_sparse_arrays(
    shape: Any = None,
    dtype: Any = float,
    *,
    elements: Strategy | None = None,
    hazards: Iterable[str] = HAZARDS,
    max_nnz: int = 10,
) -> Strategy[Any]:
    """Arrays of 1 to 3 axes in row_sparse storage; parameters as for `csr_arrays`.

    `max_nnz` is the most values that are drawn; their whole rows are stored.
    """
    return one_array("row_sparse", shape, dtype, options(elements, hazards, max_nnz))


def dense_arrays(
    shape: Any = None,
    dtype: Any = float,
    *,
    elements: Strategy | None = None,
    hazards: Iterable[str] = HAZARDS,
    max_nnz: int = 10,
) -> Strategy[Any]:
    """Arrays of 1 to 3 axes in dense storage; parameters as for `csr_arrays`.

    One value stands everywhere but at `max_nnz` places at most.
    """
    return one_array("dense", shape, dtype, options(elements, hazards, max_nnz))


def arrays(
    stype: Any = None,
    shape: Any = None,
    dtype: Any = float,
    *,
    elements: Strategy | None = None,
    hazards: Iterable[str] = HAZARDS,
    max_nnz: int = 10,
) -> Strategy[Any]:
    """Arrays in the storage `stype`, a name or a strategy, in any by default.

    Other parameters as for `csr_arrays`; without a shape they have 2 axes.
    """
    names = storage_types() if stype is None else stype
    ndim = 2 if shape is None else None
    return one_array(names, shape, dtype, options(elements, hazards, max_nnz), ndim)


def operator_inputs(
    shapes: str,
    *,
    stypes: Any = None,
    dtype: Any = float,
    elements: Strategy | None = None,
    hazards: Iterable[str] = HAZARDS,
    max_nnz: int = 10,
) -> Strategy[tuple[Any, ...]]:
    """Tuples of arrays that fit together: ``"(m,n),(n,k)"`` shares the length n.

    Parameters
    ----------
    shapes : str
        Axes as in NumPy's gufuncs; what stands behind ``->`` is not used.
    stypes : sequence of str or strategies, optional
        The storage of each; any that is possible by default.
    dtype, elements, hazards, max_nnz : optional
        As for `csr_arrays`.
    """
    axes = Axes.parse(shapes)
    if stypes is not None and len(stypes) != len(axes.inputs):
        raise ValueError(f"stypes has {len(stypes)} storages; '{shapes}' has {len(axes.inputs)}")
    return fitting_arrays(axes, stypes, dtype, options(elements, hazards, max_nnz))


def scipy_arrays(
    shape: Any = None,
    dtype: Any = float,
    *,
    format: str = "csr",
    elements: Strategy | None = None,
    hazards: Iterable[str] = HAZARDS,
    max_nnz: int = 10,
) -> Strategy[Any]:
    """Sparse arrays of scipy, with all that is unusual in them: nothing makes them canonical.

    `format` is "csr", "csc", "coo" or whichever scipy converts to; others as for `csr_arrays`.
    """
    known = tuple(h for h in hazards if h not in ("big_endian",))
    return one_array("csr", shape, dtype, options(elements, known, max_nnz, format))


def _strategy(given: Any) -> Strategy:
    return given if isinstance(given, Strategy) else st.just(given)


def _spec(shape: tuple[int, ...], dtype: Any, stype: str) -> Spec:
    storages = possible(shape)
    return Spec(shape, dtype, stype if stype in storages else storages[-1])


def _shapes() -> Strategy[tuple[int, ...]]:
    return st.lists(st.sampled_from(SIDES), max_size=_MOST_AXES).map(tuple)
