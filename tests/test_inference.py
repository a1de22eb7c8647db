"""The laws of storage inference, over every partial assignment of drawn and registered tables."""

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inference_reference import STORAGES, UNDEFINED, chosen, dense_copies
from user_operators import SHAPE, Row, operator_of, restore_registry

import sparseops as so
from sparseops.registry import operators

registry = pytest.fixture(autouse=True)(restore_registry)

ANY = (UNDEFINED, *STORAGES)
REGISTERED = sorted(operators)
few = settings(max_examples=40, deadline=None)


# Drawn tables, against the text of the rule


def zero(a):
    """The number a is zero."""
    return a == 0


BACKENDS = ("scipy", "cupyx")
CONDITIONS = (None, {"flag": True}, {"flag": False}, zero)


@st.composite
def tables(draw, *, most_inputs=4, numbers=True, conditions=CONDITIONS):
    """Rows without two that no call tells apart; a number may stand in the first slot."""
    variadic = draw(st.booleans())
    num_inputs = draw(st.integers(1, most_inputs))
    num_outputs = draw(st.integers(1, 2 if num_inputs < 4 else 1))
    first = (*STORAGES, "scalar") if numbers and not (variadic and num_inputs == 1) else STORAGES
    slots = [first, *[STORAGES] * (num_inputs - 1)]
    rows = st.builds(
        Row,
        st.tuples(*map(st.sampled_from, slots)),
        st.tuples(*[st.sampled_from(STORAGES)] * num_outputs),
        st.sampled_from(conditions),
        st.sampled_from((None, None, "scipy")),
        st.just(variadic),
    )
    # One condition for each signature and backend: no two overlap.
    drawn = draw(
        st.lists(rows, min_size=1, max_size=8, unique_by=lambda r: (r.inputs, r.outputs, r.backend))
    )
    if draw(st.booleans()) and not any(set(r.inputs + r.outputs) == {"dense"} for r in drawn):
        drawn.append(Row(("dense",) * num_inputs, ("dense",) * num_outputs, variadic=variadic))
    return drawn


def serving(rows, backend, flag, number):
    """The rows for calls on `backend` with this parameter, and this number in the first slot."""
    for row in rows:
        fits = row.where is None or (
            number == 0 if row.where is zero else row.where["flag"] == flag
        )
        if fits and row.backend in (None, backend):
            yield row


def infer(op, known, **context):
    """The rule and the filled assignment, or None where nothing fits; nothing else is raised."""
    try:
        return op.choose(known, **context)
    except so.StorageError as error:
        assert error.operator == op.__name__
        assert error.declared == known
        assert error.available == tuple(str(rule) for rule in op.kernels)
        assert error.slot in (*op.inputs, None)
        assert all(line in str(error) for line in (op.__name__, *error.available))
        assert all(stype in str(error) for stype in known)
        return None


def table_by_infer(op, domain, **context):
    """What is inferred for every assignment; in any order, the same."""
    assignments = list(product(*domain))
    found = {known: infer(op, known, **context) for known in assignments}
    shuffled = random.Random(0).sample(assignments, len(assignments))
    for order in (assignments[::-1], shuffled):
        assert {known: infer(op, known, **context) for known in order} == found
    return found


def check_laws(found, num_inputs, all_dense):
    """The laws that need only what is inferred for every assignment."""
    for known, answer in found.items():
        if answer is None:
            assert not all_dense or "scalar" in known, "an all-dense signature never raises"
            assert all(found[more] is None for _, _, more in declared_one_more(known, found))
            continue
        _, filled = answer
        assert UNDEFINED not in filled, "complete"
        assert all(k in (UNDEFINED, f) for k, f in zip(known, filled, strict=True)), "keeps"
        assert found[filled] == answer, "idempotent"
        for slot, stype, more in declared_one_more(known, found):
            if stype == filled[slot]:
                assert found[more] == answer, "stable"
            if slot >= num_inputs:
                assert found[more] is not None, "a declared result never makes a call raise"
        if set(known) == {UNDEFINED} and all_dense:
            assert set(filled) == {"dense"}, "all undefined gives all dense"


def declared_one_more(known, found):
    """`known` with one undefined slot declared: slot, storage, assignment."""
    for slot, stype in product(range(len(known)), STORAGES):
        more = (*known[:slot], stype, *known[slot + 1 :])
        if known[slot] == UNDEFINED and more in found:
            yield slot, stype, more


