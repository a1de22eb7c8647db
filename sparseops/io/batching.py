"""Rows of arrays in batches: in order or shuffled, all of them or one part of several."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sparseops.constructors import asarray
from sparseops.errors import ShapeError
from sparseops.ndarray import NDArray
from sparseops.registry import operators


class Batches:
    """The batches of some arrays; each iteration is an epoch. Made by `batches`."""

    def __init__(
        self,
        arrays: tuple[NDArray, ...],
        batch_size: int,
        seed: int | None,
        shuffle: bool,
        shard: tuple[int, int],
    ):
        self._arrays = arrays
        self._size = batch_size
        self._shuffle = shuffle
        self._seed = seed
        self._shard = shard
        self._epoch = 0
        self._rows = len(range(shard[0], arrays[0].shape[0], shard[1]))

    def __len__(self) -> int:
        return -(-self._rows // self._size)

    def __iter__(self) -> Iterator[Any]:
        epoch, self._epoch = self._epoch, self._epoch + 1
        order = self._order(epoch)
        for start in range(0, self._rows, self._size):
            stop = min(start + self._size, self._rows)
            if order is None:
                rows = {"count": stop - start, "step": 1}
                found = [operators["slice_rows"](x, start, **rows) for x in self._arrays]
            else:
                found = [operators["take"](x, order[start:stop]) for x in self._arrays]
            yield found[0] if len(found) == 1 else tuple(found)

    def _order(self, epoch: int) -> Any:
        """The rows in the order of `epoch`; None for all as they stand."""
        part, parts = self._shard
        total = self._arrays[0].shape[0]
        if self._shuffle:
            seed = None if self._seed is None else (self._seed, epoch)
            return np.random.default_rng(seed).permutation(total)[part::parts]
        return None if parts == 1 else np.arange(part, total, parts)


def batches(
    x: Any,
    y: Any = None,
    batch_size: int = 256,
    *,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] = (0, 1),
) -> Batches:
    """The rows of `x`, with those of `y`, in batches.

    Parameters
    ----------
    x : array of any storage
        At least one axis.
    y : array of as many rows, optional
        Labels.
    batch_size : int, optional
        The rows of a batch. The last one has what is left, and is never dropped.
    shuffle : bool, optional
        Whether rows come in random order, another one in each epoch.
    seed : int, optional
        What the orders follow from: the same seed gives the same order in the same epoch.
    shard : (int, int), optional
        Which part of how many to give: every such row of the epoch's order. The parts of one seed
        have all rows once.

    Returns
    -------
    Batches
        Has a length, and can be iterated once an epoch. Gives pairs of arrays, in the storages of
        `x` and `y`, or single arrays where there is no `y`. Rows that are picked from a row_sparse
        array, shuffled or as a part, are dense.

    Raises
    ------
    ShapeError
        If the rows differ in number.
    ValueError
        If there is no such part, or parts would be shuffled without a seed.

    Notes
    -----
    A batch in order costs O(its entries); a shuffled one the same, gathered row by row.

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops import io
    >>> x = so.csr_array([[0, 1], [2, 0], [3, 0]])
    >>> for rows, labels in io.batches(x, [10, 20, 30], 2):
    ...     print(rows.shape, labels.asnumpy())
    (2, 2) [10 20]
    (1, 2) [30]
    """
    arrays = tuple(asarray(a) for a in (x, y) if a is not None)
    for a in arrays:
        if not a.ndim or a.shape[0] != arrays[0].shape[0]:
            raise ShapeError(f"shapes {' and '.join(str(a.shape) for a in arrays)}: rows differ")
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size}, but a batch has rows")
    part, parts = shard
    if not 0 <= part < parts:
        raise ValueError(f"shard={shard!r}, but a part lies in [0, number of parts)")
    if shuffle and parts > 1 and seed is None:
        raise ValueError("parts that are shuffled without a seed overlap: give one seed to all")
    return Batches(arrays, batch_size, seed, shuffle, (part, parts))
