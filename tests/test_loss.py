"""Softmax and the losses: NumPy's formulas, extreme scores, and gradients of both orders."""

import pickle
import warnings

import numpy as np
import pytest
from oracle import assert_same, check_forward, check_gradient, densify, stored

import sparseops as so
from sparseops.registry import operators

REALS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
NAMES = ["log_softmax", "logistic_loss", "one_hot", "softmax", "softmax_cross_entropy"]


def float_dtype(dtype):
    return np.exp(np.zeros(0, dtype)).dtype


def softmax(x, axis=-1):
    weights = np.exp(x.astype(np.longdouble))
    result = weights / weights.sum(axis=axis, keepdims=True)
    return result.astype(float_dtype(x.dtype))


def log_softmax(x, axis=-1):
    wide = x.astype(np.longdouble)
    result = wide - np.log(np.exp(wide).sum(axis=axis, keepdims=True))
    return result.astype(float_dtype(x.dtype))


def logistic_loss(x, y):
    wide = x.astype(np.longdouble)
    return (np.log1p(np.exp(wide)) - y * wide).astype(float_dtype(x.dtype))


def softmax_cross_entropy(x, labels):
    return -log_softmax(x)[np.arange(len(x)), labels]


def scores(shape, dtype=np.float64):
    found = np.random.default_rng(1).integers(-6, 7, shape)
    if np.dtype(dtype).kind == "f":
        return (found / 4).astype(dtype)
    return (found if np.dtype(dtype).kind == "i" else abs(found)).astype(dtype)


def tolerance(dtype):
    return 4 * float(np.finfo(float_dtype(dtype)).eps)


# Values


@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name, reference", [("softmax", softmax), ("log_softmax", log_softmax)])
def test_softmax_and_its_logarithm_are_their_formulas(name, reference, dtype, axis):
    x = scores((4, 5), dtype)
    check_forward(name, [x], reference, rtol=tolerance(dtype), axis=axis)


@pytest.mark.parametrize("dtype", REALS)
def test_logistic_loss_is_its_formula_for_labels_of_every_storage(dtype):
    x, y = scores((4, 5), dtype), np.random.default_rng(2).integers(0, 2, (4, 5))
    for labels in (y, y.astype(np.uint8), y.astype(bool), y / np.float32(4)):
        check_forward("logistic_loss", [x, labels], logistic_loss, rtol=2 * tolerance(dtype))


@pytest.mark.parametrize("dtype", REALS)
def test_softmax_cross_entropy_is_its_formula(dtype):
    x = scores((6, 4), dtype)
    for width in (np.int8, np.uint16, np.int64):
        labels = np.random.default_rng(3).integers(0, 4, 6).astype(width)
        found = so.softmax_cross_entropy(so.array(x), so.array(labels))
        assert found.shape == (6,) and found.dtype == float_dtype(dtype)
        expected = softmax_cross_entropy(x, labels)
        rtol = tolerance(dtype)
        np.testing.assert_allclose(densify(found), expected, rtol=4 * rtol, atol=rtol)


def test_sparse_scores_are_made_dense_on_record_and_sparse_labels_are_not():
    x, y = scores((3, 2)), np.array([[1, 0], [0, 0], [0, 1]])
    for stype in ("csr", "row_sparse"):
        for call in (
            lambda x: so.softmax(x),
            lambda x: so.log_softmax(x),
            lambda x: so.logistic_loss(x, so.array(y)),
            lambda x: so.softmax_cross_entropy(x, so.array([1, 0, 1])),
        ):
            with so.fallback("allow") as records:
                call(stored(x, stype))
            assert len(records) == 1
        with so.fallback("error"):
            assert so.logistic_loss(so.array(x), stored(y, stype, extra=0.5)).stype == "dense"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_extreme_scores_give_exact_results_without_a_warning(dtype):
    big = 1000.0
    x = so.array(np.array([[big, -big], [-big, big], [big, big]], dtype))
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        assert densify(so.softmax(x)).tolist() == [[1, 0], [0, 1], [0.5, 0.5]]
        assert densify(so.log_softmax(x))[:2].tolist() == [[0, -2000], [-2000, 0]]
        losses = so.softmax_cross_entropy(x, so.array([0, 0, 1]))
        np.testing.assert_allclose(densify(losses), [0, 2000, np.log(2)], rtol=1e-3)
        losses = so.logistic_loss(x, so.array([[1, 1], [0, 0], [0, 1]]))
        assert densify(losses).tolist() == [[0, big], [0, big], [big, 0]]


def test_float16_scores_are_added_up_in_float32():
    x = so.array(np.zeros((1, 4096), np.float16))
    assert densify(so.softmax(x)).tolist() == [[2**-12] * 4096]
    x = so.array(np.zeros((1, 70000), np.float16))
    assert float(so.softmax_cross_entropy(x, so.array([0]))) == np.float16(np.log(70000))


