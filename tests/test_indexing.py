"""Rows by number hold NumPy's values in every storage, and cost no more than what they touch."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import STORAGES, assert_same, check_forward, check_gradient, densify, stored

import sparseops as so
from sparseops.registry import operators

DTYPES = [np.dtype(c) for c in "?bhilBHILefdFD"]


def matrix(shape, density=0.5, dtype=float, seed=0):
    """Small whole numbers, most of them zero."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, shape) * (rng.random(shape) < density)
    return (values if np.dtype(dtype).kind in "if" else np.abs(values)).astype(dtype)


# x[i]


@pytest.mark.parametrize("shape", [(3,), (3, 4), (3, 1), (3, 0), (3, 2, 2)])
def test_a_row_is_numpys_in_every_storage(shape):
    for index in (0, 1, 2, -1, -3):
        check_forward("row", [matrix(shape), index], lambda x, index: x[index])


def test_a_row_has_the_storage_that_fits_it():
    values = matrix((4, 5), seed=1)
    for stype, expected in zip(STORAGES, ("dense", "dense", "row_sparse"), strict=True):
        x = stored(values, stype, width=np.int64)
        with so.fallback("error"):
            found = x[np.int64(2)]
        assert found.stype == expected
        assert_same(found, values[2])
    assert found.indices.dtype == np.int64
    assert np.shares_memory(found.data, x.data) and np.shares_memory(found.indices, x.indices)


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("index", [3, -4, 2**40])
def test_a_row_out_of_range_is_an_index_error(index, stype):
    with pytest.raises(IndexError, match=f"index={index}, but there are 3 rows"):
        stored(matrix((3, 2)), stype)[index]


@pytest.mark.parametrize("index", [1.0, np.nan, True, np.True_, 1j, np.float16(0)])
def test_the_number_of_a_row_is_an_integer(index):
    with pytest.raises(IndexError, match="is not an integer"):
        operators["row"](so.zeros((3, 2)), index)


def test_one_plan_serves_all_rows():
    row = operators["row"]
    for stype in STORAGES:
        x = stored(matrix((300, 2)), stype)
        x[0]
        known = len(row._plans)
        assert len(list(x)) == 300
        assert x[np.int8(5)].shape == (2,)
        assert len(row._plans) == known


@pytest.mark.parametrize("stype", STORAGES)
def test_iteration_ends_after_the_last_row(stype):
    values = matrix((4, 3))
    rows = list(stored(values, stype))
    assert len(rows) == 4
    np.testing.assert_array_equal([densify(row) for row in rows], values)


def test_a_number_has_no_rows():
    with pytest.raises(so.ShapeError, match="no rows"):
        operators["row"](so.array(1.0), 0)


@pytest.mark.parametrize("index", [0, -1])
def test_gradients_of_a_row_are_slopes(index):
    check_gradient("row", [matrix((3, 4)), index])
    check_gradient("row", [matrix((3, 2, 2)), index])
    check_gradient("row", [matrix(3), index])


# x[a:b:c]

SLICES = [
    slice(None),
    slice(1, 3),
    slice(2, 2),
    slice(None, None, -1),
    slice(None, None, 2),
    slice(4, None, -3),
    slice(-2, None),
    slice(None, -10, -1),
    slice(-100, None, -1),
    slice(None, None, 2**40),
    slice(3, None, 2**70),
]


@pytest.mark.parametrize("key", SLICES, ids=str)
@pytest.mark.parametrize("shape", [(5, 3), (1, 2), (0, 2), (5,), (5, 2, 2), (5, 0)])
def test_slices_are_numpys_in_every_storage(shape, key):
    values = matrix(shape, seed=1)
    for stype in STORAGES[: 1 + min(values.ndim, 2)]:
        if stype == "csr" and values.ndim != 2:
            continue
        for width in (np.int32, np.int64):
            x = stored(values, stype, extra=0.3, width=width)
            with so.fallback("error"):
                found = x[key]
            assert found.stype == stype
            assert_same(found, densify(x)[key])
            if stype != "dense":
                assert found.indices.dtype == width


