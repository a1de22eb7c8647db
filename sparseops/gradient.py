"""Gradients of recorded calls: which rules serve, in which storages, and then the values.

Which gradient rule serves each call, and in which storage each gradient arrives, is settled by one
pass over the calls before a value exists (`plan_gradients`); then values flow (`walk`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sparseops.creation import zeros
from sparseops.errors import DTypeError, GradientError, ShapeError, StorageError
from sparseops.ndarray import NDArray
from sparseops.policy import report
from sparseops.registry import operators
from sparseops.signature import Known, Rule, choose_gradient, table


class Call:
    """One operator call, with no more of its arrays than its gradient rules name.

    `tokens_in` has None for numbers; `inputs` and `outputs` have None for what is not kept.
    """

    __slots__ = (
        "inputs",
        "operator",
        "outputs",
        "plan",
        "state",
        "structures",
        "tokens_in",
        "tokens_out",
        "versions",
    )

    def __init__(
        self, operator: Any, plan: Any, args: Sequence[Any], results: Sequence[NDArray], state: Any
    ):
        self.operator = operator
        self.plan = plan
        self.state = state
        arrays = [type(x) is NDArray for x in args]
        self.tokens_in = [x.token if a else None for x, a in zip(args, arrays, strict=True)]
        self.versions = [x.version if a else 0 for x, a in zip(args, arrays, strict=True)]
        self.tokens_out = [x.token for x in results]
        keep_in, keep_out = operator.kept(len(args))
        self.inputs = [
            x if kept or not a else None for x, kept, a in zip(args, keep_in, arrays, strict=True)
        ]
        self.outputs = [x if kept else None for x, kept in zip(results, keep_out, strict=True)]
        self.structures = [
            None if x.stype == "dense" else NDArray(plan.backend.structure(x.storage), x.form)
            for x in results
        ]

    @property
    def stypes(self) -> Known:
        """The storages of the inputs."""
        return self.plan.filled[: len(self.inputs)]

    @property
    def given(self) -> dict[str, Any]:
        """The parameters and numbers that conditions read."""
        return self.operator.given(self.inputs, self.plan.params)


class Step(NamedTuple):
    """One gradient to compute: by which input of which call, by which rule."""

    call: Call
    slot: int
    rule: Rule
    stypes: Known
    heads: Known


def plan_gradients(
    calls: Sequence[Call], targets: Iterable[int], asks: Mapping[int, str | None]
) -> list[Step]:
    """The gradients to compute for `calls`, in forward order; no values are touched.

    The ask for a source is given; the ask for an intermediate result is the storage in which the
    call that made it wants its gradient, as the rule by its first differentiated input says.
    """
    reached, active = set(asks), []
    for call in calls:
        slots = [
            slot
            for slot, token in enumerate(call.tokens_in)
            if token in reached and call.plan.differentiable[slot]
        ]
        if slots:
            active.append((call, slots))
            reached.update(
                t
                for t, f in zip(call.tokens_out, call.plan.results, strict=True)
                if f.spec.dtype.kind in "fc"
            )
    needed, useful = set(targets), []
    for call, slots in reversed(active):
        if not needed.isdisjoint(call.tokens_out):
            useful.append((call, slots))
            needed.update(call.tokens_in[slot] for slot in slots)
    wanted: dict[int, str | None] = dict(asks)
    steps = []
    for call, slots in reversed(useful):
        made = []
        for slot in slots:
            rule, stypes = _choose(call, slot, wanted.get(call.tokens_in[slot]))
            heads = rule.signature.heads or call.plan.filled[len(call.inputs) :]
            made.append(Step(call, slot, rule, stypes, heads))
        for token, head in zip(call.tokens_out, made[0].heads, strict=True):
            if wanted.get(token) is None:
                wanted[token] = head
        steps += made
    return steps


def _choose(call: Call, slot: int, ask: str | None) -> tuple[Rule, Known]:
    operator, given, backend = call.operator, call.given, call.plan.backend.name
    name = operator.slot_name(slot)
    rules = operator.gradients.get(name, ())
    found = choose_gradient([r for r in rules if r.serves(backend, given)], call.stypes, ask)
    if found is None:
        error = GradientError(
            f"{operator.__name__} declares no gradient by {name!r} for "
            f"({', '.join(call.stypes)}); declared by {name!r}:\n{table(rules)}",
            operator=operator.__name__,
            slot=name,
            declared=call.stypes,
            available=tuple(str(rule) for rule in rules),
        )
        error.add_note(f"in {operator.describe_call(call.plan.inputs, call.plan.params)}")
        raise error
    return found


def walk(
    steps: list[Step], targets: list[NDArray], heads: list[NDArray], sources: set[int]
) -> dict[int, NDArray]:
    """The gradients by the tokens `sources`, from the gradients `heads` by `targets`."""
    found: dict[int, NDArray] = {}
    for x, head in zip(targets, heads, strict=True):
        _accumulate(found, x.token, head)
    position = len(steps)
    while position:
        call = steps[position - 1].call
        end = position
        while position and steps[position - 1].call is call:
            position -= 1
        arrived = [
            found.get(token) if token in sources else found.pop(token, None)
            for token in call.tokens_out
        ]
        if all(g is None for g in arrived):
            continue
        brought: dict[tuple[int, str], NDArray] = {}
        for step in steps[position:end]:
            if step.call.plan.variadic_from is None or step.slot < step.call.plan.variadic_from:
                _accumulate(found, call.tokens_in[step.slot], _apply(step, arrived, brought))
        _apply_variadic(steps[position:end], arrived, brought, found)
    return found


def _apply_variadic(
    steps: list[Step], arrived: list, brought: dict, found: dict[int, NDArray]
) -> None:
    """The gradients by `*arrays`: one run of each rule that was chosen gives them all."""
    starred = [s for s in steps if s.call.plan.variadic_from is not None]
    starred = [s for s in starred if s.slot >= s.call.plan.variadic_from]
    for rule in dict.fromkeys(s.rule for s in starred):
        mine = [s for s in starred if s.rule is rule]
        gradients = _apply(mine[0], arrived, brought, count=len(mine[0].call.inputs))
        for step in mine:
            value = gradients[step.slot - step.call.plan.variadic_from]
            _accumulate(found, step.call.tokens_in[step.slot], value)


def _accumulate(found: dict[int, NDArray], token: int, term: NDArray) -> None:
    known = found.get(token)
    found[token] = term if known is None else operators["add"](known, term)


def _apply(
    step: Step, arrived: list[NDArray | None], brought: dict, count: int | None = None
) -> Any:
    """Run one rule, and hold its answer to its declaration."""
    call, operator = step.call, step.call.operator
    try:
        values = _arguments(step, arrived, brought)
        answer = step.rule.function(**values)
        if count is None:
            return _checked(step, step.slot, answer)
        first = call.plan.variadic_from
        if not isinstance(answer, (list, tuple)) or len(answer) != count - first:
            raise GradientError(
                f"the rule returned {type(answer).__name__}; it returns {count - first} gradients"
            )
        return [_checked(step, first + n, value) for n, value in enumerate(answer)]
    except Exception as error:
        described = operator.describe_call(call.plan.inputs, call.plan.params)
        error.add_note(f"in the gradient by {operator.slot_name(step.slot)!r} of {described}")
        raise


def _arguments(step: Step, arrived: list[NDArray | None], brought: dict) -> dict[str, Any]:
    """What the rule of `step` names, by name."""
    call, operator, values = step.call, step.call.operator, {}
    inputs = dict(operator.named_inputs(range(len(call.inputs))))
    for name in step.rule.wants:
        if name in operator.head_names:
            values[name] = _bring(step, operator.head_names.index(name), arrived, brought)
        elif name in inputs:
            slots = inputs[name]
            found = [_saved(call, slot, step.stypes[slot]) for slot in slots]
            values[name] = tuple(found) if name == operator.variadic else found[0]
        elif name in operator.outputs:
            values[name] = call.outputs[operator.outputs.index(name)]
        elif name == "state":
            values[name] = call.state
        elif name in call.plan.params:
            values[name] = call.plan.params[name]
        else:
            slots = inputs[name.removesuffix("_spec")]
            found = [call.plan.inputs[slot] for slot in slots]
            star = name.removesuffix("_spec") == operator.variadic
            values[name] = tuple(found) if star else found[0]
    return values


def _saved(call: Call, slot: int, stype: str) -> Any:
    """The input at `slot`, in the storage that the rule takes."""
    found = call.inputs[slot]
    if type(found) is not NDArray:
        return found
    if found.version != call.versions[slot]:
        raise GradientError(
            f"{call.operator.slot_name(slot)}: {found.spec} was changed in place after the tape "
            "recorded it; compute the gradient before the change, or change a copy",
            operator=call.operator.__name__,
            slot=call.operator.slot_name(slot),
        )
    return (
        _to_dense(found, call, f"the gradient takes {call.operator.slot_name(slot)} as dense")
        if stype == "dense"
        else found
    )


def _bring(step: Step, position: int, arrived: list[NDArray | None], brought: dict) -> NDArray:
    """The gradient by result `position`, in the storage that the rule wants."""
    wanted = step.heads[position]
    if (position, wanted) not in brought:
        call, g = step.call, arrived[position]
        spec = call.plan.results[position].spec
        structure = call.structures[position]
        if g is None:
            g = zeros(spec.shape, spec.dtype, stype=wanted, backend=call.plan.backend)
        elif g.stype == wanted:
            pass
        elif wanted == "dense":
            g = _to_dense(g, call, "a sparse gradient arrives where the rule takes dense")
        elif g.stype == "dense" and structure is not None and structure.stype == wanted:
            g = operators["sparse_mask"](g, structure)
        else:
            g = operators["cast_storage"](g, stype=wanted)
        brought[position, wanted] = g
    return brought[position, wanted]


def _to_dense(x: NDArray, call: Call, reason: str) -> NDArray:
    if x.stype == "dense":
        return x
    name = f"gradient of {call.operator.__name__}"
    report(name, (x.stype,), reason, bytes_sparse=x.nbytes, bytes_dense=x.dense_nbytes)
    return operators["cast_storage"](x, stype="dense")


def _checked(step: Step, slot: int, value: Any) -> NDArray:
    """The gradient `value`, if it has the shape of the input and the storage declared."""
    spec, stype = step.call.plan.inputs[slot], step.rule.signature.outputs[0]
    name = step.call.operator.slot_name(slot)
    parts = {"operator": step.call.operator.__name__, "slot": name}
    if not isinstance(value, NDArray):
        raise StorageError(
            f"the gradient by {name!r} is declared {stype}, but the rule returned "
            f"{type(value).__name__}",
            **parts,
        )
    if value.shape != spec.shape:
        raise ShapeError(
            f"the gradient by {name!r} has shape {value.shape}; {name} has {spec.shape}",
            declared=spec.shape,
            **parts,
        )
    if value.stype != stype:
        raise StorageError(
            f"the gradient by {name!r} is declared {stype}, but the rule returned {value.spec}",
            declared=stype,
            available=value.stype,
            **parts,
        )
    return _as_dtype_of(value, spec.dtype, parts)


def _as_dtype_of(value: NDArray, dtype: Any, parts: Mapping[str, str]) -> NDArray:
    if value.dtype == dtype:
        return value
    if value.dtype.kind == "c" and dtype.kind == "f":
        value = operators["real"](value)
    elif value.dtype.kind not in "fc":
        raise DTypeError(f"the gradient has dtype {value.dtype}; the input has {dtype}", **parts)
    return operators["cast"](value, dtype=dtype)
