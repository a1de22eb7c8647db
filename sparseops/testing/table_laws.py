"""Laws of storage inference, by trying every partial assignment; no random inputs are needed."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from sparseops.errors import StorageError
from sparseops.operators import Operator
from sparseops.signature import SCALAR, choose_gradient
from sparseops.spec import STORAGES, UNDEFINED
from sparseops.testing.law import TABLE, Breach, law
from sparseops.testing.oracle import describe
from sparseops.testing.table import Known, Table


def _table_law(id: str, title: str, why: str) -> Any:
    return law(id, title, why, TABLE)


@_table_law("I1", "inference answers or raises StorageError", "a combination was forgotten")
def _total(table: Table) -> Breach | None:
    for known, answer in table.answers.items():
        if answer.error is not None and not isinstance(answer.error, StorageError):
            return _breach(table, known, f"raises {describe(answer.error)}")
    return None


@_table_law("I2", "answers name every storage", "the function returns before all slots are filled")
def _complete(table: Table) -> Breach | None:
    for known, answer in table.answers.items():
        filled = answer.filled or known
        wrong = [s for s in filled if s not in (*STORAGES, SCALAR, UNDEFINED)]
        if len(filled) != len(known):
            return _breach(table, known, f"{len(filled)} storages for {len(known)} slots")
        if wrong:
            return _breach(table, known, f"{wrong[0]!r} is not a storage type")
        if UNDEFINED in filled and UNDEFINED not in known:
            return _breach(table, known, f"{filled} leaves open what was known")
    return None


@_table_law("I3", "what is declared stays", "a declared slot is overwritten by the usual answer")
def _preserves(table: Table) -> Breach | None:
    for known, filled in _answered(table):
        if not _below(known, filled):
            return _breach(table, known, f"becomes {table.text(filled)}")
    return None


@_table_law("I4", "the answer to an answer is itself", "a second pass sees other storages")
def _idempotent(table: Table) -> Breach | None:
    for known, filled in _answered(table):
        again = table.ask(_dense_where_open(filled))
        if again.outcome != _dense_where_open(filled):
            return _breach(table, known, f"gives {filled}, and that gives {again.outcome}")
    return None


@_table_law(
    "I5",
    "declaring what would be inferred changes nothing, not even the signature",
    "the code asks whether a slot was declared instead of what it is",
)
def _stable(table: Table) -> Breach | None:
    for known, filled in _answered(table):
        rule = table.answers[known].rule
        for slot, have in enumerate(known):
            if have != UNDEFINED or filled[slot] == UNDEFINED or not _below(known, filled):
                continue
            declared = (*known[:slot], filled[slot], *known[slot + 1 :])
            other = table.answers.get(declared)
            if other is None:
                continue
            if other.outcome != filled:
                return _breach(table, declared, f"gives {other.outcome}; undeclared, {filled}")
            if other.rule is not rule:
                return _breach(table, declared, f"takes '{other.rule}'; undeclared, '{rule}'")
    return None


@_table_law(
    "I6",
    "what conflicts stays in conflict, and what is answered does not begin to",
    "a conflict is passed over once more is declared",
)
def _monotone(table: Table) -> Breach | None:
    for known, answer in table.answers.items():
        for slot, have in enumerate(known):
            if have != UNDEFINED:
                continue
            for stype in STORAGES:
                more = table.answers.get((*known[:slot], stype, *known[slot + 1 :]))
                if more is None:
                    continue
                if isinstance(answer.error, StorageError) and more.error is None:
                    return _breach(
                        table, known, f"conflicts, but with {table.names[slot]}={stype} not"
                    )
                agrees = answer.error is None and answer.filled[slot : slot + 1] == (stype,)
                if agrees and isinstance(more.error, StorageError):
                    text = (
                        f"gives {answer.filled}, but declaring {table.names[slot]}={stype} raises"
                    )
                    return _breach(table, known, text)
    return None


@_table_law("I7", "nothing known means dense", "a sparse storage is the default")
def _default(table: Table) -> Breach | None:
    open_slots = tuple(SCALAR if n is not None else UNDEFINED for n in table.numbers)
    nothing = (*open_slots, *(UNDEFINED,) * (len(table.names) - table.count))
    dense = tuple("dense" if s == UNDEFINED else s for s in nothing)
    answer, possible = table.answers.get(nothing), table.answers.get(dense)
    if answer is None or answer.error or possible is None or possible.error:
        return None
    if len(answer.filled) != len(nothing):
        return None
    if _dense_where_open(answer.filled) != dense and _serves(table, possible, dense):
        return _breach(table, nothing, f"gives {table.text(answer.filled)}")
    return None


@_table_law(
    "I8",
    "a conflict says which slot, what it is and what there is",
    "the exception is raised by hand, with words alone",
)
def _conflict_text(table: Table) -> Breach | None:
    for known, answer in table.answers.items():
        error = answer.error
        if not isinstance(error, StorageError):
            continue
        text = str(error)
        named = [name for name in table.names if re.search(rf"\b{re.escape(name)}\b", text)]
        slot = error.slot in table.names or error.slot in _inputs(table) or named
        if not slot or not any(stype in text for stype in STORAGES):
            return _breach(table, known, f"says only: {text.partition(chr(10))[0]}")
    return None


@_table_law("I9", "the order of questions does not matter", "something is remembered between calls")
def _deterministic(table: Table) -> Breach | None:
    first = {known: answer.outcome for known, answer in table.answers.items()}
    for order in (reversed(first), first):
        second = {known: table.ask(known).outcome for known in order}
        for known, outcome in first.items():
            if second[known] != outcome:
                return _breach(table, known, f"gives {outcome} and then {second[known]}")
    return None


@_table_law(
    "I12",
    "wherever the operator runs, each gradient that is declared can be had",
    "a gradient is declared for some storages only",
)
def _gradients(table: Table) -> Breach | None:
    op = table.operator
    if not isinstance(op, Operator):
        return None
    for known, answer in table.answers.items():
        if answer.error is not None or UNDEFINED in known[: table.count]:
            continue
        stypes = known[: table.count]
        if answer.rule is not None and answer.rule.signature is not None:
            stypes = answer.rule.signature.expand(table.count)
        for wrt, rules in op.gradients.items():
            given = op.given(table.numbers, {**op.defaults, **table.params})
            serving = [rule for rule in rules if rule.serves(None, given)]
            slot = op.inputs.index(wrt)
            if SCALAR in stypes[slot : slot + 1]:
                continue
            if serving and choose_gradient(serving, stypes, None) is None:
                return _breach(table, known, f"has no gradient by {wrt}, though others have")
    return None


@_table_law(
    "I16",
    "every signature can be chosen",
    "an earlier signature with the same storages, and a condition that covers this one's, wins",
)
def _reachable(table: Table) -> Breach | None:
    return None  # over all forms of call together, by `unreachable`


def unreachable(found: Sequence[Table]) -> Iterator[str]:
    """The signatures that no call chooses, though some call is of the kind that they serve."""
    if not found or not isinstance(found[0].operator, Operator):
        return
    op, backend = found[0].operator, None
    chosen = {answer.rule for table in found for answer in table.answers.values()}
    for rule in op.kernels:
        if rule in chosen or rule.signature is None:
            continue
        calls = [table for table in found if _served(rule, table)]
        if calls and rule.backend in (backend, "scipy"):
            yield str(rule)
    asks = (None, *STORAGES)
    for wrt, rules in op.gradients.items():
        taken = set()
        for table in found:
            serving = [rule for rule in rules if _served(rule, table)]
            for known in {known[: table.count] for known in table.answers}:
                if UNDEFINED in known:
                    continue
                answers = (choose_gradient(serving, known, ask) for ask in asks)
                taken |= {answer[0] for answer in answers if answer is not None}
        for rule in rules:
            if rule not in taken and any(_served(rule, table) for table in found):
                yield f"{rule} (gradient by {wrt})"


def _served(rule: Any, table: Table) -> bool:
    given = table.operator.given(table.numbers, {**table.operator.defaults, **table.params})
    try:
        return rule.serves("scipy", given)
    except Exception:
        return False


def _serves(table: Table, answer: Any, dense: Known) -> bool:
    """Whether the table has a dense result for dense inputs without a cast."""
    if answer.rule is None or answer.rule.signature is None:
        return True
    return answer.rule.signature.expand(table.count) + answer.rule.signature.outputs == dense


def _answered(table: Table) -> Iterator[tuple[Known, Known]]:
    for known, answer in table.answers.items():
        if answer.error is None and len(answer.filled) == len(known):
            yield known, answer.filled


def _below(known: Known, filled: Known) -> bool:
    return len(known) == len(filled) and all(
        have in (UNDEFINED, got) for have, got in zip(known, filled, strict=True)
    )


def _dense_where_open(filled: Known) -> Known:
    return tuple("dense" if stype == UNDEFINED else stype for stype in filled)


def _inputs(table: Table) -> Sequence[str]:
    return getattr(table.operator, "inputs", ())


def _breach(table: Table, known: Known, text: str) -> Breach:
    return Breach(f"({table.text(known)}) {text}", example=table.code(known))