@pytest.mark.parametrize("stype", STORAGES)
def test_neighboring_rows_share_memory(stype):
    x = stored(np.ones((6, 3)), stype)
    assert np.shares_memory(x[2:4].data, x.data)


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_keep_every_dtype(dtype, stype):
    values = matrix((5, 3), dtype=dtype, seed=1)
    x = stored(values, stype, extra=0.2)
    assert_same(x[1:4], values[1:4])
    assert_same(x[::-2], values[::-2])
    assert_same(x[[3, 0, 3]], values[[3, 0, 3]])
    assert_same(x[3], values[3])


@pytest.mark.parametrize("key", SLICES[:6], ids=str)
def test_gradients_of_slices_are_slopes(key):
    rows = range(*key.indices(5))
    check_linear("slice_rows", matrix((5, 2)), rows.start, count=len(rows), step=rows.step)


def check_linear(name, values, *numbers, **params):
    """The gradient by a dense or sparse input of a linear operator is its transpose, masked."""
    op = operators[name]
    for stype in STORAGES:
        x = stored(values, stype, extra=0.3)
        for ask in (None, *STORAGES):
            with so.fallback("allow"), so.Tape() as tape:
                y = op(x, *numbers, **params)
            head = np.arange(1.0, y.size + 1).reshape(y.shape)
            with so.fallback("allow"):
                found = tape.gradient(y, x, output_gradients=head, stypes=ask)
            expected = np.zeros(x.shape)
            for place in zip(*np.nonzero(densify(mask_of(x))), strict=True):
                unit = np.zeros(x.shape)
                unit[place] = 1
                expected[place] = (head * densify(op(so.array(unit), *numbers, **params))).sum()
            assert ask is None or found.stype == ask
            np.testing.assert_array_equal(densify(found), expected)


@pytest.mark.parametrize("step, start", [(1, 0), (1, 2), (2, 1), (-1, 2), (-3, 6)])
def test_placed_rows_are_numpys_and_their_gradients_slopes(step, start):
    def reference(x, start, *, step, num_rows):
        out = np.zeros((num_rows, *x.shape[1:]), x.dtype)
        out[[start + step * i for i in range(len(x))]] = x
        return out

    params = {"step": step, "num_rows": 8}
    for shape in ((3, 2), (1, 2), (0, 2), (3,), (2, 2, 2)):
        check_forward("place_rows", [matrix(shape), start], reference, **params)
    check_linear("place_rows", matrix((3, 2)), start, **params)


def test_rows_beyond_the_array_are_refused():
    x = so.zeros((3, 2))
    with pytest.raises(IndexError, match="at 4, but there are 4 rows"):
        operators["place_rows"](x, 2, step=1, num_rows=4)
    with pytest.raises(IndexError, match="row 3, but there are 3 rows"):
        operators["slice_rows"](x, 0, count=4, step=1)


# take


@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 0), (4, 2, 2)])
@pytest.mark.parametrize("ids", [[], [0], [3, 0, 3], [-1, 1, -4], [2, 2, 2, 2, 2]])
def test_take_is_numpys_in_every_storage(ids, shape):
    values = matrix(shape, seed=1)
    ids = np.array(ids, np.int64)
    for stype in STORAGES[: 1 + min(values.ndim, 2)]:
        if stype == "csr" and values.ndim != 2:
            continue
        x = stored(values, stype, extra=0.3)
        with so.fallback("error"):
            found = so.take(x, ids)
        assert found.stype == ("csr" if stype == "csr" else "dense")
        assert_same(found, densify(x)[ids])


@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 0), (4, 2, 2)])
@pytest.mark.parametrize(
    "ids", [[], [3, 0, 3], [-1, 1, -4], [[0, 1], [2, 2]], [[]], [[[3]], [[1]]]]
)
def test_rows_that_are_not_stored_are_taken_as_absent_where_that_is_asked(ids, shape):
    values, ids = matrix(shape, seed=1), np.array(ids, int)
    for width in (np.int32, np.int64):
        x = stored(values, "row_sparse", extra=0.3, width=width)
        with so.fallback("error"):
            found = so.take(x, ids, stype="row_sparse")
        assert_same(found, densify(x)[ids])
        assert found.indices.dtype == width
        kept = np.isin(ids % 4, x.indices).any(axis=tuple(range(1, ids.ndim)))
        assert found.indices.tolist() == np.flatnonzero(kept).tolist()


