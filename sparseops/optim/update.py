"""How an optimizer moves a parameter: everything is checked, then rows change block by block."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.constructors import wrap
from sparseops.ndarray import NDArray
from sparseops.ops.structure import find
from sparseops.optim.checks import (
    check_number,
    check_param,
    check_positive,
    check_update,
    state_shape,
    work_dtype,
)
from sparseops.storage import CSR, Dense, RowSparse

Rate = float | Callable[[int], float]

_BLOCK = 2**14


@dataclass(frozen=True, slots=True, repr=False)
class Optimizer:
    """How a parameter moves by its gradients.

    Attributes
    ----------
    name : str
        The name of the function that made it.
    move : callable
        ``move(xp, w, g, *arrays, rate=, step=)`` changes some rows `w` of the parameter, and those
        of the state's arrays, in place.
    slots : tuple of str
        The names of the state's arrays, which have the shape of the parameter, or one value a row.
    learning_rate : float or callable
        The rate, or a function that gives it for the number of the step, from 1.
    weight_decay, rescale, clip : float
        What makes `g` of the gradient: ``clip(rescale * gradient) + weight_decay * w``.
    lazy : bool
        Whether rows that a sparse gradient leaves out are left as they are.
    decoupled : bool
        Whether `move` takes ``weight_decay=`` too, which then is no part of `g`.
    by_row : bool
        Whether the state's arrays have one value a row: the shape of the parameter with every axis
        behind the first of length 1.
    divides : bool
        Whether `move` divides by the rate, which then is above 0.
    compiled : str
        The name of the compiled rule that does what `move` does; empty if there is none.
    """

    name: str
    move: Callable[..., None]
    slots: tuple[str, ...]
    learning_rate: Rate
    weight_decay: float = 0.0
    rescale: float = 1.0
    clip: float | None = None
    lazy: bool = True
    decoupled: bool = False
    by_row: bool = False
    divides: bool = False
    compiled: str = ""

    def __post_init__(self):
        if not callable(self.learning_rate):
            self._check_rate("learning_rate", self.learning_rate)
        check_number("weight_decay", self.weight_decay, least=0)
        check_number("rescale", self.rescale)
        if self.clip is not None:
            check_number("clip", self.clip, least=0)

    def __repr__(self) -> str:
        settings = dict(getattr(self.move, "keywords", {}))
        for name in ("weight_decay", "rescale", "clip", "lazy"):
            settings[name] = getattr(self, name)
        shown = [f"{name}={value!r}" for name, value in settings.items()]
        return f"{self.name}({', '.join([repr(self.learning_rate), *shown])})"

    def init(self, param: NDArray) -> dict[str, Any]:
        """The state before the first step: a dict of zero arrays, and the number of steps done.

        Parameters
        ----------
        param : NDArray
            Dense or row_sparse, of float16, float32 or float64 values.

        Returns
        -------
        dict
            The arrays have the storage of `param`, and its dtype (float32 for float16).
        """
        check_param(self.name, param)
        backend, dtype = param.backend, work_dtype(param.dtype)
        storage = param.storage
        rows = state_shape(storage.data.shape, self.by_row)
        zeros = [backend.xp.zeros(rows, dtype) for _ in self.slots]
        whole = state_shape(param.shape, self.by_row)
        arrays = [wrap(_reshaped(storage, data, whole), backend) for data in zeros]
        return {"step": 0, **dict(zip(self.slots, arrays, strict=True))}

    def update(self, gradient: NDArray, state: dict[str, Any], param: NDArray) -> None:
        """Change `param` and `state` in place by `gradient`.

        Parameters
        ----------
        gradient : NDArray
            Of the shape and dtype of `param`, in any storage.
        state : dict
            What `init` gave for this parameter, as the updates since have left it.
        param : NDArray
            Dense, or row_sparse; rows that it does not store are zeros, and are stored from the
            first gradient on that has them.

        Raises
        ------
        ShapeError, DTypeError, StorageError, BackendError, ValueError
            If the three do not belong together. Nothing has changed then.

        Notes
        -----
        Lazy updates take O(values in the gradient's rows) time, the others O(values of `param`);
        both need memory for a few hundred rows, and for a copy of the whole only if somebody else
        can see the memory of `param`, or if rows are added to it. NumPy's errors about overflow and
        division are not raised inside, so that no update stops halfway.
        """
        rate = self.check(gradient, state, param)
        step = int(state["step"]) + 1
        given = {"rate": rate, "step": step}
        if self.decoupled:
            given["weight_decay"] = self.weight_decay
        arrays = [param, *(state[name] for name in self.slots)]
        xp = param.backend.xp
        rows, read = _READERS[gradient.stype](xp, gradient.storage)
        places = _places(param.backend, arrays, rows)
        dtype = work_dtype(param.dtype)
        with ExitStack() as stack, np.errstate(all="ignore"):
            written = [stack.enter_context(x.writing()) for x in arrays]
            written = [data if data.ndim else data.reshape(1) for data in written]
            if self._stepped(param.backend, gradient, places, written, rate, step):
                state["step"] = step
                return
            for at, g in self._blocks(xp, places, read, written[0]):
                w, *others = [_rows_at(data, at).astype(dtype, copy=False) for data in written]
                g = self._prepared(xp, g.astype(dtype, copy=False), w)
                self.move(xp, w, g, *others, **given)
                for data, moved in zip(written, (w, *others), strict=True):
                    data[at] = moved
        state["step"] = step

    def check(self, gradient: NDArray, state: dict[str, Any], param: NDArray) -> float:
        """The learning rate of the next step; raises what `update` would, and changes nothing."""
        check_update(self.name, self.slots, gradient, state, param, by_row=self.by_row)
        step = int(state["step"]) + 1
        rate = self.learning_rate
        if callable(rate):
            rate = rate(step)
            self._check_rate(f"learning_rate({step})", rate)
        return float(rate)

    def _stepped(
        self,
        backend: Backend,
        gradient: NDArray,
        places: Any,
        written: list[Any],
        rate: float,
        step: int,
    ) -> bool:
        """Whether a compiled kernel has done the step; there is one for whole rows."""
        if not self.compiled or gradient.stype == "csr":
            return False
        count = len(written[0])
        whole = places is None or len(places) == count
        if not (whole or self.lazy):
            return False
        numbers = {"rate": rate, "step": step, "weight_decay": self.weight_decay}
        numbers |= getattr(self.move, "keywords", {})
        preparation = (
            self.rescale,
            -1.0 if self.clip is None else self.clip,
            0.0 if self.decoupled else self.weight_decay,
        )
        places = None if whole else places
        given = self.compiled, gradient.storage.data, places, written, preparation, numbers
        return backend.compiled("step", *given) is not None

    def _blocks(
        self, xp: Any, places: Any, read: Callable[[int, int], Any], weights: Any
    ) -> Iterator[tuple[Any, Any]]:
        """Some rows of `weights`, as a slice or places, and the gradient there, block by block."""
        count, tail = len(weights), weights.shape[1:]
        size = max(1, _BLOCK // max(1, prod(tail)))
        if places is None or len(places) == count:
            for start in range(0, count, size):
                stop = min(start + size, count)
                yield slice(start, stop), read(start, stop)
        elif self.lazy:
            for start in range(0, len(places), size):
                stop = min(start + size, len(places))
                yield places[start:stop], read(start, stop)
        else:
            edges = [*range(0, count, size), count]
            ends = xp.searchsorted(places, xp.asarray(edges)).tolist()
            for (start, stop), (first, last) in zip(pairwise(edges), pairwise(ends), strict=True):
                g = xp.zeros((stop - start, *tail), weights.dtype)
                if first < last:
                    g[places[first:last] - start] = read(first, last)
                yield slice(start, stop), g

    def _prepared(self, xp: Any, g: Any, w: Any) -> Any:
        """The gradient that moves `w`: rescaled, clipped, and with weight decay."""
        if self.rescale != 1:
            g = self.rescale * g
        if self.clip is not None:
            g = xp.clip(g, -self.clip, self.clip)
        if self.weight_decay and not self.decoupled:
            g = g + self.weight_decay * w
        return g

    def _check_rate(self, name: str, rate: Any) -> None:
        check_number(name, rate, least=0)
        if self.divides:
            check_positive(name, rate)


def _reshaped(storage: Any, data: Any, shape: tuple[int, ...]) -> Any:
    """A storage like `storage`, which stores the same rows, of an array of `shape`."""
    if storage.stype == "dense":
        return Dense(data)
    return RowSparse(data, storage.indices, shape)


def _rows_at(data: Any, at: Any) -> Any:
    # Twice as fast as data[at].
    return data[at] if isinstance(at, slice) else data.take(at, axis=0)


def _places(backend: Backend, arrays: list[NDArray], rows: Any) -> Any:
    """Where each of `rows` stands among the stored rows; None for all, in order.

    The rows that row_sparse `arrays`, which store the same ones, do not store yet are added.
    """
    storage = arrays[0].storage
    if storage.stype == "dense" or len(storage.indices) == storage.shape[0]:
        return rows
    xp, stored = backend.xp, storage.indices
    if rows is None:
        rows = xp.arange(storage.shape[0], dtype=stored.dtype)
    at, there = find(backend, rows, stored)
    if there.all():
        return at
    union = xp.sort(xp.concatenate([stored, rows[~there]]))
    at = xp.searchsorted(union, stored)
    grown = [_grown(xp, x.storage, union, at) for x in arrays]
    for x, larger in zip(arrays, grown, strict=True):
        backend.freeze(larger.data, larger.indices)
        x.assign(larger)
    return xp.searchsorted(union, rows)


def _grown(xp: Any, storage: RowSparse, rows: Any, at: Any) -> RowSparse:
    """`storage` with zeros in those of `rows` that are not the ones `at` which it stores."""
    data = xp.zeros((len(rows), *storage.shape[1:]), storage.data.dtype)
    data[at] = storage.data
    return RowSparse(data, rows, storage.shape)


# The rows that a gradient stores, None for all of them, and a function that reads some as dense.


def _read_dense(xp: Any, g: Dense) -> tuple[Any, Callable[[int, int], Any]]:
    data = g.data if g.shape else g.data.reshape(1)
    return None, lambda start, stop: data[start:stop]


def _read_row_sparse(xp: Any, g: RowSparse) -> tuple[Any, Callable[[int, int], Any]]:
    return g.indices, lambda start, stop: g.data[start:stop]


def _read_csr(xp: Any, g: CSR) -> tuple[Any, Callable[[int, int], Any]]:
    counts = xp.diff(g.indptr)
    rows = xp.flatnonzero(counts)
    counts, ends = counts[rows], g.indptr[rows + 1]

    def read(start, stop):
        first = int(ends[start] - counts[start])
        entries = slice(first, int(ends[stop - 1]))
        block = xp.zeros((stop - start, g.shape[1]), g.data.dtype)
        within = xp.repeat(xp.arange(stop - start), counts[start:stop])
        block[within, g.indices[entries]] = g.data[entries]
        return block

    return rows, read


_READERS = {"dense": _read_dense, "row_sparse": _read_row_sparse, "csr": _read_csr}
