"""The bytes of every value of a program: measured on arrays, or bounded from what is known."""

from collections.abc import Mapping
from typing import Any

from sparseops.bounds import bound, stored_bytes
from sparseops.errors import DensifyError
from sparseops.execution import Execution
from sparseops.ndarray import NDArray, tapes
from sparseops.policy import fallback
from sparseops.program import Assignment, Program, Value


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
