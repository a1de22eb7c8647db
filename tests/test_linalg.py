"""The matrix product and its gradients are NumPy's in every storage, and cost what they say."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from oracle import STORAGES, assert_same, check_forward, check_gradient, densify, stored

import sparseops as so
from sparseops.registry import operators

FLAGS = list(product((False, True), repeat=2))
DTYPES = [np.dtype(c) for c in "?bhilBHILefdFD"]
PAIRS = list(product(STORAGES, repeat=2))


def matrix(shape, density=0.5, dtype=float, seed=0):
    """Small whole numbers, most of them zero."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, shape) * (rng.random(shape) < density)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.integers(-2, 3, shape) * (values != 0)
    return values.astype(dtype)


def multiply(a, b, transpose_a=False, transpose_b=False):
    return np.dot(a.T if transpose_a else a, b.T if transpose_b else b)


def factors(transpose_a, transpose_b, sizes=(4, 5, 3), **options):
    rows, inner, columns = sizes
    a = matrix((rows, inner), seed=1, **options)
    b = matrix((inner, columns), seed=2, **options)
    return [np.ascontiguousarray(a.T) if transpose_a else a, b.T.copy() if transpose_b else b]


def flags(transpose_a, transpose_b):
    return {"transpose_a": transpose_a, "transpose_b": transpose_b}


@pytest.mark.parametrize("sizes", [(4, 5, 3), (1, 1, 1), (1, 6, 1), (6, 1, 6)])
@pytest.mark.parametrize("transposes", FLAGS)
def test_dot_is_numpys_in_every_storage(transposes, sizes):
    check_forward("dot", factors(*transposes, sizes), multiply, **flags(*transposes))


@pytest.mark.parametrize("sizes", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0), (0, 2, 0)])
@pytest.mark.parametrize("transposes", FLAGS)
def test_dot_of_nothing_is_nothing(transposes, sizes):
    check_forward("dot", factors(*transposes, sizes), multiply, **flags(*transposes))


@pytest.mark.parametrize("transposes", FLAGS)
@pytest.mark.parametrize("left", [True, False])
def test_a_vector_is_a_row_on_the_left_and_a_column_on_the_right(left, transposes):
    a, b = factors(*transposes)
    values = [matrix(5, seed=3), b] if left else [a, matrix(5, seed=3)]
    reference = lambda a, b, transpose_a, transpose_b: multiply(  # noqa: E731
        a, b, transpose_a and a.ndim == 2, transpose_b and b.ndim == 2
    )
    check_forward("dot", values, reference, **flags(*transposes))


def test_two_vectors_give_a_number():
    values = [matrix(6, seed=1), matrix(6, seed=2)]
    reference = lambda a, b, transpose_a: np.dot(a, b)  # noqa: E731
    check_forward("dot", values, reference, transpose_a=True)
    with pytest.raises(so.ShapeError, match="transpose_a=True"):
        so.dot(stored(values[0], "row_sparse"), so.array(values[1]))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dot_keeps_and_promotes_dtypes(dtype):
    for other, transposes in zip((dtype, np.dtype("f"), np.dtype("b")), FLAGS[1:], strict=True):
        a, b = factors(*transposes)
        values = [np.abs(a).astype(dtype), np.abs(b).astype(other)]
        check_forward("dot", values, multiply, **flags(*transposes))


@pytest.mark.parametrize("columns", [20, 400, 2**50])
def test_wide_csr_arrays_times_many_columns(columns):
    rng = np.random.default_rng(0)
    places = rng.integers(0, columns, (3, 8)) % (columns - 2)
    x = so.csr_array((matrix(24, 1, seed=1), (np.repeat(np.arange(3), 8), places.reshape(-1))))
    x = so.csr_array((x.data, x.indices, x.indptr), shape=(3, columns))
    b = matrix((3, 20), 1, seed=2)
    found = so.dot(x, so.array(b), transpose_a=True)
    found.storage.validate()
    used, columns_of = np.unique(x.indices, return_inverse=True)
    few = np.zeros((3, len(used)))
    few[np.repeat(np.arange(3), np.diff(x.indptr)), columns_of] = x.data
    np.testing.assert_array_equal(found.indices, used)
    np.testing.assert_array_equal(found.data, few.T @ b)
    np.testing.assert_array_equal(densify(so.dot(x, x, transpose_b=True)), few @ few.T)


