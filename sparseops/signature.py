"""Signatures, and the choice of one for a call. Pure: no arrays, no shapes, only names of storages.

A signature such as ``"csr, dense -> dense"`` says in which storage a kernel takes its inputs and
gives its results. The choice among an operator's signatures *is* storage inference.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sparseops.arguments import arguments_of, name_of
from sparseops.errors import StorageError
from sparseops.spec import STORAGES, UNDEFINED

SCALAR = "scalar"
#: The types of what stands in a slot as a number.
NUMBERS = (int, float, complex, np.number, np.bool_)
Known = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """The storages that a rule takes and gives.

    `inputs` has one name for each input; where `variadic` is not None, the last of them stands for
    any number of arrays. `heads`, in gradients only, is the storage in which each `g` must arrive.
    """

    inputs: Known
    outputs: Known
    variadic: bool = False
    heads: Known | None = None

    @classmethod
    def parse(cls, text: str, *, inputs: int, outputs: int, variadic: bool = False) -> "Signature":
        """The signature written in `text`, for an operator with that many slots.

        Examples
        --------
        >>> Signature.parse("csr, dense -> dense", inputs=2, outputs=1).inputs
        ('csr', 'dense')
        """
        if not isinstance(text, str) or text.count("->") != 1:
            raise StorageError(f"signature {text!r} is not of the form 'csr, dense -> dense'")
        return cls._parse(text, inputs, outputs, variadic)

    @classmethod
    @cache
    def _parse(cls, text: str, inputs: int, outputs: int, variadic: bool) -> "Signature":
        left, right = text.split("->")
        before, semicolon, after = left.rpartition(";")
        heads = _names(before, text) if semicolon else None
        if semicolon and not heads:
            raise StorageError(f"signature {text!r} names no storage before ';'")
        names, results = _names(after, text, numbers=True), _names(right, text)
        starred = [position for position, name in enumerate(names) if name.endswith("...")]
        names = [name.removesuffix("...") for name in names]
        if starred and not (variadic and starred == [len(names) - 1]):
            raise StorageError(
                f"signature {text!r}: '...' belongs to the item of the operator's *arrays, "
                + ("the last one" if variadic else "and this operator has none")
            )
        if variadic and not starred:
            raise StorageError(f"signature {text!r}: the last item stands for *arrays: add '...'")
        for what, found, expected in (("input", names, inputs), ("result", results, outputs)):
            if len(found) != expected:
                raise StorageError(
                    f"signature {text!r} names {len(found)} {what}s; the operator has {expected}"
                )
        return cls(tuple(names), tuple(results), variadic, heads and tuple(heads))

    @property
    def slots(self) -> tuple[Known, Known]:
        """The storages by which the signature is chosen: inputs and outputs."""
        return self.inputs, self.outputs

    def expand(self, num_inputs: int) -> Known:
        """The storages of `num_inputs` inputs."""
        if not self.variadic:
            return self.inputs
        return self.inputs[:-1] + self.inputs[-1:] * (num_inputs - len(self.inputs) + 1)

    def __str__(self) -> str:
        left = ", ".join(self.inputs) + "..." * self.variadic
        if self.heads:
            left = f"{', '.join(self.heads)}; {left}"
        return f"{left} -> {', '.join(self.outputs)}"


def _names(part: str, text: str, numbers: bool = False) -> list[str]:
    allowed = (*STORAGES, SCALAR) if numbers else STORAGES
    names = [name.strip() for name in part.split(",")] if part.strip() else []
    for name in names:
        if (name.removesuffix("...") if numbers else name) not in allowed:
            raise StorageError(
                f"signature {text!r}: {name!r} is not a storage type; there are "
                + ", ".join(allowed),
                available=allowed,
            )
    return names


class Where:
    """A condition on the parameters and numbers of a call.

    Made from a mapping of parameter values, or from a predicate that names what it reads.
    """

    __slots__ = ("names", "predicate", "text", "values")

    def __init__(self, condition: Mapping[str, Any] | Callable[..., bool]):
        if callable(condition):
            self.values = None
            self.predicate = condition
            self.names = arguments_of(condition).names
            self.text = getattr(condition, "__doc__", None) or f"condition on {_join(self.names)}"
        elif not isinstance(condition, Mapping):
            raise StorageError(
                f"where={condition!r} is neither a mapping of parameters nor a predicate"
            )
        else:
            self.values = {name: _plain(value) for name, value in condition.items()}
            self.predicate = None
            self.names = tuple(self.values)
            self.text = ", ".join(f"{name}={value!r}" for name, value in self.values.items())

    def reads(self, names: Iterable[str]) -> bool:
        """Whether the condition depends on any of `names`."""
        return any(name in names for name in self.names)

    def holds(self, given: Mapping[str, Any]) -> bool:
        """Whether the call with the parameters and numbers `given` meets the condition.

        A call that lacks a number, because an array stands there, does not meet it.
        """
        if self.values is not None:
            return all(name in given and given[name] == v for name, v in self.values.items())
        if not all(name in given for name in self.names):
            return False
        return bool(self.predicate(**{name: given[name] for name in self.names}))

    def overlaps(self, other: "Where") -> bool:
        """Whether one call could certainly meet both."""
        if self.values is None or other.values is None:
            return self.predicate is not None and self.predicate is other.predicate
        shared = self.values.keys() & other.values.keys()
        return all(self.values[name] == other.values[name] for name in shared)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A function, the signature that it serves, and the calls for which it does.

    `wants` are the names that the function takes by keyword; a `trusted` one is the package's own,
    whose results are well-formed.
    """

    function: Callable[..., Any]
    signature: Signature | None
    where: Where | None = None
    backend: str | None = None
    wants: tuple[str, ...] = ()
    trusted: bool = False

    @property
    def name(self) -> str:
        """The function's name."""
        return name_of(self.function)

    def serves(self, backend: str | None, given: Mapping[str, Any]) -> bool:
        """Whether the rule is for a call on `backend` with these parameters and numbers."""
        if self.backend is not None and self.backend != backend:
            return False
        return self.where is None or self.where.holds(given)

    def takes(self, inputs: Known) -> bool:
        """Whether each of the storages `inputs` is the one named, or sparse where dense is."""
        named = self.signature.expand(len(inputs))
        return all(
            have == name or (name == "dense" and have != SCALAR)
            for have, name in zip(inputs, named, strict=True)
        )

    def clashes(self, other: "Rule") -> bool:
        """Whether no call could tell the two rules apart."""
        if self.backend != other.backend or (self.signature is None) != (other.signature is None):
            return False
        if self.signature is not None and self.signature.slots != other.signature.slots:
            return False
        return self.where is None or other.where is None or self.where.overlaps(other.where)

    def __str__(self) -> str:
        text = str(self.signature) if self.signature else "any storages"
        if self.where:
            text += f"    where {self.where.text}"
        return text + (f"    on {self.backend}" if self.backend else "")


