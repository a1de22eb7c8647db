"""Powers, remainders and extremes: values, storages, structures and gradients."""

import operator as python
from itertools import product

import numpy as np
import pytest
from oracle import STORAGES, assert_same, check_forward, check_gradient, densify, places, stored

import sparseops as so
from sparseops.ops.power import times_power
from sparseops.registry import operators

FUNCTIONS = {
    name: getattr(np, name) for name in ("power", "mod", "floor_divide", "maximum", "minimum")
}
EXTREMES = ["maximum", "minimum"]
DIVISIONS = ["mod", "floor_divide"]
SYMBOLS = {"power": python.pow, "mod": python.mod, "floor_divide": python.floordiv}
SHAPES = [
    *(((3, 4), (3, 4)), ((3, 4), (1, 4)), ((3, 1), (1, 4)), ((3, 4), (4,)), ((3, 4), ())),
    *(((0, 4), (1, 4)), ((3, 0), (3, 1)), ((0,), ()), ((1, 1), (1, 1))),
]
#: For each operator numbers with which zero stays zero, then others; `b` of the call.
NUMBERS = {
    "power": ([1, 2, 0.5, 3.0, True, np.float32(2), np.int8(3), 2 + 0j, np.inf], [0, -1.0, np.nan]),
    "mod": ([2, -3, 0.5, np.inf, np.int8(3), True], [0.0, np.nan]),
    "floor_divide": ([2, -3, 0.5, np.int8(3), True], [0.0, np.nan]),
    "maximum": ([0, -2, -0.0, -np.inf, np.float32(-1), False], [1, 0.5, np.inf, np.nan, True]),
    "minimum": ([0, 2, 0.0, np.inf, np.int8(1), True], [-1, -0.5, -np.inf, np.nan]),
}


def values(shape, dtype=float, seed=0, full=False):
    """Small whole numbers, half of them zero; or, if `full`, none of them."""
    rng = np.random.default_rng(seed)
    found = rng.integers(1, 4, shape) * rng.choice([-1, 1], shape)
    if not full:
        found = found * (rng.random(shape) < 0.5)
    return np.asarray(abs(found) if np.dtype(dtype).kind in "bu" else found).astype(dtype)


def pair(name, shapes, dtype=float):
    """Operands of `shapes`; a divisor has no zeros, so that nothing skipped makes a difference."""
    a, b = values(shapes[0], dtype, 1), values(shapes[1], dtype, 2, full=name in DIVISIONS)
    return [a, abs(b) if name == "power" else b]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shapes", [*SHAPES, *((b, a) for a, b in SHAPES if a != b)], ids=str)
def test_every_pair_of_storages_equals_numpy_with_every_broadcast(name, shapes):
    check_forward(name, pair(name, shapes), FUNCTIONS[name])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "shapes", [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1)), ((2, 0, 4), (4,))]
)
def test_row_sparse_arrays_of_any_dimensions_equal_numpy(name, shapes):
    for order in (shapes, shapes[::-1]):
        a, b = pair(name, order)
        for sa, sb in product(STORAGES[:2], STORAGES[:2]):
            with so.fallback("allow"):
                found = operators[name](stored(a, sa), stored(b, sb))
            assert_same(found, FUNCTIONS[name](a, b))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_a_number_keeps_storage_exactly_where_zero_stays_zero(name, stype):
    x = values((3, 4))
    for keeps, numbers in zip((True, False), NUMBERS[name], strict=True):
        for number in numbers:
            check_forward(name, [x, number], FUNCTIONS[name])
            with so.fallback("allow") as records:
                found = operators[name](stored(x, stype, extra=0.3), number)
            assert (found.stype, len(records)) == ((stype, 0) if keeps else ("dense", 1)), number


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_a_number_may_stand_before(name, stype):
    x = values((3, 4))
    for keeps, numbers in zip((True, False), NUMBERS[name], strict=True):
        for number in numbers:
            check_forward(name, [number, x], FUNCTIONS[name])
            with so.fallback("allow"):
                found = operators[name](number, stored(x, stype))
            assert found.stype == (stype if keeps else "dense"), number