def test_whole_numbers_wrap_as_in_numpy():
    values = [np.full((2, 3), 100, np.int8), np.full((3, 2), 7, np.int8)]
    check_forward("dot", values, multiply, transpose_a=False, transpose_b=False)


@pytest.mark.parametrize("stypes", PAIRS)
def test_float16_is_added_up_in_float32(stypes):
    # 2048 + 1 is 2048 in float16, over and over.
    row = np.r_[np.full(1, 2048.0), np.ones(64)].astype(np.float16)[None]
    ones = np.ones((65, 1), np.float16)
    found = so.dot(stored(row, stypes[0]), stored(ones, stypes[1]))
    assert_same(found, np.array([[2112]], np.float16))
    # 300 * 300 is infinite in float16.
    row, column = np.full((1, 2), 300, np.float16), np.array([[300], [-299]], np.float16)
    found = so.dot(stored(row, stypes[0]), stored(column, stypes[1]))
    assert_same(found, np.array([[300]], np.float16))


@pytest.mark.parametrize("transposes", FLAGS)
@pytest.mark.parametrize("stypes", [s for s in PAIRS if "csr" in s])
def test_what_a_sparse_factor_does_not_store_is_skipped(stypes, transposes):
    a, b = factors(*transposes)
    values = [a, b]
    for slot, stype in enumerate(stypes):
        if stype == "csr":
            values[1 - slot] = np.full(values[1 - slot].shape, np.inf)
            values[slot] = np.abs(values[slot])
    inputs = [stored(v, s) for v, s in zip(values, stypes, strict=True)]
    found = densify(so.dot(*inputs, **flags(*transposes)))
    assert not np.isnan(found).any()


def test_nan_that_is_stored_counts():
    x = so.csr_array(([np.nan], [1], [0, 1, 1]), shape=(2, 2))
    found = so.dot(x, so.array([[1.0], [0.0]])).asnumpy()
    np.testing.assert_array_equal(found, [[np.nan], [0]])


INFERRED = {
    ("dense", "dense"): ("dense", "dense"),
    ("dense", "row_sparse"): ("dense", "dense"),
    ("dense", "csr"): ("dense", "dense"),
    ("csr", "dense"): ("dense", "row_sparse"),
    ("csr", "row_sparse"): ("dense", "row_sparse"),
    ("csr", "csr"): ("csr", "csr"),
    ("row_sparse", "dense"): ("row_sparse", "dense"),
    ("row_sparse", "row_sparse"): ("row_sparse", "dense"),
    ("row_sparse", "csr"): ("row_sparse", "dense"),
}


@pytest.mark.parametrize("transposes", FLAGS)
@pytest.mark.parametrize("stypes", INFERRED)
def test_dot_never_falls_back_and_gives_the_storage_of_its_table(stypes, transposes):
    inputs = [stored(v, s) for v, s in zip(factors(*transposes), stypes, strict=True)]
    with so.fallback("error"):
        found = so.dot(*inputs, **flags(*transposes))
    assert found.stype == INFERRED[stypes][transposes[0]]


@pytest.mark.parametrize("transposes", FLAGS)
@pytest.mark.parametrize("left", ["dense", "row_sparse"])
def test_a_csr_result_may_be_declared_for_a_csr_right_factor(left, transposes):
    a, b = factors(*transposes)
    inputs = stored(a, left), stored(b, "csr")
    with so.fallback("error"):
        found = so.dot(*inputs, **flags(*transposes), stype="csr")
    assert_same(found, multiply(a, b, *transposes))


def test_only_columns_of_the_csr_array_with_an_entry_become_rows():
    x = so.csr_array(([0.0, 2.0, 3.0], [7, 2, 7], [0, 1, 1, 3]), shape=(3, 9))
    found = so.dot(x, so.array(np.ones((3, 2))), transpose_a=True)
    assert found.indices.tolist() == [2, 7]
    assert found.data.tolist() == [[2, 2], [3, 3]]


@pytest.mark.parametrize("widths", list(product((np.int32, np.int64), repeat=2)))
@pytest.mark.parametrize("transposes", FLAGS)
def test_index_widths_are_kept_and_mixed_ones_promote(transposes, widths):
    for stypes in product(("csr", "row_sparse"), repeat=2):
        pairs = zip(factors(*transposes), stypes, widths, strict=True)
        inputs = [stored(v, s, width=w) for v, s, w in pairs]
        found = so.dot(*inputs, **flags(*transposes))
        if found.stype == "csr":
            assert found.indices.dtype == found.indptr.dtype == np.result_type(*widths)
        elif found.stype == "row_sparse":
            assert found.indices.dtype == widths[0]


