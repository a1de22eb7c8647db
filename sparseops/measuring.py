"""The bytes of every value of a program, measured or bounded, and the calls that densify."""

from collections.abc import Mapping
from typing import Any

from sparseops.bounds import bound, stored_bytes
from sparseops.differentiation import cause_of
from sparseops.errors import DensifyError, ShapeError
from sparseops.execution import Execution
from sparseops.ndarray import NDArray, tapes
from sparseops.policy import fallback
from sparseops.program import Assignment, Cause, Node, Program, Value
from sparseops.settling import Settled
from sparseops.spec import broadcast

#: Operators that store all rows of the result where a row_sparse input is repeated along them.
_FILL_ROWS = "add subtract maximum minimum greater less not_equal bitwise_or bitwise_xor".split()


def densifying(node: Node, step: Settled) -> Cause | None:
    """Why a call densifies: it falls back, or fills a result for which no dense array stood."""
    return node.cause or cause_of(node.operator, step.plan, node.args) or _filling(node, step)


def _filling(node: Node, step: Settled) -> Cause | None:
    """What the kernels of elementwise operators report, who see that shapes broadcast."""
    specs = [form.spec for form in step.inputs if form is not None]
    sparse = [x for x, spec in zip(node.values, specs, strict=True) if spec.stype != "dense"]
    result = step.results[0].spec
    if node.operator.__name__ == "dot":  # an outer product has the form of broadcasting too
        return None
    if not sparse or len(specs) < 2 or not _is_broadcast(specs, result.shape):
        return None
    dense = [spec for spec in specs if spec.stype == "dense"]
    smaller = bool(dense) and all(spec.size < result.size for spec in dense)
    repeated = [x.shape for x in specs if x.stype != "dense" and _repeats(x.shape, result.shape)]
    reason = ""
    if result.stype == "dense" and smaller:
        shapes = " and ".join(str(spec.shape) for spec in dense)
        reason = f"the dense array has shape {shapes}, the result {result.shape}"
    elif result.stype == "row_sparse" and repeated:
        if smaller or (not dense and node.operator.__name__ in _FILL_ROWS):
            reason = f"an array of shape {repeated[0]} fills every row"
    if not reason:
        return None
    return Cause(node.operator.__name__, step.filled, reason, tuple(sparse), result.dense_nbytes)


def _is_broadcast(specs: Any, shape: tuple[int, ...]) -> bool:
    try:
        return broadcast(*[spec.shape for spec in specs]) == shape
    except ShapeError:
        return False


def _repeats(shape: tuple[int, ...], result: tuple[int, ...]) -> bool:
    return len(shape) < len(result) or shape[0] != result[0]


def bounded(
    program: Program, assignment: Assignment, nnz: Mapping[int, int]
) -> dict[int, int | None]:
    """The most bytes that each value takes, by number; None where that is unknown.

    `nnz` has the counts that are known of inputs.
    """
    counts: dict[int, int | None] = dict(nnz)
    for value in program.values:
        if value.constant is not None:
            counts[value.number] = _count(value.constant)
    for node, step in zip(program.nodes, assignment.steps, strict=True):
        inputs = [None if form is None else form.spec for form in step.inputs]
        given = [counts.get(x.number) if type(x) is Value else None for x in node.args]
        name = node.operator.__name__
        for value, form in zip(node.results, step.results, strict=True):
            counts[value.number] = bound(name, inputs, given, form.spec)
    return {
        number: stored_bytes(form.spec, counts.get(number))
        for number, form in assignment.forms.items()
    }


def measured(
    program: Program, assignment: Assignment, given: Mapping[int, NDArray], limit: Any
) -> dict[int, int | None]:
    """The bytes that each value takes, by running the program.

    A call whose dense copies would pass `limit` is left out, and what depends on it is unknown.
    """
    run = Execution(program, assignment, given)
    found: dict[int, int | None] = {number: x.nbytes for number, x in run.values.items()}
    recording = tapes.set(())
    try:
        with fallback("allow", limit=limit):
            for index, node in enumerate(program.nodes):
                if all(value.number in run.values for value in node.values):
                    _call(run, index, node, found)
    finally:
        tapes.reset(recording)
    return found


def _call(run: Execution, index: int, node: Any, found: dict) -> None:
    try:
        results = run.call(index)
    except DensifyError:
        return
    run.keep(node, results)
    found.update({v.number: x.nbytes for v, x in zip(node.results, results, strict=True)})


def _count(x: NDArray) -> int:
    return len(x.indices) if x.stype == "row_sparse" else x.nnz
