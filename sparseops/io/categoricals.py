"""Categorical columns of pandas as csr."""

from typing import Any

import numpy as np

from sparseops.constructors import csr_array
from sparseops.ndarray import NDArray
from sparseops.spec import as_dtype
from sparseops.storage import index_dtype

Names = list[tuple[Any, Any]]


def from_categoricals(frame: Any, *, dtype: Any = float) -> tuple[NDArray, Names]:
    """One column of 0 and 1 for each category of each column of a pandas DataFrame.

    Parameters
    ----------
    frame : pandas.DataFrame
        All of whose columns are categorical: ``frame.astype("category")``, or ``pandas.cut``.
    dtype : dtype-like, optional
        The type of the ones.

    Returns
    -------
    x : NDArray
        In csr storage, of a row for each row, and a column for each category, whether it occurs or
        not. A missing value stores nothing in its row.
    names : list of tuple
        The column and the category of each column of `x`.

    Raises
    ------
    TypeError
        If `frame` is no DataFrame, or a column is not categorical.

    Notes
    -----
    O(rows * columns of the frame). Only the attributes ``columns``, ``iloc``, ``cat.codes`` and
    ``cat.categories`` of pandas are used.
    """
    if not hasattr(frame, "iloc") or not hasattr(frame, "columns"):
        raise TypeError(f"frame is {type(frame).__name__}; it must be a DataFrame of pandas")
    codes, names = np.empty((len(frame), len(frame.columns)), np.int64), []
    for n, column in enumerate(frame.columns):
        series = frame.iloc[:, n]
        if not hasattr(series, "cat"):
            raise TypeError(
                f"column {column!r} has dtype {series.dtype}; it must be categorical: "
                f"frame.astype({{{column!r}: 'category'}})"
            )
        found = np.asarray(series.cat.codes, np.int64)
        codes[:, n] = np.where(found < 0, -1, found + len(names))
        names += [(column, category) for category in series.cat.categories]
    stored = codes >= 0
    indptr = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(stored.sum(axis=1), out=indptr[1:])
    ones = np.ones(int(indptr[-1]), as_dtype(dtype))
    width = index_dtype(len(names), len(ones))
    parts = ones, codes[stored].astype(width), indptr.astype(width)
    return csr_array(parts, (len(codes), len(names))), names
