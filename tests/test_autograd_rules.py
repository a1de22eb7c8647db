"""Gradient rules: which is chosen, in which storage g arrives, and what a rule is given."""

from itertools import product

import numpy as np
import pytest
from oracle import densify
from user_operators import SHAPE, describing, restore_registry

import sparseops as so

registry = pytest.fixture(autouse=True)(restore_registry)

STORAGES = ("dense", "row_sparse", "csr")
SAME = tuple(f"{s} -> {s}" for s in STORAGES)
FLOATS = np.arange(1.0, 7.0).reshape(SHAPE)
ONES = np.ones(SHAPE)
HOLES = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]])


def ruled(*rules, forward=SAME, name="ruled"):
    """An identity with these gradient rules; `op.seen` has which ran, with what g."""
    op = so.operator(describing("a", name=name))
    op.seen = []
    op.forward(*forward)(lambda backend, a: a)

    def declare(text):
        wanted = text.split("->")[1].strip()

        @op.backward("a", text)
        def rule(g):
            op.seen.append((text, g.stype))
            return so.cast_storage(g, stype=wanted)

    for text in rules:
        declare(text)
    return op


def gradient(op, x, head, ask=None):
    with so.fallback("allow"), so.Tape() as tape:
        y = op(x)
    with so.fallback("allow") as records:
        g = tape.gradient(y, x, output_gradients=head, stypes=ask)
    return g, records


# The choice


def test_the_first_rule_serves_where_no_storage_is_asked_for():
    for first, second in (("row_sparse", "dense"), ("dense", "row_sparse")):
        op = ruled(f"dense -> {first}", f"dense -> {second}")
        g, _ = gradient(op, so.array(FLOATS), ONES)
        assert g.stype == first


@pytest.mark.parametrize("ask", STORAGES)
def test_the_rule_that_gives_what_is_asked_for_serves(ask):
    op = ruled("dense -> dense", "dense -> row_sparse", "dense -> csr")
    g, records = gradient(op, so.array(FLOATS), ONES, ask)
    assert g.stype == ask and op.seen == [(f"dense -> {ask}", "dense")]
    assert not records


def test_fewer_casts_of_inputs_go_before_the_storage_asked_for():
    op = ruled("dense -> row_sparse", "csr -> csr")
    g, records = gradient(op, so.array(FLOATS).tostype("csr"), so.array(ONES), "row_sparse")
    assert op.seen == [("csr -> csr", "csr")]
    assert g.stype == "row_sparse" and not records


@pytest.mark.parametrize("head", STORAGES)
@pytest.mark.parametrize("ask", (None, *STORAGES))
def test_the_g_that_arrives_never_chooses_the_rule(head, ask):
    rules = [f"{s}; dense -> {t}" for s, t in zip(("csr", "row_sparse"), STORAGES, strict=False)]
    op = ruled(*rules)
    gradient(op, so.array(FLOATS), so.array(ONES).tostype(head), ask)
    wanted = rules[1] if ask == "row_sparse" else rules[0]
    assert op.seen == [(wanted, wanted.partition(";")[0])]


def test_the_ask_for_a_result_is_what_the_call_that_made_it_wants():
    for wanted in ("row_sparse", "csr", "dense"):
        inner = ruled(f"{wanted}; dense -> dense", name="inner")
        outer = ruled("dense -> dense", "dense -> csr", "dense -> row_sparse", name="outer")
        x = so.array(FLOATS)
        with so.fallback("error"), so.Tape() as tape:
            z = outer(inner(x))
        with so.fallback("error"):
            tape.gradient(z, x, output_gradients=ONES)
        assert outer.seen == [(f"dense -> {wanted}", "dense")]
        assert inner.seen[0][1] == wanted