def choose(
    rules: Iterable[Rule],
    known: Known,
    num_inputs: int,
    same: Sequence[Sequence[int]] = (),
) -> tuple[Rule, Known] | None:
    """The preferred rule for a partial assignment, and the assignment filled by it.

    `known` has a storage type, "undefined" or (for inputs) "scalar" for each slot, inputs before
    results; `same` lists the slots of each undefined array that stands in several. The answer is
    None where no rule fits.

    A rule fits where each defined input has the storage named, or is sparse where dense is named.
    Preferred is the one with the fewest input casts; of these, the one that differs from the fewest
    declared results; of these, the one that is dense in the earliest undefined slots; of these, the
    one written for the backend; of these, the first. O(rules x slots).
    """
    best = preference = None
    for position, rule in enumerate(rules):
        named = rule.signature.expand(num_inputs) + rule.signature.outputs
        filled = _fill(known, named, same)
        if filled is None:
            continue
        casts = missed = 0
        for slot, (have, name) in enumerate(zip(filled, named, strict=True)):
            if have == name:
                continue
            if slot >= num_inputs:
                missed += 1
            elif name == "dense" and have != SCALAR:
                casts += 1
            else:
                break
        else:
            not_dense = [
                have != "dense"
                for have, before in zip(filled, known, strict=True)
                if before == UNDEFINED
            ]
            key = (casts, missed, not_dense, rule.backend is None, position)
            if preference is None or key < preference:
                best, preference = (rule, filled), key
    return best


def _fill(known: Known, named: Known, same: Sequence[Sequence[int]]) -> Known | None:
    """`known` with its undefined slots as `named`; None where a number is named for an array."""
    filled = [name if have == UNDEFINED else have for have, name in zip(known, named, strict=True)]
    for slots in same:
        sparse = {named[slot] for slot in slots} - {"dense"}
        if len(sparse) > 1:
            return None
        for slot in slots:
            filled[slot] = min(sparse, default="dense")
    for have, fill in zip(known, filled, strict=True):
        if have == UNDEFINED and fill == SCALAR:
            return None
    return tuple(filled)


def choose_gradient(
    rules: Iterable[Rule], inputs: Known, ask: str | None
) -> tuple[Rule, Known] | None:
    """The gradient rule for calls with the storages `inputs`, and the storages that it takes.

    Preferred is the one with the fewest input casts; of these, the one whose storage is the one
    asked for; of these, the first. None where no rule fits.
    """
    best = preference = None
    for position, rule in enumerate(rules):
        named = rule.signature.expand(len(inputs))
        if rule.takes(inputs):
            casts = sum(h != n for h, n in zip(inputs, named, strict=True))
            key = (casts, ask is not None and rule.signature.outputs[0] != ask, position)
            if preference is None or key < preference:
                best, preference = (rule, named), key
    return best


def table(rules: Iterable[Rule]) -> str:
    """The signatures of `rules`, one a line, for people."""
    lines = [f"  {rule}" for rule in rules]
    return "\n".join(lines) or "  none"


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, list) else value


def _join(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"
