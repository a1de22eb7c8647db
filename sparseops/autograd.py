"""The tape of operator calls, and the functions that differentiate with it."""

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sparseops.call import Call
from sparseops.constructors import asarray
from sparseops.creation import zeros
from sparseops.errors import GradientError, ShapeError, StorageError
from sparseops.gradient import plan_gradients, walk
from sparseops.ndarray import NDArray, tapes
from sparseops.policy import report
from sparseops.registry import operators
from sparseops.spec import STORAGES

_training: ContextVar[bool] = ContextVar("training", default=False)


class Tape:
    """Records the operator calls of its ``with`` block, and computes gradients of their results.

    Gradients are structured: a sparsity pattern is held fixed, and the gradient by a sparse input
    lives on the places that the input stores.

    Parameters
    ----------
    training : bool, optional
        What `is_training()` says inside the block.
    persistent : bool, optional
        Whether the tape may compute several gradients; otherwise it frees what it holds after one.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.csr_array(([2.0, 3.0], [0, 2], [0, 1, 2]), shape=(2, 4))
    >>> w = so.array([[1.0], [1.0], [1.0], [1.0]])
    >>> with so.Tape() as tape:
    ...     loss = so.sum(so.dot(x, w))
    >>> tape.gradient(loss, w)
    <float64[4,1] row_sparse, 2 rows stored>
      row 0  [2.]
      row 2  [3.]
    """

    def __init__(self, training: bool = False, persistent: bool = False):
        self.calls: list[Call] = []
        self.training = training
        self.persistent = persistent
        self.spent = False
        self._entered: list[tuple] = []

    def __enter__(self) -> "Tape":
        if self.spent:
            raise GradientError(_SPENT)
        others = tuple(tape for tape in tapes.get() if tape is not self)
        self._entered.append((tapes.set((*others, self)), _training.set(self.training)))
        return self

    def __exit__(self, *exc_info: object) -> None:
        recording, training = self._entered.pop()
        tapes.reset(recording)
        _training.reset(training)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Record nothing on this tape inside the block."""
        token = tapes.set(tuple(tape for tape in tapes.get() if tape is not self))
        try:
            yield
        finally:
            tapes.reset(token)

    def gradient(
        self,
        y: NDArray | Sequence[NDArray],
        w: NDArray | Sequence[NDArray],
        output_gradients: Any = None,
        stypes: str | Sequence[str | None] | None = None,
        into: Any = None,
    ) -> Any:
        """The gradient of `y` by `w`: one array, or a list where `w` is a list.

        Parameters
        ----------
        y : NDArray or list of NDArray
            What is differentiated; a scalar unless `output_gradients` is given. Several are added.
        w : NDArray or list of NDArray
            By what.
        output_gradients : array or list of arrays, optional
            The gradients by `y` to start from; ones by default.
        stypes : str or list, optional
            The storage asked for each gradient. It chooses among the declared rules; a gradient
            that comes out otherwise is cast at the end.
        into : NDArray or list of NDArray, optional
            Earlier gradients by `w`; the answer is their sum with the new ones.

        Returns
        -------
        NDArray or list of NDArray
            Of the shape and dtype of `w`. Where `y` does not depend on `w` it is zero, in the
            storage asked for, else an empty row_sparse array (dense for a scalar).

        Raises
        ------
        GradientError
            If an operator on the way has no gradient declared, an array that the gradient needs
            was changed since, or the tape is spent.
        """
        if self.spent:
            raise GradientError(_SPENT)
        targets, sources = _listed(y, "y"), _listed(w, "w")
        asks = (None,) * len(sources) if stypes is None else as_asks(stypes, len(sources))
        heads = _heads(targets, output_gradients)
        calls = list(self.calls)
        asked = {x.token: ask for x, ask in zip(sources, asks, strict=True)}
        steps = plan_gradients(calls, [x.token for x in targets], asked)
        _check_targets(targets, asked, calls)
        found = walk(steps, targets, heads, asked)
        results = [
            _finished(found.get(x.token), x, ask) for x, ask in zip(sources, asks, strict=True)
        ]
        if into is not None:
            results = _added(_listed(into, "into", len(sources)), results)
        if not self.persistent:
            self.spent = True
            self.calls.clear()
        return results[0] if isinstance(w, NDArray) else results


_SPENT = "the tape is spent: it gave its gradient; use Tape(persistent=True) for several"


def record(plan: Any, args: Any, results: Any, state: Any) -> None:
    """Put a call on every tape that records."""
    call = Call(plan, args, results, state)
    for tape in tapes.get():
        if not tape.spent:
            tape.calls.append(call)


def is_training() -> bool:
    """Whether the innermost tape that records was made with ``training=True``."""
    return _training.get()


def _check_targets(targets: list[NDArray], sources: Container[int], calls: list[Call]) -> None:
    """Raise where a target is no result of the tape, rather than answer zero."""
    for x in targets:
        if x.token in sources:
            continue
        for call in reversed(calls):
            if x.token in call.tokens_out:
                break
        else:
            raise GradientError(
                f"y: {x.spec} was not computed while this tape recorded; compute it inside the "
                "tape's with block"
            )
        if x.version:
            raise GradientError(f"y: {x.spec} was changed in place; differentiate a copy of it")


def _finished(value: NDArray | None, x: NDArray, ask: str | None) -> NDArray:
    """The gradient by `x` in the storage asked for; zero where there is no path."""
    if value is None:
        stype = ask or ("row_sparse" if x.shape else "dense")
        return zeros(x.shape, x.dtype, stype=stype, backend=x.backend)
    if ask is None or value.stype == ask:
        return value.alias()
    if value.stype == "dense":
        reason = f"the gradient is computed dense and asked for as {ask}"
        size = value.dense_nbytes
        report("gradient", (value.stype, ask), reason, bytes_sparse=0, bytes_dense=size)
    return operators["cast_storage"](value, stype=ask)


def _added(earlier: list[NDArray], results: list[NDArray]) -> list[NDArray]:
    for old, new in zip(earlier, results, strict=True):
        if old.shape != new.shape:
            raise ShapeError(f"into has shape {old.shape}, but the gradient has {new.shape}")
    sums = [operators["add"](old, new) for old, new in zip(earlier, results, strict=True)]
    return [
        x if x.dtype == new.dtype else operators["cast"](x, dtype=new.dtype)
        for x, new in zip(sums, results, strict=True)
    ]


def _listed(found: Any, name: str, count: int | None = None) -> list[NDArray]:
    arrays = [found] if type(found) is NDArray else found
    if not isinstance(arrays, (list, tuple)):
        raise GradientError(
            f"{name} is {type(found).__name__}; it must be an NDArray or a list of them"
        )
    for x in arrays:
        if type(x) is not NDArray:
            raise GradientError(f"{name} has a {type(x).__name__}; it must hold NDArrays")
        if x.form.spec.dtype.kind not in "fc":
            raise GradientError(
                f"{name}: {x.spec} has no gradient; floating and complex arrays do: x.astype(float)"
            )
    if count is not None and len(arrays) != count:
        raise GradientError(f"{name} has {len(arrays)} arrays; w has {count}")
    return list(arrays)


def as_asks(stypes: Any, count: int) -> list[str | None]:
    """The storages asked for `count` gradients, as ``stypes=`` says."""
    if not isinstance(stypes, (str, list, tuple)):
        raise GradientError(
            f"stypes is {type(stypes).__name__}; it must be a storage type or a list of them"
        )
    asks = [stypes] * count if isinstance(stypes, str) else list(stypes)
    if len(asks) != count:
        raise GradientError(f"stypes has {len(asks)} storages; w has {count} arrays")
    for ask in asks:
        if ask is not None and ask not in STORAGES:
            raise StorageError(f"stypes: {ask!r} is not a storage type; there are {STORAGES}")
    return asks


def _heads(targets: list[NDArray], given: Any) -> list[NDArray]:
    if given is None:
        for y in targets:
            if y.shape != ():
                raise GradientError(
                    f"y has shape {y.shape}; only a scalar has a gradient without output_gradients"
                )
        return [asarray(1, y.dtype, backend=y.backend) for y in targets]
    values = [given] if len(targets) == 1 and not isinstance(given, (list, tuple)) else given
    if len(values) != len(targets):
        raise GradientError(f"output_gradients has {len(values)} arrays; y has {len(targets)}")
    return [_head(value, y) for value, y in zip(values, targets, strict=True)]


def _head(given: Any, y: NDArray) -> NDArray:
    head = given
    if type(given) is not NDArray or given.form is not y.form:
        head = asarray(given, y.dtype, backend=y.backend)
        if head.shape != y.shape:
            raise ShapeError(f"output_gradients has shape {head.shape}; y has {y.shape}")
    if not y.storage.aux or head is y:
        return head
    # Rules count on a sparse gradient to store what its result stores, and a result that is its own
    # source has this gradient: what y does not store is no variable of it.
    stored = operators["sparse_mask"](head, y)
    if head.stype == y.stype:
        return stored
    return operators["cast_storage"](stored, stype=head.stype)


def value_and_grad(function: Callable[..., NDArray], argnums: int | Sequence[int] = 0) -> Callable:
    """A function that returns `function`'s value and its gradient.

    Parameters
    ----------
    function : callable
        From arrays to a scalar array.
    argnums : int or sequence of int, optional
        By which positional arguments; a sequence gives a list of gradients.

    Examples
    --------
    >>> import sparseops as so
    >>> value, gradient = so.value_and_grad(lambda x: so.sum(x * x))(so.array([1.0, 2.0]))
    >>> float(value), gradient.asnumpy()
    (5.0, array([2., 4.]))
    """

    def with_gradient(*args: Any, **params: Any) -> tuple[NDArray, Any]:
        values = list(args)
        if not isinstance(argnums, (int, list, tuple)):
            raise GradientError(
                f"argnums is {type(argnums).__name__}; it must be an integer or a list of them"
            )
        numbers = [argnums] if isinstance(argnums, int) else argnums
        for number in numbers:
            if not isinstance(number, int) or not -len(values) <= number < len(values):
                raise GradientError(
                    f"argnums has {number!r}; the function got {len(values)} arguments by position"
                )
        for number in numbers:
            # Another name for the value, so that the same array in another argument is a constant.
            x = asarray(values[number])
            values[number] = operators["cast_storage"](x, stype=x.stype)
        with Tape() as tape:
            value = function(*values, **params)
        sources = [values[number] for number in numbers]
        return value, tape.gradient(value, sources[0] if isinstance(argnums, int) else sources)

    return with_gradient


def grad(function: Callable[..., NDArray], argnums: int | Sequence[int] = 0) -> Callable:
    """A function that returns the gradient of `function`; see `value_and_grad`.

    Examples
    --------
    >>> import sparseops as so
    >>> so.grad(so.grad(lambda x: x * x * x))(so.array(2.0))
    <float64[] dense>
    12.
    """
    both = value_and_grad(function, argnums)

    def gradient(*args: Any, **params: Any) -> Any:
        return both(*args, **params)[1]

    return gradient
