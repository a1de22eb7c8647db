"""Assertions for tests of one's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from sparseops.ndarray import NDArray
from sparseops.policy import Fallback, fallback
from sparseops.spec import as_stype
from sparseops.testing.dense import densify, difference, rounding
from sparseops.testing.structure import fault

_MOST_LISTED = 10


def assert_allclose(
    actual: Any, expected: Any, *, rtol: float | None = None, atol: float = 0.0
) -> None:
    """Raise AssertionError unless two arrays, in whichever storage, have equal values.

    Parameters
    ----------
    actual, expected : NDArray, array-like, or sparse array of scipy
        What is compared, as dense values; also the shapes, but neither storages nor dtypes.
    rtol : float, optional
        How far values may be apart, relative to the largest of all; by default what rounding of
        a few operations explains. 0 asks for equal values.
    atol : float, optional
        How far values may be apart at least.

    Examples
    --------
    >>> import sparseops as so
    >>> so.testing.assert_allclose(so.csr_array([[0.0, 2.0]]), [[0.0, 2.0]])
    """
    found, wanted = densify(actual), densify(expected)
    if rtol is None:
        rtol = max(rounding(found.dtype), rounding(wanted.dtype))
    excused = None
    if atol and found.shape == wanted.shape:
        with np.errstate(all="ignore"):
            excused = np.abs(found - wanted) <= atol
    text = difference(found, wanted, rtol=rtol, excused=excused)
    if text:
        raise AssertionError(f"the values differ: {text}")


def assert_storage(x: Any, stype: str) -> None:
    """Raise AssertionError unless `x` is a well-formed array in the storage `stype`.

    Examples
    --------
    >>> import sparseops as so
    >>> so.testing.assert_storage(so.csr_array([[0.0, 2.0]]), "csr")
    """
    wanted = as_stype(stype, known=True)
    if not isinstance(x, NDArray):
        raise AssertionError(f"{type(x).__name__} is no array of sparseops; expected {wanted}")
    if x.stype != wanted:
        raise AssertionError(f"{x.spec} is not {wanted}")
    text = fault(x.storage)
    if text:
        raise AssertionError(f"{x.spec} is not well-formed: {text}")


@contextmanager
def assert_no_fallback() -> Iterator[list[Fallback]]:
    """A block that raises AssertionError at its end if something sparse ran dense in it.

    Examples
    --------
    >>> import sparseops as so
    >>> with so.testing.assert_no_fallback():
    ...     y = so.sin(so.csr_array([[0.0, 2.0]]))
    """
    with fallback("allow", limit=None) as records:
        yield records
    if records:
        different = dict.fromkeys(
            f"  {record}\n    at {':'.join(map(str, record.where))}" for record in records
        )
        listed = [*islice(different, _MOST_LISTED)]
        if len(different) > len(listed):
            listed.append(f"  and {len(different) - len(listed)} others")
        text = "\n".join(listed)
        raise AssertionError(f"{len(records)} fallback{'s' * (len(records) > 1)} to dense:\n{text}")
