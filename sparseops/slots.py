"""The slots of an operator: its inputs, parameters and outputs, and what functions may name."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import update_wrapper
from inspect import Parameter
from typing import Any

from sparseops.arguments import arguments_of, name_of
from sparseops.ndarray import NDArray
from sparseops.signature import NUMBERS

_RESERVED = ("g", "state", "backend", "stype", "outputs", "self")
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class Slots:
    """The names that the describing function of an operator gives, and what follows from them.

    Attributes
    ----------
    inputs, outputs, mutates : tuple of str
        Names of arrays in, arrays out, and those of the inputs that are states.
    variadic : str or None
        The name of ``*arrays``.
    defaults : dict
        The parameters; `inspect.Parameter.empty` where there is no default.
    head_names : tuple of str
        What gradient rules call the gradients by the outputs.
    """

    def __init__(
        self, describe: Callable[..., Any], outputs: Sequence[str], mutates: Sequence[str]
    ):
        update_wrapper(self, describe)
        self.describe = describe
        self.outputs = tuple(outputs)
        self.mutates = tuple(mutates)
        self.head_names = ("g",) if len(outputs) == 1 else tuple(f"g_{o}" for o in outputs)
        self._read_parameters(inspect.signature(describe))

    def _read_parameters(self, signature: inspect.Signature) -> None:
        parameters = list(signature.parameters.values())
        name = self.__name__
        self.variadic: str | None = None
        self.defaults: dict[str, Any] = {}
        inputs = []
        for p in parameters:
            if p.kind is Parameter.VAR_KEYWORD:
                raise TypeError(f"operator {name}: **{p.name} is not a parameter; name each")
            if p.kind is Parameter.KEYWORD_ONLY:
                self.defaults[p.name] = p.default
            elif p.kind in _POSITIONAL and p.default is not Parameter.empty:
                raise TypeError(
                    f"operator {name}: array {p.name!r} has a default; put '*' before parameters"
                )
            else:
                inputs.append(p.name)
                if p.kind is Parameter.VAR_POSITIONAL:
                    self.variadic = p.name
        self.inputs = tuple(inputs)
        taken = [*inputs, *self.defaults, *self.outputs]
        for other in taken:
            reserved = other in _RESERVED or other.startswith("g_")
            if reserved or (other == "out" and other not in self.outputs):
                raise TypeError(f"operator {name}: the name {other!r} is reserved")
            if taken.count(other) > 1:
                raise TypeError(f"operator {name}: the name {other!r} stands twice")
        for mutated in self.mutates:
            if mutated not in inputs:
                raise TypeError(f"operator {name}: mutates {mutated!r}, which is not an input")
        stype = Parameter("stype", Parameter.KEYWORD_ONLY, default=None)
        shown = [p.replace(annotation=Parameter.empty) for p in parameters]
        self.__signature__ = signature.replace(
            parameters=[*shown, stype], return_annotation=inspect.Signature.empty
        )

    def kernel_wants(self, function: Callable) -> tuple[str, ...]:
        """The parameters that a kernel names; TypeError if it cannot be called as one."""
        found, expected = arguments_of(function), 1 + len(self.inputs)
        count = len(found.positional)
        fits = count <= expected if found.star else count == expected and self.variadic is None
        if not fits:
            raise TypeError(
                f"kernel {name_of(function)} takes {count} positional arguments; it is called as "
                f"kernel(backend, {', '.join(self.starred_inputs())})"
            )
        if found.double_star:
            return tuple(self.defaults)
        self._check_names(function, found.keyword_only, (*self.defaults, "state"))
        return found.keyword_only

    def rule_wants(self, function: Callable) -> tuple[str, ...]:
        """What a gradient rule names; TypeError if it is not there to be had."""
        found = arguments_of(function)
        if found.star or found.double_star:
            raise TypeError(
                f"gradient rule {name_of(function)} takes *args; it names what it needs, since "
                "only that is kept"
            )
        specs = tuple(f"{name}_spec" for name in self.inputs)
        allowed = (*self.head_names, *self.inputs, *self.outputs, *self.defaults, "state", *specs)
        self._check_names(function, found.names, allowed)
        for name in found.names:
            if name in self.mutates:
                raise TypeError(
                    f"{name_of(function)} names {name!r}, whose old value is gone after the call; "
                    "let the kernel put what the gradient needs into `state`"
                )
        return found.names

    def _check_names(self, function: Callable, wants: Sequence[str], allowed: Sequence[str]):
        for name in wants:
            if name not in allowed:
                raise TypeError(
                    f"{name_of(function)} of operator {self.__name__} names {name!r}; there are "
                    + ", ".join(allowed)
                )

    def slot_name(self, slot: int) -> str:
        """The name of the input at `slot`."""
        return self.inputs[min(slot, len(self.inputs) - 1)] if self.variadic else self.inputs[slot]

    def slot_label(self, slot: int) -> str:
        """The name of the input at `slot`, with its number if it is one of ``*arrays``."""
        first = len(self.inputs) - 1
        if self.variadic and slot >= first:
            return f"{self.variadic}[{slot - first}]"
        return self.inputs[slot]

    def named_inputs(self, slots: range) -> Iterator[tuple[str, list[int]]]:
        """Each input's name with its slots."""
        last = len(self.inputs) - 1
        for position, name in enumerate(self.inputs):
            yield name, list(slots[last:]) if self.variadic and position == last else [position]

    def given(self, inputs: Sequence[Any], params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters, and the numbers among `inputs`, by name."""
        numbers = {
            self.slot_name(slot): x for slot, x in enumerate(inputs) if isinstance(x, NUMBERS)
        }
        return {**params, **numbers}

    def describe_call(self, inputs: Sequence[Any], params: Mapping[str, Any]) -> str:
        """A call written for people: ``dot(a: float32[2,3] csr, b: float32[3,4] dense)``."""
        specs = [x.spec if isinstance(x, NDArray) else x for x in inputs]
        shown = [f"{self.slot_name(slot)}: {spec}" for slot, spec in enumerate(specs)]
        shown += [f"{name}={value!r}" for name, value in params.items()]
        return f"{self.__name__}({', '.join(shown)})"

    def starred_inputs(self) -> list[str]:
        """The inputs as they stand in a call."""
        return [f"*{name}" if name == self.variadic else name for name in self.inputs]
