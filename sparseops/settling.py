"""One call of a program, settled: the plan by which it is done, and the forms of its values."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparseops.backend import Backend
from sparseops.form import Form, form_of
from sparseops.operators import Operator
from sparseops.parameters import frozen
from sparseops.plan import Plan
from sparseops.signature import NUMBERS, Known, Rule
from sparseops.spec import UNDEFINED


class Settled:
    """A plan, and the forms of the inputs (numbers as they are) and results that it settles.

    Attributes
    ----------
    plan : Plan
        The rule, casts and reason of a fallback.
    inputs : tuple
        The forms of the inputs, none of them undefined any more; None for numbers.
    results : tuple of Form
        The forms in which the caller gets the results.
    """

    __slots__ = ("inputs", "plan", "results")

    def __init__(self, plan: Plan):
        count = len(plan.inputs)
        self.plan = plan
        self.inputs = tuple(
            None if isinstance(x, NUMBERS) else form_of(x, plan.backend) for x in plan.inputs
        )
        self.results = tuple(
            form if form.spec.stype == stype else form_of(form.spec.with_stype(stype), plan.backend)
            for form, stype in zip(plan.results, plan.filled[count:], strict=True)
        )


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
        known = (*operator.known(inputs, None)[: len(inputs)], *declared)
        # Shapes do not enter the choice.
        numbers = tuple([frozen(x) for x in given if type(x) is not Form])
        key = operator, known, frozen(params) if params else (), numbers, same
        if key not in self._chosen:
            self._chosen[key] = operator.choose(
                known, params, numbers=inputs, backend=self.backend.name, same=same
            )
        rule, filled = self._chosen[key]
        described = operator.described(inputs, filled, params)
        inputs = [
            x.with_stype(stype) if getattr(x, "stype", None) == UNDEFINED else x
            for x, stype in zip(inputs, filled, strict=False)
        ]
        return Settled(Plan(operator, self.backend, rule, filled, inputs, described, params))
