"""What is declared of an operator: slots and parameters, kernels by signature, gradient rules."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import update_wrapper
from inspect import Parameter
from numbers import Number
from typing import Any

from sparseops.errors import StorageError
from sparseops.ndarray import NDArray
from sparseops.plan import Plan
from sparseops.signature import Rule, Signature, Where, table

_PACKAGE = __name__.partition(".")[0] + "."
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class Declaration:
    """What is declared of an operator: its slots, parameters, kernels and gradients."""

    def __init__(
        self,
        describe: Callable[..., Any],
        outputs: Sequence[str] = ("out",),
        *,
        mutates: Sequence[str] = (),
        shapes: str | None = None,
        reference: Callable[..., Any] | None = None,
    ):
        update_wrapper(self, describe)
        self.describe = describe
        self.outputs = tuple(outputs)
        self.mutates = tuple(mutates)
        self.shapes = shapes
        self.reference = reference
        self.kernels: list[Rule] = []
        self.gradients: dict[str, list[Rule]] = {}
        self._read_parameters(inspect.signature(describe))
        self.head_names = ("g",) if len(self.outputs) == 1 else tuple(f"g_{o}" for o in outputs)
        self._storage_function: Callable[..., Any] | None = None
        self._plans: dict[tuple, Plan] = {}
        self._conditions: tuple[Where, ...] = ()

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
            reserved = other in ("g", "state", "backend", "stype") or other.startswith("g_")
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

    # Declarations

    def forward(
        self,
        *signatures: str,
        where: Mapping[str, Any] | Callable[..., bool] | None = None,
        backend: str | None = None,
    ) -> Callable[[Callable], Callable]:
        """Declare the kernel that serves `signatures`.

        Parameters
        ----------
        *signatures : str
            Storages in and out, such as ``"csr, dense -> dense"``; a number is ``scalar``.
        where : mapping or predicate, optional
            For which values of parameters and numbers.
        backend : str, optional
            For which backend alone.

        Returns
        -------
        decorator
            Of a function ``kernel(backend, *storages, **parameters)`` that gives storages.

        Raises
        ------
        StorageError
            If a signature does not fit the operator, or is declared already.
        """

        def decorate(function: Callable) -> Callable:
            wants = self._kernel_wants(function)
            if not signatures and self._storage_function is None:
                raise StorageError(
                    f"{self.__name__}.forward() names no signature; only an operator with its own "
                    "infer_storage leaves them out"
                )
            made = [
                self._rule(function, text, len(self.outputs), where, wants, backend)
                for text in signatures or (None,)
            ]
            self._declare(self.kernels, made)
            return function

        return decorate

    def backward(
        self,
        wrt: str,
        *signatures: str,
        where: Mapping[str, Any] | Callable[..., bool] | None = None,
    ) -> Callable[[Callable], Callable]:
        """Declare the gradient by input `wrt`.

        Parameters
        ----------
        wrt : str
            The name of an input.
        *signatures : str
            The inputs' storages and that of this gradient, such as ``"csr, dense -> row_sparse"``;
            before a ``;`` the storages in which the results' gradients are to arrive, if not those
            of the results.
        where : mapping or predicate, optional
            For which values of parameters and numbers.

        Returns
        -------
        decorator
            Of a rule written in operators. It names what it needs, and only that is kept: `g` (or
            `g_<output>`), inputs, outputs, parameters, `state`, and `<input>_spec` for what is
            known of an input without its values.
        """
        if wrt not in self.inputs:
            raise StorageError(
                f"{self.__name__} has no input {wrt!r}; it has {', '.join(self.inputs)}",
                operator=self.__name__,
                slot=wrt,
            )

        def decorate(function: Callable) -> Callable:
            wants = self._rule_wants(function)
            made = [self._rule(function, text, 1, where, wants) for text in signatures]
            for rule in made:
                heads = rule.signature.heads
                if heads is not None and len(heads) != len(self.outputs):
                    raise StorageError(
                        f"signature '{rule.signature}' names {len(heads)} gradients before ';'; "
                        f"{self.__name__} has {len(self.outputs)} results"
                    )
            self._declare(self.gradients.setdefault(wrt, []), made)
            return function

        return decorate

    def infer_storage(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declare a function that infers storages instead of a table.

        It gets the storages of inputs and results, "undefined" where unknown, and the parameters
        that it names, and returns a tuple of the same length. Its kernels name no signatures.
        """
        if self.kernels:
            raise StorageError(f"{self.__name__} has kernels with signatures; use one or the other")
        self._storage_function = function
        return function

    def _rule(self, function, text, outputs, where, wants, backend=None) -> Rule:
        signature = text and Signature.parse(
            text, inputs=len(self.inputs), outputs=outputs, variadic=self.variadic is not None
        )
        condition = None if where is None else Where(where)
        known = {*self.defaults, *self.inputs}
        for name in condition.names if condition else ():
            if name not in known:
                raise StorageError(
                    f"where reads {name!r}; {self.__name__} has {', '.join(sorted(known))}"
                )
        trusted = getattr(function, "__module__", "").startswith(_PACKAGE)
        return Rule(function, signature, condition, backend, wants, trusted)

    def _declare(self, rules: list[Rule], made: list[Rule]) -> None:
        for number, rule in enumerate(made):
            for other in (*rules, *made[:number]):
                if rule.clashes(other):
                    raise StorageError(
                        f"{self.__name__} declares '{rule}' twice: by "
                        f"{other.function.__name__} and {rule.function.__name__}",
                        operator=self.__name__,
                        declared=str(rule),
                    )
        rules.extend(made)
        self._plans.clear()
        reads = [r.where for r in self.kernels if r.where and r.where.reads(self.inputs)]
        self._conditions = tuple(dict.fromkeys(reads))

    def _kernel_wants(self, function: Callable) -> tuple[str, ...]:
        parameters = inspect.signature(function).parameters.values()
        positional = [p for p in parameters if p.kind in _POSITIONAL]
        star = any(p.kind is Parameter.VAR_POSITIONAL for p in parameters)
        expected = 1 + len(self.inputs)
        if (
            (len(positional) > expected)
            if star
            else (len(positional) != expected or self.variadic is not None)
        ):
            raise TypeError(
                f"kernel {function.__name__} takes {len(positional)} positional arguments; it is "
                f"called as kernel(backend, {', '.join(self._starred_inputs())})"
            )
        allowed = (*self.defaults, "state")
        if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
            return tuple(self.defaults)
        wants = tuple(p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY)
        self._check_names(function, wants, allowed)
        return wants

    def _rule_wants(self, function: Callable) -> tuple[str, ...]:
        parameters = inspect.signature(function).parameters.values()
        if any(p.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD) for p in parameters):
            raise TypeError(
                f"gradient rule {function.__name__} takes *args; it names what it needs, since "
                "only that is kept"
            )
        wants = tuple(p.name for p in parameters)
        specs = tuple(f"{name}_spec" for name in self.inputs)
        allowed = (*self.head_names, *self.inputs, *self.outputs, *self.defaults, "state", *specs)
        self._check_names(function, wants, allowed)
        return wants

    def _check_names(self, function: Callable, wants: Sequence[str], allowed: Sequence[str]):
        for name in wants:
            if name not in allowed:
                raise TypeError(
                    f"{function.__name__} of operator {self.__name__} names {name!r}; there are "
                    + ", ".join(allowed)
                )

    def kept(self, inputs: Sequence[Any]) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        """Which of a call's inputs and results some gradient rule names; empty where none.

        `inputs` are specs or numbers; numbers are always kept.
        """
        wants = {name for rules in self.gradients.values() for r in rules for name in r.wants}
        names = [self.slot_name(slot) for slot in range(len(inputs))]
        keeps = [n in wants or isinstance(x, Number) for n, x in zip(names, inputs, strict=True)]
        outputs = [name in wants for name in self.outputs]
        return tuple(keeps) * any(keeps), tuple(outputs) * any(outputs)

    # Names

    def slot_name(self, slot: int) -> str:
        """The name of the input at `slot`."""
        return self.inputs[min(slot, len(self.inputs) - 1)] if self.variadic else self.inputs[slot]

    def named_inputs(self, slots: range) -> Iterator[tuple[str, list[int]]]:
        """Each input's name with its slots."""
        last = len(self.inputs) - 1
        for position, name in enumerate(self.inputs):
            yield name, list(slots[last:]) if self.variadic and position == last else [position]

    def given(self, inputs: Sequence[Any], params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters, and the numbers among `inputs`, by name."""
        numbers = {
            self.slot_name(slot): x for slot, x in enumerate(inputs) if isinstance(x, Number)
        }
        return {**params, **numbers}

    def describe_call(self, inputs: Sequence[Any], params: Mapping[str, Any]) -> str:
        """A call written for people: ``dot(a: float32[2,3] csr, b: float32[3,4] dense)``."""
        specs = [x.spec if isinstance(x, NDArray) else x for x in inputs]
        shown = [f"{self.slot_name(slot)}: {spec}" for slot, spec in enumerate(specs)]
        shown += [f"{name}={value!r}" for name, value in params.items()]
        return f"{self.__name__}({', '.join(shown)})"

    def _starred_inputs(self) -> list[str]:
        return [f"*{name}" if name == self.variadic else name for name in self.inputs]

    def __repr__(self) -> str:
        head = f"<operator {self.__name__}{inspect.signature(self)}>"
        if self._storage_function is not None:
            return f"{head}\n  storages inferred by {self._storage_function.__name__}"
        lines = [head, table(self.kernels)]
        for name, rules in self.gradients.items():
            lines += [f"  gradient by {name}:", *(f"    {rule}" for rule in rules)]
        return "\n".join(lines)

    def __reduce__(self) -> str:
        return self.__qualname__

    def kernel(self, *stypes: str) -> Callable[..., Any]:
        """The kernel for exactly these storages: inputs, then results."""
        for rule in self.kernels:
            if rule.signature.inputs + rule.signature.outputs == stypes:
                return rule.function
        raise StorageError(f"{self.__name__} has no kernel for {stypes}", operator=self.__name__)
