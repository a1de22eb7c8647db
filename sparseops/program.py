"""Programs: the calls that a function makes, in order, on values that do not exist yet."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sparseops.errors import StorageError
from sparseops.form import Form, form_of
from sparseops.ndarray import NDArray
from sparseops.settling import Settled, Settler
from sparseops.signature import Known
from sparseops.spec import UNDEFINED, Spec


class Value:
    """One value of a program: an input, a constant or a result.

    Attributes
    ----------
    number : int
        Its place among the values of its program.
    name : str
        What `infer` and reports call it.
    maker : Node or None
        The call that gives it; None for inputs and constants.
    constant : NDArray or None
        The array that the function captured.
    """

    __slots__ = ("constant", "maker", "name", "number")

    def __init__(
        self, number: int, name: str, maker: "Node | None" = None, constant: NDArray | None = None
    ):
        self.number = number
        self.name = name
        self.maker = maker
        self.constant = constant

    def __repr__(self) -> str:
        return f"<value {self.name}>"


class Cause(NamedTuple):
    """Why a call densifies: what the record of the fallback will say.

    `sparse` are the values that are made dense, `bytes_dense` what their copies take.
    """

    operator: str
    stypes: tuple[str, ...]
    reason: str
    sparse: tuple[Value, ...]
    bytes_dense: int


class Node:
    """One call of a program.

    Attributes
    ----------
    operator : Operator, or GradientRule
        What is called.
    args : tuple
        Values and numbers.
    params : dict
        The parameters, complete.
    declared : tuple of str
        The storages declared for the results by ``stype=``; "undefined" where none is.
    results : tuple of Value
        What it gives.
    where : tuple of (str, int)
        File and line of the user's call.
    code : tuple of (code, int) or None
        The user's code object, and the instruction in it that makes the call.
    backward : bool
        Whether it computes gradients.
    cause : Cause or None
        The fallback to report before the call, where it is not one of the call itself.
    cast_for : Node or None
        The call of the user's that this cast belongs to.
    """

    __slots__ = (
        "args",
        "backward",
        "cast_for",
        "cause",
        "code",
        "declared",
        "operator",
        "params",
        "results",
        "where",
    )

    def __init__(
        self,
        operator: Any,
        args: Sequence[Any],
        params: Mapping[str, Any],
        declared: Known,
    ):
        self.operator = operator
        self.args = tuple(args)
        self.params = params
        self.declared = declared
        self.where = ("", 0)
        self.code: tuple[Any, int] | None = None
        self.results: tuple[Value, ...] = ()
        self.backward = False
        self.cause: Cause | None = None
        self.cast_for: Node | None = None

    @property
    def values(self) -> list[Value]:
        """The values that it reads, in order."""
        return [x for x in self.args if type(x) is Value]

    @property
    def given_parameters(self) -> list[tuple[str, Any]]:
        """The parameters that are not the defaults."""
        defaults = self.operator.defaults
        return [(name, x) for name, x in self.params.items() if x is not defaults.get(name)]

    @property
    def place(self) -> str:
        """File and line, for messages."""
        return f"{self.where[0]}:{self.where[1]}"

    def declared_with(self, wanted: Mapping[int, str]) -> Known:
        """The storages declared for the results, by ``stype=`` and by number of value in `wanted`.

        StorageError where the two differ.
        """
        found = list(self.declared)
        for position, value in enumerate(self.results):
            stype = wanted.get(value.number, UNDEFINED)
            if stype == UNDEFINED:
                continue
            if found[position] not in (UNDEFINED, stype):
                name = self.operator.__name__
                raise StorageError(
                    f"{value.name} is declared {stype}, and {found[position]} by stype= of {name} "
                    f"at {self.place}",
                    operator=name,
                    slot=value.name,
                    declared=stype,
                    available=found[position],
                )
            found[position] = stype
        return tuple(found)

    def open_slots(self, forms: Mapping[int, Form]) -> tuple[tuple[int, ...], ...]:
        """The slots of each undefined value that stands in several."""
        slots: dict[int, list[int]] = {}
        for slot, x in enumerate(self.args):
            if type(x) is Value and forms[x.number].spec.stype == UNDEFINED:
                slots.setdefault(x.number, []).append(slot)
        return tuple([tuple(found) for found in slots.values() if len(found) > 1])


class Program:
    """The values and calls of one function, in the order in which it made them.

    Attributes
    ----------
    values : list of Value
        Inputs, constants and results by number.
    inputs : list of Value
        In the order of the arguments.
    nodes : list of Node
        The calls.
    """

    def __init__(self, backend: Any):
        self.backend = backend
        self.values: list[Value] = []
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self._names: dict[str, int] = {}

    def named(self, name: str) -> str:
        """`name`, with a number behind it where another value has it."""
        count = self._names.get(name, 0) + 1
        self._names[name] = count
        return name if count == 1 else self.named(f"{name}_{count}")

    def add_input(self, name: str) -> Value:
        """A new input."""
        value = Value(len(self.values), self.named(name))
        self.values.append(value)
        self.inputs.append(value)
        return value

    def add_constant(self, array: NDArray) -> Value:
        """A value that is always `array`."""
        value = Value(len(self.values), self.named("constant"), constant=array)
        self.values.append(value)
        return value

    def add_node(self, node: Node, names: Iterable[str]) -> tuple[Value, ...]:
        """The results of the next call."""
        results = []
        for name in names:
            value = Value(len(self.values), self.named(name), node)
            self.values.append(value)
            results.append(value)
        node.results = tuple(results)
        self.nodes.append(node)
        return node.results


class Assignment:
    """The forms of all values of a program, and how each of its calls is done.

    Made by one pass in the order of the calls. `settled_by` tells for each input that was left
    open the call that settled it.
    """

    def __init__(self, backend: Any):
        self.forms: dict[int, Form] = {}
        self.steps: list[Settled] = []
        self.settled_by: dict[int, Node] = {}
        self._settler = Settler(backend)

    def add_value(self, value: Value, spec: Spec) -> None:
        """Take down the spec of an input or constant."""
        self.forms[value.number] = form_of(spec, self._settler.backend)

    def add_node(self, node: Node, declared: Known) -> Settled:
        """The next call, settled from what is known by now."""
        forms = self.forms
        given = [forms[x.number] if type(x) is Value else x for x in node.args]
        is_open = any(type(x) is Form and x.spec.stype == UNDEFINED for x in given)
        same = node.open_slots(forms) if is_open else ()
        try:
            step = self._settler.settle(node.operator, given, declared, node.params, same)
        except Exception as error:
            self._explain(error, node)
            raise
        if is_open:
            for x, form in zip(node.args, step.inputs, strict=True):
                if type(x) is Value and forms[x.number].spec.stype == UNDEFINED:
                    forms[x.number] = form
                    self.settled_by[x.number] = node
        self.add_settled(node, step)
        return step

    def add_settled(self, node: Node, step: Settled) -> None:
        """The next call, of which it is known how it is done."""
        for value, form in zip(node.results, step.results, strict=True):
            self.forms[value.number] = form
        self.steps.append(step)

    def close(self, values: Iterable[Value]) -> None:
        """What no call has settled becomes dense."""
        for value in values:
            form = self.forms[value.number]
            if form.spec.stype == UNDEFINED:
                self.forms[value.number] = form_of(form.spec.with_stype("dense"), form.backend)

    def origin(self, value: Value) -> str:
        """Where a value has its storage from, for messages."""
        spec = self.forms[value.number].spec
        if value.maker is not None:
            return f"the result of {value.maker.operator.__name__} at {value.maker.place}"
        if value.constant is not None:
            return "a constant"
        settler = self.settled_by.get(value.number)
        if settler is not None:
            return (
                f"an input left open, and {settler.operator.__name__} at {settler.place} "
                f"settled it {spec.stype}: declare {value.name}="
            )
        return "an input left open" if spec.stype == UNDEFINED else "an input declared so"

    def _explain(self, error: Exception, node: Node) -> None:
        """Say of an error which call it comes from, and where its inputs do."""
        forms = self.forms
        given = [forms[x.number].spec if type(x) is Value else x for x in node.args]
        error.add_note(f"in {node.operator.describe_call(given, node.params)} at {node.place}")
        if not isinstance(error, StorageError):
            return
        for slot, x in enumerate(node.args):
            if type(x) is Value:
                name = node.operator.slot_name(slot)
                error.add_note(f"{name}: {given[slot]} is {self.origin(x)}")
