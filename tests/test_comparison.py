"""Comparisons and logic: values, storages, structures and costs in every storage."""

import operator as python
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import STORAGES, assert_same, check_forward, densify, places, stored

import sparseops as so
from sparseops.registry import operators

COMPARISONS = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}
LOGIC = {
    name: getattr(np, name)
    for name in (
        *("logical_and", "logical_or", "logical_xor"),
        *("bitwise_and", "bitwise_or", "bitwise_xor"),
    )
}
STRICT = ["not_equal", "less", "greater"]
UNIONS = [*STRICT, "logical_or", "logical_xor", "bitwise_or", "bitwise_xor"]
INTERSECTIONS = ["logical_and", "bitwise_and"]
FUNCTIONS = COMPARISONS | LOGIC
SYMBOLS = {
    "equal": python.eq,
    "not_equal": python.ne,
    "less": python.lt,
    "less_equal": python.le,
    "greater": python.gt,
    "greater_equal": python.ge,
    "bitwise_and": python.and_,
    "bitwise_or": python.or_,
    "bitwise_xor": python.xor,
}
SHAPES = [
    *(((3, 4), (3, 4)), ((3, 4), (1, 4)), ((3, 1), (1, 4)), ((3, 4), (4,)), ((3, 4), ())),
    *(((0, 4), (1, 4)), ((3, 0), (3, 1)), ((0,), ()), ((1, 1), (1, 1))),
]
NUMBERS = [0, 1, -1, 2.5, -0.0, True, np.nan, np.inf, -np.inf, np.float32(-2), np.int8(3), 1j, -1j]


def values(shape, dtype=int, seed=0):
    """Small whole numbers, half of them zero."""
    rng = np.random.default_rng(seed)
    found = rng.integers(-2, 3, shape) * (rng.random(shape) < 0.5)
    return np.asarray(abs(found) if np.dtype(dtype).kind in "bu" else found).astype(dtype)


def pair(shapes, dtype=int):
    return [values(shape, dtype, seed) for seed, shape in enumerate(shapes)]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shapes", [*SHAPES, *((b, a) for a, b in SHAPES if a != b)], ids=str)
def test_every_pair_of_storages_equals_numpy_with_every_broadcast(name, shapes):
    check_forward(name, pair(shapes), FUNCTIONS[name])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "shapes", [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1)), ((2, 0, 4), (4,))]
)
def test_row_sparse_arrays_of_any_dimensions_equal_numpy(name, shapes):
    a, b = pair(shapes)
    for x, y in ((a, b), (b, a)):
        for sx, sy in product(STORAGES[:2], STORAGES[:2]):
            with so.fallback("allow"):
                found = operators[name](stored(x, sx), stored(y, sy))
            assert_same(found, FUNCTIONS[name](x, y))


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_stand_on_either_side(name, number):
    x = values((3, 4), float)
    check_forward(name, [x, number], COMPARISONS[name])
    check_forward(name, [number, x], COMPARISONS[name])


@pytest.mark.parametrize("name", LOGIC)
@pytest.mark.parametrize("number", [0, 1, -1, True, False, np.int8(2)], ids=repr)
def test_numbers_stand_on_either_side_of_logic(name, number):
    x = values((3, 4))
    check_forward(name, [x, number], LOGIC[name])
    check_forward(name, [number, x], LOGIC[name])


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("name", COMPARISONS)
def test_storage_is_kept_exactly_where_zero_gives_false(name, number, stype):
    x = stored(values((3, 4), float), stype, extra=0.3)
    for args, at_zero in (
        ((x, number), COMPARISONS[name](0, number)),
        ((number, x), COMPARISONS[name](number, 0)),
    ):
        with so.fallback("allow") as records:
            found = operators[name](*args)
        assert found.stype == ("dense" if at_zero else stype)
        assert len(records) == bool(at_zero)
        if not at_zero:
            assert found.storage.indices is x.storage.indices


def test_no_table_hides_what_a_number_must_be():
    lines = repr(so.greater).splitlines()
    assert "  csr, scalar -> csr    where not 0 > b" in lines
    assert "  scalar, csr -> csr    where not a > 0" in lines


@pytest.mark.parametrize("name", [*UNIONS, *INTERSECTIONS])
@pytest.mark.parametrize("stypes", list(product(["csr", "row_sparse"], repeat=2)), ids=str)
def test_two_sparse_arrays_give_a_sparse_one_of_their_union_or_of_what_both_store(name, stypes):
    a, b = (stored(v, s, extra=0.3) for v, s in zip(pair([(5, 4), (5, 4)]), stypes, strict=True))
    with so.fallback("error"):
        found = operators[name](a, b)
    if stypes[0] == stypes[1]:
        assert found.stype == stypes[0]
        both = places(a) & places(b) if name in INTERSECTIONS else places(a) | places(b)
        np.testing.assert_array_equal(places(found), both)
    else:
        assert found.stype == "row_sparse"