@pytest.mark.parametrize("name", ["power", *DIVISIONS])
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_a_number_before_what_is_full_of_zeros_makes_it_dense(name):
    for number in (0, 2, -0.5, np.float32(3)):
        check_forward(name, [number, values((3, 4))], FUNCTIONS[name])


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("stypes", list(product(["csr", "row_sparse"], repeat=2)), ids=str)
def test_the_extreme_of_two_sparse_arrays_stores_what_either_does(name, stypes):
    arrays = [values((5, 4), seed=seed) for seed in (1, 2)]
    a, b = (stored(v, s, extra=0.3) for v, s in zip(arrays, stypes, strict=True))
    with so.fallback("error"):
        found = operators[name](a, b)
    assert found.stype == ("csr" if stypes == ("csr", "csr") else "row_sparse")
    if stypes[0] == stypes[1]:
        np.testing.assert_array_equal(places(found), places(a) | places(b))
    assert_same(found, FUNCTIONS[name](*arrays))


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("stypes", list(product(STORAGES, repeat=2)), ids=str)
def test_nan_is_the_extreme_of_everything(name, stypes):
    special = [0, 1, -1, np.nan, np.inf, -np.inf]
    a, b = (np.array(v) for v in np.meshgrid(special, special))
    with so.fallback("allow"):
        found = operators[name](stored(a, stypes[0]), stored(b, stypes[1]))
    assert_same(found, FUNCTIONS[name](a, b))


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_what_is_not_stored_is_not_divided_by_zero(name, stype):
    x, zeros = stored(np.array([[0.0, 2.0], [0.0, 0.0]]), stype), so.zeros((2, 2))
    with pytest.warns(RuntimeWarning):
        found = operators[name](x, zeros)
    assert found.stype == stype
    assert not densify(found)[1].any()
    assert not np.isfinite(densify(found)[0, 1])


@pytest.mark.parametrize("name", DIVISIONS)
def test_a_sparse_divisor_becomes_dense_on_record(name):
    x, y = so.array(values((2, 2))), so.csr_array(values((2, 2), full=True))
    with so.fallback("allow") as records:
        assert operators[name](x, y).stype == "dense"
    assert [r.stypes for r in records] == [("dense", "csr", "dense")]


@pytest.mark.parametrize("name", [*DIVISIONS, "maximum"])
def test_complex_values_are_refused_where_numpy_refuses_them(name):
    x = so.csr_array(values((2, 2), complex))
    if name == "maximum":
        check_forward(name, [densify(x), densify(x) * 1j], np.maximum)
        return
    with pytest.raises(so.DTypeError, match="takes no complex128"):
        operators[name](x, 2)


@pytest.mark.parametrize("stype", STORAGES)
def test_integers_have_no_negative_powers(stype):
    x = stored(values((2, 2), int), stype)
    with so.fallback("allow"), pytest.raises(ValueError, match="negative integer powers") as error:
        x**-1
    assert "power(a: int64[2,2]" in error.value.__notes__[0]


@pytest.mark.parametrize("name", SYMBOLS)
@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.filterwarnings("ignore::sparseops.FallbackWarning")
def test_python_operators_are_these_operators(name, stype):
    a, b = np.array([[1.0, 2.0], [3.0, 2.0]]), np.array([[3.0, 2.0], [2.0, 1.0]])
    x, symbol = stored(a, stype), SYMBOLS[name]
    for other in (b, b.tolist(), so.array(b), 2, np.float32(2)):
        plain = densify(other) if isinstance(other, so.NDArray) else other
        assert_same(symbol(x, other), symbol(a, plain))
        assert_same(symbol(other, x), symbol(np.asarray(plain), a))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_widths_of_indices_are_kept(name):
    for width, stype in product([np.int32, np.int64], ["csr", "row_sparse"]):
        x = stored(values((4, 5)), stype, width=width)
        number = NUMBERS[name][0][0]
        assert operators[name](x, number).indices.dtype == width
        if name in EXTREMES:
            y = stored(values((4, 5), seed=5), stype, width=np.int64)
            assert operators[name](x, y).indices.dtype == np.int64


