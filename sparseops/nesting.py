"""Values in tuples, lists and dictionaries, as functions take and return them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any


def walk_leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a nested value in order, each with the name of its place."""
    for key, item in _items(value):
        yield from walk_leaves(item, f"{name}.{key}")
    if not is_nest(value):
        yield name, value


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """The nested value with `function` of each leaf in its place."""
    if isinstance(value, Mapping):
        return {key: map_leaves(function, item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        items = [map_leaves(function, item) for item in value]
        # A namedtuple takes its items one by one.
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return function(value)


def is_nest(value: Any) -> bool:
    """Whether `value` is a tuple, list or dictionary of others."""
    return isinstance(value, (tuple, list, Mapping))


def form_of_nest(value: Any) -> Any:
    """The nested value without its leaves, for comparison."""
    return map_leaves(lambda leaf: None, value)


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif is_nest(value):
        yield from enumerate(value)
