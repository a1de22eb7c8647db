"""Laws of whole programs: what is inferred of a function holds when it runs."""

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from sparseops.autograd import Tape
from sparseops.constructors import asarray
from sparseops.errors import StorageError
from sparseops.graph import Graph, trace
from sparseops.ndarray import NDArray
from sparseops.ops import sum
from sparseops.policy import fallback
from sparseops.spec import STORAGES, Spec
from sparseops.testing.dense import densify, difference
from sparseops.testing.oracle import describe
from sparseops.testing.report import FAILED, OK, SKIPPED, Failure, LawResult, Report

_Law = Callable[["_Program"], str | None]
_LAWS: list[tuple[str, str, str, _Law]] = []


def check_graph(function: Callable[..., Any], *inputs: Any, seed: int = 0) -> Report:
    """Check the laws of storage inference over a whole function.

    Parameters
    ----------
    function : callable
        Written with operators, from arrays to an array or several.
    *inputs : Spec or NDArray
        What the function takes; the storage of a Spec may be open. For a Spec, values are drawn.
    seed : int, optional
        What the values come from: small numbers that are exact, half of them zero.

    Returns
    -------
    Report
        A line for each law; ``ok`` if all of them hold.

    Notes
    -----
    Each value is declared by itself in each storage, so the time is O(values * calls).

    Examples
    --------
    >>> import sparseops as so
    >>> x, w = so.Spec((5, 4), float, "csr"), so.Spec((4, 2), float)
    >>> so.testing.check_graph(lambda x, w: so.sum(so.dot(x, w)), x, w).ok
    True
    """
    program, results = _Program(function, inputs, seed), []
    for id, title, why, law in _LAWS:
        start = perf_counter()
        try:
            found = law(program)
        except Exception as error:
            found = f"raised {describe(error)}"
        seconds, name = perf_counter() - start, getattr(function, "__name__", "function")
        if found is None or found.startswith("-"):
            status = OK if found is None else SKIPPED
            results.append(LawResult(id, title, status, 1, seconds, (found or "").lstrip("- ")))
        else:
            example = f"so.testing.check_graph({name}, {', '.join(map(repr, program.specs))})"
            failure = Failure(id, title, why, found, example)
            results.append(LawResult(id, title, FAILED, 1, seconds, failures=[failure]))
    return Report(getattr(function, "__name__", "function"), results, seed=seed)


def _law(id: str, title: str, why: str) -> Callable[[_Law], _Law]:
    def enter(law: _Law) -> _Law:
        _LAWS.append((id, title, why, law))
        return law

    return enter


class _Program:
    """A function, what is known of its inputs, and arrays for them."""

    def __init__(self, function: Callable[..., Any], inputs: Sequence[Any], seed: int):
        self.function = function
        self.specs = [x.spec if isinstance(x, NDArray) else x for x in inputs]
        self.graph = trace(function)(*self.specs)
        rng = np.random.default_rng(seed)
        settled = self.graph.inputs.values()
        self.arrays = [
            x if isinstance(x, NDArray) else _drawn(spec, rng)
            for x, spec in zip(inputs, settled, strict=True)
        ]

    def storages(self, graph: Graph) -> dict[str, str]:
        """The storage of each value by its name."""
        return {value.name: graph.spec(value).stype for value in graph.program.values}


def _drawn(spec: Spec, rng: np.random.Generator) -> NDArray:
    least = 0 if spec.dtype.kind in "bu" else -4
    values = rng.integers(least, 5, spec.shape) * (rng.random(spec.shape) < 0.5)
    if spec.dtype.kind in "fc":
        values = values / 2
    return asarray(values.astype(spec.dtype)).tostype(spec.stype)


@_law("W1", "what is declared of a value is kept", "a later pass overwrites what was declared")
def _kept(program: _Program) -> str | None:
    graph = program.graph
    for value in graph.program.values:
        ndim = graph.spec(value).ndim
        for stype in STORAGES[: 1 + (ndim > 0) + (ndim == 2)]:
            try:
                other = graph.infer(**{value.name: stype})
            except StorageError:  # another storage is declared where the function was written
                continue
            found = other.spec(value).stype
            if found != stype:
                return f"{value.name} was declared {stype} and is {found}"
    return None


