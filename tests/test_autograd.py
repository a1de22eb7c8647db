"""What tapes answer: the form, storage and value of gradients, zero ones and sums of several."""

import numpy as np
import pytest
import user_operators
from oracle import densify
from user_operators import SHAPE, dense_only, describing

import sparseops as so

registry = pytest.fixture(autouse=True)(user_operators.restore_registry)

FLOATS = np.arange(1.0, 7.0).reshape(SHAPE)
ONES = np.ones(SHAPE)
STORAGES = ("dense", "row_sparse", "csr")

summed = pytest.fixture(user_operators.summing)
squared = pytest.fixture(user_operators.squaring)


# What gradient answers


@pytest.mark.parametrize("stype", STORAGES)
def test_a_gradient_lives_where_the_input_does(squared, stype):
    x = so.array(FLOATS).tostype(stype)
    with so.Tape() as tape:
        y = squared(x)
    g = tape.gradient(y, x, output_gradients=so.array(ONES))
    assert (g.stype, g.dtype, g.shape) == (stype, x.dtype, x.shape)
    np.testing.assert_array_equal(densify(g), 2 * FLOATS)


def test_the_answer_has_the_form_of_w(summed):
    x, w = so.array(FLOATS), so.array(FLOATS)
    for sources, form in ((x, so.NDArray), ([x], list), ((x, w), list), ([], list)):
        with so.Tape() as tape:
            y = summed(x)
        assert type(tape.gradient(y, sources)) is form


def test_only_a_scalar_has_a_gradient_without_output_gradients(squared, summed):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
        scalar = summed(y)
    np.testing.assert_array_equal(densify(tape.gradient(scalar, x)), 2 * FLOATS)
    with pytest.raises(so.GradientError, match=r"shape \(2, 3\).*output_gradients"):
        tape.gradient(y, x)


@pytest.mark.parametrize("head", (ONES, ONES.tolist(), ONES.astype(int), ONES.astype("f2")))
def test_output_gradients_may_be_constants_of_other_dtypes(squared, head):
    x = so.array(FLOATS)
    for given in (head, [so.array(head)], [head], (np.array(head),)):
        with so.Tape() as tape:
            y = squared(x)
        if isinstance(head, list) and given is head:
            given = np.array(head)
        g = tape.gradient(y, x, output_gradients=given)
        assert g.dtype == float
        np.testing.assert_array_equal(densify(g), 2 * FLOATS)


def test_wrong_output_gradients_are_refused_by_shape_count_and_dtype(squared):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
    with pytest.raises(so.ShapeError, match=r"\(3, 2\); y has \(2, 3\)"):
        tape.gradient(y, x, output_gradients=ONES.T)
    with pytest.raises(so.ShapeError):
        tape.gradient(y, x, output_gradients=1.0)
    with pytest.raises(so.GradientError, match="2 arrays; y has 1"):
        tape.gradient(y, x, output_gradients=[ONES, ONES])
    with pytest.raises(so.DTypeError):
        tape.gradient(y, x, output_gradients=ONES * 1j)


@pytest.mark.parametrize("ask", (None, *STORAGES))
def test_without_a_path_the_gradient_is_zero_in_the_storage_asked_for(squared, ask):
    x, other = so.array(FLOATS), so.zeros((4, 5), np.float32)
    with so.Tape() as tape:
        y = squared(x)
    g = tape.gradient(y, other, output_gradients=ONES, stypes=ask)
    assert (g.stype, g.shape, g.dtype) == (ask or "row_sparse", (4, 5), np.float32)
    assert g.nnz == (20 if ask == "dense" else 0)


def test_without_a_path_the_gradient_by_a_scalar_is_dense(squared):
    x, scalar = so.array(FLOATS), so.array(1.0)
    with so.Tape() as tape:
        y = squared(x)
    assert tape.gradient(y, scalar, output_gradients=ONES).spec == so.Spec((), float)


def test_the_gradient_of_an_array_by_itself_is_its_head(squared):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
    for z in (y, x):
        np.testing.assert_array_equal(densify(tape.gradient(z, z, output_gradients=FLOATS)), FLOATS)


def test_a_gradient_by_an_intermediate_result_and_by_its_source_come_together(squared, summed):
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = squared(x)
        z = summed(squared(y))
    by_y, by_x = tape.gradient(z, [y, x])
    np.testing.assert_array_equal(densify(by_y), 2 * FLOATS**2)
    np.testing.assert_array_equal(densify(by_x), 4 * FLOATS**3)


@pytest.mark.parametrize("stypes", ("csr", ["csr", "csr"], ("csr", "csr")))
def test_asks_are_one_name_or_one_for_each(squared, stypes):
    x, w = so.array(FLOATS), so.array(FLOATS)
    with so.Tape() as tape:
        y = squared(x)
    with so.fallback("allow"):
        found = tape.gradient(y, [x, w], output_gradients=ONES, stypes=stypes)
    assert [g.stype for g in found] == ["csr", "csr"]


