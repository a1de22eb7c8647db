"""Running a function on values that do not exist, and taking down the operators that it calls."""

import gc
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sparseops.backend import Backend
from sparseops.constructors import array
from sparseops.errors import BackendError, StorageError, TraceError
from sparseops.ndarray import NDArray
from sparseops.nesting import map_leaves, walk_leaves
from sparseops.operators import Operator
from sparseops.parameters import complete
from sparseops.program import Assignment, Cause, Node, Program, Value
from sparseops.settling import Settled
from sparseops.signature import NUMBERS
from sparseops.spec import Spec
from sparseops.traced import Traced, last_user_line, raise_at, user_frame

_MOST_CALLS = 200_000
_lock = threading.Lock()
_without_collection = {"blocks": 0, "before": True}


@contextmanager
def without_collection() -> Iterator[None]:
    """Put off Python's search for garbage in cycles, in a block that makes none.

    Each search visits all calls that were made so far, which takes longer than making them. Blocks
    of several threads may overlap; the last one to end restores what was before the first.
    """
    state = _without_collection
    with _lock:
        if not state["blocks"]:
            state["before"] = gc.isenabled()
            gc.disable()
        state["blocks"] += 1
    try:
        yield
    finally:
        with _lock:
            state["blocks"] -= 1
            if not state["blocks"] and state["before"]:
                gc.enable()


class Tracer:
    """A program in the making, and what is inferred of it so far."""

    def __init__(self, backend: Backend):
        self.program = Program(backend)
        self.assignment = Assignment(backend)
        #: The storages that the function has looked at, by the value's number.
        self.seen: dict[int, str] = {}
        #: The line to take down for calls that the user does not make, and whether they are of a
        #: gradient.
        self.where: tuple[str, int] | None = None
        self.backward = False
        self._constants: dict[int, tuple[Value, Any]] = {}

    def add_input(self, name: str, spec: Spec) -> "Traced":
        """A new input."""
        value = self.program.add_input(name)
        self.assignment.add_value(value, spec)
        return Traced(self, value)

    def constant(self, x: Any) -> Value:
        """The value that stands for the array `x`, which the function captured."""
        found = self._constants.get(id(x))
        if found is not None and found[1] is x:
            return found[0]
        backend = self.program.backend
        # Neither the function nor its caller can change what the graph holds.
        held = x.alias() if type(x) is NDArray else array(x, backend=backend)
        if held.backend is not backend:
            raise BackendError(
                f"the function captured {held.spec} on {held.backend.name}, and is traced on "
                f"{backend.name}; move it with x.to({backend.name!r})"
            )
        value = self.program.add_constant(held)
        self.assignment.add_value(value, held.spec)
        self._constants[id(x)] = value, x
        return value

    def call(
        self,
        operator: Operator,
        args: Sequence[Any],
        stype: Any = None,
        params: Any = None,
        cause: Cause | None = None,
    ) -> Any:
        """The results of one call, of which no value exists."""
        if len(self.program.nodes) >= _MOST_CALLS:
            raise_at(
                f"the function made {_MOST_CALLS:,} calls and has not ended: does its loop end?"
            )
        operator.check_count(args)
        if operator.needs_stype and stype is None:
            raise_at(f"{operator.__name__}() needs stype=, the storage of its result")
        slots = [self._slot(operator, slot, x) for slot, x in enumerate(args)]
        node = Node(operator, slots, complete(operator, params or {}), operator.declared(stype))
        if self.where is None:
            frame = user_frame()
            node.where = frame.f_code.co_filename, frame.f_lineno
            node.code = frame.f_code, frame.f_lasti
        else:
            node.where = self.where
        node.cause = cause
        return self._added(node)

    def repeat(self, node: Node, args: Sequence[Any], step: Settled) -> Any:
        """The results of a call like `node` on other values, which is settled already."""
        made = Node(node.operator, args, node.params, node.declared)
        made.where, made.code, made.cause = node.where, node.code, node.cause
        return self._added(made, step)

    def _added(self, node: Node, step: Settled | None = None) -> Any:
        node.backward = self.backward
        several = len(node.operator.outputs) > 1
        name = node.operator.__name__
        names = [f"{name}.{output}" for output in node.operator.outputs] if several else [name]
        self.program.add_node(node, names)
        if step is None:
            self.assignment.add_node(node, node.declared)
        else:
            self.assignment.add_settled(node, step)
        results = tuple([Traced(self, value) for value in node.results])
        return results if several else results[0]

    def results_of(
        self, function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        """What `function` returns, with values of the program in the place of arrays."""
        held = captured_arrays(function)
        versions = {name: x.version for name, x in held.items()}
        try:
            results = function(*args, **named)
        except RecursionError as error:
            file, line = last_user_line(error)
            raise TraceError(
                f"{file}:{line}: the function calls itself without end; what ends a recursion must "
                "be a shape or an argument that is no array"
            ) from None
        except AttributeError as error:
            if "module 'sparseops' has no attribute" not in str(error):
                raise
            file, line = last_user_line(error)
            raise TraceError(
                f"{file}:{line}: {error}; an operator of your own is made by @so.operator, and "
                "called by its own name"
            ) from None
        for name, x in held.items():
            if x.version != versions[name]:
                raise TraceError(
                    f"the function changed the captured array {name}, and a graph has no memory to "
                    "change: compute a new array and return it"
                )
        if not list(walk_leaves(results, "out")):
            raise TraceError("the function returned no arrays; return what it computes")
        return map_leaves(self._result, results)

    def _result(self, x: Any) -> Value:
        if type(x) is Traced and x.tracer is self:
            return x.value
        if isinstance(x, NDArray):
            return self.constant(x)
        raise TraceError(
            f"the function returned {type(x).__name__}; it returns arrays, or tuples, lists and "
            "dictionaries of them"
        )

    def _slot(self, operator: Operator, slot: int, x: Any) -> Any:
        """What stands in the slot of a call: a value or a number."""
        if type(x) is Traced:
            if x.tracer is not self:
                raise_at("a value of another trace is used: it has no place in this one")
            constant = x.value.constant is not None
            if constant and operator.slot_name(slot) in operator.mutates:
                raise_at(f"{operator.__name__} would change a captured array")
            return x.value
        if isinstance(x, NUMBERS):
            return x
        name = operator.slot_name(slot)
        if name in operator.mutates:
            raise_at(
                f"{operator.__name__} changes {name}, an array that the function captured; make it "
                "an argument of the function"
            )
        return self.constant(x)


def check_storages(seen: dict[int, str], program: Program, assignment: Assignment) -> None:
    """Raise where the function looked at a storage that is another one now."""
    for number, stype in seen.items():
        now = assignment.forms[number].spec.stype
        if now != stype:
            name = program.values[number].name
            raise StorageError(
                f"the function looked at the storage of {name} and saw {stype}; for {now} trace it "
                "again, with specs that say so",
                slot=name,
                declared=now,
                available=stype,
            )


def captured_arrays(function: Callable[..., Any]) -> dict[str, NDArray]:
    """The arrays among the function's closure and the globals that it names."""
    try:
        found = inspect.getclosurevars(inspect.unwrap(function))
    except (TypeError, ValueError):
        return {}
    held = {**found.globals, **found.nonlocals}
    return {name: x for name, x in held.items() if isinstance(x, NDArray)}
