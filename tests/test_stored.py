"""Functions of what is stored: softmax over the entries of rows, and dropout by place."""

import numpy as np
import pytest
from oracle import assert_same, check_gradient, densify, stored

import sparseops as so


def scores(dtype="float64"):
    x = np.array([[1.0, 0, -2, 3], [0, 0, 0, 0], [0, 5, 0, 0], [-1000, 0, 1000, 2]])
    return stored(x.astype(dtype), "csr", extra=0.3)


def reference(x):
    """Softmax with -inf where nothing is stored."""
    held = densify(so.NDArray(x.storage.with_data(np.ones(x.nnz)), x.backend)).astype(bool)
    held_scores = np.where(held, densify(x).astype(float), -np.inf)
    with np.errstate(all="ignore"):
        weights = np.exp(held_scores - held_scores.max(axis=1, keepdims=True))
        return np.where(held, weights / weights.sum(axis=1, keepdims=True), 0), held


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
def test_what_is_not_stored_takes_no_part_in_a_softmax(dtype):
    x = scores("float64" if dtype != "int8" else "int16").astype(dtype)
    found, log = so.stored_softmax(x), so.stored_log_softmax(x)
    expected, held = reference(x)
    assert found.dtype == log.dtype == np.exp(np.zeros(0, dtype)).dtype
    tolerance = 2e-3 if found.dtype == np.float16 else 1e-6
    np.testing.assert_allclose(densify(found), expected, atol=tolerance)
    np.testing.assert_allclose(np.exp(densify(log))[held], expected[held], atol=tolerance)
    for y in (found, log):
        y.storage.validate()
        np.testing.assert_array_equal(y.indices, x.indices)
        np.testing.assert_array_equal(y.indptr, x.indptr)


@pytest.mark.parametrize("name", ["stored_softmax", "stored_log_softmax"])
def test_softmax_has_gradients_at_the_stored_places(name):
    x = so.csr_array(([1.0, -0.5, 0.0, 2.0], [0, 2, 0, 1], [0, 2, 2, 4]), (3, 3))
    op, head = getattr(so, name), so.csr_array(([1.0, 2.0, -1.0, 3.0], x.indices, x.indptr), (3, 3))
    with so.fallback("error"), so.Tape() as tape:
        y = op(x)
    with so.fallback("error"):
        g = tape.gradient(y, x, output_gradients=head)
    for place in range(4):
        moved = []
        for step in (1e-6, -1e-6):
            data = x.data.copy()
            data[place] += step
            moved.append(
                (op(so.csr_array((data, x.indices, x.indptr), (3, 3))).data * head.data).sum()
            )
        assert g.data[place] == pytest.approx((moved[0] - moved[1]) / 2e-6, abs=1e-6)


def test_a_row_with_nan_spoils_no_other():
    x = so.csr_array(([np.nan, 1.0, 2.0], [0, 1, 0], [0, 2, 3]), (2, 2))
    found = so.stored_softmax(x).data
    assert np.isnan(found).tolist() == [True, True, False] and found[2] == 1.0


def test_dense_and_row_sparse_arrays_have_no_softmax_of_what_is_stored():
    for stype in ("dense", "row_sparse"):
        with pytest.raises(so.StorageError, match="no signature of stored_softmax fits"):
            so.stored_softmax(so.zeros((2, 2), stype=stype))
    assert so.stored_softmax(so.zeros((0, 3), stype="csr")).shape == (0, 3)
    assert so.stored_log_softmax(so.zeros((2, 0), stype="csr")).nnz == 0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_dropout_drops_the_same_values_in_every_storage(dtype):
    x = np.random.default_rng(0).integers(1, 5, (40, 5)).astype(dtype)
    x[::3] = 0
    whole = densify(so.dropout(so.array(x), 3, rate=0.75))
    for stype in ("dense", "row_sparse", "csr"):
        given = stored(x, stype, extra=0.3)
        with so.fallback("error"):
            found = so.dropout(given, 3, rate=0.75)
        assert found.stype == stype
        assert_same(found, whole)
    dropped = (whole == 0) & (x != 0)
    np.testing.assert_array_equal(whole, np.where(dropped, 0, x * 4))


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.9])
def test_the_share_that_is_dropped_is_the_rate_for_every_seed(rate):
    x = so.zeros(20000) + 1.0
    for seed in (0, 1, -1, 2**70):
        kept = densify(so.dropout(x, seed, rate=rate)) != 0
        assert abs(kept.mean() - (1 - rate)) < 0.02
        # Neighbors are independent.
        assert abs((kept[1:] & kept[:-1]).mean() - (1 - rate) ** 2) < 0.02


def test_other_seeds_drop_other_values_and_equal_ones_the_same():
    x = so.zeros(1000) + 1.0
    one, same, other = (densify(so.dropout(x, seed, rate=0.5)) for seed in (1, 1, 2))
    assert (one == same).all() and 0.4 < (one == other).mean() < 0.6


def test_dropout_has_gradients_where_values_stay():
    x = np.arange(1.0, 13.0).reshape(4, 3)
    check_gradient("dropout", [x, 5], rate=0.5)


def test_dropped_infinities_are_zero_and_other_shapes_work():
    x = so.array(np.full((3, 2, 2), np.nan))
    found = densify(so.dropout(x, 0, rate=0.5))
    assert 0 < np.isnan(found).sum() < 12
    rows = so.row_sparse_array((np.ones((2, 2, 2)), [0, 2]), (3, 2, 2))
    whole = densify(so.dropout(rows.tostype("dense"), 0, rate=0.5))
    np.testing.assert_array_equal(densify(so.dropout(rows, 0, rate=0.5)), whole)
    for shape in ((), (0,), (2, 0)):
        assert so.dropout(so.zeros(shape), 0, rate=0.5).shape == shape
    assert so.dropout(so.zeros((3, 0), stype="row_sparse"), 0, rate=0.5).nnz == 0


def test_wrong_rates_seeds_and_dtypes_are_refused():
    with pytest.raises(ValueError, match="rate=1"):
        so.dropout(so.zeros(2), 0, rate=1)
    with pytest.raises(so.DTypeError, match="int64"):
        so.dropout(so.zeros(2, int), 0, rate=0.5)
    with pytest.raises(TypeError, match="seed is 0.5"):
        so.dropout(so.zeros(2), 0.5, rate=0.5)
