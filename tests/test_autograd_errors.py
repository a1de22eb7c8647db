"""Gradient rules by any number of arrays, rules that are wrong, and rules that are missing."""

import numpy as np
import pytest
from oracle import densify
from user_operators import SHAPE, describing, doubling, restore_registry

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


# Any number of arrays


def joined(rule=None):
    op = so.operator(describing(["w", "arrays"], variadic=True))
    op.forward("dense, dense... -> dense")(lambda backend, w, *arrays: w)
    op.runs = []
    op.backward("w", "dense, dense... -> dense")(lambda g, arrays_spec: g)

    @op.backward("arrays", "dense, dense... -> dense")
    def starred(g, arrays):
        op.runs.append(len(arrays))
        return rule(g, arrays) if rule else [so.array(densify(g) * n) for n in range(len(arrays))]

    return op


def test_the_rule_by_any_number_of_arrays_answers_for_all_at_once():
    op = joined()
    w, *arrays = [so.array(FLOATS) for _ in range(4)]
    with so.Tape(persistent=True) as tape:
        y = op(w, *arrays)
    found = tape.gradient(y, [w, *arrays], output_gradients=ONES)
    for g, factor in zip(found, (1, 0, 1, 2), strict=True):
        np.testing.assert_array_equal(densify(g), ONES * factor)
    np.testing.assert_array_equal(
        densify(tape.gradient(y, arrays[2], output_gradients=ONES)), 2 * ONES
    )
    assert op.runs == [3, 3]


def test_any_number_of_arrays_may_be_none_or_hold_integers():
    op, w = joined(), so.array(FLOATS)
    with so.Tape() as tape:
        y = op(w)
    np.testing.assert_array_equal(densify(tape.gradient(y, w, output_gradients=ONES)), ONES)
    ids, last = so.array(np.ones(SHAPE, int)), so.array(FLOATS)
    with so.Tape() as tape:
        y = op(w, ids, last)
    np.testing.assert_array_equal(densify(tape.gradient(y, last, output_gradients=ONES)), ONES)


@pytest.mark.parametrize(
    "answer",
    (None, lambda g, n: g, lambda g, n: [g], lambda g, n: [g] * (n + 1), lambda g, n: iter([g])),
)
def test_the_rule_by_any_number_of_arrays_returns_one_for_each(answer):
    op = joined(lambda g, arrays: answer and answer(g, len(arrays)))
    w, x = so.array(FLOATS), so.array(FLOATS)
    with so.Tape() as tape:
        y = op(w, x, x)
    with pytest.raises(so.GradientError, match="2 gradients") as caught:
        tape.gradient(y, x, output_gradients=ONES)
    assert "by 'arrays' of drawn(" in caught.value.__notes__[0]


# Wrong rules


def wrong(answer, signature="dense -> dense"):
    op = so.operator(describing("a"))
    op.forward(*SAME)(lambda backend, a: a)
    op.backward("a", signature)(lambda g: answer(g) if callable(answer) else answer)
    return op


@pytest.mark.parametrize(
    "answer, error, parts",
    [
        (None, so.StorageError, ("declared dense", "NoneType")),
        (FLOATS, so.StorageError, ("declared dense", "ndarray")),
        (3.0, so.StorageError, ("declared dense", "float")),
        (so.Dense(FLOATS), so.StorageError, ("declared dense", "Dense")),
        (lambda g: [g], so.StorageError, ("declared dense", "list")),
        (lambda g: g.tostype("csr"), so.StorageError, ("declared dense", "float64[2,3] csr")),
        (so.zeros((3, 2)), so.ShapeError, ("(3, 2)", "(2, 3)")),
        (so.zeros(()), so.ShapeError, ("()", "(2, 3)")),
        (so.zeros(SHAPE, int), so.DTypeError, ("int64", "float64")),
        (so.zeros(SHAPE, bool), so.DTypeError, ("bool", "float64")),
    ],
)
def test_a_rule_that_is_not_as_declared_is_refused(answer, error, parts):
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = wrong(answer)(x)
    for _ in range(2):
        with pytest.raises(error) as caught:
            tape.gradient(y, x, output_gradients=ONES)
        assert (caught.value.operator, caught.value.slot) == ("drawn", "a")
        assert all(part in str(caught.value) for part in parts)
        assert "in the gradient by 'a' of drawn(a: float64[2,3] dense)" in caught.value.__notes__


