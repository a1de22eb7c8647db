"""What is declared of an operator: kernels by signature, gradient rules, or its own inference."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sparseops.arguments import name_of
from sparseops.errors import StorageError
from sparseops.plan import Plan
from sparseops.signature import NUMBERS, Known, Rule, Signature, Where, table
from sparseops.slots import Slots

_PACKAGE = __name__.partition(".")[0] + "."


class Declaration(Slots):
    """What is declared of an operator: its slots, parameters, kernels and gradients."""

    def __init__(
        self,
        describe: Callable[..., Any],
        outputs: Sequence[str] = ("out",),
        *,
        mutates: Sequence[str] = (),
        needs_stype: bool = False,
        shapes: str | None = None,
        reference: Callable[..., Any] | None = None,
    ):
        super().__init__(describe, outputs, mutates)
        self.needs_stype = needs_stype
        self.shapes = shapes
        self.reference = reference
        self.kernels: list[Rule] = []
        self.gradients: dict[str, list[Rule]] = {}
        self._storage_function: Callable[..., Any] | None = None
        self._plans: dict[tuple, Plan] = {}
        self._conditions: tuple[Where, ...] = ()

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

        if signatures and self._storage_function is not None:
            raise StorageError(f"{self.__name__} infers its storages: its kernels name none")
        if not signatures and self._storage_function is None:
            raise StorageError(
                f"{self.__name__}.forward() names no signature; only an operator with its own "
                "infer_storage leaves them out"
            )
        parsed = [self._parse(text, len(self.outputs)) for text in signatures] or [None]
        for signature in parsed:
            if signature is not None and signature.heads:
                raise StorageError(
                    f"signature '{signature}': ';' belongs to gradients, and this is a kernel"
                )
        condition = self._condition(where)

        def decorate(function: Callable) -> Callable:
            wants = self.kernel_wants(function)
            trusted = _is_trusted(function)
            made = [Rule(function, s, condition, backend, wants, trusted) for s in parsed]
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

        if not signatures:
            raise StorageError(f"{self.__name__}.backward({wrt!r}) names no signature")
        parsed = [self._parse(text, 1) for text in signatures]
        for signature in parsed:
            heads = signature.heads
            if heads is not None and len(heads) != len(self.outputs):
                raise StorageError(
                    f"signature '{signature}' names {len(heads)} gradients before ';'; "
                    f"{self.__name__} has {len(self.outputs)} results"
                )
        condition = self._condition(where)

        def decorate(function: Callable) -> Callable:
            wants = self.rule_wants(function)
            made = [Rule(function, s, condition, None, wants) for s in parsed]
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

    def _parse(self, text: Any, outputs: int) -> Signature:
        return Signature.parse(
            text, inputs=len(self.inputs), outputs=outputs, variadic=self.variadic is not None
        )

    def _condition(self, where: Any) -> Where | None:
        condition = None if where is None else Where(where)
        known = (*self.inputs, *self.defaults)
        for name in condition.names if condition else ():
            if name not in known:
                raise StorageError(
                    f"where reads {name!r}; {self.__name__} has {', '.join(known)}",
                    operator=self.__name__,
                )
        return condition

    def _declare(self, rules: list[Rule], made: list[Rule]) -> None:
        for number, rule in enumerate(made):
            for other in (*rules, *made[:number]):
                if rule.clashes(other):
                    raise StorageError(
                        f"{self.__name__} declares '{rule}' twice: by {other.name} and {rule.name}",
                        operator=self.__name__,
                        declared=str(rule),
                    )
        rules.extend(made)
        self._plans.clear()
        reads = [r.where for r in self.kernels if r.where and r.where.reads(self.inputs)]
        self._conditions = tuple(dict.fromkeys(reads))

    def kept(
        self, inputs: Sequence[Any], stypes: Known
    ) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        """Which of a call's inputs and results some gradient rule names; empty where none.

        `inputs` are specs or numbers, and numbers are always kept; `stypes` are their storages, and
        rules for other storages do not count.
        """
        rules = [rule for declared in self.gradients.values() for rule in declared]
        wants = {name for rule in rules if rule.takes(stypes) for name in rule.wants}
        names = [self.slot_name(slot) for slot in range(len(inputs))]
        keeps = [n in wants or isinstance(x, NUMBERS) for n, x in zip(names, inputs, strict=True)]
        outputs = [name in wants for name in self.outputs]
        return tuple(keeps) * any(keeps), tuple(outputs) * any(outputs)

    def __repr__(self) -> str:
        head = f"<operator {self.__name__}{inspect.signature(self)}>"
        if self._storage_function is not None:
            return f"{head}\n  storages inferred by {name_of(self._storage_function)}"
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


def _is_trusted(function: Callable) -> bool:
    """Whether a kernel is the package's own, whose results need no check of structure."""
    return (getattr(function, "__module__", None) or "").startswith(_PACKAGE)
