"""The tape: what it records, keeps and answers, and what it leaves alone."""

import contextlib
import gc
import threading
import weakref

import numpy as np
import pytest
from oracle import densify
from user_operators import SHAPE, dense_only, describing, doubling, restore_registry

import sparseops as so

registry = pytest.fixture(autouse=True)(restore_registry)

FLOATS = np.arange(1.0, 7.0).reshape(SHAPE)
ONES = np.ones(SHAPE)
SAME = "dense -> dense", "row_sparse -> row_sparse", "csr -> csr"
STORAGES = ("dense", "row_sparse", "csr")


def total(x):
    """The sum."""
    return (), x.dtype


@pytest.fixture
def summed():
    """A scalar: the sum of a dense array."""
    op = so.operator(total)
    op.forward("dense -> dense")(lambda backend, x: so.Dense(x.data.sum()))

    @op.backward("x", "dense -> dense")
    def rule(g, x_spec):
        return spread(g, shape=x_spec.shape)

    @so.operator
    def spread(x, *, shape):
        return shape, x.dtype

    @spread.forward("dense -> dense")
    def _spread(backend, x, *, shape):
        return so.Dense(np.full(shape, x.data))

    spread.backward("x", "dense -> dense")(lambda g: op(g))
    return op


@pytest.fixture
def squared():
    """A rule that keeps its input."""
    op = so.operator(describing("a", name="squared"))
    op.forward(*SAME)(lambda backend, a: a.with_data(a.data**2))

    @op.backward("a", *SAME)
    def rule(g, a):
        return times(doubling("doubled_a")(a), g)

    return op


def times(a, b):
    """A product of two arrays of one structure, differentiable by both."""
    op = so.operator(describing("ab", name="times"))
    pairs = [s.replace(" ->", f", {s.partition(' ')[0]} ->") for s in SAME]
    op.forward(*pairs)(lambda backend, a, b: a.with_data(a.data * b.data))
    op.backward("a", *pairs)(lambda g, b: op(g, b))
    op.backward("b", *pairs)(lambda g, a: op(g, a))
    return op(a, b)


@pytest.fixture
def exponential():
    """A rule that keeps its result."""
    op = so.operator(describing("a", name="exponential"))
    op.forward("dense -> dense")(lambda backend, a: so.Dense(np.exp(a.data)))
    op.backward("a", "dense -> dense")(lambda g, out: times(g, out))
    return op


# What gradient answers


@pytest.mark.parametrize("stype", STORAGES)
def test_a_gradient_lives_where_the_input_does(squared, stype):
    x = so.array(FLOATS).tostype(stype)
    with so.Tape() as tape:
        y = squared(x)
    g = tape.gradient(y, x, output_gradients=so.array(ONES))
    assert (g.stype, g.dtype, g.shape) == (stype, x.dtype, x.shape)
    np.testing.assert_array_equal(densify(g), 2 * FLOATS)


def test_the_answer_has_the_form_of_w(summed):
    x, w = so.array(FLOATS), so.array(FLOATS)
    for sources, form in ((x, so.NDArray), ([x], list), ((x, w), list), ([], list)):
        with so.Tape() as tape:
            y = summed(x)
        assert type(tape.gradient(y, sources)) is form


def test_only_a_scalar_has_a_gradient_without_output_gradients(squared, summed):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
        scalar = summed(y)
    np.testing.assert_array_equal(densify(tape.gradient(scalar, x)), 2 * FLOATS)
    with pytest.raises(so.GradientError, match=r"shape \(2, 3\).*output_gradients"):
        tape.gradient(y, x)


@pytest.mark.parametrize("head", (ONES, ONES.tolist(), ONES.astype(int), ONES.astype("f2")))
def test_output_gradients_may_be_constants_of_other_dtypes(squared, head):
    x = so.array(FLOATS)
    for given in (head, [so.array(head)], [head], (np.array(head),)):
        with so.Tape() as tape:
            y = squared(x)
        if isinstance(head, list) and given is head:
            given = np.array(head)
        g = tape.gradient(y, x, output_gradients=given)
        assert g.dtype == float
        np.testing.assert_array_equal(densify(g), 2 * FLOATS)


def test_wrong_output_gradients_are_refused_by_shape_count_and_dtype(squared):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
    with pytest.raises(so.ShapeError, match=r"\(3, 2\); y has \(2, 3\)"):
        tape.gradient(y, x, output_gradients=ONES.T)
    with pytest.raises(so.ShapeError):
        tape.gradient(y, x, output_gradients=1.0)
    with pytest.raises(so.GradientError, match="2 arrays; y has 1"):
        tape.gradient(y, x, output_gradients=[ONES, ONES])
    with pytest.raises(so.DTypeError):
        tape.gradient(y, x, output_gradients=ONES * 1j)


@pytest.mark.parametrize("ask", (None, *STORAGES))
def test_without_a_path_the_gradient_is_zero_in_the_storage_asked_for(squared, ask):
    x, other = so.array(FLOATS), so.zeros((4, 5), np.float32)
    with so.Tape() as tape:
        y = squared(x)
    g = tape.gradient(y, other, output_gradients=ONES, stypes=ask)
    assert (g.stype, g.shape, g.dtype) == (ask or "row_sparse", (4, 5), np.float32)
    assert g.nnz == (20 if ask == "dense" else 0)


def test_without_a_path_the_gradient_by_a_scalar_is_dense(squared):
    x, scalar = so.array(FLOATS), so.array(1.0)
    with so.Tape() as tape:
        y = squared(x)
    assert tape.gradient(y, scalar, output_gradients=ONES).spec == so.Spec((), float)