@pytest.mark.parametrize("name", ["equal", "less_equal", "greater_equal"])
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_what_two_zeros_fulfil_is_dense_and_recorded(name, stype):
    a, b = (stored(v, stype) for v in pair([(5, 4), (5, 4)]))
    with so.fallback("allow") as records:
        assert operators[name](a, b).stype == "dense"
    assert [r.stypes for r in records] == [(stype, stype, "dense")]


@pytest.mark.parametrize("name", [*COMPARISONS, *UNIONS[3:]])
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_a_dense_array_of_that_size_makes_the_result_dense_without_a_record(name, stype):
    a, b = pair([(5, 4), (5, 4)])
    for args in ((stored(a, stype), so.array(b)), (so.array(a), stored(b, stype))):
        with so.fallback("error"):
            assert operators[name](*args).stype == "dense"


def test_a_dense_array_that_is_smaller_is_recorded():
    x = so.csr_array(values((5, 4)))
    with so.fallback("allow") as records:
        x > so.zeros(4, int)  # noqa: B015
    assert [r.operator for r in records] == ["greater"]
    assert "shape (4,)" in records[0].reason


def test_a_view_of_foreign_layout_is_read_right():
    x, y = values((4, 3)), values((3, 4), seed=1)
    for stype in STORAGES:
        assert_same(so.less(stored(x, stype), so.asarray(y.T)), x < y.T)
        assert_same(so.less(so.asarray(y).T, stored(x, stype)), y.T < x)


@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_widths_of_indices_are_kept_and_mixed_ones_promote(width):
    a, b = pair([(4, 5), (4, 5)])
    for stype in ("csr", "row_sparse"):
        x, y = stored(a, stype, width=width), stored(b, stype, width=np.int64)
        assert so.not_equal(x, 0).indices.dtype == width
        assert so.less(x, stored(b, stype, width=width)).indices.dtype == width
        assert so.less(x, y).indices.dtype == np.int64
        assert so.logical_and(x, y).indices.dtype == np.int64


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("stypes", list(product(STORAGES, repeat=2)), ids=str)
def test_nan_and_infinity_compare_as_in_numpy(name, stypes):
    special = [0, 1, -1, np.nan, np.inf, -np.inf]
    a, b = (np.array(v) for v in np.meshgrid(special, special))
    with so.fallback("allow"):
        found = operators[name](stored(a, stypes[0]), stored(b, stypes[1]))
    assert_same(found, COMPARISONS[name](a, b))


@pytest.mark.parametrize("number", [300, -1, 2**40, 2**70, -(2**70)])
@pytest.mark.parametrize("name", COMPARISONS)
def test_whole_numbers_beyond_the_dtype_compare_exactly(name, number):
    check_forward(name, [np.array([[0, 3], [0, 0]], np.uint8), number], COMPARISONS[name])


def test_large_integers_are_not_compared_as_floats():
    a, b = np.array([[2**63 + 1, 0]], np.uint64), np.array([[2**63 - 1, 0]], np.int64)
    for name, stype in product(COMPARISONS, STORAGES):
        with so.fallback("allow"):
            found = operators[name](stored(a, stype), stored(b, stype))
        assert_same(found, COMPARISONS[name](a, b))


@pytest.mark.parametrize("dtype", [float, np.float16, complex])
@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "invert"])
def test_bits_of_floating_values_are_refused(name, dtype):
    x = so.csr_array(values((2, 2), dtype))
    with pytest.raises(so.DTypeError, match=f"numpy.{name} takes no {np.dtype(dtype)}"):
        operators[name](*[x] * len(operators[name].inputs))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64])
def test_not_is_dense_since_nothing_stored_becomes_true(dtype):
    x = values((3, 4), dtype)
    check_forward("invert", [x], np.invert)
    check_forward("logical_not", [x], np.logical_not)
    with so.fallback("allow") as records:
        assert_same(~so.csr_array(x), ~x)
    assert [r.operator for r in records] == ["invert"]


# Python's operators


@pytest.mark.parametrize("name", SYMBOLS)
@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.filterwarnings("ignore::sparseops.FallbackWarning")
def test_python_operators_are_these_operators(name, stype):
    a, b = pair([(3, 4), (3, 4)])
    x, symbol = stored(a, stype), SYMBOLS[name]
    for other in (b, b.tolist(), so.array(b), so.csr_array(b), 1, np.int64(-1)):
        plain = densify(other) if isinstance(other, so.NDArray) else other
        assert_same(symbol(x, other), symbol(a, plain))
        assert_same(symbol(other, x), symbol(np.asarray(plain), a))


