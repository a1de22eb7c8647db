"""The arguments of traced functions: their names, their specs, and the arrays given later."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sparseops.backend import get_backend
from sparseops.constructors import asarray
from sparseops.errors import ShapeError, StorageError, TraceError
from sparseops.ndarray import NDArray
from sparseops.nesting import walk_leaves
from sparseops.program import Program
from sparseops.signature import NUMBERS
from sparseops.spec import Spec
from sparseops.tracing import Tracer

_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def check_arguments(function: Callable[..., Any], specs: Sequence[Any], named: Mapping) -> None:
    """Raise TypeError unless `function` can be called with `specs` and `named`."""
    if not callable(function):
        raise TypeError(f"a function is traced, not {type(function).__name__}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*specs, **named)
    except TypeError as error:
        count = f"{len(specs)} spec{'s' * (len(specs) != 1)}"
        by_name = f" and {', '.join(named)}" if named else ""
        raise TypeError(
            f"{count}{by_name} given, and the function takes {signature}: {error}"
        ) from None


def input_names(function: Callable[..., Any], count: int, named: Iterable[str]) -> list[str]:
    """What the function calls its arguments: `count` by position, then those `named`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [f"x{number}" for number in range(count)] + list(named)
    names = [p.name for p in parameters if p.kind in _BY_POSITION]
    star = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), None)
    names += [f"{star}.{number}" for number in range(count - len(names))]
    return names[:count] + list(named)


def as_traced(tracer: Tracer, name: str, x: Any, known: dict[int, Spec]) -> Any:
    """The traced value for a spec or array; anything else as it is."""
    spec = x if isinstance(x, Spec) else _spec_of(x)
    if spec is None:
        return x
    made = tracer.add_input(name, spec)
    known[made.value.number] = spec
    return made


def _spec_of(x: Any) -> Spec | None:
    if isinstance(x, NDArray):
        return x.spec
    if isinstance(x, NUMBERS) or not hasattr(x, "dtype"):
        return None
    return Spec(x.shape, x.dtype, "csr" if hasattr(x, "tocsr") else "dense")


def backend_of(arguments: Iterable[Any]) -> Any:
    """The backend of the first array among nested arguments, else the current one."""
    for _, x in walk_leaves(list(arguments), ""):
        if isinstance(x, NDArray):
            return x.backend
    return get_backend()


def as_input(x: Any, name: str, spec: Spec, program: Program) -> NDArray:
    """`x` as an array for the input `name`, which is `spec` in the graph."""
    from_specs = f"{name} is {spec} in the graph"
    if isinstance(x, Spec):
        raise TraceError(f"{from_specs}, and run() takes values: give an array")
    array = asarray(x, backend=program.backend)
    if array.shape != spec.shape or array.dtype != spec.dtype:
        raise ShapeError(f"{from_specs}, but the array is {array.spec}; trace for its spec")
    if array.stype != spec.stype:
        raise StorageError(
            f"{from_specs}, but the array is {array.stype}: graph.infer({name}={array.stype!r}) "
            f"is the graph for it, {name}.tostype({spec.stype!r}) the array for this one",
            slot=name,
            declared=spec.stype,
            available=array.stype,
        )
    return array
