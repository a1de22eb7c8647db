"""Gradients of recorded calls: which rules serve, in which storages, and then the values.

Which gradient rule serves each call, and in which storage each gradient arrives, is settled by one
pass over the calls before a value exists (`plan_gradients`); then values flow (`walk`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from sparseops.call import Call
from sparseops.creation import zeros
from sparseops.errors import DTypeError, GradientError, ShapeError, StorageError
from sparseops.ndarray import NDArray
from sparseops.policy import report
from sparseops.registry import operators
from sparseops.signature import choose_gradient, table
from sparseops.spec import Spec

#: Where a rule's value comes from; see `Choice.sources`.
HEAD, INPUT, INPUTS, OUTPUT, STATE = range(5)


class Choice:
    """The gradient rule by one input, as one form of call uses it.

    `sources` tells for each name that the rule takes where its value comes from; `constants` are
    the values that are the same for every such call.
    """

    __slots__ = ("constants", "heads", "rule", "slot", "sources", "stype", "stypes")

    def __init__(self, plan: Any, slot: int, rule: Any, stypes: Sequence[str]):
        operator, count = plan.operator, len(plan.inputs)
        self.slot = slot
        self.rule = rule
        self.stypes = stypes
        self.stype = rule.signature.outputs[0]
        self.heads = rule.signature.heads or plan.filled[count:]
        self.constants: dict[str, Any] = {}
        self.sources: list[tuple[str, int, Any]] = []
        inputs = dict(operator.named_inputs(range(count)))
        for name in rule.wants:
            if name in operator.head_names:
                self.sources.append((name, HEAD, operator.head_names.index(name)))
            elif name == operator.variadic:
                self.sources.append((name, INPUTS, inputs[name]))
            elif name in inputs:
                self.sources.append((name, INPUT, inputs[name][0]))
            elif name in operator.outputs:
                self.sources.append((name, OUTPUT, operator.outputs.index(name)))
            elif name == "state":
                self.sources.append((name, STATE, None))
            elif name in plan.params:
                self.constants[name] = plan.params[name]
            else:
                slots = inputs[name.removesuffix("_spec")]
                if name == f"{operator.variadic}_spec":
                    self.constants[name] = tuple(plan.inputs[n] for n in slots)
                elif isinstance(plan.inputs[slots[0]], Spec):
                    self.constants[name] = plan.inputs[slots[0]]
                else:
                    self.sources.append((name, INPUT, slots[0]))


Steps = list[tuple[Call, list[Choice]]]


def plan_gradients(
    calls: Sequence[Call], targets: Iterable[int], asks: Mapping[int, str | None]
) -> Steps:
    """The gradients to compute for `calls`, in forward order; no values are touched.

    The ask for a source is given; the ask for an intermediate result is the storage in which the
    call that made it wants its gradient, as the rule by its first differentiated input says.
    O(calls).
    """
    reached, active = set(asks), []
    for call in calls:
        tokens = call.tokens_in
        slots = [slot for slot in call.plan.differentiable if tokens[slot] in reached]
        if slots:
            active.append((call, slots))
            reached.update([call.tokens_out[n] for n in call.plan.differentiable_results])
    needed, useful = set(targets), []
    for call, slots in reversed(active):
        if not needed.isdisjoint(call.tokens_out):
            useful.append((call, slots))
            needed.update([call.tokens_in[slot] for slot in slots])
    wanted: dict[int, str | None] = dict(asks)
    versions: dict[int, int] = {}
    steps = []
    for call, slots in reversed(useful):
        choices = []
        for slot in slots:
            token, version = call.tokens_in[slot], call.versions[slot]
            if versions.setdefault(token, version) != version:
                _refuse_changed(call, slot)
            ask = wanted.get(token)
            choices.append(call.plan.choices.get((slot, ask)) or _choose(call, slot, ask))
        for position, token in enumerate(call.tokens_out):
            versions[token] = 0
            if wanted.get(token) is None:
                wanted[token] = choices[0].heads[position]
        steps.append((call, choices))
    return steps


def _refuse_changed(call: Call, slot: int) -> NoReturn:
    operator = call.plan.operator
    name = operator.slot_name(slot)
    raise GradientError(
        f"{name} of {operator.__name__} was changed in place while the tape recorded, so no "
        "gradient flows through it; change a copy",
        operator=operator.__name__,
        slot=name,
    )


def _choose(call: Call, slot: int, ask: str | None) -> Choice:
    plan = call.plan
    operator = plan.operator
    name, given = operator.slot_name(slot), operator.given(call.inputs, plan.params)
    rules, stypes = operator.gradients.get(name, ()), plan.filled[: len(plan.inputs)]
    serving = [rule for rule in rules if rule.serves(plan.backend.name, given)]
    chosen = choose_gradient(serving, stypes, ask)
    if chosen is None:
        error = GradientError(
            f"{operator.__name__} declares no gradient by {name!r} for ({', '.join(stypes)}); "
            f"declared by {name!r}:\n{table(rules)}",
            operator=operator.__name__,
            slot=name,
            declared=stypes,
            available=tuple(str(rule) for rule in rules),
        )
        error.add_note(f"in {operator.describe_call(plan.inputs, plan.params)}")
        raise error
    choice = Choice(plan, slot, *chosen)
    if not any(rule.where and rule.where.reads(operator.inputs) for rule in rules):
        plan.choices[slot, ask] = choice
    return choice


def walk(
    steps: Steps, targets: list[NDArray], heads: list[NDArray], sources: Iterable[int]
) -> dict[int, NDArray]:
    """The gradients by the tokens `sources`, from the gradients `heads` by `targets`."""
    found: dict[int, NDArray] = {}
    for x, head in zip(targets, heads, strict=True):
        _accumulate(found, x.token, head)
    for call, choices in reversed(steps):
        arrived = [found.get(t) if t in sources else found.pop(t, None) for t in call.tokens_out]
        brought: dict[tuple[int, str], NDArray] = {}
        for choice in choices:
            if choice.slot < call.plan.variadic_from:
                value = _apply(call, choice, arrived, brought)
                _accumulate(found, call.tokens_in[choice.slot], value)
        if call.plan.operator.variadic:
            _walk_starred(call, choices, arrived, brought, found)
    return found


def _walk_starred(
    call: Call, choices: list[Choice], arrived: list, brought: dict, found: dict[int, NDArray]
) -> None:
    """The gradients by `*arrays`: each rule that was chosen runs once and answers for all."""
    first = call.plan.variadic_from
    starred = [choice for choice in choices if choice.slot >= first]
    for rule in dict.fromkeys([choice.rule for choice in starred]):
        mine = [choice for choice in starred if choice.rule is rule]
        values = _apply(call, mine[0], arrived, brought, starred=True)
        for choice in mine:
            _accumulate(found, call.tokens_in[choice.slot], values[choice.slot - first])


def _accumulate(found: dict[int, NDArray], token: int, term: NDArray) -> None:
    known = found.get(token)
    found[token] = term if known is None else operators["add"](known, term)


def _apply(
    call: Call, choice: Choice, arrived: list[NDArray | None], brought: dict, starred: bool = False
) -> Any:
    """Run one rule, and hold its answer to its declaration; for `*arrays` it answers for all."""
    plan = call.plan
    try:
        values = choice.constants.copy()
        for name, kind, at in choice.sources:
            if kind == HEAD:
                g = arrived[at]
                if g is None or g.storage.stype != choice.heads[at]:
                    g = _bring(call, at, choice.heads[at], g, brought)
                # An alias: what a rule writes into it must reach no other rule, nor the caller.
                values[name] = g.alias()
            elif kind == INPUT:
                values[name] = _saved(call, at, choice.stypes[at])
            elif kind == OUTPUT:
                values[name] = _saved_output(call, at)
            elif kind == INPUTS:
                values[name] = tuple([_saved(call, slot, choice.stypes[slot]) for slot in at])
            else:
                values[name] = call.state
        answer = choice.rule.function(**values)
        if not starred:
            return _checked(call, choice, choice.slot, answer)
        first = plan.variadic_from
        count = len(plan.inputs) - first
        if not isinstance(answer, (list, tuple)) or len(answer) != count:
            raise GradientError(
                f"the rule by *{plan.operator.variadic} returned {type(answer).__name__}; it "
                f"returns {count} gradients"
            )
        return [_checked(call, choice, first + n, value) for n, value in enumerate(answer)]
    except Exception as error:
        numbers = [s if isinstance(s, Spec) else call.inputs[n] for n, s in enumerate(plan.inputs)]
        described = plan.operator.describe_call(numbers, plan.params)
        name = plan.operator.slot_name(choice.slot)
        error.add_note(f"in the gradient by {name!r} of {described}")
        raise


def _saved(call: Call, slot: int, stype: str) -> Any:
    """The input at `slot`, in the storage that the rule takes."""
    found = call.inputs[slot]
    if type(found) is not NDArray:
        return found
    if found.version != call.versions[slot]:
        _refuse_saved(call, call.plan.operator.slot_name(slot), found)
    if stype == "dense" and found.storage.aux:
        name = call.plan.operator.slot_name(slot)
        return _to_dense(found, call, f"{name} is sparse, and the rule takes it dense")
    return found.alias()


def _saved_output(call: Call, position: int) -> NDArray:
    found = call.outputs[position]
    if found.version:
        _refuse_saved(call, call.plan.operator.outputs[position], found)
    return found.alias()


def _refuse_saved(call: Call, name: str, found: NDArray) -> NoReturn:
    raise GradientError(
        f"{name}: {found.spec} was changed in place after the tape recorded it; compute the "
        "gradient before the change, or change a copy",
        operator=call.plan.operator.__name__,
        slot=name,
    )


def _bring(call: Call, position: int, wanted: str, g: NDArray | None, brought: dict) -> NDArray:
    """The gradient by result `position`, in the storage that the rule wants."""
    if (position, wanted) in brought:
        return brought[position, wanted]
    form = call.plan.results[position]
    if wanted != "dense" and form.spec.stype == wanted and (g is None or g.stype == "dense"):
        hollow = call.structures[position]
        structure = NDArray(call.plan.backend.structure(hollow, form.spec.dtype), form)
        g = structure if g is None else operators["sparse_mask"](g, structure)
    elif g is None:
        g = zeros(form.spec.shape, form.spec.dtype, stype=wanted, backend=call.plan.backend)
    elif wanted == "dense":
        g = _to_dense(g, call, "a sparse gradient arrives where the rule takes it dense")
    else:
        g = operators["cast_storage"](g, stype=wanted)
    brought[position, wanted] = g
    return g


def _to_dense(x: NDArray, call: Call, reason: str) -> NDArray:
    name = f"gradient of {call.plan.operator.__name__}"
    report(name, (x.stype,), reason, bytes_sparse=x.nbytes, bytes_dense=x.dense_nbytes)
    return operators["cast_storage"](x, stype="dense")


def _checked(call: Call, choice: Choice, slot: int, value: Any) -> NDArray:
    """The gradient `value`, if it has the shape of the input and the storage declared."""
    spec = call.plan.inputs[slot]
    if type(value) is NDArray:
        storage, dtype = value.storage, value.form.spec.dtype
        if storage.shape == spec.shape and storage.stype == choice.stype and dtype is spec.dtype:
            return value
    name = call.plan.operator.slot_name(slot)
    parts = {"operator": call.plan.operator.__name__, "slot": name}
    promise = f"the gradient by {name!r} is declared {choice.stype}, but the rule returned"
    if not isinstance(value, NDArray):
        raise StorageError(f"{promise} {type(value).__name__}", declared=choice.stype, **parts)
    if value.shape != spec.shape:
        raise ShapeError(
            f"the gradient by {name!r} has shape {value.shape}; {name} has {spec.shape}",
            declared=spec.shape,
            **parts,
        )
    if value.stype != choice.stype:
        raise StorageError(
            f"{promise} {value.spec}", declared=choice.stype, available=value.stype, **parts
        )
    return _as_dtype_of(value, spec.dtype, parts)


def _as_dtype_of(value: NDArray, dtype: Any, parts: Mapping[str, str]) -> NDArray:
    if value.dtype == dtype:
        return value
    if value.dtype.kind not in "fc":
        raise DTypeError(f"the gradient has dtype {value.dtype}; the input has {dtype}", **parts)
    if value.dtype.kind == "c" and dtype.kind == "f":
        value = operators["real"](value)
    return operators["cast"](value, dtype=dtype)
