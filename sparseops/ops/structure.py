"""Where sparse arrays store: keys of stored places, and looking places up among them."""

from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.storage import CSR, index_dtype

_LARGEST = 2**63


def entry_keys(backend: Backend, *matrices: CSR) -> list[Any]:
    """For each csr matrix, of one shape, an int64 for each stored entry that grows in its order.

    Entries of two matrices at the same place have the same key. O(nnz), and O(nnz log nnz) where
    rows times columns passes int64.
    """
    xp, (rows, columns) = backend.xp, matrices[0].shape
    places = [(backend.row_ids(m).astype(np.int64), m.indices) for m in matrices]
    if rows * columns >= _LARGEST:
        known_rows = xp.unique(xp.concatenate([row for row, _ in places]))
        known_columns = xp.unique(xp.concatenate([column for _, column in places]))
        places = [
            (xp.searchsorted(known_rows, row), xp.searchsorted(known_columns, column))
            for row, column in places
        ]
        columns = len(known_columns)
    return [row * columns + column for row, column in places]


def flat_places(backend: Backend, x: CSR) -> Any:
    """The place of each stored entry in the dense values of `x`, row by row, as int64."""
    return backend.row_ids(x).astype(np.int64) * x.shape[1] + x.indices


def find(backend: Backend, wanted: Any, known: Any) -> tuple[Any, Any]:
    """Where each of `wanted` stands in the ascending `known`, and whether it does."""
    if not len(known):
        nowhere = backend.xp.zeros(len(wanted), np.int64)
        return nowhere, nowhere.astype(bool)
    at = backend.xp.searchsorted(known, wanted)
    at[at == len(known)] = 0
    return at, known[at] == wanted


def counts_to_indptr(backend: Backend, counts: Any, *dtypes: Any) -> Any:
    """The indptr of rows with `counts` entries, of the widest of `dtypes` or wide enough."""
    total = int(counts.sum())
    indptr = backend.xp.zeros(len(counts) + 1, np.result_type(index_dtype(total), *dtypes))
    backend.xp.cumsum(counts, out=indptr[1:])
    return indptr
