"""What an operator infers for every partial assignment of storages: there are only so many."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from sparseops.backend import get_backend
from sparseops.operators import Operator
from sparseops.parameters import REQUIRED
from sparseops.signature import SCALAR
from sparseops.spec import STORAGES, UNDEFINED

CHOICES = (UNDEFINED, *STORAGES)
MOST = 4096
_NUMBERS = (2.0, 0.0, 1.0, -1.0)

Known = tuple[str, ...]


class Answer(NamedTuple):
    """What was inferred: storages and the rule, or the exception instead."""

    filled: Known | None
    rule: Any = None
    error: BaseException | None = None

    @property
    def outcome(self) -> Any:
        """What two equal answers have in common."""
        return self.filled if self.error is None else type(self.error).__name__


class Table:
    """The answers for all partial assignments, of one form of call.

    Attributes
    ----------
    names : tuple of str
        The slots: inputs, then results.
    count : int
        The number of inputs.
    """

    def __init__(
        self,
        operator: Any,
        params: Mapping[str, Any],
        numbers: Sequence[Any],
        names: Known,
        count: int,
        infer: Callable[[Known], tuple[Known, Any]],
    ):
        self.operator = operator
        self.params = params
        self.numbers = numbers
        self.names = names
        self.count = count
        self.infer = infer
        self.answers: dict[Known, Answer] = {known: self.ask(known) for known in self.assignments()}

    def assignments(self) -> list[Known]:
        """All partial assignments, those that say least first."""
        slots = [
            (SCALAR,) if slot < self.count and self.numbers[slot] is not None else CHOICES
            for slot in range(len(self.names))
        ]
        found = list(product(*slots))
        found.sort(key=lambda known: sum(s not in (UNDEFINED, SCALAR) for s in known))
        return found[:MOST]

    def ask(self, known: Known) -> Answer:
        """What is inferred for `known`."""
        try:
            filled, rule = self.infer(known)
            return Answer(tuple(filled), rule)
        except Exception as error:
            return Answer(None, None, error)

    def code(self, known: Known) -> str:
        """The question as code."""
        name = getattr(self.operator, "__name__", "infer")
        if not isinstance(self.operator, Operator):
            return f"{name}({known!r})"
        plain = SCALAR not in known and self.operator.variadic is None and not self.params
        if plain:
            given = [f"{n}={s!r}" for n, s in zip(self.names, known, strict=True) if s != UNDEFINED]
            return f"so.infer_storage({', '.join([name, *given])})"
        more = f", {dict(self.params)!r}" if self.params else ""
        if SCALAR in known:
            more += f", numbers={list(self.numbers)!r}"
        return f"{name}.choose({known!r}{more})"

    def text(self, known: Known) -> str:
        """The assignment for people."""
        pairs = zip(self.names, known, strict=True)
        return ", ".join(f"{name}: {'?' if s == UNDEFINED else s}" for name, s in pairs)


def tables(operator: Any, params: Sequence[Mapping[str, Any]], inputs: Any, outputs: Any) -> list:
    """The tables of an operator, one for each form of call; or that of a plain function."""
    if not isinstance(operator, Operator):
        names = (*_named("x", inputs), *_named("out", outputs))
        return [_function_table(operator, operator, {}, names, len(names) - _count(outputs))]
    count = len(operator.inputs) + (operator.variadic is not None)
    names = tuple(operator.slot_name(slot) for slot in range(count)) + operator.outputs
    if operator.variadic:
        first = len(operator.inputs) - 1
        stars = tuple(f"{n}{i - first}" for i, n in enumerate(names[:count]) if i >= first)
        names = names[:first] + stars + operator.outputs
    found = []
    for given in _forms(operator, params):
        for numbers in _numbers(operator, count):
            found.append(_operator_table(operator, given, numbers, names, count))
    return found


def _operator_table(
    operator: Operator, given: Mapping[str, Any], numbers: list, names: Known, count: int
) -> Table:
    function = operator._storage_function
    if function is not None:
        wanted = inspect.signature(function).parameters
        values = {name: value for name, value in given.items() if name in wanted}
        return _function_table(
            operator, lambda known: function(known, **values), values, names, count
        )

    def infer(known: Known) -> tuple[Known, Any]:
        rule, filled = operator.choose(known, given, numbers=numbers, backend=get_backend().name)
        return filled, rule

    shown = {n: v for n, v in given.items() if operator.defaults.get(n, REQUIRED) != v}
    return Table(operator, shown, numbers, names, count, infer)


def _function_table(
    operator: Any, function: Any, params: Mapping[str, Any], names: Known, count: int
) -> Table:
    def infer(known: Known) -> tuple[Known, Any]:
        filled = function(known)
        if not isinstance(filled, (tuple, list)):
            raise TypeError(f"the answer is {filled!r}, not a tuple of storages")
        if len(filled) == 2 and all(isinstance(part, (tuple, list)) for part in filled):
            filled = (*filled[0], *filled[1])
        return tuple(map(str, filled)), None

    return Table(operator, params, [None] * count, names, count, infer)


def _forms(operator: Operator, params: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The parameters to infer with: those given, and those that conditions name."""
    defaults = {n: v for n, v in operator.defaults.items() if v is not REQUIRED}
    seen: list[dict] = []
    rules = [*operator.kernels, *(r for found in operator.gradients.values() for r in found)]
    wheres = [rule.where.values for rule in rules if rule.where and rule.where.values]
    flips = [{n: not v} for n, v in defaults.items() if isinstance(v, bool)]
    flips = [dict(pair) for pair in _products(flips)]
    for more in ({}, *wheres, *flips):
        for given in params or [{}]:
            values = defaults | dict(given) | dict(more)
            if values not in seen:
                seen.append(values)
                yield values


def _products(flips: list[dict]) -> Iterator[dict]:
    for chosen in product((False, True), repeat=min(len(flips), 3)):
        merged: dict = {}
        for take, flip in zip(chosen, flips, strict=False):
            merged |= flip if take else {}
        yield merged


def _numbers(operator: Operator, count: int) -> Iterator[list[Any]]:
    """Which inputs stand as numbers, and which numbers."""
    rules = [rule.signature for rule in operator.kernels if rule.signature]
    slots = {s for rule in rules for s, n in enumerate(rule.expand(count)) if n == SCALAR}
    yield [None] * count
    reads = any(rule.where and rule.where.reads(operator.inputs) for rule in operator.kernels)
    # A number for *arrays stands for all of them.
    first = len(operator.inputs) - 1 if operator.variadic else count
    for chosen in _subsets({min(slot, first) for slot in slots}):
        for number in _NUMBERS if reads else _NUMBERS[:1]:
            yield [number if min(n, first) in chosen else None for n in range(count)]


def _subsets(slots: set[int]) -> Iterator[set[int]]:
    """One slot after the other, and all of several."""
    yield from ({slot} for slot in sorted(slots))
    if len(slots) > 1:
        yield slots


def _count(given: Any) -> int:
    return given if isinstance(given, int) else len(given)


def _named(stem: str, given: Any) -> Known:
    if not isinstance(given, int):
        return tuple(given)
    return tuple(f"{stem}{n}" for n in range(given)) if given != 1 else (stem,)
