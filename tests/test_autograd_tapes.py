"""Tapes: spent, nested and paused, what they keep, and arrays that change under them."""

import contextlib
import gc
import threading
import weakref

import numpy as np
import pytest
import user_operators
from oracle import densify
from user_operators import SAME, SHAPE, describing, doubling, times

import sparseops as so

registry = pytest.fixture(autouse=True)(user_operators.restore_registry)

FLOATS = np.arange(1.0, 7.0).reshape(SHAPE)
ONES = np.ones(SHAPE)
STORAGES = ("dense", "row_sparse", "csr")

summed = pytest.fixture(user_operators.summing)
squared = pytest.fixture(user_operators.squaring)
exponential = pytest.fixture(user_operators.exponential)


# Spent, persistent, paused, nested


def test_a_tape_is_spent_after_one_gradient(squared):
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = squared(x)
    tape.gradient(y, x, output_gradients=ONES)
    assert tape.calls == []
    for again in (lambda: tape.gradient(y, x, output_gradients=ONES), tape.__enter__):
        with pytest.raises(so.GradientError, match="persistent=True"):
            again()


def test_a_persistent_tape_answers_again(squared):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
    for factor in (1, 2, 0):
        g = tape.gradient(y, x, output_gradients=ONES * factor)
        np.testing.assert_array_equal(densify(g), 2 * FLOATS * factor)


def test_a_tape_may_record_in_several_blocks(squared):
    x = so.array(FLOATS)
    tape = so.Tape()
    with tape:
        y = squared(x)
    with tape:
        z = squared(y)
    g = tape.gradient(z, x, output_gradients=ONES)
    np.testing.assert_array_equal(densify(g), 4 * FLOATS**3)


def test_a_tape_entered_twice_records_once(squared, summed):
    x = so.array(FLOATS)
    with so.Tape() as tape, tape:
        y = squared(x)
        z = summed(y)
    by_x, by_y = tape.gradient(z, [x, y])
    np.testing.assert_array_equal(densify(by_x), 2 * FLOATS)
    np.testing.assert_array_equal(densify(by_y), ONES)


def test_pause_pauses_its_tape_alone(squared):
    x = so.array(FLOATS)
    with so.Tape() as outer, so.Tape() as inner, inner.pause():
        y = squared(x)
    assert not inner.calls
    np.testing.assert_array_equal(densify(outer.gradient(y, x, output_gradients=ONES)), 2 * FLOATS)


def test_the_training_flag_is_that_of_the_innermost_tape():
    assert not so.is_training()
    with so.Tape(training=True):
        assert so.is_training()
        with so.Tape():
            assert not so.is_training()
        assert so.is_training()
    with pytest.raises(KeyError), so.Tape(training=True):
        raise KeyError
    assert not so.is_training()


def test_another_thread_records_on_no_tape_of_this_one(squared):
    x, found = so.array(FLOATS), []
    with so.Tape(training=True) as tape:
        thread = threading.Thread(target=lambda: found.append((squared(x), so.is_training())))
        thread.start()
        thread.join()
    assert tape.calls == [] and found[0][1] is False


def test_nested_tapes_give_higher_derivatives(squared, summed):
    x = so.array(FLOATS)
    with so.Tape() as third:
        with so.Tape() as second:
            with so.Tape() as first:
                y = summed(squared(squared(x)))
            by_x = first.gradient(y, x)
        by_xx = second.gradient(by_x, x, output_gradients=ONES)
    np.testing.assert_array_equal(densify(by_x), 4 * FLOATS**3)
    np.testing.assert_array_equal(densify(by_xx), 12 * FLOATS**2)
    by_xxx = third.gradient(by_xx, x, output_gradients=ONES)
    np.testing.assert_array_equal(densify(by_xxx), 24 * FLOATS)