@pytest.mark.parametrize("given, wanted", (("f4", "f8"), ("f8", "f4"), ("f8", "f2"), ("f4", "c8")))
def test_a_gradient_of_another_precision_becomes_that_of_the_input(given, wanted):
    op = so.operator(of_the_dtype)
    op.forward("dense -> dense")(lambda backend, a: a)
    op.backward("a", "dense -> dense")(lambda: so.array(ONES.astype(given)))
    x = so.array(FLOATS.astype(wanted))
    with so.Tape() as tape:
        y = op(x)
    g = tape.gradient(y, x, output_gradients=ONES)
    assert g.dtype == wanted
    np.testing.assert_array_equal(densify(g), ONES)


def of_the_dtype(a):
    return a.shape, a.dtype


def test_a_complex_gradient_by_a_real_input_is_its_real_part():
    op = so.operator(of_complex)
    op.forward("dense -> dense")(lambda backend, a: so.Dense(a.data * (2 + 3j)))
    op.backward("a", "dense -> dense")(lambda g: so.array(densify(g) * (2 - 3j)))
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = op(x)
    g = tape.gradient(y, x, output_gradients=ONES * (1 + 1j))
    assert g.dtype == float
    np.testing.assert_array_equal(densify(g), 5 * ONES)


def of_complex(a):
    return a.shape, np.result_type(a.dtype, np.complex64)


def test_a_missing_gradient_names_operator_input_and_table():
    op = so.operator(describing("ab", name="half"))
    op.forward("dense, dense -> dense")(lambda backend, a, b: a)
    op.backward("b", "dense, dense -> dense")(lambda g: g)
    op.backward("a", "csr, dense -> csr", "row_sparse, dense -> row_sparse")(lambda g: g)
    x, b = so.array(FLOATS), so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = doubling()(op(doubling()(x), b))
    with pytest.raises(so.GradientError) as caught:
        tape.gradient(y, x, output_gradients=ONES)
    error = caught.value
    assert (error.operator, error.slot, error.declared) == ("half", "a", ("dense", "dense"))
    assert error.available == ("csr, dense -> csr", "row_sparse, dense -> row_sparse")
    for part in ("half declares no gradient by 'a' for (dense, dense)", *error.available):
        assert part in str(error)
    assert "in half(a: float64[2,3] dense, b: float64[2,3] dense)" in error.__notes__
    np.testing.assert_array_equal(densify(tape.gradient(y, b, output_gradients=ONES)), 2 * ONES)


def test_no_rule_runs_where_another_on_the_way_is_missing():
    first, last = ruled("dense -> dense", name="first"), ruled("dense -> dense", name="last")
    missing = so.operator(describing("a", name="missing"))
    missing.forward("dense -> dense")(lambda backend, a: a)
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = last(missing(first(x)))
    with pytest.raises(so.GradientError, match="none"):
        tape.gradient(y, x, output_gradients=ONES)
    assert first.seen == last.seen == []


def test_what_a_rule_raises_reaches_the_user_with_every_call_noted():
    def broken(g):
        return so.zeros(SHAPE) if g is None else inner(so.zeros((1, 1)))

    inner = so.operator(refusing)
    inner.forward("dense -> dense")(lambda backend, a: a)
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = wrong(broken)(x)
    with pytest.raises(KeyError, match="own") as caught:
        tape.gradient(y, x, output_gradients=ONES)
    assert caught.value.__notes__ == [
        "in refusing(a: float64[1,1] dense)",
        "in the gradient by 'a' of drawn(a: float64[2,3] dense)",
    ]


def refusing(a):
    raise KeyError("own")