def test_nan_and_infinite_scores_spoil_their_own_row_only():
    x = so.array([[np.nan, 1.0], [-np.inf, 0.0], [0.0, 0.0]])
    with np.errstate(divide="ignore"):
        found = densify(so.softmax(x))
        assert densify(so.log_softmax(x))[1].tolist() == [-np.inf, 0]
    assert np.isnan(found[0]).all() and found[1:].tolist() == [[0, 1], [0.5, 0.5]]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (0,)])
def test_empty_scores_give_empty_results(shape):
    x = so.zeros(shape, np.float32)
    for op in (so.softmax, so.log_softmax):
        for axis in range(len(shape)):
            assert_same(op(x, axis=axis), np.zeros(shape, np.float32))
    assert_same(so.logistic_loss(x, so.zeros(shape, np.int8)), np.zeros(shape, np.float32))
    if shape != (0,) and not shape[0]:
        losses = so.softmax_cross_entropy(x, so.zeros(0, np.int64))
        assert_same(losses, np.zeros(0, np.float32))


def test_a_single_score_has_a_loss_too():
    loss = so.logistic_loss(so.array(0.0), so.array(1))
    assert loss.shape == () and float(loss) == np.log(2)


@pytest.mark.parametrize("width", [np.int8, np.uint8, np.int32, np.int64])
def test_one_hot_stores_one_value_a_row(width):
    ids = np.array([2, 0, 2, 1], width)
    for dtype in ("float64", np.float16, bool, "int8"):
        with so.fallback("error"):
            found = so.one_hot(so.array(ids), num_columns=4, dtype=dtype)
        assert found.stype == "csr" and found.nnz == 4 and found.indices.dtype == np.int32
        assert_same(found, np.eye(4, dtype=dtype)[ids])
    assert_same(so.one_hot(so.array(ids[:0]), num_columns=0), np.zeros((0, 0)))


# Gradients


@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_gradients_of_softmax_agree_with_central_differences(name, axis):
    check_gradient(name, [scores((3, 4))], step=2.0**-16, rtol=1e-7, axis=axis)


def test_gradients_of_logistic_loss_agree_with_central_differences():
    y = np.array([[1.0, 0.0, 0.5], [0.25, 1.0, 0.0]])
    check_gradient("logistic_loss", [scores((2, 3)), y], wrt=[0], step=2.0**-16, rtol=1e-7)
    inner = np.array([[0.5, 0.25, 0.5], [0.25, 0.75, 0.125]])
    x = so.array(scores((2, 3)))
    for stype in ("dense", "csr", "row_sparse"):
        labels = stored(inner, stype)
        with so.Tape() as tape:
            loss = so.logistic_loss(x, labels)
        g = tape.gradient(loss, labels, output_gradients=so.array(np.full((2, 3), 2.0)))
        assert g.stype == stype
        np.testing.assert_array_equal(densify(g), -2 * densify(x))


@pytest.mark.parametrize("label_type", ["dense", "csr", "row_sparse"])
def test_the_gradient_of_logistic_loss_is_the_error_of_the_probability(label_type):
    x, y = scores((3, 4), np.float32), np.random.default_rng(5).integers(0, 2, (3, 4))
    scored = so.array(x)
    with so.fallback("error"), so.Tape() as tape:
        total = so.sum(so.logistic_loss(scored, stored(y, label_type)))
    with so.fallback("error"):
        g = tape.gradient(total, scored)
    assert g.dtype == np.float32
    np.testing.assert_allclose(densify(g), 1 / (1 + np.exp(-x)) - y, rtol=1e-6, atol=1e-7)


def test_gradients_of_extreme_scores_are_finite():
    x = so.array(np.array([[1000.0, -1000.0], [-1000.0, 1000.0]]))
    with so.Tape(persistent=True) as tape:
        one = so.sum(so.logistic_loss(x, so.array([[1, 1], [0, 0]])))
        other = so.sum(so.softmax_cross_entropy(x, so.array([0, 0])))
    assert densify(tape.gradient(one, x)).tolist() == [[0, -1], [0, 1]]
    assert densify(tape.gradient(other, x)).tolist() == [[0, 0], [-1, 1]]


@pytest.mark.parametrize("stype", ["dense", "csr", "row_sparse"])
def test_gradients_of_softmax_cross_entropy_are_softmax_less_one_hot(stype):
    x, labels, head = scores((5, 3)), np.array([2, 0, 1, 1, 2]), np.array([1.0, 2, -1, 0, 3])
    scored = stored(x, stype, extra=1.0)
    with so.fallback("allow"), so.Tape() as tape:
        loss = so.softmax_cross_entropy(scored, so.array(labels))
    with so.fallback("allow"):
        g = tape.gradient(loss, scored, output_gradients=so.array(head))
    assert g.stype == stype
    expected = head[:, None] * (softmax(x) - np.eye(3)[labels])
    np.testing.assert_allclose(densify(g), expected, rtol=1e-12, atol=1e-15)


