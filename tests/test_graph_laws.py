"""The laws of inference over whole programs, on random ones."""

import numpy as np
import pytest
from graphs import BINARY, STYPES, law, programs
from hypothesis import strategies as st

import sparseops as so

pytestmark = pytest.mark.filterwarnings("ignore::sparseops.FallbackWarning")


def storages(graph):
    return {value.name: graph.spec(value).stype for value in graph.program.values}


def signatures(graph):
    return [step.plan.rule for step in graph.assignment.steps]


@law(programs(), st.data())
def test_declared_values_are_kept(drawn, data):
    graph = so.trace(drawn.function)(*drawn.specs)
    for name, spec in zip(graph.inputs, drawn.specs, strict=True):
        assert spec.stype in ("undefined", graph.inputs[name].stype)
    name = data.draw(st.sampled_from(sorted(storages(graph))))
    declared = {v.name: call.declared[0] for call in graph.calls for v in call.results}
    stype = data.draw(st.sampled_from(STYPES))
    if declared.get(name, "undefined") in ("undefined", stype):
        assert storages(graph.infer(**{name: stype}))[name] == stype


@law(programs())
def test_inference_is_idempotent(drawn):
    graph = so.trace(drawn.function)(*drawn.specs)
    again = graph.infer()
    assert storages(again) == storages(graph)
    assert signatures(again) == signatures(graph)


@law(programs(), st.data())
def test_declaring_what_is_inferred_changes_nothing(drawn, data):
    graph = so.trace(drawn.function)(*drawn.specs)
    found = storages(graph)
    some = data.draw(st.sets(st.sampled_from(sorted(found))))
    for names in (some, set(found)):
        stable = graph.infer(**{name: found[name] for name in names})
        assert storages(stable) == found
        assert signatures(stable) == signatures(graph)


@law(st.sampled_from(BINARY), st.data())
def test_a_graph_of_one_call_is_the_call(operator, data):
    some = st.sampled_from((*STYPES, "undefined"))
    a, b = (so.Spec((3, 3), float, data.draw(some)) for _ in range(2))
    declared = data.draw(st.sampled_from((None, *STYPES)))
    graph = so.trace(lambda a, b: operator(a, b, stype=declared))(a, b)
    assert graph.outputs == [operator.infer(a, b, outputs=declared)]


@law(programs())
def test_a_run_is_eager_execution_on_the_inferred_inputs(drawn):
    graph = so.trace(drawn.function)(*drawn.specs)
    arrays = drawn.arrays([spec.stype for spec in graph.inputs.values()])
    with so.fallback("allow") as expected_records:
        expected = drawn.function(*arrays)
    with so.fallback("allow") as records:
        found = graph.run(*arrays)
    assert [x.spec for x in found] == [x.spec for x in expected] == graph.outputs
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x.asnumpy(), y.asnumpy())
    plain = [(r.operator, r.stypes, r.reason, r.bytes_sparse, r.bytes_dense) for r in records]
    assert plain == [
        (r.operator, r.stypes, r.reason, r.bytes_sparse, r.bytes_dense) for r in expected_records
    ]


@law(programs(stypes=STYPES), st.randoms(use_true_random=False))
def test_order_and_dead_calls_do_not_count_with_declared_inputs(drawn, random):
    graph = so.trace(drawn.function)(*drawn.specs)
    shuffled = _reordered(drawn, random, dead=True)
    pruned = _reordered(drawn, random, dead=False)
    for other in (shuffled, pruned):
        assert so.trace(other.function)(*other.specs).outputs == graph.outputs


def _reordered(drawn, random, dead):
    """The same calls in another topological order, without dead ones unless `dead`."""
    first = len(drawn.stypes)
    needed = set(drawn.outputs)
    for at in range(first + len(drawn.lines) - 1, first - 1, -1):
        if at in needed:
            needed.update(drawn.lines[at - first].args)
    left = [at + first for at in range(len(drawn.lines)) if dead or at + first in needed]
    places = {at: at for at in range(first)}
    lines = []
    while left:
        ready = [at for at in left if all(a in places for a in drawn.lines[at - first].args)]
        at = random.choice(ready)
        left.remove(at)
        line = drawn.lines[at - first]
        places[at] = first + len(lines)
        lines.append(line._replace(args=tuple(places[a] for a in line.args)))
    return drawn._replace(lines=tuple(lines), outputs=tuple(places[at] for at in drawn.outputs))


@law(programs(stypes=STYPES, most=6), st.sampled_from((None, *STYPES)))
def test_tape_and_graph_agree_on_gradients(drawn, ask):
    def loss(*inputs):
        return so.sum(drawn.function(*inputs)[0])

    arrays = drawn.arrays()
    graph = so.trace(loss)(*drawn.specs).gradient(range(len(arrays)), stypes=ask)
    with so.fallback("allow") as tape_records:
        with so.Tape() as tape:
            y = loss(*arrays)
        expected = tape.gradient(y, arrays, stypes=ask)
    with so.fallback("allow") as records:
        found = graph.run(*arrays)
    assert graph.outputs == [x.spec for x in expected] == [x.spec for x in found]
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x.asnumpy(), y.asnumpy())
    needed = [_key(record) for record in tape_records]
    assert all(needed.count(_key(r)) >= 1 for r in records)


def _key(record):
    return record.operator, record.stypes, record.reason, record.bytes_dense


@law(programs(stypes=STYPES), st.integers(2, 4))
def test_several_workers_give_what_one_gives(drawn, workers):
    graph = so.trace(drawn.function)(*drawn.specs)
    arrays = drawn.arrays()
    with so.fallback("allow"):
        expected, found = graph.run(*arrays), graph.run(*arrays, workers=workers)
    for x, y in zip(found, expected, strict=True):
        assert x.spec == y.spec
        np.testing.assert_array_equal(x.asnumpy(), y.asnumpy())


@law(programs(), st.data())
def test_asking_for_gradients_changes_no_forward_storage(drawn, data):
    graph = so.trace(drawn.function)(*drawn.specs)
    before = storages(graph), signatures(graph)
    graph.gradient(0, stypes=data.draw(st.sampled_from((None, *STYPES))))
    assert (storages(graph), signatures(graph)) == before
