"""Failing arrays from real life made small, whatever their size."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from sparseops.testing.axes import Axes
from sparseops.testing.piece import Piece, piece_of
from sparseops.testing.printing import as_code

#: Up to so many entries are tried one by one.
_FEW = 64
_Axis = tuple[int, int]


class Minimised:
    """The smallest arrays that were found.

    Attributes
    ----------
    arrays : tuple
        The arrays, of the kinds that were given.
    code : str
        Code that makes them.
    calls : int
        How often the predicate was asked.
    seconds : float
        How long that took.
    """

    def __init__(self, arrays: tuple, calls: int, seconds: float):
        self.arrays = arrays
        self.calls = calls
        self.seconds = seconds
        self.code = "\n".join(f"x{n} = {as_code(x)}" for n, x in enumerate(arrays))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.arrays)

    def __repr__(self) -> str:
        return self.code


def minimise(
    predicate: Callable[..., bool],
    *arrays: Any,
    axes: str | None = None,
    seconds: float = 10.0,
) -> Minimised:
    """The smallest arrays found for which `predicate` still holds.

    Stored entries, rows, columns and values are taken away or simplified as long as it does.

    Parameters
    ----------
    predicate : callable
        From arrays like `arrays` to whether the failure is there; raising counts as no.
    *arrays : NDArray, array of NumPy, or sparse array of scipy
        Arrays for which it holds. They are not changed, unless the predicate does.
    axes : str, optional
        Which axes have one length, as ``"(m,n),(n,k)"``; by default those that are equally long.
    seconds : float, optional
        When to stop.

    Returns
    -------
    Minimised
        Its `arrays`, and their `code`.

    Raises
    ------
    ValueError
        If the predicate does not hold for `arrays`.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.random((1000, 2000), density=0.001, rng=0)
    >>> so.testing.minimise(lambda x: x.nnz > 1, x)
    x0 = so.csr_array(([1.0, 1.0], [1, 0], [0, 1, 2]), shape=(2, 2))
    """
    if not predicate(*arrays):
        raise ValueError("the predicate does not hold for the arrays given")
    search = _Search(predicate, [piece_of(x) for x in arrays], seconds)
    groups = _groups(search.pieces, axes)
    changed = search.holds(search.pieces)
    while changed and search.may():
        changed = False
        for move in (_entries, _axes, _values, _kinds):
            changed |= move(search, groups)
    made = tuple(piece.array() for piece in search.pieces) if search.calls > 1 else arrays
    return Minimised(made, search.calls, perf_counter() - search.start)


class _Search:
    def __init__(self, predicate: Callable[..., bool], pieces: list[Piece], seconds: float):
        self.predicate = predicate
        self.pieces = pieces
        self.start = perf_counter()
        self.end = self.start + seconds
        self.calls = 0

    def may(self) -> bool:
        return perf_counter() < self.end

    def holds(self, pieces: Sequence[Piece]) -> bool:
        self.calls += 1
        try:
            return bool(self.predicate(*(piece.array() for piece in pieces)))
        except Exception:
            return False

    def take(self, pieces: list[Piece]) -> bool:
        """Go on with `pieces` if the predicate holds for them."""
        if not self.may() or not self.holds(pieces):
            return False
        self.pieces = pieces
        return True

    def take_one(self, number: int, piece: Piece) -> bool:
        """Go on with another array in place of one."""
        return self.take([*self.pieces[:number], piece, *self.pieces[number + 1 :]])


def _groups(pieces: list[Piece], axes: str | None) -> list[list[_Axis]]:
    """The axes that change together; then, where they were only guessed, each by itself."""
    together: dict[Any, list[_Axis]] = defaultdict(list)
    given = None if axes is None else Axes.parse(axes).inputs
    for number, piece in enumerate(pieces):
        for axis, length in enumerate(piece.shape):
            # The entries of csc are those of the transpose, row by row.
            named = 1 - axis if piece.kind == "scipy csc" else axis
            key = length if given is None else given[number][named]
            together[key].append((number, axis))
    groups = list(together.values())
    if given is None:
        groups += [[one] for group in groups if len(group) > 1 for one in group]
    return groups


def _entries(search: _Search, groups: Any) -> bool:
    """Fewer stored entries."""
    changed = False
    for number, piece in enumerate(search.pieces):
        if not piece.sparse:
            continue

        def keep(positions: np.ndarray, number: int = number, whole: Piece = piece) -> bool:
            return search.take_one(number, whole.keeping(positions))

        changed |= _fewer(keep, len(piece.values), search)
    return changed


def _axes(search: _Search, groups: list[list[_Axis]]) -> bool:
    """Fewer positions of axes: at once all that hold nothing, else by halves."""
    changed = False
    for group in groups:
        lengths = {search.pieces[number].shape[axis] for number, axis in group}
        if len(lengths) > 1:
            continue
        whole, length = search.pieces, lengths.pop()

        def keep(positions: np.ndarray, whole: Any = whole, group: Any = group) -> bool:
            pieces = list(whole)
            for number, axis in group:
                pieces[number] = pieces[number].taking(axis, positions)
            return search.take(pieces)

        used = [whole[number].used(axis) for number, axis in group if whole[number].sparse]
        some = np.unique(np.concatenate(used)) if used else np.arange(length)
        some = some if len(some) else np.arange(min(length, 1))
        if len(some) < length and keep(some):
            changed = True
        elif len(some) and some[-1] + 1 < length and keep(np.arange(some[-1] + 1)):
            changed = True
        else:
            changed |= _fewer(keep, length, search, least=1)
    return changed


def _fewer(keep: Callable[[np.ndarray], bool], count: int, search: _Search, least: int = 0) -> bool:
    """Whether fewer of `count` things do: delta debugging, in chunks of half the size each time."""
    left, changed = np.arange(count), False
    if count > least and keep(left[:least]):
        return True
    size = max(count // 2, 1)
    while size >= 1 and len(left) > least and search.may():
        start = 0
        while start < len(left) and search.may():
            rest = np.concatenate([left[:start], left[start + size :]])
            if len(rest) >= least and len(rest) < len(left) and keep(rest):
                left, changed = rest, True
            else:
                start += size
        # Single things of very many are tried only where few are left.
        if size == 1 or len(left) // size > 4 * _FEW:
            break
        size = max(size // 2, 1)
    return changed


def _values(search: _Search, groups: Any) -> bool:
    """Ones for values: all of them, else one after the other."""
    changed = False
    for number in range(len(search.pieces)):
        piece = search.pieces[number]
        one = np.ones(1, piece.values.dtype)[0]
        if (piece.values == one).all():
            continue
        if search.take_one(number, piece.having(np.full_like(piece.values, one))):
            changed = True
            continue
        if piece.values.size > _FEW:
            continue
        for place in np.argwhere(piece.values != one):
            for simple in (one, 2 * one, 0 * one):
                piece = search.pieces[number]
                here = piece.values[tuple(place)]
                if here == simple or (here in (1, 2) and simple == 0):
                    break
                values = piece.values.copy()
                values[tuple(place)] = simple
                if search.take_one(number, piece.having(values)):
                    changed = True
                    break
    return changed


def _kinds(search: _Search, groups: Any) -> bool:
    """The plainest dtype, width of indices, and order of entries."""
    changed = False
    for number in range(len(search.pieces)):
        for plainer in search.pieces[number].plainer():
            changed |= search.take_one(number, plainer)
    return changed
