"""The gradient rules of calls, run on values that do not exist yet."""

from collections.abc import Container, Sequence
from typing import Any

from sparseops.creation import zeros
from sparseops.errors import DTypeError, GradientError, ShapeError, StorageError
from sparseops.gradient import HEAD, INPUT, INPUTS, OUTPUT, Choice
from sparseops.ndarray import NDArray
from sparseops.program import Cause, Node, Value
from sparseops.registry import operators
from sparseops.signature import NUMBERS
from sparseops.traced import Traced
from sparseops.tracing import Tracer


class Shadow:
    """A call of a program, in the form in which `plan_gradients` reads the calls of tapes."""

    __slots__ = ("node", "plan", "tokens_in", "tokens_out", "tracer", "versions")

    def __init__(self, node: Node, plan: Any, tracer: Tracer):
        self.node = node
        self.plan = plan
        self.tracer = tracer
        self.tokens_in = tuple([x.number if type(x) is Value else None for x in node.args])
        self.tokens_out = tuple([x.number for x in node.results])
        self.versions = (0,) * len(node.args)

    @property
    def inputs(self) -> list[Any]:
        """The traced inputs, and numbers."""
        return [Traced(self.tracer, x) if type(x) is Value else x for x in self.node.args]

    @property
    def outputs(self) -> list[Traced]:
        """The traced results."""
        return [Traced(self.tracer, x) for x in self.node.results]