def test_products_of_zeros_that_are_stored_are_stored():
    x = so.csr_array(([1.0, 1.0], [0, 1], [0, 2]), shape=(1, 2))
    y = so.csr_array(([1.0, -1.0], [0, 0], [0, 1, 2]), shape=(2, 1))
    found = so.dot(x, y)
    assert found.nnz == 1 and found.data.tolist() == [0]


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((3,), (2,)), ((2, 3), (2,)), ((2,), (3, 2))])
def test_sizes_that_differ_are_named(shapes):
    with pytest.raises(so.ShapeError, match=r"inner sizes differ: \d and \d"):
        so.dot(*(so.array(np.ones(shape)) for shape in shapes))


@pytest.mark.parametrize("shapes", [((), (3,)), ((2, 2), (2, 2, 2))])
def test_dot_takes_one_or_two_dimensions(shapes):
    with pytest.raises(so.ShapeError, match="1 or 2 dimensions"):
        so.dot(*(so.array(np.ones(shape)) for shape in shapes))


@pytest.mark.parametrize("transposes", FLAGS)
def test_gradients_of_dot_are_slopes_in_every_storage(transposes):
    values = factors(*transposes, (3, 4, 2), density=0.6)
    check_gradient("dot", values, **flags(*transposes))


@pytest.mark.parametrize("transposes", FLAGS)
@pytest.mark.parametrize("left", [True, False])
def test_gradients_by_vectors_are_slopes(left, transposes):
    a, b = factors(*transposes, (3, 4, 2))
    values = [matrix(4, seed=3), b] if left else [a, matrix(4, seed=3)]
    check_gradient("dot", values, asks=(None,), **flags(*transposes))


def test_gradients_of_two_vectors_are_slopes():
    check_gradient("dot", [matrix(4, seed=1), matrix(4, seed=2)], transpose_a=True)


@pytest.mark.parametrize("transposes", FLAGS)
def test_complex_gradients_take_the_conjugate_of_the_other_factor(transposes):
    values = factors(*transposes, (2, 3, 2), dtype=complex, density=0.7)
    check_gradient("dot", values, asks=(None,), **flags(*transposes))


@pytest.mark.parametrize(
    "transposes, ask, stype",
    [
        ((False, False), None, "row_sparse"),
        ((False, False), "row_sparse", "row_sparse"),
        ((False, False), "dense", "dense"),
        ((False, True), None, "dense"),
        ((False, True), "csr", "csr"),
        ((True, False), None, "dense"),
        ((True, True), None, "dense"),
    ],
)
def test_the_gradient_by_the_dense_factor_of_csr_has_a_rule_for_each_ask(transposes, ask, stype):
    a, b = factors(*transposes)
    a, b = stored(a, "csr"), so.array(b)
    with so.fallback("error"), so.Tape() as tape:
        y = so.dot(a, b, **flags(*transposes))
    head = so.zeros(y.shape, stype=y.stype)
    with so.fallback("error"):
        assert tape.gradient(y, b, output_gradients=head, stypes=ask).stype == stype


@pytest.mark.parametrize("transposes", FLAGS)
@pytest.mark.parametrize("stypes", PAIRS)
def test_gradients_never_fall_back(stypes, transposes):
    inputs = [stored(v, s) for v, s in zip(factors(*transposes), stypes, strict=True)]
    with so.fallback("error"), so.Tape() as tape:
        y = so.dot(*inputs, **flags(*transposes))
    head = np.ones(y.shape)
    with so.fallback("error"):
        found = tape.gradient(y, inputs, output_gradients=head)
    for g, x in zip(found, inputs, strict=True):
        assert g.shape == x.shape
        assert g.stype == x.stype or x.stype == "dense"


def second_order(function, a, b, ask_a=None):
    """The gradient by `a` of the squared length of the gradient by `b`, times a constant."""
    with so.Tape() as outer:
        with so.Tape() as tape:
            y = function(a, b)
        g = tape.gradient(y, b, output_gradients=so.array(np.ones(y.shape)), stypes="dense")
        z = so.sum(so.multiply(g, g))
    return outer.gradient(z, a, stypes=ask_a)


