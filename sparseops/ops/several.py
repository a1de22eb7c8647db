"""The sum of any number of arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparseops.constructors import asarray
from sparseops.errors import ShapeError
from sparseops.operators import Operator
from sparseops.ops.cast import cast, sparse_mask
from sparseops.ops.elementwise import add
from sparseops.ops.merge import merge_csr, merge_rows
from sparseops.registry import operators
from sparseops.signature import NUMBERS
from sparseops.spec import Spec

__all__ = ["add_n"]

_ORDER = ("undefined", "csr", "row_sparse", "dense")


class _Sum(Operator):
    """An operator whose call adds up the arrays of each storage, and then these sums."""

    def __call__(self, *args: Any, stype: Any = None) -> Any:
        arrays = [x if hasattr(x, "stype") or isinstance(x, NUMBERS) else asarray(x) for x in args]
        groups = _by_storage(arrays)
        if len(groups) < 2:
            return super().__call__(*arrays, stype=stype)
        # Of pairs of dtypes NumPy makes another one than of all of them at once.
        dtype = np.result_type(*[x.dtype for x in arrays])
        sums = [Operator.__call__(self, *group) for group in groups]
        first, *others, last = [x if x.dtype == dtype else cast(x, dtype=dtype) for x in sums]
        for part in others:
            first = add(first, part)
        return add(first, last, stype=stype)

    def infer(self, *specs: Any, outputs: Any = None) -> Any:
        """What is known of the result for inputs with `specs`; as `Operator.infer`."""
        groups = _by_storage(specs) if all(type(x) is Spec for x in specs) else ()
        if len(groups) < 2:
            return super().infer(*specs, outputs=outputs)
        dtype = np.result_type(*[x.dtype for x in specs])
        sums = [Operator.infer(self, *group) for group in groups]
        first, *others, last = [Spec(x.shape, dtype, x.stype) for x in sums]
        for part in others:
            first = add.infer(first, part)
        return add.infer(first, last, outputs=outputs)


def _by_storage(arrays: Sequence[Any]) -> list[list[Any]]:
    """The arrays of each storage; all of them together if one is a number."""
    if any(isinstance(x, NUMBERS) for x in arrays):
        return [list(arrays)]
    for n, x in enumerate(arrays):
        if x.shape != arrays[0].shape:
            raise ShapeError(f"arrays[{n}] has shape {x.shape}; arrays[0] has {arrays[0].shape}")
    groups = {stype: [x for x in arrays if x.stype == stype] for stype in _ORDER}
    return [group for group in groups.values() if group]


def _describe(*arrays):
    """The sum of the `arrays`, which have one shape.

    Parameters
    ----------
    *arrays : arrays of any storages
        At least one; bool values are joined by "or".

    Returns
    -------
    NDArray
        csr if all arrays are csr; row_sparse if all are sparse and one is row_sparse; else dense.
        What one of them stores is stored. Mixed storages are added up storage by storage first, so
        nothing is made dense but the result.

    Raises
    ------
    ShapeError
        If there are no arrays, or shapes differ.

    Notes
    -----
    O(n log(n) stored) for n sparse arrays, which are added in pairs; O(n size) for dense ones. The
    gradient by each is `g`, at the places that it stores.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.csr_array([[0, 1], [0, 0]])
    >>> so.add_n(x, x, so.csr_array([[0, 0], [4, 0]]))
    <int64[2,2] csr, 2 stored>
      (0, 1)  2
      (1, 0)  4
    >>> so.add_n(x, so.zeros((2, 2), int), x).stype
    'dense'
    """
    if not arrays:
        raise ShapeError("add_n takes at least one array")
    for position, x in enumerate(arrays):
        if x.shape != arrays[0].shape:
            raise ShapeError(
                f"arrays[{position}] has shape {x.shape} beside {arrays[0].shape}; all are the same"
            )
    return arrays[0].shape, np.result_type(*(x.dtype for x in arrays))


_describe.__name__ = _describe.__qualname__ = "add_n"
add_n = operators["add_n"] = _Sum(_describe)


@add_n.forward("dense... -> dense")
def _add_dense(backend, *arrays):
    total = arrays[0].data.astype(np.result_type(*(x.data for x in arrays)))
    for x in arrays[1:]:
        backend.xp.add(total, x.data, out=total)
    return arrays[0].with_data(total)


@add_n.forward("csr... -> csr")
def _add_csr(backend, *arrays):
    return _in_pairs(arrays, lambda a, b: merge_csr(backend, a, b, backend.xp.add))


@add_n.forward("row_sparse... -> row_sparse")
def _add_rows(backend, *arrays):
    return _in_pairs(arrays, lambda a, b: merge_rows(backend, a, b, backend.xp.add))


def _in_pairs(arrays: Sequence[Any], combine: Callable[[Any, Any], Any]) -> Any:
    """All of `arrays` combined, in a tree of pairs: each is copied as often as the tree is deep."""
    arrays = list(arrays)
    while len(arrays) > 1:
        pairs = zip(arrays[::2], arrays[1::2], strict=False)
        arrays = [combine(a, b) for a, b in pairs] + arrays[len(arrays) // 2 * 2 :]
    return arrays[0]


@add_n.backward("arrays", "dense... -> dense")
def _add_n_arrays(g, arrays_spec):
    return [g for _ in arrays_spec]


@add_n.backward("arrays", "csr... -> csr", "row_sparse... -> row_sparse")
def _add_n_sparse_arrays(g, arrays):
    return [sparse_mask(g, x) for x in arrays]
