"""How one form of call is done: decided once, from specs and parameters, and then reused."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparseops.backend import Backend
from sparseops.errors import StorageError
from sparseops.form import form_of
from sparseops.policy import report
from sparseops.signature import Known, Rule
from sparseops.spec import STORAGES, UNDEFINED, Spec


class Plan:
    """The rule that serves a call, what it is given, and the forms of its results.

    Attributes
    ----------
    filled : tuple of str
        The storage of each slot, inputs then results.
    casts, result_casts : tuple
        For each input the storage that the rule takes, for each result the storage that the caller
        gets; None where there is nothing to cast.
    inputs : tuple
        The spec, or the number, of each input.
    results : tuple of Form
        The forms in which the rule gives its results.
    keeps_inputs, keeps_outputs : tuple of bool
        Which inputs and results the gradient rules name; empty where they name none.
    differentiable, differentiable_results : tuple of int
        The floating and complex ones; states are left out.
    choices : dict
        The gradient rules chosen before, by slot and ask.
    variadic_from : int
        The slot at which ``*arrays`` start; the number of inputs where there are none.
    """

    __slots__ = (
        "backend",
        "casts",
        "choices",
        "differentiable",
        "differentiable_results",
        "direct",
        "filled",
        "form",
        "function",
        "inputs",
        "keeps_inputs",
        "keeps_outputs",
        "keywords",
        "operator",
        "params",
        "reason",
        "result_casts",
        "results",
        "rule",
        "sparse_results",
        "stateful",
        "trusted",
        "variadic_from",
    )

    def __init__(
        self,
        operator: Any,
        backend: Backend,
        rule: Rule,
        filled: Known,
        inputs: Sequence[Any],
        described: Sequence[tuple],
        params: Mapping[str, Any],
    ):
        count = len(inputs)
        if rule.signature is None:
            named = filled
        else:
            named = rule.signature.expand(count) + rule.signature.outputs
        self.operator = operator
        self.backend = backend
        self.rule = rule
        self.function = rule.function
        self.trusted = rule.trusted
        self.filled = filled
        self.inputs = tuple(inputs)
        self.params = params
        self.keywords = {name: params[name] for name in rule.wants if name != "state"}
        self.stateful = "state" in rule.wants
        self.variadic_from = len(operator.inputs) - 1 if operator.variadic else count
        self.results = tuple(
            form_of(Spec(shape, dtype, stype), backend)
            for (shape, dtype), stype in zip(described, named[count:], strict=True)
        )
        for (shape, dtype), stype in zip(described, filled[count:], strict=True):
            Spec(shape, dtype, stype)  # a declared storage that the result cannot have is refused
        self.casts = _differences(named[:count], filled[:count])
        self.result_casts = _differences(filled[count:], named[count:])
        self.keeps_inputs, self.keeps_outputs = operator.kept(inputs, filled[:count])
        self.sparse_results = any(form.spec.stype != "dense" for form in self.results)
        self.choices: dict[tuple[int, str | None], Any] = {}
        self.differentiable = tuple(
            slot
            for slot, spec in enumerate(inputs)
            if isinstance(spec, Spec)
            and spec.dtype.kind in "fc"
            and operator.slot_name(slot) not in operator.mutates
        )
        self.differentiable_results = tuple(
            n for n, form in enumerate(self.results) if form.spec.dtype.kind in "fc"
        )
        self.direct = not any(self.casts) and not any(self.result_casts)
        self.form = self.results[0] if len(self.results) == 1 and not operator.mutates else None
        self.reason = self._reason(named)

    def _reason(self, named: Known) -> str:
        """Why the call is a fallback; empty where it is none."""
        count, operator = len(self.inputs), self.operator
        names = [operator.slot_label(slot) for slot in range(count)] + list(operator.outputs)
        brought = [
            f"{name} is {have}"
            for name, have, takes in zip(names, self.filled, named, strict=True)
            if have != takes and takes == "dense"
        ]
        if not brought:
            return ""
        return f"{' and '.join(brought)}, and the nearest signature is '{self.rule}'"

    def named_results(self) -> Any:
        """The results' storages as the rule gives them, in the form of `stype=`."""
        names = tuple(form.spec.stype for form in self.results)
        return names[0] if len(names) == 1 else names

    def report(self, args: Sequence[Any]) -> None:
        """Put the fallback, if this is one, before the policy."""
        if not self.reason:
            return
        cast = [x for x, stype in zip(args, self.casts, strict=True) if stype == "dense"]
        sparse = [
            form.spec
            for form, stype in zip(self.results, self.result_casts, strict=True)
            if stype and form.spec.stype == "dense"
        ]
        report(
            self.operator.__name__,
            self.filled,
            self.reason,
            bytes_sparse=sum(x.nbytes for x in cast),
            bytes_dense=sum(x.dense_nbytes for x in (*cast, *sparse)),
        )


def _differences(wanted: Known, given: Known) -> tuple[str | None, ...]:
    return tuple(w if w != g else None for w, g in zip(wanted, given, strict=True))


def check_answer(known: Known, answer: Any, again: Any) -> Known:
    """The answer of an operator's own inference, held to the laws of inference."""
    if not isinstance(answer, (tuple, list)) or len(answer) != len(known):
        raise StorageError(f"infer_storage answered {answer!r}; it answers {len(known)} storages")
    filled = tuple(str(stype) for stype in answer)
    for have, got in zip(known, filled, strict=True):
        if have not in (UNDEFINED, got):
            raise StorageError(f"infer_storage changed a slot declared {have} to {got}")
        if got != have and got not in STORAGES and got != UNDEFINED:
            raise StorageError(f"infer_storage answered {got!r}, which is not a storage type")
    filled = tuple("dense" if stype == UNDEFINED else stype for stype in filled)
    second = again(filled)
    if not isinstance(second, (tuple, list)) or tuple(map(str, second)) != filled:
        raise StorageError(f"infer_storage answered {filled}, and to that {second}")
    return filled