@pytest.mark.parametrize("transposes", FLAGS)
@pytest.mark.parametrize("stype", STORAGES)
def test_the_gradient_of_a_gradient_is_right_in_every_storage(stype, transposes):
    a, b = factors(*transposes, (3, 4, 2), density=0.7)
    x = stored(a, stype)
    with so.fallback("allow"):
        found = second_order(lambda x, w: so.dot(x, w, **flags(*transposes)), x, so.array(b))
        dense = second_order(
            lambda x, w: so.dot(x, w, **flags(*transposes)), so.array(a), so.array(b)
        )
    mask = densify(so.sparse_mask(dense, x))
    np.testing.assert_array_equal(densify(found), mask)


# sddmm


def sampled(pattern, a, b, transpose_a=False, transpose_b=False):
    return multiply(a, b, transpose_a, transpose_b)


@pytest.mark.parametrize("transposes", FLAGS)
@pytest.mark.parametrize("stypes", list(product(STORAGES, repeat=3)))
def test_sddmm_is_the_product_at_the_stored_places(stypes, transposes):
    a, b = factors(*transposes)
    pattern = stored(matrix((4, 3), seed=4), stypes[0], extra=0.3)
    inputs = [stored(v, s) for v, s in zip((a, b), stypes[1:], strict=True)]
    with so.fallback("allow" if stypes[0] == "dense" else "error"):
        found = so.sddmm(pattern, *inputs, **flags(*transposes))
    assert found.stype == stypes[0]
    expected = so.sparse_mask(so.array(multiply(a, b, *transposes)), pattern)
    assert_same(found, densify(expected))
    if found.stype != "dense":
        assert found.storage.indices is pattern.storage.indices


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sddmm_keeps_and_promotes_dtypes(dtype):
    a, b = factors(False, False)
    pattern = stored(matrix((4, 3), seed=4, dtype=bool), "csr")
    for other in (dtype, np.dtype("f"), np.dtype("b")):
        left, right = np.abs(a).astype(dtype), np.abs(b).astype(other)
        for stypes in PAIRS:
            found = so.sddmm(pattern, stored(left, stypes[0]), stored(right, stypes[1]))
            expected = np.where(densify(pattern), left @ right, 0)
            assert_same(found, expected.astype(np.result_type(dtype, other)))


@pytest.mark.parametrize("sizes", [(0, 3, 2), (3, 0, 2), (3, 2, 0)])
def test_sddmm_of_nothing_is_nothing(sizes):
    a, b = factors(False, False, sizes)
    pattern = stored(np.ones((sizes[0], sizes[2])), "csr")
    for stypes in PAIRS:
        found = so.sddmm(pattern, stored(a, stypes[0]), stored(b, stypes[1]))
        assert_same(found, np.zeros(pattern.shape))


@pytest.mark.parametrize("inner", [1, 7, 70_000])
def test_sddmm_goes_through_many_blocks(inner):
    rng = np.random.default_rng(0)
    rows = 70_000 if inner == 1 else 30_000 if inner == 7 else 3
    a, b = rng.integers(-2, 3, (rows, inner)), rng.integers(-2, 3, (inner, 3))
    pattern = stored((rng.random((rows, 3)) < 0.9).astype(float), "csr")
    found = so.sddmm(pattern, so.array(a), so.array(b))
    places = np.repeat(np.arange(rows), np.diff(pattern.indptr)), pattern.indices
    np.testing.assert_array_equal(found.data, (a @ b)[places])


def test_sddmm_names_shapes_that_do_not_fit():
    a, b = so.array(np.ones((2, 3))), so.array(np.ones((3, 4)))
    with pytest.raises(so.ShapeError, match="inner sizes differ: 3 and 2"):
        so.sddmm(so.zeros((2, 3), stype="csr"), a, a)
    with pytest.raises(
        so.ShapeError, match=r"pattern has shape \(2, 3\); the product has \(2, 4\)"
    ):
        so.sddmm(so.zeros((2, 3), stype="csr"), a, b)
    with pytest.raises(so.ShapeError, match="2 dimensions"):
        so.sddmm(so.zeros((2, 4), stype="csr"), a, so.array(np.ones(3)))


