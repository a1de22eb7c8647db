"""Gradients of random graphs, and of uses that add up, in every storage."""

import numpy as np
import pytest
import user_operators
from oracle import densify
from user_operators import SHAPE, describing, doubling, times

import sparseops as so

registry = pytest.fixture(autouse=True)(user_operators.restore_registry)

FLOATS = np.arange(1.0, 7.0).reshape(SHAPE)
ONES = np.ones(SHAPE)
STORAGES = ("dense", "row_sparse", "csr")

summed = pytest.fixture(user_operators.summing)
squared = pytest.fixture(user_operators.squaring)


def test_uses_of_one_array_add_up(squared, summed):
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = summed(times(x, times(x, x)))
    np.testing.assert_array_equal(densify(tape.gradient(y, x)), 3 * FLOATS**2)


def test_several_targets_add_up(squared, summed):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y, z = summed(x), summed(squared(x))
    np.testing.assert_array_equal(densify(tape.gradient([y, z, y], x)), 2 + 2 * FLOATS)
    g = tape.gradient([y, z], [x], output_gradients=[3.0, np.float64(0)])
    np.testing.assert_array_equal(densify(g[0]), 3 * ONES)


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("old", STORAGES)
def test_into_adds_to_earlier_gradients_and_changes_none(squared, stype, old):
    x = so.array(FLOATS).tostype(stype)
    earlier = so.array(FLOATS * 10).tostype(old)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
    head = so.array(ONES).tostype(stype)
    with so.fallback("allow"):
        g = tape.gradient(y, x, output_gradients=head, into=earlier)
        (same,) = tape.gradient(y, [x], output_gradients=head, into=[earlier])
    for found in (g, same):
        np.testing.assert_array_equal(densify(found), 12 * FLOATS)
    np.testing.assert_array_equal(densify(earlier), 10 * FLOATS)
    assert earlier.version == 0 and (g.stype == stype or old != stype)


def test_into_has_a_gradient_for_each_of_w_in_its_shape(squared):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
    for wrong in ([], [x, x], so.array(1.0), so.zeros((5, 2, 3)), so.zeros((1, 3)), 3):
        with pytest.raises(so.SparseOpsError):
            tape.gradient(y, x, output_gradients=ONES, into=wrong)


ONE_ROW = np.array([[0.0, 0, 0], [1, 2, 0]])


@pytest.mark.parametrize("first", STORAGES)
@pytest.mark.parametrize("second", STORAGES)
def test_contributions_add_up_to_a_storage_that_does_not_depend_on_their_order(first, second):
    def giving(stype):
        op = so.operator(describing("a", name=f"gives_{stype}"))
        op.forward("dense -> dense")(lambda backend, a: a)
        op.backward("a", f"dense -> {stype}")(lambda: so.array(ONE_ROW).tostype(stype))
        return op

    x, found = so.array(FLOATS), []
    for one, other in ((first, second), (second, first)):
        with so.Tape() as tape:
            y, z = giving(one)(x), giving(other)(x)
        with so.fallback("error"):
            found.append(tape.gradient([y, z], x, output_gradients=[ONES, ONES]))
    assert found[0].stype == found[1].stype
    if first == second or "dense" in (first, second):
        assert found[0].stype == ("dense" if "dense" in (first, second) else first)
    for g in found:
        g.storage.validate()
        np.testing.assert_array_equal(densify(g), 2 * ONE_ROW)


def random_graph(x, w, seed, square, double):
    """Random products, sums, squares and doublings of `x` and `w`."""
    rng, nodes = np.random.default_rng(seed), [x, w]
    for _ in range(rng.integers(1, 8)):
        a, b = (nodes[i] for i in rng.integers(max(len(nodes) - 3, 0), len(nodes), 2))
        made = {0: square, 1: double, 2: lambda a, b=b: a * b, 3: lambda a, b=b: a + b}
        nodes.append(made[rng.integers(4)](a))
    return nodes[2:]


class Dual:
    """A value with its derivatives by x and w, entry by entry."""

    def __init__(self, value, by_x, by_w):
        self.parts = value, by_x, by_w

    def __add__(self, other):
        return Dual(*(p + q for p, q in zip(self.parts, other.parts, strict=True)))

    def __mul__(self, other):
        (a, ax, aw), (b, bx, bw) = self.parts, other.parts
        return Dual(a * b, ax * b + a * bx, aw * b + a * bw)


class Sparse(Dual):
    """An array of the library, so that graphs are written once."""

    def __init__(self, array):
        self.array = array

    def __add__(self, other):
        return Sparse(self.array + other.array)

    def __mul__(self, other):
        return Sparse(times(self.array, other.array))


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_have_the_gradients_of_dual_numbers(squared, stype, seed):
    values = 1 + np.random.default_rng(seed).integers(0, 2, (2, *SHAPE)) / 2.0
    mask = (ONE_ROW != 0) if stype == "csr" else ONES
    mask = np.array([[0.0], [1]]) * ONES if stype == "row_sparse" else mask
    values *= mask
    double = doubling()
    x, w = (so.array(v).tostype(stype) for v in values)
    with so.Tape() as tape:
        made = random_graph(
            Sparse(x),
            Sparse(w),
            seed,
            lambda a: Sparse(squared(a.array)),
            lambda a: Sparse(double(a.array)),
        )
    head = so.array(mask * ONES).tostype(stype)
    found = tape.gradient([n.array for n in made], [x, w], output_gradients=[head] * len(made))
    zero = 0 * values[0]
    duals = random_graph(
        Dual(values[0], mask * ONES, zero),
        Dual(values[1], zero, mask * ONES),
        seed,
        lambda a: a * a,
        lambda a: a + a,
    )
    for g, part in zip(found, (1, 2), strict=True):
        expected = sum(dual.parts[part] for dual in duals)
        np.testing.assert_allclose(densify(g), expected, rtol=1e-13)
        assert g.stype in (stype, "row_sparse")
