"""Operators: what they infer, and how they are called."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from sparseops.autograd import record
from sparseops.backend import Backend, get_backend
from sparseops.constructors import array, asarray
from sparseops.errors import BackendError, StorageError
from sparseops.inference import Inference
from sparseops.ndarray import NDArray, tapes
from sparseops.parameters import complete, frozen
from sparseops.plan import Plan
from sparseops.registry import operators
from sparseops.results import admit, admit_all
from sparseops.signature import NUMBERS

_PLANS = 1024
_PACKAGE = __name__.partition(".")[0] + "."


class Operator(Inference):
    """A function of arrays, declared by what is known of its results, kernels and gradients.

    Made by `operator`. Calling it infers the storages, checks the policy, runs a kernel, checks
    what the kernel returned, and records the call on the tapes that are open.
    """

    def __call__(self, *args: Any, stype: Any = None, **params: Any) -> Any:
        """The results for `args`: arrays, numbers and constants by position, parameters by name.

        `stype` declares the storage of the result, a tuple that of several.
        """
        key: list[Any] = [stype if stype is None or type(stype) is str else self.declared(stype)]
        arrays = numbers = False
        for x in args:
            if type(x) is NDArray:
                key.append(x.form)
                arrays = True
            elif isinstance(x, NUMBERS):
                key.append(type(x))
                numbers = True
            else:
                return self._call_other(args, stype, params)
        if not arrays:
            if numbers:
                return self._call_other(args, stype, params)
            key.append(get_backend())
        values = None
        if params:
            values = complete(self, params)
            key.append(frozen(values))
        if numbers and self._conditions:
            key.append(self._conditions_met(args, values or self.defaults))
        plan = self._plans.get(tuple(key))
        if plan is None:
            plan = self._make_plan(args, stype, params)
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

    def _conditions_met(self, args: Sequence[Any], params: Mapping[str, Any]) -> tuple[bool, ...]:
        """Which conditions on numbers hold: plans differ by these, not by the numbers."""
        self.check_count(args)
        try:
            given = self.given(args, params)
            return tuple([condition.holds(given) for condition in self._conditions])
        except Exception as error:
            error.add_note(f"in {self.describe_call(args, params)}")
            raise

    def _make_plan(self, args: Sequence[Any], stype: Any, params: dict[str, Any]) -> Plan:
        self.check_count(args)
        if self.needs_stype and stype is None:
            raise TypeError(f"{self.__name__}() needs stype=, the storage of its result")
        values = complete(self, params)
        backend = self._backend(args)
        inputs = [x.spec if type(x) is NDArray else x for x in args]
        try:
            known = self.known(args, stype)
            rule, filled = self.choose(known, values, numbers=args, backend=backend.name)
            described = self.described(inputs, filled, values)
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
        self.check_count(args)
        for slot, x in enumerate(args):
            name = self.slot_name(slot)
            if name in self.mutates and type(x) is not NDArray:
                raise StorageError(
                    f"{name} is {type(x).__name__}; {self.__name__} changes it: give an NDArray",
                    operator=self.__name__,
                    slot=name,
                )
        backend = self._backend(args)
        # Numbers alone make arrays of shape (); beside arrays they stay numbers.
        kept = (NDArray,) if all(isinstance(x, NUMBERS) for x in args) else (NDArray, *NUMBERS)
        # A tape must not see what somebody later writes into a constant.
        convert = array if tapes.get() else asarray
        given = [x if isinstance(x, kept) else convert(x, backend=backend) for x in args]
        return self(*given, stype=stype, **params)

    def _backend(self, args: Sequence[Any]) -> Backend:
        found = dict.fromkeys(x.backend for x in args if type(x) is NDArray)
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
        names = ", ".join(self.starred_inputs())
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
    needs_stype: bool = False,
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
    needs_stype : bool, optional
        Whether a call must declare its result with ``stype=``.
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
        return partial(
            operator,
            outputs=outputs,
            mutates=mutates,
            needs_stype=needs_stype,
            shapes=shapes,
            reference=reference,
        )
    if not callable(describe) or not isinstance(getattr(describe, "__name__", None), str):
        raise TypeError(f"operator() decorates a function, not {type(describe).__name__}")
    if isinstance(outputs, str) or not outputs:
        raise TypeError(
            f"outputs={outputs!r} is not a sequence of names, such as ('values', 'ids')"
        )
    name = describe.__name__
    known = operators.get(name)
    if known is not None and known.__module__.startswith(_PACKAGE):
        if not describe.__module__.startswith(_PACKAGE):
            raise ValueError(f"{name!r} is a built-in operator; choose another name")
    made = Operator(
        describe,
        outputs,
        mutates=mutates,
        needs_stype=needs_stype,
        shapes=shapes,
        reference=reference,
    )
    operators[name] = made
    return made
