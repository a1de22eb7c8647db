"""where: the condition may be sparse, and what was not chosen has no say."""

import numpy as np
import pytest
from oracle import check_forward, densify, stored

import sparseops as so


def values(*shapes, dtype="float64"):
    rng = np.random.default_rng(0)
    return [rng.integers(-4, 5, shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64"])
@pytest.mark.parametrize("condition", ["bool", "int64", "float64"])
def test_every_storage_chooses_like_numpy(condition, dtype):
    (c, x, y) = values((4, 3), (4, 3), (4, 3), dtype=dtype)
    c = (c.real % 3 == 0).astype(condition)
    check_forward("where", [c, x, y], np.where)
    for pair in ((x, 2), (1, y), (x, 0)):
        check_forward("where", [c, *pair], np.where)


@pytest.mark.parametrize(
    "shapes",
    [
        ((4, 3), (3,), (4, 3)),
        ((3,), (4, 3), (4, 3)),
        ((1, 3), (4, 1), (4, 3)),
        ((4, 1), (4, 3), (1, 1)),
        ((4, 3), (2, 4, 3), (4, 3)),
        ((0, 3), (0, 3), (0, 3)),
        ((2, 3, 2), (2, 3, 2), (2,)),
    ],
)
def test_all_three_broadcast(shapes):
    c, x, y = values(*shapes)
    check_forward("where", [(c > 0).astype(float), x, y], np.where)


def test_a_sparse_condition_with_dense_arrays_is_no_fallback():
    c = so.csr_array(([1.0, 0.0, np.nan], [0, 1, 1], [0, 2, 3]), (2, 2))
    x, y = so.array([[1, 2], [3, 4]]), so.array([[-1, -2], [-3, -4]])
    for condition in (c, c.tostype("row_sparse")):
        with so.fallback("error"):
            assert densify(so.where(condition, x, y)).tolist() == [[1, -2], [-3, 4]]


def test_numbers_keep_the_storage_of_the_condition_where_the_other_is_zero():
    c = so.csr_array([[True, False], [False, True]])
    with so.fallback("error"):
        found = so.where(c, 7, 0)
    assert found.stype == "csr" and densify(found).tolist() == [[7, 0], [0, 7]]
    with so.fallback("allow") as records:
        assert densify(so.where(c, 0, 7)).tolist() == [[0, 7], [7, 0]]
    assert len(records) == 1


@pytest.mark.parametrize("stype", ["dense", "csr", "row_sparse"])
def test_gradients_go_to_what_was_chosen_whatever_stands_elsewhere(stype):
    c = stored(np.array([[1.0, 0.0], [0.0, 1.0]]), stype)
    x = so.array([[1.0, np.nan], [np.inf, 2.0]])
    y = so.array([[np.nan, 3.0]])
    with so.Tape(persistent=True) as tape:
        z = so.where(c, x, y)
    head = so.array([[1.0, 2.0], [3.0, 4.0]])
    assert densify(z).tolist()[0][0] == 1.0
    assert densify(tape.gradient(z, x, output_gradients=head)).tolist() == [[1, 0], [0, 4]]
    assert densify(tape.gradient(z, y, output_gradients=head)).tolist() == [[3, 2]]


def test_sparse_choices_get_gradients_at_the_places_that_they_store():
    c = so.array([[True, True, False]])
    x = so.csr_array([[5.0, 0.0, 6.0]])
    with so.fallback("allow"), so.Tape() as tape:
        z = so.where(c, x, 0.0)
    g = tape.gradient(z, x, output_gradients=so.array([[1.0, 2.0, 3.0]]))
    assert g.stype == "csr" and densify(g).tolist() == [[1.0, 0.0, 0.0]]
