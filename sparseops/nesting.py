"""Values in tuples, lists and dictionaries, as functions take and return them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

_DEEPEST = 64


def walk_leaves(value: Any, name: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The leaves of a nested value in order, each with the name of its place."""
    if not is_nest(value):
        yield name, value
        return
    _check(depth)
    for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
        yield from walk_leaves(item, f"{name}.{key}", depth + 1)


def map_leaves(function: Callable[[Any], Any], value: Any, depth: int = 0) -> Any:
    """The nested value with `function` of each leaf in its place."""
    if not is_nest(value):
        return function(value)
    _check(depth)
    if isinstance(value, Mapping):
        return {key: map_leaves(function, item, depth + 1) for key, item in value.items()}
    items = [map_leaves(function, item, depth + 1) for item in value]
    # A namedtuple takes its items one by one.
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def is_nest(value: Any) -> bool:
    """Whether `value` is a tuple, list or dictionary of others."""
    return isinstance(value, (tuple, list, Mapping))


def form_of_nest(value: Any) -> Any:
    """The nested value without its leaves, for comparison."""
    return map_leaves(lambda leaf: None, value)


def _check(depth: int) -> None:
    if depth >= _DEEPEST:
        raise ValueError(
            f"arrays are nested more than {_DEEPEST} levels deep, or a container holds itself; "
            "use flat tuples, lists and dictionaries"
        )
