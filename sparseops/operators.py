"""Operators: what they infer, and how they are called."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from types import SimpleNamespace
from typing import Any

from sparseops.autograd import record
from sparseops.backend import Backend, get_backend
from sparseops.constructors import asarray
from sparseops.declaration import Declaration
from sparseops.errors import BackendError, ShapeError, StorageError
from sparseops.ndarray import NDArray, tapes
from sparseops.parameters import complete, frozen
from sparseops.plan import Plan, check_answer
from sparseops.registry import operators
from sparseops.results import admit, admit_all
from sparseops.signature import SCALAR, Known, Rule, choose, table
from sparseops.spec import UNDEFINED, Spec, as_stype

_PLANS = 1024
_PACKAGE = __name__.partition(".")[0] + "."


class Operator(Declaration):
    """A function of arrays, declared by what is known of its results, kernels and gradients.

    Made by `operator`. Calling it infers the storages, checks the policy, runs a kernel, checks
    what the kernel returned, and records the call on the tapes that are open.
    """

    # Inference

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
        values = complete(self.__name__, self.defaults, params)
        known = self._known(specs, outputs)
        found = tuple(x for x in specs)
        try:
            self.check_count(found)
            _, filled = self.choose(known, values, numbers=found)
            described = self._described(found, filled, values)
        except Exception as error:
            error.add_note(f"in {self.describe_call(found, values)}")
            raise
        results = tuple(
            Spec(shape, dtype, stype)
            for (shape, dtype), stype in zip(described, filled[len(specs) :], strict=True)
        )
        return results[0] if len(results) == 1 else results

    def _known(self, inputs: Sequence[Any], declared: Any) -> Known:
        stypes = [SCALAR if isinstance(x, Number) else x.stype for x in inputs]
        return (*stypes, *self.declared(declared))

    def declared(self, stype: Any) -> Known:
        """The storages of the results that ``stype=`` declares."""
        count = len(self.outputs)
        if stype is None:
            return (UNDEFINED,) * count
        given = (stype,) if isinstance(stype, str) else tuple(stype)
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
            raise StorageError(
                f"no signature of {self.__name__} fits ({have}); declared:\n{table(self.kernels)}",
                operator=self.__name__,
                slot=self._first_misfit(known, rules, count),
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
        return check_answer(
            known, function(known, **values), lambda filled: function(filled, **values)
        )

    def _described(
        self, inputs: Sequence[Any], filled: Known, params: Mapping[str, Any]
    ) -> list[tuple]:
        """What the describing function says: shape and dtype of each result."""
        given = [
            x if isinstance(x, Number) else x.with_stype(stype) if x.stype == UNDEFINED else x
            for x, stype in zip(inputs, filled, strict=False)
        ]
        described = self.describe(*given, **params)
        pairs = (
            [described] if len(self.outputs) == 1 and not isinstance(described, list) else described
        )
        well_formed = isinstance(pairs, (list, tuple)) and all(
            isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs
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

    # Calls

    def __call__(self, *args: Any, stype: Any = None, **params: Any) -> Any:
        """The results for `args`: arrays, numbers and constants by position, parameters by name.

        `stype` declares the storage of the result, a tuple that of several.
        """
        key: list[Any] = [stype if type(stype) is not list else tuple(stype)]
        numbers = False
        for x in args:
            if type(x) is NDArray:
                key.append(x.form)
            elif isinstance(x, Number):
                key.append(type(x))
                numbers = True
            else:
                return self._call_other(args, stype, params)
        values = None
        if params:
            values = complete(self.__name__, self.defaults, params)
            key.append(frozen(values))
        if numbers and self._conditions:
            given = self.given(args, values or self.defaults)
            key.append(tuple([condition.holds(given) for condition in self._conditions]))
        plan = self._plans.get(tuple(key))
        if plan is None:
            plan = self._make_plan(args, stype, params)
            if plan is None:
                return self._call_other(args, stype, params)
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            self._plans[tuple(key)] = plan
        if not plan.direct:
            return self._call_with_casts(plan, args, params)
        state = None
        try:
            storages = [x.storage if type(x) is NDArray else x for x in args]
            if plan.stateful:
                state = SimpleNamespace()
                answer = plan.function(plan.backend, *storages, **plan.keywords, state=state)
            else:
                answer = plan.function(plan.backend, *storages, **plan.keywords)
            if plan.form is not None:
                result = admit(plan, answer, plan.form, storages)
                results = (result,)
            else:
                results = admit_all(plan, answer, args, storages)
                result = results if len(results) > 1 else results[0]
        except Exception as error:
            error.add_note(f"in {self.describe_call(args, plan.params)}")
            raise
        if tapes.get():
            record(plan, args, results, state)
        return result

    def _call_with_casts(self, plan: Plan, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """The call as casts around a direct one, which is what a tape sees and differentiates."""
        plan.report(args)
        cast = operators["cast_storage"]
        inner = [
            cast(x, stype=stype) if stype else x for x, stype in zip(args, plan.casts, strict=True)
        ]
        answer = self(*inner, stype=plan.named_results(), **params)
        results = answer if isinstance(answer, tuple) else (answer,)
        results = tuple(
            cast(x, stype=stype) if stype else x
            for x, stype in zip(results, plan.result_casts, strict=True)
        )
        for slot, (x, copy) in enumerate(zip(args, inner, strict=True)):
            if x is not copy and self.slot_name(slot) in self.mutates:
                x.assign(copy.tostype(x.stype).storage)
        return results[0] if len(self.outputs) == 1 else results

    def _make_plan(self, args: Sequence[Any], stype: Any, params: dict[str, Any]) -> Plan | None:
        """The plan for such a call; None if it has numbers alone."""
        self.check_count(args)
        arrays = [x for x in args if type(x) is NDArray]
        if args and not arrays:
            return None
        values = complete(self.__name__, self.defaults, params)
        backend = self._backend(arrays)
        inputs = [x.spec if type(x) is NDArray else x for x in args]
        try:
            known = self._known(args, stype)
            rule, filled = self.choose(known, values, numbers=args, backend=backend.name)
            described = self._described(inputs, filled, values)
            return Plan(self, backend, rule, filled, inputs, described, values)
        except Exception as error:
            error.add_note(f"in {self.describe_call(args, values)}")
            raise

    def _call_other(self, args: Sequence[Any], stype: Any, params: dict[str, Any]) -> Any:
        """The call with constants made arrays, or handed to what traces it."""
        for x in args:
            traced = getattr(type(x), "trace_call", None)
            if traced is not None:
                return traced(x, self, args, stype, params)
        arrays = [x for x in args if type(x) is NDArray]
        backend = self._backend(arrays)
        given = [
            x
            if type(x) is NDArray or (isinstance(x, Number) and len(args) > 1 and arrays)
            else asarray(x, backend=backend)
            for x in args
        ]
        if not arrays and all(type(x) is not NDArray for x in given):
            given = [asarray(x, backend=backend) for x in args]
        return self(*given, stype=stype, **params)

    def _backend(self, arrays: Sequence[NDArray]) -> Backend:
        found = dict.fromkeys(x.backend for x in arrays)
        if len(found) > 1:
            names = [backend.name for backend in found]
            raise BackendError(
                f"{self.__name__} got arrays on {' and '.join(names)}; move one with "
                f"x.to({names[0]!r})",
                operator=self.__name__,
            )
        return next(iter(found), None) or get_backend()

    def check_count(self, args: Sequence[Any]) -> None:
        """Raise TypeError unless there are as many `args` as inputs."""
        expected = len(self.inputs)
        if self.variadic and len(args) >= expected - 1:
            return
        if len(args) == expected:
            return
        names = ", ".join(self._starred_inputs())
        message = f"{self.__name__}() takes {expected} arrays ({names}), not {len(args)}"
        if len(args) > expected and self.defaults:
            extra = dict(zip(self.defaults, args[expected:], strict=False))
            written = ", ".join(f"{name}={value!r}" for name, value in extra.items())
            message += f"; parameters go by name: write {written}"
        raise TypeError(message)


def operator(
    describe: Callable[..., Any] | None = None,
    *,
    outputs: Sequence[str] = ("out",),
    mutates: Sequence[str] = (),
    shapes: str | None = None,
    reference: Callable[..., Any] | None = None,
) -> Any:
    """Make an operator of a function from what is known of inputs to what is known of results.

    Parameters
    ----------
    describe : callable
        Gets a `Spec` for each array and a number for each number, by position, and parameters by
        name; returns ``(shape, dtype)``, or a list of them where there are several outputs. What it
        returns may depend on a number's type, never on its value. Its name, parameters and
        docstring become the operator's.
    outputs : sequence of str, optional
        The names of the results.
    mutates : sequence of str, optional
        Inputs that are states: kernels return their new storages after the outputs.
    shapes : str, optional
        Axes in NumPy's gufunc notation, such as ``"(m,n),(m)->(m,n)"``, for tools.
    reference : callable, optional
        The same function on NumPy arrays, for tools.

    Returns
    -------
    Operator

    Examples
    --------
    >>> import sparseops as so
    >>> @so.operator
    ... def halve(x):
    ...     '''`x` divided by two.'''
    ...     return x.shape, x.dtype
    >>> @halve.forward("dense -> dense", "csr -> csr")
    ... def _halve(backend, x):
    ...     return x.with_data(x.data / 2)
    >>> halve(so.csr_array([[0.0, 4.0]]))
    <float64[1,2] csr, 1 stored>
      (0, 1)  2.0
    """
    if describe is None:
        return lambda function: operator(
            function, outputs=outputs, mutates=mutates, shapes=shapes, reference=reference
        )
    if isinstance(outputs, str) or not outputs:
        raise TypeError(
            f"outputs={outputs!r} is not a sequence of names, such as ('values', 'ids')"
        )
    name = describe.__name__
    known = operators.get(name)
    if known is not None and known.__module__.startswith(_PACKAGE):
        if not describe.__module__.startswith(_PACKAGE):
            raise ValueError(f"{name!r} is a built-in operator; choose another name")
    made = Operator(describe, outputs, mutates=mutates, shapes=shapes, reference=reference)
    operators[name] = made
    return made
