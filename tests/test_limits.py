"""clip: storage is kept where zero is, and gradients stop outside."""

import numpy as np
import pytest
from oracle import check_forward, check_gradient, densify

import sparseops as so


def reference(x, *, low, high):
    return np.clip(x, low, high)


@pytest.mark.parametrize(
    "low, high", [(-1, 2), (None, 2), (-1.5, None), (0, 0), (1, 2), (-3, -1), (-np.inf, np.inf)]
)
@pytest.mark.parametrize("dtype", ["int64", "int8", "float16", "float32", "float64"])
def test_every_storage_is_clipped_like_numpy(dtype, low, high):
    rng = np.random.default_rng(0)
    x = (rng.integers(-5, 6, (4, 3)) * (rng.random((4, 3)) < 0.7)).astype(dtype)
    check_forward("clip", [x], reference, low=low, high=high)
    check_forward("clip", [x[:0]], reference, low=low, high=high)


@pytest.mark.parametrize("low, high", [(-1, 1), (None, 0), (0, None), (None, None)])
def test_storage_is_kept_where_zero_lies_between_the_limits(low, high):
    x = so.csr_array([[0.0, 2.0], [-2.0, 0.0]])
    with so.fallback("error"):
        assert so.clip(x, low=low, high=high).stype == "csr"
        assert so.clip(x.tostype("row_sparse"), low=low, high=high).stype == "row_sparse"
    with pytest.raises(so.DensifyError), so.fallback("error"):
        so.clip(x, low=1, high=2)


def test_nan_stays_and_limits_beyond_an_integer_dtype_do_not_wrap():
    x = so.array([np.nan, np.inf, -1.0])
    assert np.array_equal(densify(so.clip(x, low=0, high=2)), [np.nan, 2, 0], equal_nan=True)
    x = so.array(np.array([0, 200], np.uint8))
    assert densify(so.clip(x, low=-5, high=1000)).tolist() == [0, 200]
    assert so.clip(x, low=-5, high=1000).dtype == np.uint8
    assert so.clip(x, low=0.5, high=None).dtype == np.float64


def test_gradients_are_g_inside_the_limits_and_zero_outside():
    x = np.array([[-3.0, 0.5, 0.0], [1.25, 0.0, 4.0]])
    check_gradient("clip", [x], low=-1.0, high=2.0)
    check_gradient("clip", [x], low=0.25, high=None)
    y = so.csr_array([[1.0, 2.0, -1.0]])
    with so.Tape() as tape:
        z = so.clip(y, low=-1.0, high=1.0)
    head = so.csr_array([[3.0, np.inf, 5.0]])
    assert tape.gradient(z, y, output_gradients=head).data.tolist() == [3.0, 0.0, 5.0]


@pytest.mark.parametrize(
    "low, high, error, match",
    [
        (2, 1, ValueError, "low=2 is above high=1"),
        (float("nan"), 1, ValueError, "low is NaN"),
        ("0", 1, TypeError, "must be a real number"),
    ],
)
def test_wrong_limits_are_refused(low, high, error, match):
    with pytest.raises(error, match=match):
        so.clip(so.zeros(2), low=low, high=high)
    with pytest.raises(so.DTypeError, match="have no order"):
        so.clip(so.zeros(2, complex), low=0, high=1)