class Walker:
    """Takes gradients from call to call backwards, as `gradient.walk` does with values."""

    def __init__(self, tracer: Tracer, sources: Container[int]):
        self.tracer = tracer
        self.sources = sources
        self.found: dict[int, Traced] = {}

    def accumulate(self, token: int, term: Traced) -> None:
        """Add to the gradient by the value `token`."""
        known = self.found.get(token)
        self.found[token] = term if known is None else operators["add"](known, term)

    def step(self, call: Shadow, choices: Sequence[Choice]) -> None:
        """Run the rules of one call."""
        found, sources = self.found, self.sources
        self.tracer.where = call.node.where
        arrived = [found.get(t) if t in sources else found.pop(t, None) for t in call.tokens_out]
        brought: dict[tuple[int, str], Traced] = {}
        first = call.plan.variadic_from
        for choice in choices:
            if choice.slot < first:
                value = self._apply(call, choice, arrived, brought)
                self.accumulate(call.tokens_in[choice.slot], value)
        starred = [choice for choice in choices if choice.slot >= first]
        for rule in dict.fromkeys([choice.rule for choice in starred]):
            mine = [choice for choice in starred if choice.rule is rule]
            values = self._apply(call, mine[0], arrived, brought, starred=True)
            for choice in mine:
                self.accumulate(call.tokens_in[choice.slot], values[choice.slot - first])

    def finished(self, source: Value, ask: str | None) -> Value:
        """The gradient by `source` in the storage asked for; zero where there is no path."""
        found = self.found.get(source.number)
        if found is None:
            spec = self.tracer.assignment.forms[source.number].spec
            return self._zeros(spec, ask or ("row_sparse" if spec.shape else "dense")).value
        have = found.known.stype
        if ask in (None, have):
            return found.value
        cause = None
        if have == "dense":
            reason = f"the gradient is computed dense and asked for as {ask}"
            cause = Cause("gradient", (have, ask), reason, (), found.dense_nbytes)
        return self._cast(found, ask, cause).value

    def _apply(
        self, call: Shadow, choice: Choice, arrived: list, brought: dict, starred: bool = False
    ) -> Any:
        """The answer of one rule, held to its declaration; for `*arrays` it answers for all."""
        plan = call.plan
        try:
            values = {
                name: self._source(call, choice, *at, arrived, brought)
                for name, *at in choice.sources
            }
            answer = choice.rule.function(**choice.constants, **values)
            if not starred:
                return self._checked(call, choice, choice.slot, answer)
            first, count = plan.variadic_from, len(plan.inputs) - plan.variadic_from
            if not isinstance(answer, (list, tuple)) or len(answer) != count:
                raise GradientError(
                    f"the rule by *{plan.operator.variadic} returned {type(answer).__name__}; it "
                    f"returns {count} gradients"
                )
            return [self._checked(call, choice, first + n, value) for n, value in enumerate(answer)]
        except Exception as error:
            name = plan.operator.slot_name(choice.slot)
            described = plan.operator.describe_call(plan.inputs, plan.params)
            error.add_note(f"in the gradient by {name!r} of {described} at {call.node.place}")
            raise

    def _source(
        self, call: Shadow, choice: Choice, kind: int, at: Any, arrived: list, brought: dict
    ) -> Any:
        """What a rule takes under one of its names."""
        if kind == HEAD:
            g, wanted = arrived[at], choice.heads[at]
            return (
                g
                if g is not None and g.known.stype == wanted
                else self._bring(call, at, wanted, g, brought)
            )
        if kind == INPUT:
            return self._saved(call, at, choice.stypes[at])
        if kind == INPUTS:
            return tuple([self._saved(call, slot, choice.stypes[slot]) for slot in at])
        if kind == OUTPUT:
            return call.outputs[at]
        name = call.plan.operator.__name__
        raise GradientError(
            f"the gradient of {name} reads state, which exists only while {name} runs: a tape has "
            "it, a graph has not",
            operator=name,
        )

    def _saved(self, call: Shadow, slot: int, stype: str) -> Any:
        found = call.inputs[slot]
        if isinstance(found, NUMBERS) or stype != "dense" or found.known.stype == "dense":
            return found
        name = call.plan.operator.slot_name(slot)
        return self._to_dense(found, call, f"{name} is sparse, and the rule takes it dense")

    def _bring(
        self, call: Shadow, position: int, wanted: str, g: Traced | None, brought: dict
    ) -> Traced:
        """The gradient by result `position`, in the storage that the rule wants."""
        if (position, wanted) in brought:
            return brought[position, wanted]
        spec, out = call.plan.results[position].spec, call.outputs[position]
        if g is None and spec.stype == wanted:
            g = operators["zeros_like"](out)
        elif g is None:
            g = self._zeros(spec, wanted)
        elif wanted != "dense" and spec.stype == wanted and g.known.stype == "dense":
            g = operators["sparse_mask"](g, out)
        elif wanted == "dense":
            reason = "a sparse gradient arrives where the rule takes it dense"
            g = self._to_dense(g, call, reason)
        else:
            g = self._cast(g, wanted)
        brought[position, wanted] = g
        return g

    def _zeros(self, spec: Any, stype: str) -> Traced:
        """Zeros that take no memory before the graph runs."""
        backend = self.tracer.program.backend
        held = stype if stype != "dense" or not spec.shape else "row_sparse"
        empty = zeros(spec.shape, spec.dtype, stype=held, backend=backend)
        made = Traced(self.tracer, self.tracer.constant(empty))
        return made if held == stype else self._cast(made, stype)

    def _cast(self, x: Traced, stype: str, cause: Cause | None = None) -> Traced:
        return self.tracer.call(operators["cast_storage"], [x], stype, cause=cause)

    def _to_dense(self, x: Traced, call: Shadow, reason: str) -> Traced:
        name = f"gradient of {call.plan.operator.__name__}"
        cause = Cause(name, (x.known.stype,), reason, (x.value,), x.dense_nbytes)
        return self._cast(x, "dense", cause)

    def _checked(self, call: Shadow, choice: Choice, slot: int, value: Any) -> Traced:
        """The gradient `value`, if it has the shape of the input and the storage declared."""
        spec, operator = call.plan.inputs[slot], call.plan.operator
        parts = {"operator": operator.__name__, "slot": operator.slot_name(slot)}
        promise = f"the gradient by {parts['slot']!r} is declared {choice.stype}, but the rule"
        if isinstance(value, NDArray):
            value = Traced(self.tracer, self.tracer.constant(value))
        if type(value) is not Traced:
            raise StorageError(f"{promise} returned {type(value).__name__}", **parts)
        found = value.known
        if found.shape != spec.shape:
            raise ShapeError(
                f"the gradient by {parts['slot']!r} has shape {found.shape}; {parts['slot']} has "
                f"{spec.shape}",
                **parts,
            )
        if found.stype != choice.stype:
            raise StorageError(f"{promise} returned {found}", **parts)
        if found.dtype == spec.dtype:
            return value
        if found.dtype.kind not in "fc":
            raise DTypeError(
                f"the gradient has dtype {found.dtype}; the input has {spec.dtype}", **parts
            )
        if found.dtype.kind == "c" and spec.dtype.kind == "f":
            value = operators["real"](value)
        return operators["cast"](value, dtype=spec.dtype)