def test_the_gradient_of_rows_taken_sparsely_is_sparse():
    x = so.row_sparse_array((np.ones((3, 2)), [0, 2, 3]), shape=(5, 2))
    for ids in ([3, 1, 3], [[3, 1], [1, 3]]):
        with so.fallback("error"):
            with so.Tape() as tape:
                y = so.take(x, ids, stype="row_sparse")
            head = np.arange(1.0, y.size + 1).reshape(y.shape)
            found = tape.gradient(y, x, output_gradients=head)
        expected = np.zeros((5, 2))
        np.add.at(expected, ids, head)
        expected[[1, 4]] = 0
        assert_same(found, expected)
        assert found.indices.tolist() == [0, 2, 3]


@pytest.mark.parametrize("shape", [(), (2, 3), (0, 2), (2, 1, 2)])
def test_ids_of_any_shape_give_rows_in_that_shape(shape):
    ids = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 4)
    for stype in ("dense", "row_sparse"):
        x = stored(matrix((4, 3)), stype)
        assert_same(so.take(x, ids), densify(x)[ids])
    with pytest.raises(so.ShapeError, match="1-D ids"):
        so.take(stored(matrix((4, 3)), "csr"), ids)


@pytest.mark.parametrize("dtype", "bhilBHIL")
def test_ids_may_be_of_every_integer_type(dtype):
    x = stored(matrix((200, 2)), "row_sparse")
    ids = np.array([0, 127, 5, 5], dtype)
    assert_same(so.take(x, ids), densify(x)[ids])
    found = so.scatter_rows(np.ones((4, 2)), ids, num_rows=200)
    assert found.indices.tolist() == [0, 5, 127]
    if dtype in "bhil":
        assert_same(so.take(x, -1 - ids), densify(x)[-1 - ids])


@pytest.mark.parametrize("ids", [[], [[]], np.zeros(0)])
def test_no_ids_are_ids(ids):
    assert so.take(so.zeros((3, 2)), ids).shape == (*np.shape(ids), 2)


@pytest.mark.parametrize("ids", [[0.5], [True, False, True], [1j]])
def test_ids_are_integers(ids):
    with pytest.raises(so.DTypeError, match="ids has dtype"):
        so.take(so.zeros((3, 2)), ids)


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize(
    "ids, message",
    [
        ([0, 5, 1], r"ids\[1\]=5, but there are 3 rows"),
        ([0, 1, -4], r"ids\[2\]=-4, but there are 3 rows"),
        (np.array([2, 255], np.uint8), r"ids\[1\]=255, but there are 3 rows"),
        (np.array([2**64 - 1], np.uint64), r"ids\[0\]=18446744073709551615, but there are 3 rows"),
        (np.array([2**62]), rf"ids\[0\]={2**62}, but there are 3 rows"),
    ],
)
def test_an_id_out_of_range_is_named_with_place_value_and_limit(ids, message, stype):
    with pytest.raises(IndexError, match=message):
        so.take(stored(matrix((3, 2)), stype), ids)
    with pytest.raises(IndexError, match=message):
        so.scatter_rows(np.ones((len(ids), 2)), ids, num_rows=3)


def test_an_id_out_of_range_is_named_with_all_its_places():
    with pytest.raises(IndexError, match=r"ids\[1, 0\]=9, but there are 3 rows"):
        so.take(so.zeros((3, 2)), [[0, 1], [9, 2]])


def test_sparse_ids_are_a_fallback():
    with so.fallback("allow") as records:
        found = so.take(so.array([5, 6, 7]), so.row_sparse_array(([2], [1]), shape=(3,)))
    assert found.asnumpy().tolist() == [5, 7, 5]
    assert [record.operator for record in records] == ["take"]


def test_rows_read_with_a_list_are_taken():
    x = so.csr_array([[1, 0], [0, 2]])
    assert x[[1, 1]].stype == "csr"
    np.testing.assert_array_equal(x[[1, 1]].asnumpy(), [[0, 2], [0, 2]])