def test_the_ask_for_w_is_the_users_even_where_w_is_a_result():
    inner = ruled("csr; dense -> dense", name="inner")
    outer = ruled("dense -> dense", "dense -> csr", "dense -> row_sparse", name="outer")
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = inner(x)
        z = outer(y)
    by_y, by_x = tape.gradient(z, [y, x], output_gradients=ONES, stypes=["row_sparse", None])
    assert (by_y.stype, by_x.stype) == ("row_sparse", "dense")
    assert outer.seen == [("dense -> row_sparse", "dense")] and inner.seen[0][1] == "csr"


def test_a_condition_on_a_parameter_or_number_chooses_the_rule():
    op = so.operator(describing("ab", params={"axis": 0}))
    op.forward("dense, scalar -> dense")(lambda backend, a, b: a)
    seen = []

    def labeled(label):
        def rule(g):
            seen.append(label)
            return g

        return rule

    for label, where in (
        ("axis 1", {"axis": 1}),
        ("negative", lambda b, axis: b < 0 and axis == 0),
        ("positive", lambda b, axis: b > 0 and axis == 0),
    ):
        op.backward("a", "dense, scalar -> dense", where=where)(labeled(label))
    x = so.array(FLOATS)
    for args in ((2, 0), (-1, 0), (3.5, 1), (2.0, 0), (-2, 0)):
        with so.Tape() as tape:
            y = op(x, args[0], axis=args[1])
        tape.gradient(y, x, output_gradients=ONES)
    assert seen == ["positive", "negative", "axis 1", "positive", "negative"]
    with so.Tape() as tape:
        y = op(x, 0)
    with pytest.raises(so.GradientError, match="no gradient by 'a'"):
        tape.gradient(y, x, output_gradients=ONES)


# How g arrives


@pytest.mark.parametrize("result, head", list(product(STORAGES, STORAGES)))
def test_g_arrives_in_the_storage_of_the_result(result, head):
    op = ruled(f"{result} -> {result}")
    x = so.array(FLOATS).tostype(result)
    g, records = gradient(op, x, so.array(HOLES).tostype(head))
    assert op.seen == [(f"{result} -> {result}", result)]
    np.testing.assert_array_equal(densify(g), HOLES)
    assert len(records) == (result == "dense" and head != "dense")


@pytest.mark.parametrize("wanted", STORAGES)
def test_g_arrives_in_the_storage_before_the_semicolon(wanted):
    op = ruled(f"{wanted}; csr -> csr")
    x = so.array(HOLES).tostype("csr")
    gradient(op, x, so.array(ONES))
    assert op.seen == [(f"{wanted}; csr -> csr", wanted)]


@pytest.mark.parametrize("stype", ("row_sparse", "csr"))
def test_a_dense_g_is_taken_at_the_places_that_the_result_stores(stype):
    op = ruled(f"{stype} -> {stype}")
    x = so.array(HOLES).tostype(stype)
    zeroed = so.NDArray(x.storage.with_data(x.storage.data * 0), x.backend)
    for v in (x, zeroed):
        g, records = gradient(op, v, FLOATS * 0 if v is zeroed else FLOATS)
        assert g.storage.indices.tolist() == x.storage.indices.tolist() and not records
        if v is x:
            np.testing.assert_array_equal(
                g.data, FLOATS[HOLES != 0] if stype == "csr" else FLOATS[:1]
            )


@pytest.mark.parametrize("stype", ("row_sparse", "csr"))
def test_a_dense_g_of_an_empty_result_is_empty(stype):
    g, _ = gradient(ruled(f"{stype} -> {stype}"), so.zeros(SHAPE, stype=stype), ONES)
    assert (g.stype, g.nnz) == (stype, 0)


def two_results(*heads):
    op = so.operator(describing("a", outputs=2), outputs=("v", "w"))
    op.forward("dense -> dense, csr")(
        lambda backend, a: (a, so.array(HOLES).tostype("csr").storage)
    )
    op.seen = []
    for text in heads or ("dense -> dense",):

        @op.backward("a", text)
        def rule(g_v, g_w):
            op.seen.append((g_v, g_w))
            return so.array(densify(g_v) + densify(g_w))

    return op