# Gradients


@pytest.mark.parametrize("exponent", [1, 2, 3, 2.0, True, np.float32(2), np.int8(3), 0.5, 1.5])
def test_gradients_of_powers_live_on_stored_places(exponent):
    x = abs(values((3, 4), full=True)) * (values((3, 4), seed=3) != 0)
    if not isinstance(exponent, float) or exponent == 2.0:
        check_gradient("power", [x, exponent], rtol=1e-4, step=2.0**-10)
        return
    # The slope at an explicit zero is infinite, so there are none here.
    for stype in ("csr", "row_sparse", "dense"):
        a = stored(abs(values((3, 4), full=True)), stype)
        with so.Tape() as tape:
            y = a**exponent
        g = tape.gradient(y, a, output_gradients=so.array(np.ones((3, 4))))
        assert g.stype == stype
        np.testing.assert_allclose(densify(g), exponent * densify(a) ** (exponent - 1))


@pytest.mark.parametrize("exponent", [0, -1, -2.0, 0.0])
def test_powers_that_are_not_zero_at_zero_have_gradients_too(exponent):
    x = values((3, 4), full=True)
    check_gradient("power", [x, exponent], rtol=1e-3, step=2.0**-12)


def test_the_zeroth_power_has_the_gradient_zero_even_at_zero():
    for exponent in (0, so.array([0.0, 0.0])):
        x = so.array([0.0, 2.0])
        with so.Tape() as tape:
            y = so.sum(x**exponent)
        assert tape.gradient(y, x).asnumpy().tolist() == [0, 0]


@pytest.mark.parametrize("exponent", [2, 3, 1 + 1j])
def test_complex_powers_follow_the_convention(exponent):
    rng = np.random.default_rng(4)
    x = values((2, 3), full=True) + 1j * rng.integers(1, 3, (2, 3))
    check_gradient("power", [x.astype(complex), exponent], rtol=1e-3, step=2.0**-12)


@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4))], ids=str)
def test_bases_and_exponents_have_gradients(shapes):
    a = abs(values(shapes[0], full=True, seed=1))
    check_gradient("power", [a, values(shapes[1], seed=2)], rtol=1e-3, step=2.0**-12)


@pytest.mark.parametrize("base", [2, 0.5, np.float32(3), 0])
def test_exponents_of_numbers_have_gradients(base):
    check_gradient("power", [base, values((2, 3), full=True) ** 2], rtol=1e-3, step=2.0**-10)


def test_a_power_of_zero_has_no_slope_by_its_exponent():
    b = so.array([1.0, 2.0, 0.0])
    with so.Tape() as tape:
        y = so.sum(so.array([0.0, 0.0, 0.0]) ** b)
    assert tape.gradient(y, b).asnumpy().tolist() == [0, 0, 0]


@pytest.mark.parametrize("stype", STORAGES)
def test_powers_differentiate_twice_and_more(stype):
    x = stored(np.array([[0.0, 2.0], [3.0, 0.0]]), stype)
    function = lambda x: so.sum(x**4)  # noqa: E731
    for slope in (lambda x: 4 * x**3, lambda x: 12 * x**2, lambda x: 24 * x):
        function = so.grad(function)
        found = function(x)
        assert found.stype == stype
        np.testing.assert_allclose(densify(found), slope(densify(x)))
        function = (lambda inner: lambda x: so.sum(inner(x)))(function)