def test_the_gradient_of_softmax_cross_entropy_makes_nothing_dense_of_its_one_hot_array():
    x = so.array(scores((5, 3), np.float32))
    with so.Tape() as tape:
        loss = so.sum(so.softmax_cross_entropy(x, so.array([0, 1, 2, 0, 1])))
    with so.fallback("error"):
        assert tape.gradient(loss, x).dtype == np.float32


LOSSES = {
    "softmax": lambda x: so.softmax(x),
    "log_softmax": lambda x: so.log_softmax(x, axis=0),
    "logistic_loss": lambda x: so.logistic_loss(x, so.array([[1, 0, 1], [0, 0, 1]])),
    "softmax_cross_entropy": lambda x: so.softmax_cross_entropy(x, so.array([2, 0])),
}


@pytest.mark.parametrize("name", LOSSES)
def test_second_gradients_agree_with_central_differences_of_the_first(name):
    values, step = scores((2, 3)), 2.0**-16
    shape = LOSSES[name](so.array(values)).shape
    rng = np.random.default_rng(6)
    heads = [so.array(rng.integers(1, 4, s).astype(float)) for s in (shape, (2, 3))]

    def first(x):
        with so.Tape() as tape:
            y = LOSSES[name](x)
        return tape.gradient(y, x, output_gradients=heads[0])

    x = so.array(values)
    with so.Tape() as tape:
        g = first(x)
    found = densify(tape.gradient(g, x, output_gradients=heads[1]))
    for place in np.ndindex(2, 3):
        moved = [values.copy(), values.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        up, down = [(densify(first(so.array(m))) * densify(heads[1])).sum() for m in moved]
        np.testing.assert_allclose(found[place], (up - down) / (2 * step), rtol=1e-6, atol=1e-7)


# Refusals


@pytest.mark.parametrize("label", [-1, 4, 100])
def test_a_label_that_is_no_class_is_named_with_its_position_and_the_limit(label):
    labels = so.array(np.array([0, 3, label, -7]))
    with pytest.raises(IndexError, match=rf"labels\[2\]={label}, but there are 4 classes") as error:
        so.softmax_cross_entropy(so.zeros((4, 4)), labels)
    assert "in softmax_cross_entropy(x: float64[4,4] dense" in error.value.__notes__[0]
    with pytest.raises(IndexError, match=rf"ids\[2\]={label}, but there are 4 columns"):
        so.one_hot(labels, num_columns=4)


def test_without_classes_no_label_is_right():
    with pytest.raises(IndexError, match=r"labels\[0\]=0, but there are 0 classes"):
        so.softmax_cross_entropy(so.zeros((2, 0)), so.array([0, 0]))


@pytest.mark.parametrize("label", [-1.0, 1.5, np.nan, np.inf])
@pytest.mark.parametrize("stype", ["dense", "csr", "row_sparse"])
def test_labels_outside_0_and_1_are_refused_with_their_place(stype, label):
    y = np.zeros((3, 2))
    y[0, 1], y[2, 0] = 1, label
    with pytest.raises(ValueError, match=rf"y\[2, 0\]={label}, but labels are 0, 1 or in between"):
        so.logistic_loss(so.zeros((3, 2)), stored(y, stype))


@pytest.mark.parametrize(
    "call, error, match",
    [
        (
            lambda: so.softmax(so.zeros((2, 3)), axis=2),
            so.ShapeError,
            "axis=2 of an array",
        ),
        (lambda: so.log_softmax(so.zeros(()), axis=-1), so.ShapeError, "there is no axis"),
        (lambda: so.softmax(so.zeros(2, complex)), so.DTypeError, "complex128 values; scores"),
        (
            lambda: so.logistic_loss(so.zeros(2), so.zeros(3)),
            so.ShapeError,
            "must be the same",
        ),
        (
            lambda: so.logistic_loss(so.zeros(2), so.zeros(2, complex)),
            so.DTypeError,
            "y has complex128 values; labels are real",
        ),
        (
            lambda: so.softmax_cross_entropy(so.zeros((2, 3)), so.zeros(3, int)),
            so.ShapeError,
            r"x has shape \(2, 3\) and labels has \(3,\)",
        ),
        (
            lambda: so.softmax_cross_entropy(so.zeros((2, 3)), so.zeros(2)),
            so.DTypeError,
            "labels has float64 values; they must be integers",
        ),
        (lambda: so.one_hot(so.zeros(2), num_columns=2), so.DTypeError, "ids has float64"),
        (
            lambda: so.one_hot(so.zeros((2, 1), int), num_columns=2),
            so.ShapeError,
            "have one axis",
        ),
    ],
)
def test_what_has_no_loss_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("name", NAMES)
def test_losses_are_public_and_pickle_by_name(name):
    op = getattr(so, name)
    assert op is operators[name] and pickle.loads(pickle.dumps(op)) is op
