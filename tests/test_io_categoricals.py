"""Categorical columns of pandas."""

import numpy as np
import pytest
from oracle import densify

from sparseops import io

pandas = pytest.importorskip("pandas")


def frame():
    return pandas.DataFrame(
        {
            "color": pandas.Categorical(["red", None, "blue"], categories=["blue", "green", "red"]),
            "size": pandas.Categorical([1, 2, None]),
        }
    )


@pytest.mark.parametrize("dtype", [float, np.float32, np.int8, bool])
def test_each_category_is_a_column(dtype):
    x, names = io.from_categoricals(frame(), dtype=dtype)
    assert names == [("color", c) for c in ("blue", "green", "red")] + [("size", 1), ("size", 2)]
    assert x.stype == "csr" and x.dtype == dtype and x.indices.dtype == np.int32
    np.testing.assert_array_equal(densify(x), [[0, 0, 1, 1, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]])


def test_it_is_what_pandas_makes_dense():
    rng = np.random.default_rng(0)
    data = pandas.DataFrame(rng.integers(0, 7, (50, 4)), columns=list("abcd")).astype("category")
    x, names = io.from_categoricals(data)
    expected = pandas.get_dummies(data).to_numpy(float)
    np.testing.assert_array_equal(densify(x), expected)
    assert len(names) == expected.shape[1]


def test_empty_frames_are_empty_matrices():
    assert io.from_categoricals(frame()[:0])[0].shape == (0, 5)
    assert io.from_categoricals(frame()[[]])[0].shape == (3, 0)


def test_what_is_not_categorical_is_refused():
    with pytest.raises(TypeError, match="column 'n' has dtype int64; it must be categorical"):
        io.from_categoricals(pandas.DataFrame({"n": [1, 2]}))
    with pytest.raises(TypeError, match="must be a DataFrame"):
        io.from_categoricals([1, 2])