@_law("W2", "to infer again changes nothing", "the answer depends on what was inferred before")
def _again(program: _Program) -> str | None:
    return _changed(program, program.graph.infer(), "inferred again")


@_law(
    "W3",
    "to declare what was inferred changes nothing",
    "the code asks whether a value was declared instead of what it is",
)
def _stable(program: _Program) -> str | None:
    found = program.storages(program.graph)
    for declared in (found, *({name: stype} for name, stype in found.items())):
        text = _changed(program, program.graph.infer(**declared), f"with {declared} declared")
        if text is not None:
            return text
    return None


def _changed(program: _Program, other: Graph, how: str) -> str | None:
    found = program.storages(other)
    for name, stype in program.storages(program.graph).items():
        if found[name] != stype:
            return f"{name} was {stype}; {how} it is {found[name]}"
    return None


@_law(
    "W4",
    "a run gives what the function gives: values, storages and fallbacks",
    "the function does something beside operators, or depends on what it was traced with",
)
def _runs(program: _Program) -> str | None:
    with fallback("allow", limit=None) as eager:
        expected = program.function(*program.arrays)
    with fallback("allow", limit=None) as recorded:
        found = program.graph.run(*program.arrays)
    text = _apart(_leaves(found), _leaves(expected), "a run", "the function")
    if text is None and [_fallback(r) for r in recorded] != [_fallback(r) for r in eager]:
        return f"a run falls back {len(recorded)} times, the function {len(eager)} times"
    return text


def _fallback(record: Any) -> tuple:
    return record.operator, record.stypes, record.bytes_dense


@_law("W5", "several workers give what one gives", "calls depend on each other beside their values")
def _workers(program: _Program) -> str | None:
    with fallback("allow", limit=None):
        one, four = (program.graph.run(*program.arrays, workers=n) for n in (1, 4))
    return _apart(_leaves(four), _leaves(one), "4 workers", "one worker")


@_law(
    "W6",
    "gradients of the graph are those of a tape: values and storages",
    "a gradient rule depends on values, or on whether a tape records",
)
def _gradients(program: _Program) -> str | None:
    slots = [n for n, spec in enumerate(program.specs) if spec.dtype.kind in "fc"]
    if not slots:
        return "- no input is floating"

    def loss(*inputs: Any) -> Any:
        terms = [sum(x) for x in _leaves(program.function(*inputs)) if x.dtype.kind in "fc"]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    arrays = [program.arrays[slot] for slot in slots]
    with fallback("allow", limit=None):
        with Tape() as tape:
            y = loss(*program.arrays)
        expected = tape.gradient(y, arrays)
        graph = trace(loss)(*[x.spec for x in program.arrays])
        found = graph.gradient(slots).run(*program.arrays)
    return _apart(_leaves(found), expected, "the graph", "a tape")


@_law(
    "W7", "to ask for gradients changes no storage of the function", "both share what they settle"
)
def _undisturbed(program: _Program) -> str | None:
    before = program.storages(program.graph)
    slots = [n for n, spec in enumerate(program.specs) if spec.dtype.kind in "fc"]
    if not slots:
        return "- no input is floating"
    program.graph.gradient(slots)
    after = program.storages(program.graph)
    changed = [name for name in before if after[name] != before[name]]
    return f"{changed[0]} was {before[changed[0]]} and is {after[changed[0]]}" if changed else None


def _leaves(value: Any) -> list[NDArray]:
    return list(_flat(value))


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _apart(found: Sequence[Any], expected: Sequence[Any], one: str, other: str) -> str | None:
    for n, (x, y) in enumerate(zip(found, expected, strict=True)):
        if x.spec != y.spec:
            return f"result {n} of {one} is {x.spec}; of {other} {y.spec}"
        text = difference(densify(x), densify(y), rtol=0.0)
        if text:
            return f"result {n} of {one} and of {other} differ: {text}"
    return None