def test_a_persistent_tape_differentiates_its_own_gradients(squared, summed):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = summed(squared(x))
        g = tape.gradient(y, x)
    np.testing.assert_array_equal(densify(tape.gradient(g, x, output_gradients=ONES)), 2 * ONES)


@pytest.mark.parametrize("stype", ("csr", "row_sparse"))
def test_the_second_derivative_by_a_sparse_array_is_as_sparse(squared, stype):
    x = so.array(FLOATS).tostype(stype)
    with so.Tape() as second:
        with so.Tape() as first:
            y = squared(x)
        g = first.gradient(y, x, output_gradients=so.array(ONES).tostype(stype))
    again = second.gradient(g, x, output_gradients=so.array(ONES).tostype(stype))
    assert again.stype == stype
    np.testing.assert_array_equal(densify(again), 2 * ONES)


# What is kept, and what may change


@pytest.mark.parametrize("stype", STORAGES)
def test_what_no_rule_names_is_not_kept(stype):
    op, x = doubling(), so.array(FLOATS).tostype(stype)
    with so.Tape() as tape:
        y = op(op(x))
    seen = weakref.ref(x), weakref.ref(x.storage.data)
    del x
    gc.collect()
    assert [r() for r in seen] == [None, None]
    assert len(tape.calls) == 2 and y.stype == stype


def test_a_rule_for_other_storages_keeps_nothing_of_these():
    op = so.operator(describing("a"))
    op.forward(*SAME)(lambda backend, a: a)
    op.backward("a", "dense -> dense")(lambda g: g)
    op.backward("a", "csr -> csr")(lambda g, a: so.sparse_mask(g, a))
    x = so.array(FLOATS)
    with so.Tape():
        op(x)
        seen = weakref.ref(x)
        del x
        assert seen() is None


def test_results_die_unless_a_rule_names_them(exponential):
    for op, dies in ((doubling(), True), (exponential, False)):
        with so.Tape() as tape:
            seen = weakref.ref(op(so.array(FLOATS)))
            assert (seen() is None) is dies
        assert tape.calls


def test_a_spent_tape_keeps_nothing(squared):
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = squared(x)
    tape.gradient(y, x, output_gradients=ONES)
    seen = weakref.ref(x)
    del x
    assert seen() is None


def test_a_saved_input_that_was_changed_is_detected(squared):
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = squared(x)
    x[...] = 7
    with pytest.raises(so.GradientError, match="a: .*changed in place") as caught:
        tape.gradient(y, x, output_gradients=ONES)
    assert (caught.value.operator, caught.value.slot) == ("squared", "a")


def test_a_saved_result_that_was_changed_is_detected(exponential, summed):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = exponential(x)
        z = summed(doubling()(y))
    y[...] = 0
    for target, head in ((z, None), (y, ONES)):
        with pytest.raises(so.GradientError, match="changed in place"):
            tape.gradient(target, x, output_gradients=head)


def test_a_change_of_what_no_rule_names_is_no_error():
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = doubling()(x)
    x[...] = 7
    np.testing.assert_array_equal(densify(tape.gradient(y, x, output_gradients=ONES)), 2 * ONES)


def test_a_result_changed_before_its_use_gives_no_wrong_gradient(summed):
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = doubling()(x)
        y[...] = 0
        z = summed(y)
    with pytest.raises(so.GradientError, match="changed in place"):
        tape.gradient(z, x)


def test_a_rule_sees_no_state_that_its_own_call_has_renewed():
    op = so.operator(describing("ab", name="normed"), mutates=("b",))
    op.forward("dense, dense -> dense")(
        lambda backend, a, b: (so.Dense(a.data * b.data), so.Dense(b.data + 1))
    )
    with contextlib.suppress(TypeError, so.GradientError):
        op.backward("a", "dense, dense -> dense")(lambda g, b: times(g, b))
        x, state = so.array(FLOATS), so.array(ONES * 3)
        with so.Tape() as tape:
            y = op(x, state)
        g = tape.gradient(y, x, output_gradients=ONES)
        np.testing.assert_array_equal(densify(g), ONES * 3)