@pytest.mark.parametrize("ids", [[1, 1, 3], [0, -1, 2], [[0, 1], [1, 1]], []])
def test_gradients_of_take_are_slopes(ids):
    ids = np.array(ids, int)
    for stype in ("dense", "row_sparse") + (("csr",) if ids.ndim == 1 else ()):
        check_gradient_by("take", matrix((4, 2)), ids, stype)
    if ids.ndim == 1:
        check_gradient_by("take", matrix(4), ids, "dense")
        check_gradient_by("take", matrix((4, 2, 2)), ids, "row_sparse")


def check_gradient_by(name, values, ids, stype, **params):
    """The gradient by the first input, the rows `ids`, is that of the sum of rows times a head."""
    x = stored(values, stype, extra=0.3)
    for ask in (None, "dense", "row_sparse"):
        with so.fallback("allow"), so.Tape() as tape:
            y = operators[name](x, so.array(ids), **params)
        head = np.arange(1.0, y.size + 1).reshape(y.shape)
        with so.fallback("allow"):
            found = tape.gradient(y, x, output_gradients=head, stypes=ask)
        expected = np.zeros(x.shape)
        np.add.at(expected, ids, head if y.stype != "csr" else head * (densify(mask_of(y)) != 0))
        expected *= densify(mask_of(x))
        assert ask is None or found.stype == ask
        np.testing.assert_array_equal(densify(found), expected)


def mask_of(x):
    """One wherever `x` stores a value."""
    return so.NDArray(x.storage.with_data(np.ones_like(x.storage.data)), x.backend)


@pytest.mark.parametrize(
    "stype, ask, expected",
    [
        ("dense", None, "row_sparse"),
        ("dense", "row_sparse", "row_sparse"),
        ("dense", "dense", "dense"),
        ("row_sparse", None, "row_sparse"),
        ("csr", None, "csr"),
    ],
)
def test_the_gradient_of_take_has_a_rule_for_each_ask(stype, ask, expected):
    x = stored(matrix((5, 3)), stype)
    with so.fallback("error"), so.Tape() as tape:
        y = so.take(x, [1, 4, 1])
    with so.fallback("error"):
        found = tape.gradient(y, x, output_gradients=np.ones(y.shape), stypes=ask)
    assert found.stype == expected


def test_rows_taken_twice_add_up_in_the_gradient():
    head = np.array([[1.0, 2.0], [4.0, 8.0], [16.0, 32.0]])
    table = so.array(np.zeros((5, 2)))
    with so.Tape() as tape:
        y = so.take(table, [3, 0, 3])
    found = tape.gradient(y, table, output_gradients=head)
    assert found.indices.tolist() == [0, 3]
    assert found.data.tolist() == [[4, 8], [17, 34]]


@pytest.mark.parametrize("stype", STORAGES)
def test_second_derivatives_flow_through_taken_rows(stype):
    values, ids = matrix((4, 3), density=0.8), [2, 0, 2]
    x = stored(values, stype)
    with so.fallback("allow"), so.Tape() as outer:
        with so.Tape() as tape:
            y = so.take(x, ids)
            z = so.sum(so.multiply(so.multiply(y, y), y))
        g = tape.gradient(z, x)
        total = so.sum(so.multiply(g, g))
    with so.fallback("allow"):
        found = outer.gradient(total, x)
    times = np.bincount(ids, minlength=4)[:, None]
    np.testing.assert_array_equal(densify(found), 36 * values**3 * times**2)


# retain


def test_retain_keeps_the_stored_rows_that_are_named():
    x = so.row_sparse_array((np.arange(8.0).reshape(4, 2), [1, 3, 4, 7]), shape=(9, 2))
    for rows in ([4, 0, 1, 4], [-5, -8], np.array([], int), [0, 2], np.arange(9, dtype=np.uint8)):
        found = so.retain(x, rows)
        named = np.isin(np.arange(9), np.asarray(rows, int) % 9)
        assert_same(found, densify(x) * named[:, None])
        assert set(found.indices.tolist()) == {1, 3, 4, 7} & set(np.flatnonzero(named).tolist())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_retain_keeps_dtype_width_and_rows_of_zeros(dtype):
    x = so.row_sparse_array((np.zeros((2, 2), dtype), np.array([0, 2])), shape=(3, 2))
    found = so.retain(x, [2])
    assert found.dtype == dtype and found.indices.dtype == np.int64 and found.nnz == 2