@pytest.mark.parametrize(
    "text, arrive",
    [
        ("dense -> dense", ("dense", "csr")),
        ("csr, dense; dense -> dense", ("csr", "dense")),
        ("row_sparse, row_sparse; dense -> dense", ("row_sparse", "row_sparse")),
    ],
)
def test_each_of_several_gs_arrives_as_declared_and_a_missing_one_as_zeros(text, arrive):
    op, x = two_results(text), so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        v, w = op(x)
    with so.fallback("allow"):
        for y, expected in ((v, ONES), (w, HOLES != 0)):
            g = tape.gradient(y, x, output_gradients=ONES)
            np.testing.assert_array_equal(densify(g), expected)
            assert tuple(g.stype for g in op.seen[-1]) == arrive
        missing = [g for g, y in zip(op.seen[0], (v, w), strict=True) if y is not v][0]
    assert missing.shape == SHAPE and not densify(missing).any()


def test_a_result_of_integers_passes_no_gradient():
    op = so.operator(lambda_two, outputs=("v", "ids"))
    op.forward("dense -> dense, dense")(
        lambda backend, a: (a, so.Dense(np.zeros(a.shape, np.int64)))
    )

    @op.backward("a", "dense -> dense")
    def rule(g_v):
        return g_v

    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        v, ids = op(x)
        from_ids = ids.astype(float)
    np.testing.assert_array_equal(densify(tape.gradient(v, x, output_gradients=ONES)), ONES)
    assert not densify(tape.gradient(from_ids, x, output_gradients=ONES)).any()


def lambda_two(a):
    return [(a.shape, a.dtype), (a.shape, np.int64)]


# What a rule is given


def test_a_rule_is_given_what_it_names():
    op = so.operator(describing("ab", params={"p": 1, "q": None}))
    given = {}

    @op.forward("csr, scalar -> csr")
    def kernel(backend, a, b, *, state):
        state.kept = "kept"
        return a.with_data(a.data * b)

    @op.backward("a", "csr, scalar -> csr")
    def rule(g, a, b, out, p, q, state, a_spec, b_spec):
        given.update(locals())
        return g

    x = so.array(HOLES).tostype("csr")
    for b, p in ((2.0, 1), (5.0, 1), (2, (1, 2))):
        with so.Tape() as tape:
            y = op(x, b, p=p)
        tape.gradient(y, x, output_gradients=y)
        assert given["a"].token == x.token and given["out"].token == y.token
        assert (given["b"], given["p"], given["q"]) == (b, p, None)
        assert given["state"].kept == "kept"
        assert given["a_spec"] == x.spec
        assert given["b_spec"] == b, "what is known of a number is the number"


def test_the_note_of_a_failing_rule_has_the_number_of_its_call():
    op = so.operator(describing("ab"))
    op.forward("dense, scalar -> dense")(lambda backend, a, b: a)
    op.backward("a", "dense, scalar -> dense")(lambda g, b: 1 / 0)
    x = so.array(FLOATS)
    for b in (2.0, 3.0):
        with so.Tape() as tape:
            y = op(x, b)
        with pytest.raises(ZeroDivisionError) as caught:
            tape.gradient(y, x, output_gradients=ONES)
        shown = f"drawn(a: float64[2,3] dense, b: {b})"
        assert f"in the gradient by 'a' of {shown}" in caught.value.__notes__


def test_a_saved_input_comes_in_the_storage_that_the_rule_takes():
    op = so.operator(describing("ab"))
    op.forward("dense, csr -> dense")(lambda backend, a, b: a)
    seen = []

    @op.backward("a", "dense, dense -> dense")
    def rule(g, b):
        seen.append(b.stype)
        return g

    x, b = so.array(FLOATS), so.array(HOLES).tostype("csr")
    with so.Tape() as tape:
        y = op(x, b)
    with so.fallback("allow") as records:
        tape.gradient(y, x, output_gradients=ONES)
    assert seen == ["dense"]
    assert [r.operator for r in records] == ["gradient of drawn"]