@pytest.mark.parametrize("stype", STORAGES)
def test_a_gradient_that_fails_leaves_the_tape_as_it_was(squared, stype):
    x = so.array(FLOATS).tostype(stype)
    with so.Tape() as tape:
        y = squared(x)
    head = so.array(ONES).tostype(stype)
    for wrong in (
        lambda: tape.gradient(y, x),
        lambda: tape.gradient(y, x, output_gradients=ONES.T),
        lambda: tape.gradient(y, x, output_gradients=head, stypes="coo"),
        lambda: tape.gradient(y, x, output_gradients=head, into=[]),
    ):
        with pytest.raises(so.SparseOpsError):
            wrong()
    np.testing.assert_array_equal(densify(tape.gradient(y, x, output_gradients=head)), 2 * FLOATS)


# Functions


def test_grad_and_value_and_grad(squared, summed):
    value, gradient = so.value_and_grad(lambda x: summed(squared(x)))(FLOATS)
    assert float(value) == (FLOATS**2).sum()
    np.testing.assert_array_equal(densify(gradient), 2 * FLOATS)
    by_both = so.grad(lambda x, w: summed(times(x, w)), argnums=(1, 0))(FLOATS, ONES)
    np.testing.assert_array_equal(densify(by_both[0]), FLOATS)
    np.testing.assert_array_equal(densify(by_both[1]), ONES)


def test_grad_by_one_argument_leaves_the_same_array_in_another_alone(summed):
    x = so.array(FLOATS)
    product = lambda a, b: summed(times(a, b))  # noqa: E731
    np.testing.assert_array_equal(densify(so.grad(product)(x, x)), FLOATS)
    for g in so.grad(product, argnums=(0, 1))(x, x):
        np.testing.assert_array_equal(densify(g), FLOATS)
    np.testing.assert_array_equal(densify(so.grad(lambda a: product(a, x))(x)), FLOATS)


def test_grad_of_grad(squared, summed):
    first = so.grad(lambda x: summed(squared(squared(x))))
    second = so.grad(lambda x: summed(first(x)))
    np.testing.assert_array_equal(densify(second(FLOATS)), 12 * FLOATS**2)


def test_grad_within_a_tape_is_recorded_by_it(squared, summed):
    x = so.array(FLOATS)
    with so.Tape() as tape:
        g = so.grad(lambda v: summed(squared(v)))(x)
    np.testing.assert_array_equal(densify(tape.gradient(g, x, output_gradients=ONES)), 2 * ONES)


def test_a_function_that_gives_no_array_has_no_gradient():
    with pytest.raises(so.GradientError, match="float"):
        so.grad(lambda x: 3.0)(FLOATS)


def test_what_a_rule_writes_reaches_nobody_else():
    op = so.operator(describing("ab", name="spoiling"))
    op.forward("dense, dense -> dense")(lambda backend, a, b: so.Dense(a.data + b.data))

    @op.backward("a", "dense, dense -> dense")
    def by_a(g, a):
        g[...] = 0
        a[...] = 0
        return g

    op.backward("b", "dense, dense -> dense")(lambda g: g)
    a, b, head = so.array(FLOATS), so.array(FLOATS), so.array(ONES)
    with so.Tape() as tape:
        y = op(a, b)
    _, g = tape.gradient(y, [a, b], output_gradients=head)
    for x, expected in ((g, ONES), (head, ONES), (a, FLOATS)):
        np.testing.assert_array_equal(densify(x), expected)


def test_what_is_written_into_a_constant_reaches_no_tape(squared):
    w, constant = so.array(ONES), np.array(FLOATS)
    with so.Tape() as tape:
        y = so.multiply(w, constant)
    constant[...] = 100
    np.testing.assert_array_equal(densify(tape.gradient(y, w, output_gradients=ONES)), FLOATS)
