"""Gradients of programs: the calls that a tape would make, appended before values exist."""

from collections.abc import Sequence
from typing import Any

from sparseops.autograd import as_asks
from sparseops.backpropagation import Shadow, Walker
from sparseops.constructors import asarray
from sparseops.errors import GradientError
from sparseops.gradient import plan_gradients
from sparseops.nesting import map_leaves
from sparseops.program import Assignment, Cause, Node, Program, Value
from sparseops.registry import operators
from sparseops.traced import Traced
from sparseops.tracing import Tracer


class Differentiated:
    """A program with the calls of its gradients behind it.

    Attributes
    ----------
    program, assignment : Program, Assignment
        The forward calls that the gradients need, fallbacks written as casts, and the gradients'.
    gradients : list of Value
        One for each source.
    heads : list of Value
        The inputs that the gradients start from, where the targets are not scalars.
    """

    def __init__(self, tracer: Tracer, gradients: list[Value], heads: list[Value], renamed: dict):
        self.program = tracer.program
        self.assignment = tracer.assignment
        self.gradients = gradients
        self.heads = heads
        self.renamed = renamed

    def arguments(self, arguments: Any) -> tuple:
        """The nested arguments of the forward program as inputs of this one."""
        moved = map_leaves(lambda x: x and self.renamed[x.number], arguments)
        return (*moved, *self.heads)


def differentiate(
    program: Program,
    assignment: Assignment,
    targets: Sequence[Value],
    sources: Sequence[Value],
    stypes: Any,
) -> Differentiated:
    """The gradients of the sum of `targets` by `sources`, appended to a copy of the program."""
    asks = (None,) * len(sources) if stypes is None else as_asks(stypes, len(sources))
    for name, values in (("out", targets), ("wrt", sources)):
        for value in values:
            spec = assignment.forms[value.number].spec
            if spec.dtype.kind not in "fc":
                raise GradientError(f"{name}: {value.name} is {spec}, which has no gradient")
    tracer, renamed = _lowered(program, assignment)
    goals = [renamed[value.number] for value in targets]
    wanted = [renamed[value.number] for value in sources]
    shadows = [
        Shadow(node, step.plan, tracer)
        for node, step in zip(tracer.program.nodes, tracer.assignment.steps, strict=True)
    ]
    asked = {value.number: ask for value, ask in zip(wanted, asks, strict=True)}
    steps = plan_gradients(shadows, [goal.number for goal in goals], asked)
    tracer.backward = True
    heads, starts = _heads(tracer, goals)
    walker = Walker(tracer, asked)
    for goal, start in zip(goals, starts, strict=True):
        walker.accumulate(goal.number, start)
    for shadow, choices in reversed(steps):
        walker.step(shadow, choices)
    gradients = [walker.finished(value, ask) for value, ask in zip(wanted, asks, strict=True)]
    _prune(tracer, gradients)
    return Differentiated(tracer, gradients, heads, renamed)


def _lowered(program: Program, assignment: Assignment) -> tuple[Tracer, dict[int, Value]]:
    """The program with each fallback as casts around a direct call, as a tape sees it."""
    tracer = Tracer(program.backend)
    renamed: dict[int, Value] = {}
    for value in program.values:
        if value.constant is not None:
            renamed[value.number] = tracer.constant(value.constant)
        elif value.maker is None:
            spec = assignment.forms[value.number].spec
            renamed[value.number] = tracer.add_input(value.name, spec).value
    for node, step in zip(program.nodes, assignment.steps, strict=True):
        tracer.where, tracer.backward = node.where, node.backward
        args = [renamed[x.number] if type(x) is Value else x for x in node.args]
        if step.plan.direct:
            answer = tracer.repeat(node, args, step)
            found = answer if isinstance(answer, tuple) else (answer,)
        else:
            found = _lower(tracer, node, step.plan, args)
        for value, moved in zip(node.results, found, strict=True):
            renamed[value.number] = moved.value
    tracer.where = None
    tracer.backward = False
    return tracer, renamed


def _lower(tracer: Tracer, node: Node, plan: Any, args: list[Any]) -> list[Traced]:
    """The results of one call of the program, written as a direct call between casts."""
    nodes = tracer.program.nodes
    first = len(nodes)
    given = [Traced(tracer, x) if type(x) is Value else x for x in args]
    inner = [_cast(x, stype) for x, stype in zip(given, plan.casts, strict=True)]
    answer = tracer.call(node.operator, inner, plan.named_results(), node.params)
    direct = nodes[-1]
    results = answer if isinstance(answer, tuple) else (answer,)
    results = [_cast(x, stype) for x, stype in zip(results, plan.result_casts, strict=True)]
    for made in nodes[first:]:
        made.cast_for = None if made is direct else direct
    nodes[first].cause = node.cause or cause_of(node.operator, plan, args)
    return results


def _cast(x: Any, stype: str | None) -> Any:
    return operators["cast_storage"](x, stype=stype) if stype else x


def cause_of(operator: Any, plan: Any, args: Sequence[Any]) -> Cause | None:
    """What the record of a call's fallback will say; None where it is none."""
    if not plan.reason:
        return None
    cast = [x for x, stype in zip(args, plan.casts, strict=True) if stype == "dense"]
    dense = [spec for spec, stype in zip(plan.inputs, plan.casts, strict=True) if stype == "dense"]
    dense += [
        form.spec
        for form, stype in zip(plan.results, plan.result_casts, strict=True)
        if stype and form.spec.stype == "dense"
    ]
    size = sum(spec.dense_nbytes for spec in dense)
    return Cause(operator.__name__, plan.filled, plan.reason, tuple(cast), size)


def _heads(tracer: Tracer, goals: Sequence[Value]) -> tuple[list[Value], list[Traced]]:
    """The inputs from which gradients start, and the gradients by each of `goals`."""
    heads, starts = [], []
    for number, goal in enumerate(goals):
        y = Traced(tracer, goal)
        if y.shape == ():
            one = asarray(1, y.dtype, backend=tracer.program.backend)
            starts.append(Traced(tracer, tracer.constant(one)))
            continue
        head = tracer.add_input("g" if len(goals) == 1 else f"g.{number}", y.known)
        heads.append(head.value)
        # Rules count on a sparse gradient to store what its result stores.
        dense = y.known.stype == "dense"
        starts.append(head if dense else operators["sparse_mask"](head, y))
    return heads, starts


def _prune(tracer: Tracer, results: Sequence[Value]) -> None:
    """Leave out the calls that `results` do not need."""
    program, assignment = tracer.program, tracer.assignment
    needed = {value.number for value in results}
    kept = []
    for node, step in zip(reversed(program.nodes), reversed(assignment.steps), strict=True):
        if node.operator.mutates or not needed.isdisjoint([v.number for v in node.results]):
            needed.update([value.number for value in node.values])
            kept.append((node, step))
    kept.reverse()
    program.nodes = [node for node, _ in kept]
    assignment.steps = [step for _, step in kept]
