"""How much values store: upper bounds, carried through calls from what is known of the inputs.

The count of a csr value is of its entries, that of a row_sparse value of its rows. None stands for
what is not known.
"""

from collections.abc import Callable, Sequence

from sparseops.spec import Spec
from sparseops.storage import index_dtype

Counts = Sequence[int | None]

#: Operators that store a value for each one that their first input stores.
_KEEP = (
    "abs arcsin arcsinh arctan arctanh cast cbrt ceil conj degrees expm1 floor imag log1p "
    "negative power radians real relu rint sign sin sinh slice_rows sqrt square tan tanh trunc "
    "times_slope times_power transpose zeros_like retain divide mod"
).split()
_JOIN = "add subtract maximum minimum concat".split()


def stored_bytes(spec: Spec, count: int | None) -> int | None:
    """The bytes of a value that stores `count` entries or rows."""
    if spec.stype == "dense":
        return spec.dense_nbytes
    if count is None:
        return None
    width = index_dtype(*spec.shape, count).itemsize
    if spec.stype == "csr":
        return count * (spec.dtype.itemsize + width) + (spec.shape[0] + 1) * width
    row = spec.dense_nbytes // max(spec.shape[0], 1)
    return count * (row + width)


def most(spec: Spec) -> int:
    """The most that a value can store."""
    return spec.size if spec.stype != "row_sparse" else spec.shape[0]


def bound(name: str, inputs: Sequence[Spec | None], counts: Counts, result: Spec) -> int | None:
    """The most that a result of the operator `name` can store; numbers among `inputs` are None."""
    if result.stype == "dense":
        return result.size
    found = _BOUNDS.get(name, _unknown)(inputs, counts, result)
    return None if found is None else min(found, most(result))


def _unknown(inputs: Sequence[Spec | None], counts: Counts, result: Spec) -> None:
    return None


def _like(at: int) -> Callable:
    def count(inputs: Sequence[Spec | None], counts: Counts, result: Spec) -> int | None:
        return _as(inputs[at], counts[at], result)

    return count


def _as(spec: Spec | None, count: int | None, result: Spec) -> int | None:
    """The count of the same places in the storage of the result."""
    if spec is None or count is None or spec.size < result.size:
        return None
    if spec.stype == result.stype or result.stype == "row_sparse":
        return count
    return count * (spec.size // max(spec.shape[0], 1)) if spec.stype == "row_sparse" else None


def _sum(inputs: Sequence[Spec | None], counts: Counts, result: Spec) -> int | None:
    found = [_as_part(spec, count, result) for spec, count in zip(inputs, counts, strict=True)]
    return None if None in found else sum(found)


def _as_part(spec: Spec | None, count: int | None, result: Spec) -> int | None:
    known = spec is not None and spec.stype == result.stype
    return count if known else None


def _least(inputs: Sequence[Spec | None], counts: Counts, result: Spec) -> int | None:
    found = [_as(spec, count, result) for spec, count in zip(inputs, counts, strict=True)]
    return min((count for count in found if count is not None), default=None)


def _product(inputs: Sequence[Spec | None], counts: Counts, result: Spec) -> int | None:
    """A row of ``dot(csr, dense, transpose_a=True)`` for each column that is stored."""
    first = inputs[0]
    if first is None or result.stype != "row_sparse" or first.shape[0] == result.shape[0]:
        return None
    return counts[0]


def _one_a_row(inputs: Sequence[Spec | None], counts: Counts, result: Spec) -> int:
    return result.shape[0]


_BOUNDS: dict[str, Callable] = {
    **dict.fromkeys(_KEEP, _like(0)),
    **dict.fromkeys(_JOIN, _sum),
    "cast_storage": _like(0),
    "dot": _product,
    "multiply": _least,
    "one_hot": _one_a_row,
    "sddmm": _like(0),
    "sparse_mask": _like(1),
}
