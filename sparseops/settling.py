"""One call of a program, settled: the storages of its values, and the plan by which it is done."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparseops.backend import Backend
from sparseops.form import Form, form_of
from sparseops.operators import Operator
from sparseops.parameters import frozen
from sparseops.plan import Plan
from sparseops.signature import SCALAR, Known, Rule
from sparseops.spec import Spec


class Settled:
    """What a call settles: the storages of its slots, and the forms of its inputs and results.

    Attributes
    ----------
    filled : tuple of str
        The storage of each slot, inputs then results.
    inputs : tuple
        The forms of the inputs, none of them undefined any more; None for numbers.
    results : tuple of Form
        The forms in which the caller gets the results.
    """

    __slots__ = ("_made", "_parts", "filled", "inputs", "results")

    def __init__(
        self,
        operator: Operator,
        backend: Backend,
        chosen: tuple[Rule, Known],
        given: Sequence[Any],
        described: Sequence[tuple],
        params: Mapping[str, Any],
    ):
        rule, filled = chosen
        count = len(given)
        self.filled = filled
        self.inputs = tuple(
            [
                None
                if type(x) is not Form
                else x
                if x.spec.stype == stype
                else form_of(x.spec.with_stype(stype), backend)
                for x, stype in zip(given, filled, strict=False)
            ]
        )
        self.results = tuple(
            [
                form_of(Spec(shape, dtype, stype), backend)
                for (shape, dtype), stype in zip(described, filled[count:], strict=True)
            ]
        )
        self._made: Plan | None = None
        self._parts = operator, backend, rule, given, described, params
        signature = rule.signature
        if signature is not None and signature.outputs != filled[count:]:
            self.plan  # noqa: B018  results that the kernel cannot give in its storage are refused

    @property
    def plan(self) -> Plan:
        """The rule, casts and reason of a fallback; made when it is first asked for."""
        if self._made is None:
            operator, backend, rule, given, described, params = self._parts
            inputs = [
                x if form is None else form.spec for x, form in zip(given, self.inputs, strict=True)
            ]
            self._made = Plan(operator, backend, rule, self.filled, inputs, described, params)
        return self._made


class Settler:
    """Settles calls, and knows the forms of calls that it has settled before."""

    def __init__(self, backend: Backend):
        self.backend = backend
        self._known: dict[tuple, Settled] = {}
        self._chosen: dict[tuple, tuple[Rule, Known]] = {}

    def settle(
        self,
        operator: Operator,
        given: Sequence[Any],
        declared: Known,
        params: Mapping[str, Any],
        same: Sequence[Sequence[int]] = (),
    ) -> Settled:
        """The call of `operator` for `given`, forms and numbers, settled.

        `declared` are the results' storages, "undefined" where nothing is declared; `same` lists
        the slots of each undefined array that stands in several. `params` are complete.
        """
        kinds = tuple([x if type(x) is Form else frozen(x) for x in given])
        key = operator, declared, kinds, frozen(params) if params else (), same
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._settle(operator, given, declared, params, same)
        return found

    def _settle(
        self, operator: Operator, given: Any, declared: Known, params: Any, same: Any
    ) -> Settled:
        inputs = [x.spec if type(x) is Form else x for x in given]
        stypes = [x.spec.stype if type(x) is Form else SCALAR for x in given]
        known = (*stypes, *declared)
        # Shapes do not enter the choice.
        numbers = tuple([frozen(x) for x in given if type(x) is not Form])
        key = operator, known, frozen(params) if params else (), numbers, same
        chosen = self._chosen.get(key)
        if chosen is None:
            chosen = self._chosen[key] = operator.choose(
                known, params, numbers=inputs, backend=self.backend.name, same=same
            )
        described = operator.described(inputs, chosen[1], params)
        return Settled(operator, self.backend, chosen, given, described, params)