def test_wrong_asks_are_refused(squared):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
    for wrong in ("coo", "undefined", "scalar", ["coo"]):
        with pytest.raises(so.StorageError, match="storage type"):
            tape.gradient(y, x, output_gradients=ONES, stypes=wrong)
    with pytest.raises(so.GradientError, match="2 storages; w has 1"):
        tape.gradient(y, x, output_gradients=ONES, stypes=["csr", "csr"])


@pytest.mark.parametrize("wrong", (None, 3.0, FLOATS, [FLOATS], "x"))
def test_what_is_no_array_has_no_gradient(squared, wrong):
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        y = squared(x)
    for call in (lambda: tape.gradient(wrong, x), lambda: tape.gradient(y, wrong)):
        with pytest.raises(so.GradientError, match="NDArray"):
            call()


def test_integers_cut_the_path(summed):
    op = so.operator(describing("ab", name="chosen"))
    op.forward("dense, dense -> dense")(lambda backend, a, b: so.Dense(a.data * (b.data > 0)))
    op.backward("a", "dense, dense -> dense")(lambda g: g)
    x = so.array(FLOATS)
    with so.Tape() as tape:
        y = summed(op(x, x.astype(int)))
    np.testing.assert_array_equal(densify(tape.gradient(y, x)), ONES)


@pytest.mark.parametrize("dtype", (int, bool, np.uint8))
def test_integers_have_no_gradient_rather_than_zero(summed, dtype):
    x, ids = so.array(FLOATS), so.array(ONES.astype(dtype))
    with so.Tape(persistent=True) as tape:
        y = summed(x)
        z = summed(x).astype(dtype)
    name = np.dtype(dtype).name
    for target, source in ((y, ids), (y, [x, ids]), (z, x)):
        with pytest.raises(so.GradientError, match=name):
            tape.gradient(target, source)
    with pytest.raises(so.GradientError, match=name):
        so.grad(summed)(ids)


def test_gradients_are_arrays_of_their_own(summed):
    op = so.operator(describing("ab", name="linear"))
    op.forward("dense, dense -> dense")(lambda backend, a, b: so.Dense(a.data + b.data))
    op.backward("a", "dense, dense -> dense")(lambda g: g)
    op.backward("b", "dense, dense -> dense")(lambda a: a)
    a, b, head = (so.array(FLOATS * n) for n in (1, 2, 3))
    with so.Tape() as tape:
        y = op(a, b)
    found = tape.gradient(y, [a, b, a, y], output_gradients=head)
    assert len(set(map(id, (a, b, head, y, *found)))) == 8
    for g in found:
        g[...] = -1
    for x, factor in ((a, 1), (b, 2), (head, 3)):
        np.testing.assert_array_equal(densify(x), FLOATS * factor)


# Arrays that the tape does not know


def test_a_result_that_the_tape_did_not_compute_is_refused(squared, summed):
    x = so.array(FLOATS)
    before = squared(x)
    with so.Tape(persistent=True) as tape:
        with tape.pause():
            paused = squared(x)
        used = summed(before)
    after = squared(x)
    for y in (paused, after, before):
        with pytest.raises(so.GradientError, match="not computed"):
            tape.gradient(y, x, output_gradients=ONES)
    assert not densify(tape.gradient(used, x)).any(), "computed, without a path"


def test_several_results_are_all_known_or_refused(squared):
    x = so.array(FLOATS)
    unknown = squared(x)
    with so.Tape() as tape:
        y = squared(x)
    with pytest.raises(so.GradientError, match="not computed"):
        tape.gradient([y, unknown], x, output_gradients=[ONES, ONES])


# Fallbacks


def test_a_fallback_is_differentiated_as_casts_around_the_kernel():
    op = dense_only()
    for stype in ("row_sparse", "csr"):
        x = so.array(np.triu(FLOATS)[:, ::-1].copy()).tostype(stype)
        with so.fallback("allow"), so.Tape() as tape:
            y = op(x)
        g = tape.gradient(y, x, output_gradients=FLOATS)
        assert g.stype == stype and g.storage.indices.tolist() == x.storage.indices.tolist()


@pytest.mark.parametrize("stype", ["row_sparse", "csr"])
@pytest.mark.parametrize("given", ["dense", "row_sparse", "csr"])
def test_a_result_that_is_its_own_source_has_the_gradient_that_it_stores(stype, given):
    x = so.array([[0.0, 0.0], [1.0, 2.0]]).tostype(stype)
    ones = np.ones((2, 2))
    with so.Tape() as tape:
        y = x * 1
    g = tape.gradient(y, y, output_gradients=so.array(ones).tostype(given))
    assert g.asnumpy().tolist() == [[0, 0], [1, 1]]