@few
@given(tables(), st.booleans(), st.sampled_from((None, 0.0, 2.0)), st.data())
def test_a_drawn_table_is_inferred_as_the_rule_is_worded(rows, flag, number, data):
    op, backend = operator_of(rows, params={"flag": False}), data.draw(st.sampled_from(BACKENDS))
    count, outputs = len(rows[0].inputs), len(rows[0].outputs)
    if rows[0].variadic:
        count += data.draw(st.integers(-1, min(1, 4 - count)))
    slots = [ANY] * (count + outputs)
    if count and number is not None:
        slots[0] = ("scalar",)
    numbers = () if number is None else (number,)
    context = {"params": {"flag": flag}, "numbers": numbers, "backend": backend}
    found = table_by_infer(op, slots, **context)
    mine = list(serving(rows, backend, flag, number))
    for known, answer in found.items():
        expected = chosen(mine, known, count)
        assert (answer and answer[1]) == (expected and expected[1])
        assert answer is None or op.kernels.index(answer[0]) == rows.index(expected[0])
    check_laws(found, count, any(set(row.expand(count)) <= {"dense"} for row in mine))


@few
@given(tables(conditions=(None,), most_inputs=3), st.data())
def test_an_undefined_array_in_several_slots_gets_one_storage(rows, data):
    op, count = operator_of(rows), len(rows[0].inputs) + 2 * rows[0].variadic
    if count < 2:
        return
    pairs = st.lists(st.integers(0, count - 1), min_size=2, max_size=3, unique=True)
    shared = [sorted(data.draw(pairs))]
    rest = [slot for slot in range(count) if slot not in shared[0]]
    if len(rest) >= 2 and data.draw(st.booleans()):
        shared.append(rest[:2])
    together = {slot for slots in shared for slot in slots}
    domain = [(UNDEFINED,) if slot in together else ANY for slot in range(count)]
    mine = list(serving(rows, "scipy", False, None))
    for known in product(*domain, *[ANY] * len(rows[0].outputs)):
        answer = infer(op, known, same=shared, backend="scipy")
        expected = chosen(mine, known, count, shared)
        assert (answer and answer[1]) == (expected and expected[1])
        for slots in shared if answer else ():
            assert len({answer[1][slot] for slot in slots}) == 1
            assert infer(op, answer[1], backend="scipy") == answer


@few
@given(tables(numbers=False, most_inputs=2, conditions=(None,)))
def test_calls_give_what_is_inferred_and_record_a_fallback_exactly_where_dense_is_named(rows):
    op, count, outputs = operator_of(rows), len(rows[0].inputs), len(rows[0].outputs)
    arrays = {stype: so.zeros(SHAPE, stype=stype) for stype in STORAGES}
    specs = {stype: so.Spec(SHAPE, float, stype) for stype in STORAGES}
    for known in product(*[STORAGES] * count, *[ANY] * outputs):
        expected = chosen(rows, known, count)
        inputs, declared = known[:count], known[count:]
        with so.fallback("allow") as records:
            try:
                results = op(*[arrays[s] for s in inputs], stype=declared)
            except so.StorageError:
                assert expected is None
                continue
        row, filled = expected
        results = results if outputs > 1 else (results,)
        assert tuple(x.stype for x in results) == filled[count:]
        inferred = op.infer(*[specs[s] for s in inputs], outputs=declared)
        assert (inferred if outputs > 1 else (inferred,)) == tuple(x.spec for x in results)
        copies = dense_copies(row, filled, count)
        assert [r.bytes_dense for r in records] == [copies * 6 * 8] * (copies > 0)
        assert all(r.operator == "drawn" and r.stypes == filled for r in records)


# Registered operators


def parameters_of(op):
    """Parameters that reach every condition written as a mapping."""
    plain = {n: v for n, v in op.defaults.items() if v is not op.__signature__.empty}
    yield plain
    for rule in op.kernels:
        if rule.where is not None and rule.where.values is not None:
            names = rule.where.values.keys() & op.defaults.keys()
            yield plain | {n: rule.where.values[n] for n in names}


@pytest.mark.parametrize("name", REGISTERED)
def test_the_laws_hold_for_every_registered_operator(name):
    op = operators[name]
    if op._storage_function is not None:
        pytest.skip("its storages are inferred by a function")
    for params, more in product(parameters_of(op), range(3) if op.variadic else (1,)):
        count = len(op.inputs) + more - 1
        given = op.given((), params)
        rows = [
            Row(
                rule.signature.inputs,
                rule.signature.outputs,
                rule.where,
                rule.backend,
                rule.signature.variadic,
            )
            for rule in op.kernels
            if rule.serves("scipy", given)
        ]
        context = {"params": params, "backend": "scipy"}
        found = table_by_infer(op, [ANY] * (count + len(op.outputs)), **context)
        for known, answer in found.items():
            expected = chosen(rows, known, count)
            assert (answer and answer[1]) == (expected and expected[1])
        check_laws(found, count, any(set(row.expand(count)) <= {"dense"} for row in rows))
