"""The norm of several gradients together, and a limit to it."""

from collections.abc import Mapping, Sequence
from math import hypot, isfinite, sqrt
from typing import Any

from sparseops.errors import DTypeError
from sparseops.ndarray import NDArray
from sparseops.optim.checks import check_number
from sparseops.registry import operators


def global_norm(gradients: Sequence[NDArray] | Mapping[str, NDArray]) -> float:
    """The Euclidean norm of all values of all `gradients`, as if they were one vector.

    Parameters
    ----------
    gradients : sequence or mapping of NDArray
        Floating arrays of any storages, mixed as they come.

    Returns
    -------
    float
        Computed in double precision, without overflow on the way; NaN or infinity if a value is.

    Raises
    ------
    DTypeError
        If values are neither floating nor complex.

    Notes
    -----
    O(values stored).

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops import optim
    >>> optim.global_norm([so.array([3.0]), so.row_sparse_array(([[4.0]], [7]), shape=(9, 1))])
    5.0
    """
    return hypot(*[_norm(g) for g in _named(gradients).values()])


def clip_global_norm(gradients: Any, limit: float) -> Any:
    """The `gradients`, all scaled by one factor where their norm together is above `limit`.

    Parameters
    ----------
    gradients : sequence or mapping of NDArray
        Floating arrays of any storages, mixed as they come.
    limit : float
        The largest norm.

    Returns
    -------
    list or dict
        Arrays in the storages of `gradients`, under their names if it is a mapping; the same
        arrays if nothing is to be scaled.

    Raises
    ------
    ValueError
        If a gradient has NaN or infinite values, which no factor makes right.

    Examples
    --------
    >>> import sparseops as so
    >>> from sparseops import optim
    >>> rows = so.row_sparse_array(([[4.0]], [7]), shape=(9, 1))
    >>> optim.clip_global_norm({"bias": so.array([3.0]), "table": rows}, 2.5)
    {'bias': <float64[1] dense>
    [1.5], 'table': <float64[9,1] row_sparse, 1 row stored>
      row 7  [2.]}

    References
    ----------
    Pascanu, Mikolov, Bengio: On the difficulty of training recurrent neural networks, ICML (2013).
    """
    check_number("limit", limit, least=0)
    found = _named(gradients)
    norm = global_norm(found)
    if not isfinite(norm):
        name = next((n for n, g in found.items() if not isfinite(_norm(g))), None)
        which = "together" if name is None else repr(name)
        raise ValueError(f"the norm of gradients {which} is {norm}; it must be finite")
    if norm > limit:
        multiply = operators["multiply"]
        found = {name: multiply(g, limit / norm) for name, g in found.items()}
    return found if isinstance(gradients, Mapping) else list(found.values())


def _named(gradients: Any) -> dict[Any, NDArray]:
    """The gradients by their names or positions."""
    if isinstance(gradients, Mapping):
        return dict(gradients)
    if not isinstance(gradients, (list, tuple)):
        kind = type(gradients).__name__
        raise TypeError(f"gradients is {kind}; it must be a list or a mapping of NDArrays")
    return dict(enumerate(gradients))


def _norm(g: NDArray) -> float:
    if not isinstance(g, NDArray):
        raise TypeError(f"a gradient is {type(g).__name__}; it must be an NDArray")
    if g.dtype.kind not in "fc":
        raise DTypeError(f"a gradient is {g.spec}; it must be floating or complex")
    xp, data = g.backend.xp, g.storage.data
    if not data.size:
        return 0.0
    values = xp.abs(data).astype("float64").reshape(-1)
    largest = float(values.max())
    # Divided by the largest one, no square overflows, and none of weight vanishes.
    if not 0 < largest < float("inf"):
        return largest
    values /= largest
    return largest * sqrt(float(values @ values))
