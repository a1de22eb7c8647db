"""Storage inference of one operator: what a call's storages are, before it has values."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from sparseops.backend import get_backend
from sparseops.declaration import Declaration
from sparseops.errors import ShapeError, StorageError
from sparseops.parameters import complete
from sparseops.plan import check_answer
from sparseops.signature import NUMBERS, SCALAR, Known, Rule, choose, table
from sparseops.spec import UNDEFINED, Spec, as_stype


class Inference(Declaration):
    """What an operator infers from its declaration."""

    def infer(self, *specs: Any, outputs: Any = None, **params: Any) -> Any:
        """What is known of the results for inputs with `specs`; runs no kernel.

        Parameters
        ----------
        *specs : Spec or number
            The inputs; a storage may be "undefined".
        outputs : str or tuple of str, optional
            The results' storages, where they are declared.
        **params
            The operator's parameters.

        Returns
        -------
        Spec, or tuple of Spec
            A tuple where the operator has several results.

        Raises
        ------
        StorageError
            If no signature fits.
        """
        self.check_count(specs)
        for x in specs:
            if not isinstance(x, NUMBERS) and not hasattr(x, "stype"):
                raise TypeError(f"infer() takes Specs and numbers, not {type(x).__name__}")
        values = complete(self, params)
        try:
            known = self.known(specs, outputs)
            _, filled = self.choose(known, values, numbers=specs, backend=get_backend().name)
            described = self.described(specs, filled, values)
            results = tuple(
                Spec(shape, dtype, stype)
                for (shape, dtype), stype in zip(described, filled[len(specs) :], strict=True)
            )
        except Exception as error:
            error.add_note(f"in {self.describe_call(specs, values)}")
            raise
        return results[0] if len(results) == 1 else results

    def known(self, inputs: Sequence[Any], declared: Any) -> Known:
        """The partial assignment of a call: its inputs' storages and the declared results'."""
        stypes = [SCALAR if isinstance(x, NUMBERS) else x.stype for x in inputs]
        return (*stypes, *self.declared(declared))

    def declared(self, stype: Any) -> Known:
        """The storages of the results that ``stype=`` declares."""
        count = len(self.outputs)
        if stype is None:
            return (UNDEFINED,) * count
        given = stype if isinstance(stype, (tuple, list)) else (stype,)
        if len(given) != count:
            raise StorageError(
                f"stype={stype!r} declares {len(given)} results; {self.__name__} has {count}",
                operator=self.__name__,
            )
        return tuple(UNDEFINED if s is None else as_stype(s) for s in given)

    def choose(
        self,
        known: Known,
        params: Mapping[str, Any] | None = None,
        *,
        numbers: Sequence[Any] = (),
        backend: str | None = None,
        same: Sequence[Sequence[int]] = (),
    ) -> tuple[Rule, Known]:
        """The rule for a partial assignment of storages, and the assignment that it fills.

        Parameters
        ----------
        known : tuple of str
            A storage, "undefined" or (for a number) "scalar" for each input, then each result.
        params : mapping, optional
            The parameters; by default the declared defaults.
        numbers : sequence, optional
            The inputs, for conditions that read numbers.
        backend : str, optional
            The backend's name.
        same : sequence, optional
            The slots of each undefined array that stands in several.
        """
        values = self.defaults if params is None else params
        given, count = self.given(numbers, values), len(known) - len(self.outputs)
        rules = [rule for rule in self.kernels if rule.serves(backend, given)]
        if self._storage_function is not None:
            filled = self._ask_function(known, values)
            found = (rules[0], filled) if rules else None
        else:
            found = choose(rules, known, count, same)
        if found is None:
            names = [self.slot_name(slot) for slot in range(count)] + list(self.outputs)
            have = ", ".join(f"{n}: {s}" for n, s in zip(names, known, strict=True))
            misfit = self._first_misfit(known, rules, count)
            hint = ""
            if misfit in names[:count] and known[names.index(misfit)] == SCALAR:
                hint = f"{misfit} is a number, and an array is needed, such as [{misfit}]; "
            raise StorageError(
                f"no signature of {self.__name__} fits ({have}); {hint}declared:\n"
                f"{table(self.kernels)}",
                operator=self.__name__,
                slot=misfit,
                declared=known,
                available=tuple(str(rule) for rule in self.kernels),
            )
        return found

    def _first_misfit(self, known: Known, rules: Sequence[Rule], count: int) -> str | None:
        """The first input whose storage no signature takes."""
        for slot, have in enumerate(known[:count]):
            named = {r.signature.expand(count)[slot] for r in rules if r.signature is not None}
            if have != UNDEFINED and have not in named and (have == SCALAR or "dense" not in named):
                return self.slot_name(slot)
        return self.slot_name(0) if count else None

    def _ask_function(self, known: Known, params: Mapping[str, Any]) -> Known:
        function = self._storage_function
        names = inspect.signature(function).parameters
        values = {name: params[name] for name in params if name in names}
        try:
            return check_answer(
                known, function(known, **values), lambda filled: function(filled, **values)
            )
        except StorageError as error:
            error.operator = error.operator or self.__name__
            raise

    def described(
        self, inputs: Sequence[Any], filled: Known, params: Mapping[str, Any]
    ) -> list[tuple]:
        """What the describing function says: shape and dtype of each result."""
        given = [
            x if isinstance(x, NUMBERS) else x.with_stype(stype) if x.stype == UNDEFINED else x
            for x, stype in zip(inputs, filled, strict=False)
        ]
        described = self.describe(*given, **params)
        pairs = (
            [described] if len(self.outputs) == 1 and not isinstance(described, list) else described
        )
        well_formed = isinstance(pairs, (list, tuple)) and all(
            isinstance(pair, (tuple, list)) and len(pair) == 2 and not isinstance(pair[1], int)
            for pair in pairs
        )
        if not well_formed or len(pairs) != len(self.outputs):
            raise ShapeError(
                f"the describing function of {self.__name__} returned {described!r}; it returns "
                + (
                    "(shape, dtype)"
                    if len(self.outputs) == 1
                    else f"a list of {len(self.outputs)} pairs (shape, dtype)"
                ),
                operator=self.__name__,
            )
        return list(pairs)
