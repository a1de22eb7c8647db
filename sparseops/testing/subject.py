"""What is checked: an operator, or a function of arrays, and what its author says of it."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from sparseops.backend import get_backend
from sparseops.errors import DTypeError
from sparseops.operators import Operator
from sparseops.parameters import REQUIRED
from sparseops.policy import Fallback, fallback
from sparseops.signature import SCALAR
from sparseops.spec import STORAGES, UNDEFINED, Spec
from sparseops.testing import palettes
from sparseops.testing.axes import Axes, shape_of
from sparseops.testing.case import Case, resolve
from sparseops.testing.domain import Domain
from sparseops.testing.sample import Sample

_LENGTHS = 3
_NUMBERS = (2.0, 0.0, 1.0, -1.0, 0.5, 3, 0)
_MOST_COMBINATIONS = 64


class Combination(NamedTuple):
    """Storages of the inputs, and whether a signature takes them as they are."""

    stypes: tuple[str, ...]
    native: bool
    numbers: tuple[Any, ...] = ()


@dataclass(eq=False)
class Subject:
    """An operator, or a function, and what its author says of it.

    Attributes
    ----------
    function : callable
        What is called.
    axes : Axes
        The axes of its arrays.
    reference : callable, optional
        The same function on NumPy arrays.
    params : list of mappings
        The parameters to try.
    domain : mapping
        The values that inputs take, where not any.
    traits : tuple of str
        What is claimed of it beside its values.
    nan_policy : str
        "skip_unstored" or "ieee".
    dialect : str
        "sparseops" or "scipy": which arrays it takes.
    storages : tuple of tuples of str
        The storages of inputs to try; all that are possible where empty.
    compare_with : callable, optional
        The same function in another library.
    declined : set of str
        The dtypes that it was found not to be for.
    """

    function: Callable[..., Any]
    axes: Axes
    reference: Callable[..., Any] | None = None
    params: list[Mapping[str, Any]] = field(default_factory=lambda: [{}])
    domain: Mapping[str, Domain] = field(default_factory=dict)
    traits: tuple[str, ...] = ()
    nan_policy: str = "skip_unstored"
    rtol: float = 0.0
    dialect: str = "sparseops"
    storages: tuple[tuple[str, ...], ...] = ()
    compare_with: Callable[..., Any] | None = None
    declined: set[str] = field(default_factory=set)

    @property
    def operator(self) -> Operator | None:
        """The operator, where it is one."""
        return self.function if isinstance(self.function, Operator) else None

    @property
    def name(self) -> str:
        """What reports call it."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs, `*arrays` once."""
        if self.operator is not None:
            return self.operator.inputs
        names = _positional(self.function)
        count = len(self.axes.inputs)
        return tuple(names[:count]) if len(names) >= count else _letters(count)

    def slot_names(self, count: int) -> tuple[str, ...]:
        """The names of `count` inputs, those of `*arrays` with a number."""
        if not (self.axes.repeated or (self.operator and self.operator.variadic)):
            return self.inputs
        fixed = self.inputs[:-1]
        return (*fixed, *(f"{self.inputs[-1]}{n}" for n in range(count - len(fixed))))

    def input_name(self, slot: int) -> str:
        """The name of the input at `slot`, that of `*arrays` for each of them."""
        return self.inputs[min(slot, len(self.inputs) - 1)]

    def combinations(self, params: Mapping[str, Any], count: int) -> list[Combination]:
        """The storages that `count` inputs can have together."""
        choices = [
            self._choices(slot, len(group)) for slot, group in enumerate(self.axes.expand(count))
        ]
        found = []
        for stypes in product(*choices):
            if self.storages and stypes not in self.storages:
                continue
            found += self._judged(stypes, params)
            if len(found) >= _MOST_COMBINATIONS:
                break
        return found

    def _choices(self, slot: int, ndim: int) -> tuple[str, ...]:
        possible = STORAGES[: 1 + (ndim >= 1) + (ndim == 2)]
        name = self.input_name(slot)
        if self.dialect == "scipy":
            return ("csr", "dense") if ndim == 2 and self.storages else _of_scipy(ndim)
        if self.operator is None:
            return possible
        rules = [rule.signature for rule in self.operator.kernels if rule.signature]
        named = {rule.inputs[min(slot, len(rule.inputs) - 1)] for rule in rules}
        if name in self.operator.mutates:
            possible = tuple(s for s in possible if s in named) or possible
        return (*possible, SCALAR) if SCALAR in named else possible

    def _judged(self, stypes: tuple[str, ...], params: Mapping[str, Any]) -> list[Combination]:
        """The combination as signatures serve it; several where that depends on numbers."""
        if self.operator is None:
            return [Combination(stypes, True)]
        slots = [slot for slot, stype in enumerate(stypes) if stype == SCALAR]
        if len(slots) == len(stypes):
            return []
        found: dict[bool, list] = {}
        for numbers in product(*map(self._numbers, slots)):
            given: list[Any] = [None] * len(stypes)
            for slot, number in zip(slots, numbers, strict=True):
                given[slot] = number
            native = self.serves(stypes, params, given)
            if native is not None:
                found.setdefault(native, []).append(numbers)
        return [Combination(stypes, native, tuple(n)) for native, n in found.items()]

    def _numbers(self, slot: int) -> list[Any]:
        """Numbers that may stand in a slot."""
        domain = self.domain.get(self.input_name(slot))
        if domain is None:
            return list(_NUMBERS)
        return domain.values({letter: _LENGTHS for letter in self.axes.letters})[:4]

    def serves(
        self, stypes: tuple[str, ...], params: Mapping[str, Any], numbers: Sequence[Any]
    ) -> bool | None:
        """Whether a signature takes `stypes` without a cast; None where none takes them."""
        op = self.operator
        known = (*stypes, *(UNDEFINED,) * len(op.outputs))
        backend = get_backend().name
        try:
            rule, filled = op.choose(
                known, self.completed(params), numbers=numbers, backend=backend
            )
        except Exception:
            return None
        if rule.signature is None:
            return True
        return rule.signature.expand(len(stypes)) == filled[: len(stypes)]

    def signature(self, case: Case) -> str:
        """What tells the kernel that serves `case`: its signature, or storages."""
        stypes = ", ".join(case.stypes)
        if self.operator is None:
            return stypes
        numbers = [s.values if s.stype == SCALAR else None for s in case.samples]
        try:
            known = (*case.stypes, *self.operator.declared(case.declared))
            rule, _ = self.operator.choose(
                known, self.completed(case.params), numbers=numbers, backend=get_backend().name
            )
        except Exception:
            return stypes
        return str(rule.signature or stypes)

    def completed(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`params` as plain values, over the defaults."""
        known = {letter: _LENGTHS for letter in self.axes.letters}
        defaults = {} if self.operator is None else self.operator.defaults
        values = {name: value for name, value in defaults.items() if value is not REQUIRED}
        return values | resolve(params, known)

    @cached_property
    def dtypes(self) -> tuple[np.dtype, ...]:
        """The dtypes that the free inputs can have together, the plainest first."""
        return tuple(dtype for dtype in palettes.DTYPES if self.accepts(dtype))

    def accepts(self, dtype: np.dtype) -> bool:
        """Whether the describing function takes the free inputs in `dtype`."""
        if self.operator is None:
            # What every function of floating numbers takes; scipy has no float16.
            return dtype.kind in "fc" and dtype != np.float16 or dtype == np.int64
        known = {letter: _LENGTHS for letter in self.axes.letters}
        specs = [
            Spec(shape_of(group, known), self.dtype_of(slot, dtype, known))
            for slot, group in enumerate(self.axes.inputs)
        ]
        try:
            self.operator.describe(*specs, **self.completed(self.params[0]))
        except (DTypeError, TypeError):
            return False
        except Exception:
            return True
        return True

    def dtype_of(self, slot: int, dtype: np.dtype, lengths: Mapping[str, int]) -> np.dtype:
        """The dtype of the input at `slot` where the free ones have `dtype`."""
        domain = self.domain.get(self.input_name(slot))
        if domain is None:
            return dtype
        known = domain.dtype(lengths)
        # A domain of real numbers is one of floating numbers of any width.
        return dtype if known.kind == dtype.kind == "f" else known

    def name_of(self, sample: Sample) -> str:
        """The name of the input that `sample` is for."""
        return sample.name if sample.name in self.inputs else self.inputs[-1]

    def call(self, inputs: Sequence[Any], params: Mapping[str, Any], stype: Any = None) -> Any:
        """The results, as a tuple, and the fallbacks on the way."""
        declared = {} if stype is None else {"stype": stype}
        records: list[Fallback]
        with fallback("allow", limit=None) as records, np.errstate(all="ignore"):
            found = self.function(*inputs, **params, **declared)
        return found if isinstance(found, tuple) else (found,), records

    def expected(self, case: Case) -> tuple[np.ndarray, ...]:
        """What the reference says for the values of `case`."""
        accepted = inspect_names(self.reference)
        params = case.resolved()
        if accepted is not None:
            params = {name: value for name, value in params.items() if name in accepted}
        if accepted is not None and "stored" in accepted:
            params["stored"] = {
                s.name: s.stored if s.sparse else np.ones(s.shape, bool) for s in case.samples
            }
        with np.errstate(all="ignore"):
            found = self.reference(*(sample.numpy() for sample in case.samples), **params)
        return tuple(map(np.asarray, found)) if isinstance(found, tuple) else (np.asarray(found),)


def _of_scipy(ndim: int) -> tuple[str, ...]:
    return ("csr",) if ndim == 2 else ("dense",)


def inspect_names(function: Callable[..., Any] | None) -> tuple[str, ...] | None:
    """The names that a function takes by keyword; None where it takes any, or does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return tuple(p.name for p in parameters if p.kind is not p.VAR_POSITIONAL)


def _positional(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _letters(count: int) -> tuple[str, ...]:
    return tuple(f"x{n}" for n in range(count))