def test_retain_names_what_it_cannot_take():
    x = so.zeros((3, 2), stype="row_sparse")
    with pytest.raises(IndexError, match=r"rows\[1\]=3, but there are 3 rows"):
        so.retain(x, [0, 3])
    with pytest.raises(so.ShapeError, match="1 dimension"):
        so.retain(x, [[0]])
    with pytest.raises(so.DTypeError, match="rows has dtype float64"):
        so.retain(x, [0.5])
    for stype in ("dense", "csr"):
        with pytest.raises(so.StorageError):
            so.retain(so.zeros((3, 2), stype=stype), [0])


def test_the_gradient_of_retain_is_there_where_rows_stayed():
    x = so.row_sparse_array((np.ones((3, 2)), [0, 2, 3]), shape=(5, 2))
    with so.fallback("error"), so.Tape() as tape:
        y = so.retain(x, [3, 1, 0])
    found = tape.gradient(y, x, output_gradients=np.arange(10.0).reshape(5, 2))
    assert found.indices.tolist() == [0, 2, 3]
    assert found.data.tolist() == [[0, 1], [0, 0], [6, 7]]


# scatter_rows


def scattered(values, ids, num_rows):
    out = np.zeros((num_rows, *values.shape[1:]), values.dtype)
    if values.dtype == bool:
        np.logical_or.at(out, ids, values)
    else:
        np.add.at(out, ids, values)
    return out


@pytest.mark.parametrize("num_rows", [4, 5000, 2**40, 2**62])
@pytest.mark.parametrize("ids", [[], [2], [0, 1, 3], [3, 1, 0], [1, 1, 1], [3, 0, 3, -1, -4]])
def test_scattered_rows_add_up(ids, num_rows):
    ids = np.array(ids, int)
    for tail in ((), (3,), (0,), (2, 2)):
        values = matrix((len(ids), *tail), density=1, seed=2)
        with so.fallback("error"):
            found = so.scatter_rows(values, ids, num_rows=num_rows)
        found.storage.validate()
        assert found.shape == (num_rows, *tail) and found.stype == "row_sparse"
        wrapped = np.where(ids < 0, ids + num_rows, ids)
        assert found.indices.tolist() == sorted(set(wrapped.tolist()))
        for n, row in enumerate(found.indices):
            np.testing.assert_array_equal(found.data[n], values[wrapped == row].sum(axis=0))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_scattered_rows_are_numpys_whatever_the_ids(data):
    num_rows = data.draw(st.sampled_from([1, 3, 40, 1000]))
    ids = data.draw(st.lists(st.integers(-num_rows, num_rows - 1), max_size=12))
    width = data.draw(st.sampled_from([np.int32, np.int64]))
    values = matrix((len(ids), 2), density=0.8, seed=len(ids))
    found = so.scatter_rows(values, np.array(ids, width), num_rows=num_rows)
    assert_same(found, scattered(values, np.array(ids, int), num_rows))
    assert found.indices.dtype == width


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scattered_rows_keep_every_dtype(dtype, stype):
    values, ids = matrix((5, 3), dtype=dtype, density=0.8), np.array([6, 1, 6, 0, 6])
    values[1] = 0
    found = so.scatter_rows(stored(values, stype), ids, num_rows=8)
    assert found.stype == ("csr" if stype == "csr" else "row_sparse")
    assert stype != "row_sparse" or 1 not in found.indices
    assert_same(found, scattered(values, ids, 8))


def test_whole_numbers_wrap_as_in_numpy():
    values = np.full((3, 1), 100, np.int8)
    assert so.scatter_rows(values, [1, 1, 1], num_rows=2).data.tolist() == [[44]]


def test_float16_rows_are_added_up_in_float32():
    values = np.r_[np.full(1, 2048.0), np.ones(64)].astype(np.float16)[:, None]
    assert so.scatter_rows(values, np.zeros(65, int), num_rows=2).data.tolist() == [[2112]]