@pytest.mark.parametrize("transposes", FLAGS)
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_gradients_of_sddmm_are_those_of_the_masked_product(stype, transposes):
    a, b = factors(*transposes, (3, 4, 2))
    pattern = stored(matrix((3, 2), seed=4), stype, extra=0.3)
    mask = densify(so.sparse_mask(so.array(np.ones((3, 2))), pattern))
    head = np.arange(6.0).reshape(3, 2) - 2
    masked = head * mask
    expected_a = masked @ (b if transposes[1] else b.T)
    expected_b = (a if transposes[0] else a.T) @ masked
    for stypes in PAIRS:
        x, y = (stored(v, s) for v, s in zip((a, b), stypes, strict=True))
        with so.fallback("error"), so.Tape() as tape:
            z = so.sddmm(pattern, x, y, **flags(*transposes))
        with so.fallback("error"):
            found = tape.gradient(z, [pattern, x, y], output_gradients=head)
        assert found[0].stype == stype and not found[0].data.any()
        for g, v, e, t in zip(found[1:], (x, y), (expected_a, expected_b), transposes, strict=True):
            want = so.sparse_mask(so.array(e.T if t else e), v)
            assert g.stype == v.stype
            np.testing.assert_array_equal(densify(g), densify(want))


def test_the_pattern_may_hold_what_is_differentiated():
    x = stored(matrix((3, 2), seed=4), "csr", extra=0.3)
    u, v = so.array(matrix((3, 4), 1, seed=1)), so.array(matrix((2, 4), 1, seed=2))
    with so.fallback("error"), so.Tape() as tape:
        scores = so.sddmm(x, u, v, transpose_b=True)
        total = so.sum(so.multiply(scores, x))
    found = tape.gradient(total, x)
    np.testing.assert_array_equal(densify(found), densify(scores))


# What it costs


def peak(call):
    """The most bytes allocated at a time while `call` runs, beside what there was before."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def scattered(rows, columns, nnz, width=np.int32):
    """A csr array of ones in random columns, the same number in each row."""
    rng = np.random.default_rng(0)
    indptr = (np.arange(rows + 1) * (nnz // rows)).astype(width)
    indices = np.sort(rng.integers(0, columns, (rows, nnz // rows)), axis=1).astype(width)
    return so.csr_array((np.ones(nnz), indices.reshape(-1), indptr), shape=(rows, columns))


def test_gradients_of_a_large_sparse_product_take_no_square():
    x, w = scattered(12_000, 12_000, 12_000), so.array(np.ones((12_000, 1)))

    def both():
        with so.Tape() as tape:
            y = so.dot(x, w)
        return tape.gradient(y, [x, w], output_gradients=np.ones(y.shape))

    assert peak(both) < 4e6  # a dense 12 000 x 12 000 takes 1.2e9


def test_sddmm_takes_little_beside_its_result():
    x, a = scattered(1000, 1000, 100_000), so.array(np.ones((1000, 64)))
    assert peak(lambda: so.sddmm(x, a, a, transpose_b=True)) < 4e6  # all rows at once take 1e8


@pytest.mark.parametrize("columns", [10**6, 2**40])
def test_the_number_of_columns_costs_nothing(columns):
    x = scattered(100, columns, 2_000, np.int64)
    b = so.array(np.ones((100, 4)))
    w = so.row_sparse_array((np.ones((50, 4)), x.indices[:100:2]), shape=(columns, 4))
    with so.fallback("error"):
        assert peak(lambda: so.dot(x, b, transpose_a=True)) < 5e5
        assert peak(lambda: so.dot(x, w)) < 5e5
        assert peak(lambda: so.dot(x, x, transpose_b=True)) < 2e6
        assert peak(lambda: so.dot(so.csr_array(np.eye(100)), x)) < 1e6
        assert peak(lambda: so.dot(b, x, transpose_a=True, stype="csr")) < 1e6


def test_gradients_by_both_factors_do_not_depend_on_the_number_of_columns():
    x = scattered(100, 2**40, 2_000, np.int64)
    w = so.row_sparse_array((np.ones((500, 4)), x.indices[:2000:4]), shape=(2**40, 4))

    def both():
        with so.fallback("error"), so.Tape() as tape:
            y = so.dot(x, w)
        return tape.gradient(y, [x, w], output_gradients=np.ones(y.shape))

    assert peak(both) < 1e6


def test_dot_and_sddmm_have_no_gradient_that_is_not_declared():
    for name in ("dot", "sddmm"):
        rules = operators[name].gradients
        assert set(rules) == set(operators[name].inputs)