@pytest.mark.parametrize("stypes", [("dense", "dense"), ("csr", "csr"), ("row_sparse",) * 2])
def test_times_power_takes_structures_that_differ(stypes):
    y, x = values((4, 4), seed=1), values((4, 4), seed=2)
    a, b = (stored(v, s, extra=0.3) for v, s in zip((y, x), stypes, strict=True))
    found = times_power(a, b, exponent=2)
    assert found.stype == stypes[0]
    np.testing.assert_array_equal(densify(found), y * x**2)
    np.testing.assert_array_equal(places(found), places(a))
    for exponent in (1, 2):
        check_gradient_of_times_power(a, b, exponent)


def check_gradient_of_times_power(y, x, exponent):
    with so.Tape() as tape:
        out = so.sum(times_power(y, x, exponent=exponent))
    by_y, by_x = tape.gradient(out, [y, x])
    a, b = densify(y), densify(x)
    np.testing.assert_array_equal(densify(by_y), np.where(places(y), b**exponent, 0))
    expected = np.where(places(x), a * exponent * b ** (exponent - 1), 0)
    np.testing.assert_array_equal(densify(by_x), expected)


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 4), (1, 4)), ((3, 1), (1, 4))], ids=str)
def test_gradients_of_extremes_go_to_what_was_taken(name, shapes):
    # A step that no difference of the values is as small as, and no ties.
    a, b = values(shapes[0], seed=1), values(shapes[1], seed=2) + 0.25
    check_gradient(name, [a, b], step=2.0**-4)


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("stypes", list(product(STORAGES, repeat=2)), ids=str)
def test_at_ties_the_first_takes_the_gradient(name, stypes):
    x, y = (stored(np.array([[0.0, 2.0], [3.0, 0.0]]), s, extra=1.0) for s in stypes)
    with so.fallback("allow"), so.Tape() as tape:
        z = so.sum(operators[name](x, y))
    a, b = tape.gradient(z, [x, y])
    np.testing.assert_array_equal(densify(a), np.ones((2, 2)))
    assert not densify(b).any()


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("number", [-1.5, 0.5, 2.5])
def test_gradients_of_extremes_with_numbers(name, number):
    check_gradient(name, [values((3, 4)), number], step=2.0**-4)
    check_gradient(name, [number, values((3, 4))], step=2.0**-4)


def test_the_gradient_of_two_csr_arrays_stays_sparse():
    x, y = (so.csr_array(values((5, 4), seed=seed)) for seed in (1, 2))
    for name in EXTREMES:
        with so.fallback("error"), so.Tape() as tape:
            z = operators[name](x, y)
        with so.fallback("error"):
            found = tape.gradient(z, [x, y], output_gradients=so.csr_array(np.ones((5, 4))))
        assert [g.stype for g in found] == ["csr", "csr"]


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 4), (1, 4)), ((3, 1), (1, 4))], ids=str)
def test_gradients_of_remainders_are_those_between_the_jumps(name, shapes):
    a, b = values(shapes[0], seed=1) * 2, values(shapes[1], seed=2, full=True)
    # Nothing lies at a jump but what is not stored, which gradients hold fixed.
    a, b = np.where(a, a + 0.5, 0), np.where(abs(b) == 1, 4.0, b * 2)
    for sa, sb in product(STORAGES, repeat=2):
        x, y = stored(a, sa), stored(b, sb)
        with so.fallback("allow"), so.Tape() as tape:
            z = so.sum(operators[name](x, y))
        with so.fallback("allow"):
            by_a, by_b = tape.gradient(z, [x, y])
        full = np.ones(np.broadcast_shapes(a.shape, b.shape))
        slopes = (full, -np.floor(a / b)) if name == "mod" else (full * 0, full * 0)
        for g, slope, like in zip((by_a, by_b), slopes, (x, y), strict=True):
            axes = tuple(n for n, length in enumerate(like.shape) if length == 1)
            total = slope.sum(axis=axes, keepdims=True)
            np.testing.assert_array_equal(densify(g), np.where(places(like), total, 0))