def test_infinite_complex_rows_do_not_become_nan():
    values = np.array([complex(np.inf, 0), 1, complex(0, -np.inf), 2])
    found = so.scatter_rows(values, [0, 0, 1, 1], num_rows=2).data
    assert found.tolist() == [complex(np.inf, 0), complex(2, -np.inf)]


def test_rows_in_order_share_memory():
    values = so.array(np.ones((3, 2)))
    found = so.scatter_rows(values, [0, 4, 6], num_rows=9)
    assert np.shares_memory(found.data, values.data)


def test_scattered_rows_and_ids_go_together():
    for values, ids in ((np.ones((2, 3)), [0]), (np.ones((2, 3)), [[0, 1]]), (1.0, [0])):
        with pytest.raises((so.ShapeError, so.StorageError)):
            so.scatter_rows(so.array(values), ids, num_rows=3)
    with pytest.raises(so.ShapeError):
        so.scatter_rows(so.zeros((1, 2)), [0], num_rows=-1)


@pytest.mark.parametrize("stype", STORAGES)
def test_gradients_of_scattered_rows_are_the_rows_at_their_places(stype):
    values, ids, head = matrix((3, 2), seed=3), [4, 1, 4], np.arange(12.0).reshape(6, 2)
    x = stored(values, stype)
    with so.fallback("error"), so.Tape() as tape:
        y = so.scatter_rows(x, ids, num_rows=6)
    with so.fallback("error"):
        found = tape.gradient(y, x, output_gradients=head)
    assert found.stype == stype
    np.testing.assert_array_equal(densify(found), head[ids] * densify(mask_of(x)))


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


def test_looking_up_and_learning_rows_takes_nothing_of_the_tables_size():
    rng = np.random.default_rng(0)
    table = so.asarray(np.zeros((1_000_000, 16), np.float32))  # 64 MB
    ids = so.array(rng.integers(0, 1_000_000, 20_000))
    head = so.array(np.ones((20_000, 16), np.float32))  # 1.28 MB

    def step():
        with so.Tape() as tape:
            y = so.take(table, ids)
        return tape.gradient(y, table, output_gradients=head)

    assert step().stype == "row_sparse"
    assert peak(step) < 4 * head.nbytes


def test_rows_of_a_transpose_are_taken_without_a_copy_of_it():
    table = so.array(np.zeros((4, 100_000))).T
    assert peak(lambda: so.take(table, [5, 0, 5])) < 1e5


def test_few_rows_of_a_large_array_cost_little():
    x = so.csr_array((np.ones(1000), (np.arange(1000) * 1000, np.arange(1000))), (10**6, 2**40))
    for call in (lambda: x[5], lambda: x[100:200], lambda: x[[5, 7, 10**6 - 1]]):
        with so.fallback("error"):
            assert peak(call) < 1e5
    rows = so.row_sparse_array((np.ones((100, 4)), np.arange(100) * 1000), shape=(2**40, 4))
    for call in (
        lambda: rows[5],
        lambda: rows[100:200],
        lambda: rows[::-7],
        lambda: so.take(rows, [5, 0]),
        lambda: so.retain(rows, [5, 0]),
    ):
        with so.fallback("error"):
            assert peak(call) < 1e5


@pytest.mark.parametrize("index", [0, 1])
def test_the_gradient_by_a_row_of_csr_does_not_depend_on_the_number_of_columns(index):
    x = so.csr_array(([1.0, 2.0], [3, 2**40], [0, 1, 2]), shape=(2, 2**41))

    def step():
        with so.fallback("error"), so.Tape() as tape:
            y = x[index]
        return tape.gradient(y, x, output_gradients=y)

    assert step().data.tolist() == [[1.0, 0.0], [0.0, 2.0]][index]
    assert peak(step) < 1e5


def test_every_pair_of_storages_of_take_is_known():
    for stype, ids in product(STORAGES, STORAGES[:2]):
        assert operators["take"].infer(
            so.Spec((4, 3), float, stype), so.Spec((2,), int, ids)
        ).stype == ("csr" if stype == "csr" else "dense")