@pytest.mark.parametrize("other", [None, "a", b"a", object(), {}, ..., print, {1}], ids=repr)
@pytest.mark.parametrize("stype", STORAGES)
def test_what_is_no_operand_is_unequal_and_has_no_order(stype, other):
    x = stored(values((2, 2)), stype)
    assert (x == other) is False
    assert (other == x) is False
    assert (x != other) is True
    for symbol in (python.lt, python.ge, python.add, python.mul, python.pow, python.and_):
        with pytest.raises(TypeError, match="NDArray"):
            symbol(x, other)


def test_types_with_operators_of_their_own_get_their_turn():
    class Mine:
        __array_ufunc__ = None

        def __array__(self, *args, **kwargs):
            raise AssertionError

        def __radd__(self, other):
            return "mine"

        def __eq__(self, other):
            return "equal"

    x = so.csr_array(values((2, 2)))
    assert x + Mine() == "mine"
    assert (x == Mine()) == "equal"


def test_shapes_that_do_not_broadcast_are_refused():
    x = so.zeros((2, 3), stype="csr")
    for name in FUNCTIONS:
        with pytest.raises(so.ShapeError, match="do not broadcast"):
            operators[name](x.astype(int), so.zeros((2, 2), int))


def test_arrays_are_keys_by_identity_though_equality_is_of_elements():
    x, y = so.array([1.0]), so.array([1.0])
    assert len({x, y, x}) == 2
    assert {x: "x", y: "y"}[y] == "y"
    assert hash(x) != hash(y)


@pytest.mark.filterwarnings("ignore::sparseops.FallbackWarning")
@pytest.mark.parametrize("stype", STORAGES)
def test_containing_is_some_value_being_equal(stype):
    a = np.array([[0.0, 2.5], [np.nan, -1.0]])
    x = stored(a, stype)
    for value in (0, 2.5, -1, np.float32(2.5), 7, np.nan, True, 1j, False, [0, 2.5], a):
        assert (value in x) is bool((a == value).any()), value
    for value in (None, "a", object()):
        assert value not in x


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_a_zero_is_contained_unless_every_value_is_stored(stype):
    ones = np.ones((2, 2))
    assert 0 not in stored(ones, stype)
    assert 0 in stored(ones - [[1, 0], [1, 0]], stype)
    assert 0 in so.zeros((2**31, 2**31), stype="row_sparse")
    assert 0 not in so.zeros((0, 3), stype=stype)


# Tapes


def test_a_mask_lets_the_gradient_through_what_it_multiplies():
    x = so.csr_array([[0.0, 2.0], [-3.0, 1.0]])
    with so.Tape() as tape:
        y = so.sum(x * (x > 1))
    g = tape.gradient(y, x)
    assert g.stype == "csr"
    assert densify(g).tolist() == [[0, 1], [0, 0]]


def test_comparing_costs_what_is_stored():
    x = so.csr_array(([1.0, -2.0], ([0, 2**20 - 1], [5, 2**40])), (2**20, 2**41))
    with so.fallback("error"):
        assert (x > 0).nnz == (x != x).nnz == (x < x).nnz == 2
        assert (x < 0).data.tolist() == [False, True]


# Structures from anywhere


@st.composite
def matrices(draw):
    shape = draw(st.tuples(st.integers(0, 5), st.integers(0, 5)))
    dtype = draw(st.sampled_from([np.int8, np.float32, np.complex64]))
    found = []
    for _ in range(2):
        numbers = draw(st.lists(st.integers(-1, 1), min_size=25, max_size=25))
        value = np.array(numbers[: shape[0] * shape[1]], dtype).reshape(shape)
        stype = draw(st.sampled_from(STORAGES))
        seed = draw(st.integers(0, 9))
        width = draw(st.sampled_from([np.int32, np.int64]))
        rng = np.random.default_rng(seed)
        found.append((value, stored(value, stype, extra=0.4, rng=rng, width=width)))
    return found


@settings(max_examples=60, deadline=None)
@given(matrices(), st.sampled_from([*COMPARISONS, "logical_and", "logical_or", "logical_xor"]))
def test_any_two_structures_compare_as_their_values_do(found, name):
    (a, x), (b, y) = found
    with so.fallback("allow"):
        assert_same(operators[name](x, y), FUNCTIONS[name](a, b))