def test_the_gradient_of_an_array_by_itself_is_its_head(squared):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
    for z in (y, x):
        np.testing.assert_array_equal(densify(tape.gradient(z, z, output_gradients=FLOATS)), FLOATS)


def test_a_gradient_by_an_intermediate_result_and_by_its_source_come_together(squared, summed):
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = squared(x)
        z = summed(squared(y))
    by_y, by_x = tape.gradient(z, [y, x])
    np.testing.assert_array_equal(densify(by_y), 2 * FLOATS**2)
    np.testing.assert_array_equal(densify(by_x), 4 * FLOATS**3)


@pytest.mark.parametrize("stypes", ("csr", ["csr", "csr"], ("csr", "csr")))
def test_asks_are_one_name_or_one_for_each(squared, stypes):
    x, w = so.array(FLOATS), so.array(FLOATS)
    with so.Tape() as tape:
        y = squared(x)
    with so.fallback("allow"):
        found = tape.gradient(y, [x, w], output_gradients=ONES, stypes=stypes)
    assert [g.stype for g in found] == ["csr", "csr"]


def test_wrong_asks_are_refused(squared):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
    for wrong in ("coo", "undefined", "scalar", ["coo"]):
        with pytest.raises(so.StorageError, match="storage type"):
            tape.gradient(y, x, output_gradients=ONES, stypes=wrong)
    with pytest.raises(so.GradientError, match="2 storages; w has 1"):
        tape.gradient(y, x, output_gradients=ONES, stypes=["csr", "csr"])


@pytest.mark.parametrize("wrong", (None, 3.0, FLOATS, [FLOATS], "x"))
def test_what_is_no_array_has_no_gradient(squared, wrong):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
    for call in (lambda: tape.gradient(wrong, x), lambda: tape.gradient(y, wrong)):
        with pytest.raises(so.GradientError, match="NDArray"):
            call()


def test_integer_inputs_get_no_gradient_and_cut_the_path(summed):
    op = so.operator(describing("ab", name="chosen"))
    op.forward("dense, dense -> dense")(lambda backend, a, b: so.Dense(a.data * (b.data > 0)))
    op.backward("a", "dense, dense -> dense")(lambda g: g)
    x, ids = so.array(FLOATS), so.array(np.ones(SHAPE, int))
    with so.Tape() as tape:
        y = summed(op(x, ids))
    by_x, by_ids = tape.gradient(y, [x, ids])
    assert densify(by_x).all() and not densify(by_ids).any()
    with so.Tape() as tape:
        z = summed(op(x, x.astype(int)))
    np.testing.assert_array_equal(densify(tape.gradient(z, x)), ONES)


# Arrays that the tape does not know


def test_a_result_that_the_tape_did_not_compute_is_refused(squared, summed):
    x = so.array(FLOATS)
    before = squared(x)
    with so.Tape(persistent=True) as tape:
        with tape.pause():
            paused = squared(x)
        used = summed(before)
    after = squared(x)
    for y in (paused, after, before):
        with pytest.raises(so.GradientError, match="not computed"):
            tape.gradient(y, x, output_gradients=ONES)
    assert not densify(tape.gradient(used, x)).any(), "computed, without a path"


def test_several_results_are_all_known_or_refused(squared):
    x = so.array(FLOATS)
    unknown = squared(x)
    with so.Tape() as tape:
        y = squared(x)
    with pytest.raises(so.GradientError, match="not computed"):
        tape.gradient([y, unknown], x, output_gradients=[ONES, ONES])


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


# Fallbacks


def test_a_fallback_is_differentiated_as_casts_around_the_kernel():
    op = dense_only()
    for stype in ("row_sparse", "csr"):
        x = so.array(np.triu(FLOATS)[:, ::-1].copy()).tostype(stype)
        with so.fallback("allow"), so.Tape() as tape:
            y = op(x)
        g = tape.gradient(y, x, output_gradients=FLOATS)
        assert g.stype == stype and g.storage.indices.tolist() == x.storage.indices.tolist()


# Sums of several ways: from here on the operator `add` is needed


def test_uses_of_one_array_add_up(squared, summed):
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = summed(times(x, times(x, x)))
    np.testing.assert_array_equal(densify(tape.gradient(y, x)), 3 * FLOATS**2)


def test_several_targets_add_up(squared, summed):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y, z = summed(x), summed(squared(x))
    np.testing.assert_array_equal(densify(tape.gradient([y, z, y], x)), 2 + 2 * FLOATS)
    g = tape.gradient([y, z], [x], output_gradients=[3.0, np.float64(0)])
    np.testing.assert_array_equal(densify(g[0]), 3 * ONES)


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("old", STORAGES)
def test_into_adds_to_earlier_gradients_and_changes_none(squared, stype, old):
    x = so.array(FLOATS).tostype(stype)
    earlier = so.array(FLOATS * 10).tostype(old)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
    head = so.array(ONES).tostype(stype)
    with so.fallback("allow"):
        g = tape.gradient(y, x, output_gradients=head, into=earlier)
        (same,) = tape.gradient(y, [x], output_gradients=head, into=[earlier])
    for found in (g, same):
        np.testing.assert_array_equal(densify(found), 12 * FLOATS)
    np.testing.assert_array_equal(densify(earlier), 10 * FLOATS)
    assert earlier.version == 0 and (g.stype == stype or old != stype)


def test_into_has_a_gradient_for_each_of_w_in_its_shape(squared):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
    for wrong in ([], [x, x], so.array(1.0), so.zeros((5, 2, 3)), so.zeros((1, 3)), 3):
        with pytest.raises(so.SparseOpsError):
            tape.gradient(y, x, output_gradients=ONES, into=wrong)
