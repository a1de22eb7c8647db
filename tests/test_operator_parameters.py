"""Parameters of operators, and the plans that are kept for them."""

import inspect
import math

import numpy as np
import pytest
from user_operators import SHAPE, Row, doubling, operator_of, restore_registry

import sparseops as so

registry = pytest.fixture(autouse=True)(restore_registry)

FLOATS = np.arange(6.0).reshape(SHAPE)


@pytest.fixture
def seen():
    """An operator that gives back its parameter, as the kernel and the description got it."""

    @so.operator
    def seen(x, *, p=None):
        seen.described_with = p
        return x.shape, x.dtype

    @seen.forward("dense -> dense")
    def _seen(backend, x, *, p):
        seen.last = p
        return x

    return lambda value: (seen(so.zeros(SHAPE), p=value), seen)[1].last


# Parameters

DIFFERENT = [
    (1, 1.0, True, np.int64(1), np.float32(1), "1"),
    (0, 0.0, -0.0, False, None),
    (0j, complex(0.0, -0.0), complex(-0.0, 0.0)),
    ((1, 2), (1.0, 2), (True, 2), (1, (2,))),
    ((0.0,), (-0.0,), (math.nan,)),
    (frozenset({1}), frozenset({1.0}), frozenset({True})),
]


@pytest.mark.parametrize("values", DIFFERENT, ids=str)
def test_equal_parameters_of_different_types_or_signs_are_not_confused(seen, values):
    for value in (*values, *reversed(values)):
        assert repr(seen(value)) == repr(value)


@pytest.mark.parametrize("nan", (math.nan, np.float32("nan"), complex("nan"), (1, math.nan)))
def test_a_parameter_that_is_nan_is_known_again(seen, nan):
    op = inspect.getclosurevars(seen).nonlocals["seen"]
    for _ in range(3):
        seen(nan)
        seen(type(nan)(nan) if not isinstance(nan, tuple) else (1, float("nan")))
    assert len(op._plans) == 1


@pytest.mark.parametrize(
    "given, kept",
    [
        ([1, [2, 3]], (1, (2, 3))),
        (slice(1, None, 2), (1, None, 2)),
        ((slice(3), [0]), ((None, 3, None), (0,))),
        (np.float32, np.float32),
        (np.dtype("f4"), np.dtype("f4")),
        ("csr", "csr"),
    ],
)
def test_lists_and_slices_become_tuples(seen, given, kept):
    assert seen(given) == kept and type(seen(given)) is type(kept)


def test_a_list_that_is_changed_afterwards_changes_no_call(seen):
    value = [1, 2]
    assert seen(value) == (1, 2)
    value.append(3)
    assert seen(value) == (1, 2, 3)


@pytest.mark.parametrize(
    "value",
    ({}, {1: 2}, {1}, bytearray(b"a"), np.zeros(3), [np.zeros(3)], so.zeros(3), slice({}, 1)),
    ids=repr,
)
def test_a_parameter_that_is_no_plain_value_is_refused(seen, value):
    with pytest.raises(TypeError, match="seen.*'p'.*plain value"):
        seen(value)


def test_an_unknown_or_missing_parameter_is_named():
    op = operator_of([Row(("dense",), ("dense",))], params={"p": inspect.Parameter.empty, "q": 1})
    x = so.zeros(SHAPE)
    with pytest.raises(TypeError, match=r"drawn\(\) has no parameter 'r'; it has p, q, stype"):
        op(x, r=1)
    for given in ({}, {"q": 2}):
        with pytest.raises(TypeError, match=r"drawn\(\) needs p="):
            op(x, **given)


@pytest.mark.parametrize("extra", (0, None, (0, 1), "C", 1.5, [2]))
def test_a_parameter_by_position_is_refused_with_what_to_write(extra):
    op = operator_of([Row(("dense",), ("dense",))], params={"axis": None, "keepdims": False})
    for args in ((so.zeros(SHAPE), extra), (FLOATS, extra)):
        with pytest.raises(TypeError, match="takes 1 arrays") as caught:
            op(*args)
        assert f"write axis={extra!r}" in str(caught.value)


@pytest.mark.parametrize("count", (0, 1, 3))
def test_a_wrong_number_of_arrays_is_counted(count):
    op = operator_of([Row(("dense", "dense"), ("dense",))])
    with pytest.raises(TypeError, match=rf"drawn\(\) takes 2 arrays \(a, b\), not {count}"):
        op(*[so.zeros(SHAPE)] * count)


def test_too_many_numbers_are_counted_where_conditions_read_numbers():
    rows = [Row(("dense", "scalar"), ("dense",), where={"b": 0})]
    with pytest.raises(TypeError, match="takes 2 arrays"):
        operator_of(rows)(so.zeros(SHAPE), 1, 2)


# Plans


def test_plans_are_bounded():
    op = operator_of([Row(("dense",), ("dense",))], params={"p": 0})
    x = so.zeros(SHAPE)
    for value in range(1100):
        op(x, p=value)
        assert len(op._plans) <= 1024
    assert len(op._plans) < 200


def test_a_loop_over_one_form_makes_one_plan():
    op = doubling()
    for stype in ("dense", "csr", "row_sparse"):
        op._plans.clear()
        x = so.zeros(SHAPE, stype=stype)
        for _ in range(5):
            x = op(x)
        assert len(op._plans) == 1


def test_a_later_kernel_is_used_by_calls_seen_before():
    op = operator_of([Row(("dense",), ("dense",))])
    x = so.zeros(SHAPE, stype="csr")
    with so.fallback("allow"):
        assert op(x).stype == "dense"
    op.forward("csr -> csr")(lambda backend, a: a)
    assert op(x).stype == "csr"
