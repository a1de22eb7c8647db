"""What stands in an archive beside the arrays: how they are nested, as JSON.

A node is an object with one key, its kind: ``{"array": 0, "stype": "csr", "shape": [3, 4]}`` is an
array whose parts are the members ``0.data``, ``0.indptr`` and ``0.indices``.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from sparseops.backend import Backend
from sparseops.constructors import wrap
from sparseops.errors import FormatError
from sparseops.ndarray import NDArray
from sparseops.spec import Spec
from sparseops.storage import CSR, Dense, RowSparse

VERSION = 1
_DEEPEST = 64
_STORAGES = {storage.stype: storage for storage in (Dense, RowSparse, CSR)}


class Writer:
    """Turns values into nodes, and hands the arrays in them to `put`, by name."""

    def __init__(self, put: Callable[[str, Any], None]):
        self._put = put
        self._count = 0

    def node(self, value: Any, place: str = "value", depth: int = 0) -> dict[str, Any]:
        """The node of `value`, which stands at `place`."""
        if depth > _DEEPEST:
            raise ValueError(f"{place[:80]}... is nested deeper than {_DEEPEST} times")
        if isinstance(value, NDArray):
            return self._array(value)
        if isinstance(value, (np.ndarray, np.generic)):
            return self._numpy(value, place)
        if type(value) is dict:
            wrong = [key for key in value if type(key) is not str]
            if wrong:
                raise TypeError(f"{place} has the key {wrong[0]!r}; keys are strings")
            items = [[k, self.node(v, f"{place}[{k!r}]", depth + 1)] for k, v in value.items()]
            return {"dict": items}
        if type(value) in (list, tuple):
            items = [self.node(v, f"{place}[{n}]", depth + 1) for n, v in enumerate(value)]
            return {type(value).__name__: items}
        if type(value) is float:
            return {"float": value.hex()}
        if type(value) is complex:
            return {"complex": [value.real.hex(), value.imag.hex()]}
        if value is None or type(value) in (bool, int, str):
            return {"plain": value}
        raise TypeError(
            f"{place} is {type(value).__name__}; saved are arrays, dicts, lists, tuples, numbers, "
            "strings and None"
        )

    def _array(self, x: NDArray) -> dict[str, Any]:
        number = self._next()
        for name in ("data", *x.storage.aux):
            self._put(f"{number}.{name}", x.backend.asnumpy(getattr(x.storage, name)))
        return {"array": number, "stype": x.stype, "shape": list(x.shape)}

    def _numpy(self, value: Any, place: str) -> dict[str, Any]:
        if value.dtype.kind not in "biufc":
            raise TypeError(f"{place} has dtype {value.dtype}; saved are numbers and bool")
        number = self._next()
        self._put(str(number), np.asarray(value))
        return {"scalar" if isinstance(value, np.generic) else "numpy": number}

    def _next(self) -> int:
        self._count += 1
        return self._count - 1


class Reader:
    """Turns nodes into values, with arrays that `take` gives by name, each once."""

    def __init__(self, take: Callable[[str], Any], backend: Backend):
        self._take = take
        self._backend = backend
        self.taken: set[str] = set()

    def value(self, node: Any, place: str = "value", depth: int = 0) -> Any:
        """The value of `node`, which stands at `place`."""
        if depth > _DEEPEST or not isinstance(node, dict) or not node:
            raise FormatError(f"{place[:80]} is not a node")
        kind, content = next(iter(node.items()))
        read = _READERS.get(kind)
        if read is None:
            raise FormatError(f"{place[:80]} is of the kind {kind[:40]!r}, which is unknown")
        try:
            return read(self, node, content, place, depth)
        except (TypeError, KeyError, IndexError, OverflowError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"{place[:80]}: {error}") from error

    def _dict(self, node: Any, items: Any, place: str, depth: int) -> dict:
        found = {}
        for key, item in items:
            if type(key) is not str or key in found:
                raise FormatError(f"{place[:80]} has the key {key!r:.60} twice, or it is no string")
            found[key] = self.value(item, f"{place}[{key!r}]", depth + 1)
        return found

    def _list(self, node: Any, items: Any, place: str, depth: int) -> list:
        if type(items) is not list:
            raise FormatError(f"{place[:80]} is not a list")
        return [self.value(item, f"{place}[{n}]", depth + 1) for n, item in enumerate(items)]

    def _tuple(self, node: Any, items: Any, place: str, depth: int) -> tuple:
        return tuple(self._list(node, items, place, depth))

    def _float(self, node: Any, text: str, place: str, depth: int) -> float:
        return float.fromhex(text)

    def _complex(self, node: Any, parts: Any, place: str, depth: int) -> complex:
        real, imag = parts
        return complex(float.fromhex(real), float.fromhex(imag))

    def _plain(self, node: Any, content: Any, place: str, depth: int) -> Any:
        if content is not None and type(content) not in (bool, int, str):
            raise FormatError(f"{place[:80]} is {type(content).__name__}, not a plain value")
        return content

    def _numpy(self, node: Any, number: Any, place: str, depth: int) -> Any:
        return self._part(number, "", place)

    def _scalar(self, node: Any, number: Any, place: str, depth: int) -> Any:
        return self._part(number, "", place).reshape(()).copy()[()]

    def _array(self, node: Any, number: Any, place: str, depth: int) -> NDArray:
        spec = Spec(node["shape"], float, node["stype"])
        made = _STORAGES[spec.stype]
        parts = [self._part(number, f".{name}", place) for name in ("data", *made.aux)]
        parts = [self._backend.xp.asarray(part) for part in parts]
        indices = dict(zip(made.aux, parts[1:], strict=True))
        storage = made(parts[0], **indices, shape=spec.shape) if indices else made(parts[0])
        if storage.shape != spec.shape:
            raise FormatError(f"it has shape {storage.shape}, not {spec.shape}")
        storage.validate()
        return wrap(storage, self._backend)

    def _part(self, number: Any, suffix: str, place: str) -> Any:
        if type(number) is not int:
            raise FormatError(f"{place[:80]} has no number")
        name = f"{number}{suffix}"
        if name in self.taken:
            raise FormatError(f"member {name!r} is used twice")
        self.taken.add(name)
        data = self._take(name)
        if data.dtype.kind in "SU":
            raise FormatError(f"member {name!r} holds text")
        return data


_READERS = {
    "dict": Reader._dict,
    "list": Reader._list,
    "tuple": Reader._tuple,
    "float": Reader._float,
    "complex": Reader._complex,
    "plain": Reader._plain,
    "numpy": Reader._numpy,
    "scalar": Reader._scalar,
    "array": Reader._array,
}


def encoded(node: dict[str, Any]) -> Any:
    """The bytes of a structure, as an array."""
    text = json.dumps({"sparseops": VERSION, "value": node})
    return np.frombuffer(text.encode(), np.uint8)


def decoded(data: Any) -> dict[str, Any]:
    """The node that `encoded` made `data` of."""
    if data.dtype != np.uint8 or data.ndim != 1:
        raise FormatError("the structure is not a text")
    try:
        found = json.loads(data.tobytes().decode())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the structure is not JSON: {str(error)[:80]}") from error
    version = found.get("sparseops") if isinstance(found, dict) else None
    if version != VERSION or "value" not in found:
        raise FormatError(f"version {version!r:.20} of the format; this is version {VERSION}")
    return found["value"]
