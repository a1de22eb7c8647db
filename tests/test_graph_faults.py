"""Each law of graphs is seen to fail on a fault that is planted for it."""

import pytest
import test_graph_laws as laws

from sparseops import graph as graphs
from sparseops.backpropagation import Walker
from sparseops.execution import Execution, _Readers, _Threads
from sparseops.form import form_of
from sparseops.program import Assignment, Node
from sparseops.settling import Settler
from sparseops.tracing import Tracer

pytestmark = pytest.mark.filterwarnings("ignore::sparseops.FallbackWarning")


def ignore_what_is_declared(monkeypatch):
    monkeypatch.setattr(Node, "declared_with", lambda node, wanted: node.declared)


def be_dense_the_second_time(monkeypatch):
    seen, add = set(), Assignment.add_node

    def add_node(assignment, node, declared):
        known = id(node) in seen
        seen.add(id(node))
        return add(assignment, node, ("dense",) * len(declared) if known else declared)

    monkeypatch.setattr(Assignment, "add_node", add_node)


def look_whether_anything_is_declared(monkeypatch):
    find = Node.declared_with

    def declared_with(node, wanted):
        found = find(node, wanted)
        return ("dense",) * len(found) if wanted and set(found) == {"undefined"} else found

    monkeypatch.setattr(Node, "declared_with", declared_with)


def forget_the_declared_result(monkeypatch):
    call = Tracer.call
    monkeypatch.setattr(
        Tracer,
        "call",
        lambda tracer, operator, args, stype=None, *rest, **more: call(
            tracer, operator, args, stype if operator.needs_stype else None, *rest, **more
        ),
    )


def settle_each_operator_once(monkeypatch):
    settle, known = Settler.settle, {}

    def settle_once(settler, operator, *rest):
        return known.setdefault((id(settler), operator), settle(settler, operator, *rest))

    monkeypatch.setattr(Settler, "settle", settle_once)


def free_values_before_their_last_reader(monkeypatch):
    def done(readers, node, run):
        for value in node.values:
            run.values.pop(value.number, None)

    monkeypatch.setattr(_Readers, "done", done)


def give_the_first_argument_twice(monkeypatch):
    call = Execution.call

    def wrong(run, index):
        node = run._nodes[index]
        right = node.args
        if len(right) == 2:
            node.args = (right[0], right[0])
        try:
            return call(run, index)
        finally:
            node.args = right

    monkeypatch.setattr(Execution, "call", wrong)


def treat_second_calls_otherwise(monkeypatch):
    add = Assignment.add_node

    def add_node(assignment, node, declared):
        if len(assignment.steps) == 1 and set(declared) == {"undefined"}:
            declared = ("dense",) * len(declared)
        return add(assignment, node, declared)

    monkeypatch.setattr(Assignment, "add_node", add_node)


def keep_the_last_gradient_alone(monkeypatch):
    def accumulate(walker, token, term):
        walker.found[token] = term

    monkeypatch.setattr(Walker, "accumulate", accumulate)


def leave_asks_unmet(monkeypatch):
    finished = Walker.finished
    monkeypatch.setattr(
        Walker, "finished", lambda walker, source, ask: finished(walker, source, None)
    )


def wait_for_nobody(monkeypatch):
    make = _Threads.__init__

    def init(threads, *args):
        make(threads, *args)
        threads.waiting = [0] * len(threads.nodes)

    monkeypatch.setattr(_Threads, "__init__", init)


def let_gradients_settle_the_function(monkeypatch):
    differentiate = graphs.differentiate

    def changing(program, assignment, *rest):
        for number, form in assignment.forms.items():
            assignment.forms[number] = form_of(form.spec.with_stype("dense"), form.backend)
        return differentiate(program, assignment, *rest)

    monkeypatch.setattr(graphs, "differentiate", changing)


FAULTS = {
    ignore_what_is_declared: laws.test_declared_values_are_kept,
    be_dense_the_second_time: laws.test_inference_is_idempotent,
    look_whether_anything_is_declared: laws.test_declaring_what_is_inferred_changes_nothing,
    forget_the_declared_result: laws.test_a_graph_of_one_call_is_the_call,
    settle_each_operator_once: laws.test_a_run_is_eager_execution_on_the_inferred_inputs,
    free_values_before_their_last_reader: laws.test_a_run_is_eager_execution_on_the_inferred_inputs,
    give_the_first_argument_twice: laws.test_a_run_is_eager_execution_on_the_inferred_inputs,
    treat_second_calls_otherwise: laws.test_order_and_dead_calls_do_not_count_with_declared_inputs,
    keep_the_last_gradient_alone: laws.test_tape_and_graph_agree_on_gradients,
    leave_asks_unmet: laws.test_tape_and_graph_agree_on_gradients,
    wait_for_nobody: laws.test_several_workers_give_what_one_gives,
    let_gradients_settle_the_function: laws.test_asking_for_gradients_changes_no_forward_storage,
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_breaks_its_law(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(Exception):  # noqa: B017  a law that is broken may also end in an error
        FAULTS[fault].tried()


@pytest.mark.parametrize("law", dict.fromkeys(FAULTS.values()), ids=lambda law: law.__name__)
def test_without_a_fault_the_same_search_finds_nothing(law):
    law.tried()


def test_every_law_has_a_fault():
    named = {law for name, law in vars(laws).items() if name.startswith("test_")}
    assert named == set(FAULTS.values())
