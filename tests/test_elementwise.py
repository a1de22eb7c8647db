"""Sums, differences, products and quotients: values, structures, costs and gradients."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same, check_forward, check_gradient, densify, places, storages, stored

import sparseops as so
from sparseops.registry import operators

DTYPES = [np.dtype(c) for c in "?bhilBHILefdFD"]
OPS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.true_divide}
MATRICES = [
    ((3, 4), (3, 4)),
    ((3, 4), (1, 4)),
    ((3, 4), (3, 1)),
    ((3, 4), (1, 1)),
    ((3, 4), (4,)),
    ((3, 4), (1,)),
    ((3, 4), ()),
    ((3, 1), (1, 4)),
    ((3, 1), (4,)),
    ((1, 4), (1, 1)),
    ((4,), (4,)),
    ((4,), (1,)),
    ((0, 4), (1, 4)),
    ((3, 0), (3, 1)),
    ((0, 1), (1, 4)),
    ((0,), ()),
]
SOLIDS = [
    ((2, 3, 4), (2, 3, 4)),
    ((2, 3, 4), (1, 3, 4)),
    ((2, 3, 4), (2, 1, 1)),
    ((2, 3, 4), (3, 4)),
    ((2, 3, 4), (1, 4)),
    ((2, 3, 4), (4,)),
    ((2, 3, 4), ()),
    ((2, 1, 4), (3, 1)),
    ((1, 3, 1), (2, 1, 4)),
    ((2, 1, 1), (3, 4)),
    ((0, 3, 4), (3, 1)),
    ((2, 0, 4), (4,)),
]


def values(shape, dtype=float, seed=0, full=False):
    """Small whole numbers, half of them zero; or, if `full`, powers of two, none of them zero."""
    rng = np.random.default_rng(seed)
    if full:
        found = 2.0 ** rng.integers(0, 3, shape) * rng.choice([-1, 1], shape)
    else:
        found = rng.integers(-4, 5, shape) * (rng.random(shape) < 0.5)
    if np.dtype(dtype).kind in "bu":
        found = abs(found)
    if np.dtype(dtype).kind == "c":
        found = found * (1 + 1j) if full else found + 1j * rng.integers(-2, 3, shape)
    return np.asarray(found).astype(dtype)


def pair(name, shapes, dtypes=(float, float)):
    """Operands of `shapes`; a divisor has no zeros, so that nothing skipped makes a difference."""
    (sa, sb), (da, db) = shapes, dtypes
    return [values(sa, da, 1), values(sb, db, 2, full=name == "divide")]


def both_ways(shapes):
    return [*shapes, *((b, a) for a, b in shapes if a != b)]


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("shapes", both_ways(MATRICES), ids=str)
def test_every_pair_of_storages_equals_numpy_with_every_broadcast(name, shapes):
    check_forward(name, pair(name, shapes), OPS[name])


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("shapes", both_ways(SOLIDS), ids=str)
def test_row_sparse_arrays_of_any_dimensions_equal_numpy(name, shapes):
    a, b = pair(name, shapes)
    expected = OPS[name](a, b)
    for sa, sb in product(storages(a)[:2], storages(b)[:2]):
        with so.fallback("allow"):
            assert_same(operators[name](stored(a, sa), stored(b, sb)), expected)


@pytest.mark.parametrize("name", ["add", "subtract"])
@pytest.mark.parametrize("shapes", [((2, 3, 4), (3, 4)), ((2, 3, 4), (1, 4)), ((2, 1, 4), (3, 1))])
def test_csr_arrays_are_added_to_arrays_of_three_dimensions(name, shapes):
    a, b = pair(name, shapes)
    for stype in ("dense", "row_sparse"):
        with so.fallback("allow"):
            assert_same(operators[name](stored(a, stype), stored(b, "csr")), OPS[name](a, b))
            assert_same(operators[name](stored(b, "csr"), stored(a, stype)), OPS[name](b, a))


def test_a_csr_product_of_three_dimensions_is_refused_with_the_way_out():
    x, y = so.csr_array([[1.0, 0]]), so.zeros((2, 3, 2))
    for call in (lambda: x * y, lambda: y * x, lambda: x / y):
        with pytest.raises(so.ShapeError, match="row_sparse"):
            call()
    with so.fallback("allow"):
        assert (x.tostype("row_sparse") * y).shape == (2, 3, 2)


NUMBERS = [0, 2, -1.5, True, 1j, np.float32(2), np.float64(-2), np.int8(3), np.inf]


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_numbers_stand_on_either_side(name, number):
    x = values((3, 4), full=True)
    check_forward(name, [x, number], OPS[name])
    check_forward(name, [number, x], OPS[name])


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_dtypes_with_numbers_are_those_of_numpy(name, dtype):
    x = values((3, 4), dtype, full=True)
    for number in (*NUMBERS[:-1], np.uint64(1)):
        for a, b in ((x, number), (number, x)):
            try:
                expected = OPS[name](a, b)
            except TypeError:
                with pytest.raises(so.DTypeError), so.fallback("allow"):
                    operators[name](*[stored(v, storages(v)[-1]) for v in (a, b)])
                continue
            for stype in storages(x):
                a_, b_ = (stored(v, stype) if v is x else v for v in (a, b))
                with so.fallback("allow"):
                    assert_same(operators[name](a_, b_), expected)


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_pair_of_dtypes_equals_numpy(name, dtype):
    for other in DTYPES:
        a, b = pair(name, ((3, 4), (3, 4)), (dtype, other))
        if name == "subtract" and dtype.kind == other.kind == "b":
            continue
        expected = OPS[name](a, b)
        for sa, sb in product(storages(a), storages(b)):
            with so.fallback("allow"):
                found = operators[name](stored(a, sa, extra=0.3), stored(b, sb, extra=0.3))
            assert_same(found, expected)


def test_bool_values_are_joined_and_have_no_difference():
    x, y = so.csr_array([[True, False]]), so.csr_array([[True, True]])
    assert (x + y).asnumpy().tolist() == [[True, True]]
    assert (x * y).asnumpy().tolist() == [[True, False]]
    assert (x / y.tostype("dense")).dtype == np.float64
    for call in (lambda: x - y, lambda: x - True, lambda: so.array([True]) - so.array([False])):
        with pytest.raises(so.DTypeError, match="cast"):
            call()
    with pytest.raises(TypeError):
        so.subtract(x, False)
    assert (x - 0).stype == "csr" and (x - 0).dtype == np.int64


def test_a_number_that_does_not_fit_raises_as_in_numpy():
    with pytest.raises(OverflowError):
        so.csr_array(np.ones((2, 2), np.int8)) * 300


@pytest.mark.parametrize("name", OPS)
def test_shapes_that_do_not_broadcast_are_refused(name):
    for stype in ("dense", "csr", "row_sparse"):
        with pytest.raises(so.ShapeError, match="do not broadcast"):
            operators[name](so.zeros((2, 3), stype=stype), so.zeros((2, 2), stype=stype))


NATIVE = {
    "add": {
        "dense": {"dense": "dense", "csr": "dense", "row_sparse": "dense"},
        "csr": {"dense": "dense", "csr": "csr", "row_sparse": "row_sparse"},
        "row_sparse": {"dense": "dense", "csr": "row_sparse", "row_sparse": "row_sparse"},
    },
    "multiply": {
        "dense": {"dense": "dense", "csr": "csr", "row_sparse": "row_sparse"},
        "csr": {"dense": "csr", "csr": "csr", "row_sparse": "csr"},
        "row_sparse": {"dense": "row_sparse", "csr": "csr", "row_sparse": "row_sparse"},
    },
    "divide": {
        "dense": {"dense": "dense"},
        "csr": {"dense": "csr"},
        "row_sparse": {"dense": "row_sparse"},
    },
}
NATIVE["subtract"] = NATIVE["add"]


@pytest.mark.parametrize("name", OPS)
def test_native_pairs_run_without_a_fallback_and_others_with_one(name):
    a, b = pair(name, ((3, 4), (3, 4)))
    for sa, sb in product(storages(a), storages(b)):
        expected = NATIVE[name][sa].get(sb)
        with so.fallback("allow") as records:
            found = operators[name](stored(a, sa), stored(b, sb))
        # A sparse dividend stays sparse even when its divisor has to become dense.
        assert found.stype == (expected or sa)
        assert len(records) == (expected is None)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_numbers_keep_the_storage_unless_they_fill_the_zeros(stype):
    x = stored(values((3, 4)), stype)
    kept = [x + 0, 0 + x, x - 0.0, 0 - x, x + (-0.0), x + 0j, x * 3, 3 * x, x / 2, x * np.inf]
    assert {y.stype for y in kept} == {stype}
    for call in (lambda: x + 1, lambda: 1 - x, lambda: x + np.nan, lambda: 1 / x, lambda: x - 1e-9):
        with so.fallback("allow") as records:
            assert call().stype == "dense"
        assert len(records) == 1


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("name", ["add", "subtract"])
def test_a_sum_with_a_smaller_dense_array_is_reported(stype, name):
    x = stored(values((3, 4)), stype)
    for shape in ((4,), (1, 4), (3, 1), (), (1,)):
        for args in ((x, so.zeros(shape)), (so.zeros(shape), x)):
            with so.fallback("allow") as records:
                operators[name](*args)
            (record,) = records
            assert record.operator == name and record.bytes_dense == 3 * 4 * 8
            assert record.stypes == (args[0].stype, args[1].stype, "dense")
    with so.fallback("error"):
        operators[name](x, so.zeros((3, 4)))
        operators[name](stored(values((3, 1)), stype), so.zeros((3, 4)))
        operators[name](so.zeros((2, 3, 4)), x)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_what_would_fill_a_huge_shape_is_refused_before_it_is_allocated(stype):
    x = so.zeros((10**6, 10**6), stype=stype)
    for call in (lambda: x + so.zeros(10**6), lambda: x + 1, lambda: 1 / x):
        with so.fallback("allow"), pytest.raises(so.DensifyError, match="limit"):
            call()


def test_a_row_sparse_array_that_fills_every_row_is_reported():
    x, bias = stored(values((3, 4)), "row_sparse"), stored(np.ones((1, 4)), "row_sparse")
    for other in (bias, stored(np.ones(4), "row_sparse")):
        with so.fallback("allow") as records:
            assert_same(x + other, densify(x) + 1)
        assert len(records) == 1
    with so.fallback("error"):
        assert (x * bias).indices.tolist() == x.indices.tolist()


def test_a_row_sparse_product_with_a_dense_array_of_its_own_size_is_no_fallback():
    x, y = values((3, 4)), values((2, 3, 4), full=True)
    with so.fallback("error"):
        assert_same(stored(x, "row_sparse") * so.array(y), x * y)
    with so.fallback("allow") as records:
        assert_same(stored(x, "row_sparse") * so.array(y[:, :1, :1]), x * y[:, :1, :1])
    assert len(records) == 1


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_sums_store_the_union_and_keep_what_cancels(stype):
    a = stored(np.array([[1.0, 0], [0, 0], [2, 3]]), stype)
    b = stored(np.array([[-1.0, 0], [0, 5], [0, 0]]), stype)
    for found in (a + b, a - b, b + a):
        np.testing.assert_array_equal(places(found), places(a) | places(b))
    empty = so.zeros((3, 2), stype=stype)
    np.testing.assert_array_equal(places(a + empty), places(a))
    assert (empty + empty).nnz == 0


def test_products_store_the_intersection_with_its_zeros():
    a, b = values((6, 5), seed=3), values((6, 5), seed=4)
    for sa, sb in product(("csr", "row_sparse"), repeat=2):
        x, y = stored(a, sa, extra=0.3), stored(b, sb, extra=0.3, rng=np.random.default_rng(7))
        np.testing.assert_array_equal(places(x * y), places(x) & places(y))


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_a_product_or_quotient_with_dense_values_shares_the_structure(stype):
    x = stored(values((3, 4)), stype)
    for y in (x * so.zeros((3, 4)), so.zeros(4) * x, x / so.array(2.0), x * 2, x + 0, x * x, x + x):
        assert y.storage.indices is x.storage.indices


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_what_is_not_stored_is_skipped_and_what_is_stored_propagates(stype):
    x = so.csr_array(([1.0, 0.0, np.nan], ([0, 1, 2], [0, 0, 0])), shape=(4, 1)).tostype(stype)
    bad = so.array(np.full((4, 1), np.inf))
    expected = [[np.inf], [np.nan], [np.nan], [0]]
    for found in (
        x * bad,
        bad * x,
        x * np.inf,
        x * bad.tostype("csr"),
        x / so.zeros((4, 1)),
        x / 0,
    ):
        np.testing.assert_array_equal(found.asnumpy(), expected)
    solid = x.tostype("row_sparse") * so.array(np.full((2, 4, 1), np.inf))
    np.testing.assert_array_equal(solid.asnumpy(), [expected, expected])
    np.testing.assert_array_equal((x + bad).asnumpy(), [[np.inf], [np.inf], [np.nan], [np.inf]])


@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
def test_widths_of_indices_are_kept_and_mixed_ones_promoted(name):
    a, b = pair(name, ((6, 5), (6, 5)))
    widths = (np.int32, np.int64)
    for (sa, sb), (wa, wb) in product(
        product(("csr", "row_sparse"), repeat=2), product(widths, widths)
    ):
        for second in (b, a, b[:1], b[:, :1]):
            x, y = stored(a, sa, width=wa), stored(second, sb, width=wb)
            with so.fallback("allow"):
                found = operators[name](x, y)
            assert {i.dtype for i in found.aux.values()} == {np.promote_types(wa, wb)}
    x = stored(a, "csr", width=np.int64)
    assert (x * 2).indices.dtype == (x * so.array(b)).indices.dtype == np.int64


def test_huge_shapes_cost_what_is_stored():
    shape = (10**6, 10**6)
    rng = np.random.default_rng(0)

    def matrix():
        row, column = rng.integers(0, 10**6, (2, 1000))
        return so.csr_array((rng.random(1000), (row, column)), shape=shape)

    a, b, row = matrix(), matrix(), so.array(rng.random((1, 10**6)))
    view = so.broadcast_to(row, shape=shape)
    rows = so.row_sparse_array((np.ones((2, 3)), [5, 10**15]), shape=(10**18, 3))
    tracemalloc.start()
    try:
        with so.fallback("error"):
            assert (a + b).nnz == (a - b).nnz == 2000
            assert (a * a).nnz == 1000 and (a * b).nnz <= 1
            expected = a.data * row.data[0, a.indices]
            for other in (row, view, so.array(row.data[0])):
                np.testing.assert_array_equal((a * other).data, expected)
            assert (a / row).nnz == (a * so.broadcast_to(so.array(2.0), shape=shape)).nnz == 1000
            column = so.csr_array(([2.0], ([7], [0])), shape=(10**6, 1))
            assert (column * so.csr_array(([3.0], ([0], [9])), shape=(1, 10**6))).nnz == 1
            assert (a * column).nnz < 10
            assert (rows + rows * 2).data.tolist() == [[3, 3, 3]] * 2
            assert (rows - so.row_sparse_array(([[1, 1, 1]], [10**17]), shape=(10**18, 3))).nnz == 9
        assert tracemalloc.get_traced_memory()[1] < 200 * 10**6
    finally:
        tracemalloc.stop()


def test_structures_whose_places_do_not_fit_int64_are_merged():
    shape = (2**20, 2**50)
    a = so.csr_array(([1.0, 2.0], ([0, 9], [2**49, 3])), shape=shape)
    b = so.csr_array(([4.0, 8.0], ([0, 9], [2**49, 4])), shape=shape)
    total = a + b
    assert total.indices.tolist() == [2**49, 3, 4] and total.data.tolist() == [5, 2, 8]
    assert (a * b).data.tolist() == [4]


def test_operands_are_never_changed():
    a, b = pair("add", ((3, 4), (3, 4)))
    for (sa, sb), name in product(product(storages(a), repeat=2), OPS):
        x, y = stored(a, sa), stored(b, sb)
        with so.fallback("allow"), np.errstate(all="ignore"):
            z = operators[name](x, y)
        if z.stype == "dense":
            z[...] = 7
        np.testing.assert_array_equal(densify(x), a)
        np.testing.assert_array_equal(densify(y), b)


GRADIENTS = [
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((2, 3), (1, 3)),
    ((2, 1), (1, 3)),
    ((1, 1), (2, 3)),
]
#: Quotients are not linear: smaller steps, and looser bounds, than the oracle's own.
DIFFERENCES = {"divide": {"step": 2.0**-12, "rtol": 1e-4}}


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("shapes", GRADIENTS, ids=str)
def test_gradients_of_every_pair_of_storages_are_right(name, shapes):
    asks = (None, "dense", "row_sparse", "csr") if shapes == GRADIENTS[0] else (None,)
    check_gradient(name, pair(name, shapes), asks=asks, **DIFFERENCES.get(name, {}))


@pytest.mark.parametrize("name", OPS)
def test_gradients_of_complex_arrays_multiply_by_conjugates(name):
    complexes = pair(name, ((2, 2), (2, 2)), (complex, complex))
    check_gradient(name, complexes, asks=(None,), **DIFFERENCES.get(name, {}))
    mixed = pair(name, ((2, 2), (2,)), (complex, float))
    check_gradient(name, mixed, asks=(None,), **DIFFERENCES.get(name, {}))


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("number", [0, 2.0, 1 + 2j], ids=repr)
def test_gradients_beside_a_number_are_right(name, number):
    x = values((2, 3), complex if number == 1 + 2j else float, full=True)
    if not (name == "divide" and number == 0):
        check_gradient(name, [x, number], asks=(None,))
    check_gradient(name, [number, x], asks=(None,), **DIFFERENCES.get(name, {}))


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("shapes", [((2, 3, 4), (3, 4)), ((2, 3, 2), (2, 1, 2)), ((3,), (2, 1, 3))])
def test_gradients_of_row_sparse_arrays_of_any_dimensions_are_right(name, shapes):
    a, b = pair(name, shapes)
    head = np.random.default_rng(5).integers(-3, 4, OPS[name](a, b).shape).astype(float)
    dense = differentiated(name, so.array(a), so.array(b), head)
    for sa, sb in product(("dense", "row_sparse"), repeat=2):
        x, y = stored(a, sa, extra=0.3), stored(b, sb, extra=0.3)
        for found, expected, by in zip(
            differentiated(name, x, y, head), dense, (x, y), strict=True
        ):
            assert found.stype == by.stype
            assert_same(found, np.where(places(by), densify(expected), 0))


def differentiated(name, a, b, head):
    with so.fallback("allow"):
        with so.Tape() as tape:
            y = operators[name](a, b)
        return tape.gradient(y, [a, b], output_gradients=head)


def test_a_real_factor_of_a_complex_one_has_a_real_gradient():
    x, y = so.array([1.0, 2.0]), so.array([1 + 2j, 3j])
    with so.Tape() as tape:
        z = x * y
    g = tape.gradient(z, x, output_gradients=np.array([1j, 1 + 1j]))
    assert g.asnumpy().tolist() == [2, 3]


@pytest.mark.parametrize("name", ["multiply", "divide"])
def test_the_gradient_by_a_dense_operand_is_sparse_if_it_is_asked_for(name):
    a, b = pair(name, ((3, 4), (3, 4)))
    for stype in ("csr", "row_sparse"):
        x, y = stored(a, stype), so.array(b)
        with so.fallback("error"):
            with so.Tape(persistent=True) as tape:
                z = operators[name](x, y)
            g = tape.gradient(z, y, output_gradients=np.ones((3, 4)), stypes=stype)
            assert g.stype == stype
            dense = tape.gradient(z, y, output_gradients=np.ones((3, 4)))
        assert dense.stype == "dense"
        np.testing.assert_array_equal(densify(g), densify(dense))


def test_gradients_of_sparse_arrays_are_computed_without_a_fallback():
    for sa, sb in product(("csr", "row_sparse"), repeat=2):
        x, y = stored(values((3, 4), seed=1), sa), stored(values((3, 4), seed=2), sb)
        with so.fallback("error"), so.Tape() as tape:
            z = so.sum(x * y + x - y * 3.0 + 0)
            grads = tape.gradient(z, [x, y])
        assert [g.stype for g in grads] == [sa, sb]


def test_second_derivatives_of_products_and_quotients_are_right():
    def loss(x):
        return so.sum(x * x * x / (x + 2.0))

    x = so.array([1.0, 2.0, 3.0])
    second = so.grad(lambda v: so.sum(so.grad(loss)(v)))(x).asnumpy()
    at, step = x.asnumpy(), 1e-3

    def value(v):
        return v**3 / (v + 2)

    expected = (value(at + step) - 2 * value(at) + value(at - step)) / step**2
    np.testing.assert_allclose(second, expected, rtol=1e-5)


def test_float16_gradients_keep_their_dtype():
    x = so.csr_array(np.array([[1, 0], [2, 4]], np.float16))
    with so.Tape() as tape:
        y = so.mean(x * x / so.array(np.full((2, 2), 2, np.float16)))
    g = tape.gradient(y, x)
    assert g.dtype == np.float16
    np.testing.assert_array_equal(g.data, x.data / 4)


@st.composite
def sparse_pairs(draw):
    """Two arrays of one shape in the storages csr or row_sparse, with explicit zeros."""
    shape = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    entries = st.lists(
        st.integers(-2, 2), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]
    )
    width = st.sampled_from([np.int32, np.int64])
    found = []
    for _ in range(2):
        x = np.array(draw(entries), float).reshape(shape)
        rng = np.random.default_rng(draw(st.integers(0, 9)))
        stype = draw(st.sampled_from(["csr", "row_sparse"]))
        found.append(stored(x, stype, extra=0.4, rng=rng, width=draw(width)))
    return found


@settings(max_examples=40, deadline=None)
@given(sparse_pairs(), st.sampled_from(["add", "subtract", "multiply"]))
def test_structures_of_any_kind_are_joined_rightly(arrays, name):
    a, b = arrays
    with so.fallback("error"):
        found = operators[name](a, b)
    assert_same(found, OPS[name](densify(a), densify(b)))
    joined = np.logical_and if name == "multiply" else np.logical_or
    expected = joined(places(a), places(b))
    if found.stype == "row_sparse":
        expected = np.broadcast_to(expected.any(axis=1, keepdims=True), expected.shape)
        assert len(found.indices) <= found.shape[0]
    if expected.size:
        np.testing.assert_array_equal(places(found), expected)
