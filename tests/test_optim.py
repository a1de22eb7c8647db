"""Optimizers: the formulas, what lazy leaves alone, and that nothing is ever half changed."""

import copy
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from optim_formulas import MAKERS, SETTINGS, SLOTS, formula, zero_state
from oracle import densify, stored

import sparseops as so
from sparseops import optim


def gradients(shape, rng, count=4):
    """Small numbers in some rows, a different share of them each time; none in the last."""
    for share in (0.4, 1.0, 0.15, 0.0)[:count]:
        g = rng.integers(-8, 9, shape) / 4
        g[rng.random(len(g)) >= share] = 0
        yield g


def label(name):
    return "momentum" if name == "nesterov" else name


def parts(state):
    return {name: densify(x) if isinstance(x, so.NDArray) else x for name, x in state.items()}


def as_sparse(g, stype):
    return stored(g, stype, extra=0.0)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("stype", ["dense", "row_sparse", "csr"])
@pytest.mark.parametrize("name", MAKERS)
def test_an_exact_update_is_the_formula_on_the_whole_array(name, stype, settings):
    rng = np.random.default_rng(3)
    w = rng.integers(-4, 5, (700, 3)) / 2
    param = so.array(w)
    optimizer = MAKERS[name](lazy=False, **settings)
    state, expected = optimizer.init(param), zero_state(name, w)
    for step, g in enumerate(gradients(w.shape, rng), 1):
        optimizer.update(as_sparse(g, stype), state, param)
        w, expected = formula(name, g, expected, w, step, **settings)
        np.testing.assert_allclose(densify(param), w, rtol=1e-12, atol=1e-12)
        for slot, value in zip(SLOTS[name], expected, strict=True):
            np.testing.assert_allclose(densify(state[slot]), value, rtol=1e-12, atol=1e-12)
        assert state["step"] == step


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("stype", ["row_sparse", "csr"])
@pytest.mark.parametrize("name", MAKERS)
def test_a_lazy_update_is_the_formula_on_the_rows_of_the_gradient_and_nothing_elsewhere(
    name, stype, settings
):
    rng = np.random.default_rng(4)
    w = rng.integers(-4, 5, (700, 3)) / 2
    param = so.array(w)
    optimizer = MAKERS[name](**settings)
    state, expected = optimizer.init(param), zero_state(name, w)
    for step, g in enumerate(gradients(w.shape, rng), 1):
        before = densify(param)
        optimizer.update(as_sparse(g, stype), state, param)
        rows = g.any(axis=1)
        new, moved = formula(name, g, expected, w, step, **settings)
        w = np.where(rows[:, None], new, w)
        expected = tuple(
            np.where(rows[:, None], n, o) for n, o in zip(moved, expected, strict=True)
        )
        np.testing.assert_allclose(densify(param), w, rtol=1e-12, atol=1e-12)
        assert (densify(param)[~rows] == before[~rows]).all()
        for slot, value in zip(SLOTS[name], expected, strict=True):
            np.testing.assert_allclose(densify(state[slot]), value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("stype", ["row_sparse", "csr"])
@pytest.mark.parametrize("name", MAKERS)
def test_lazy_false_equals_the_dense_update_bit_for_bit(name, stype, dtype):
    rng = np.random.default_rng(5)
    w = rng.standard_normal((600, 33)).astype(dtype)
    one, other = so.array(w), so.array(w)
    optimizer = MAKERS[name](lazy=False, weight_decay=0.01, rescale=0.3)
    states = optimizer.init(one), optimizer.init(other)
    for g in gradients(w.shape, rng):
        g = (g * rng.standard_normal(w.shape)).astype(dtype)
        optimizer.update(as_sparse(g, stype), states[0], one)
        optimizer.update(so.array(g), states[1], other)
        np.testing.assert_array_equal(densify(one), densify(other))
        for slot in SLOTS[name]:
            np.testing.assert_array_equal(densify(states[0][slot]), densify(states[1][slot]))


@pytest.mark.parametrize("name", MAKERS)
def test_lazy_and_exact_move_the_touched_rows_alike_in_the_first_step(name):
    rng = np.random.default_rng(6)
    w, (g, *_) = rng.standard_normal((50, 2)), gradients((50, 2), rng)
    moved = []
    for lazy in (True, False):
        param, optimizer = so.array(w), MAKERS[name](lazy=lazy)
        optimizer.update(as_sparse(g, "row_sparse"), optimizer.init(param), param)
        moved.append(densify(param))
    rows = g.any(axis=1)
    np.testing.assert_array_equal(moved[0][rows], moved[1][rows])


def one_step(optimizer, w, g, **state):
    param, found = so.array([w]), optimizer.init(so.array([w]))
    found.update({name: so.array([value]) for name, value in state.items()})
    optimizer.update(so.array([g]), found, param)
    return float(param)


def test_the_numbers_that_mxnet_gives():
    assert one_step(optim.sgd(1.0, rescale=3.0, clip=2.0, weight_decay=0.5), 1.0, 1.0) == -1.5
    assert one_step(optim.adagrad(1.0, 0.5), 1.0, 2.0, history=1.0) == pytest.approx(
        0.1472, abs=5e-5
    )
    assert one_step(optim.group_adagrad(1.0, 0.5), 1.0, 2.0, history=1.0) == pytest.approx(
        0.1472, abs=5e-5
    )
    n, z = 2.0, 0.5 + 1.0 - (np.sqrt(2.0) - 1.0) / 0.5
    assert one_step(optim.ftrl(0.5, 0.25), 1.0, 1.0, n=1.0, z=0.5) == pytest.approx(
        (0.25 - z) / ((1 + np.sqrt(n)) / 0.5)
    )
    assert one_step(optim.sgd(1.0, rescale=3.0, clip=0.0), 1.0, 1.0) == 1.0
    assert one_step(optim.momentum(0.5, 0.5), 1.0, 1.0, velocity=1.0) == 1.0
    mean, variance, rate = 0.9 + 0.2, 0.999 + 0.004, 0.5 * np.sqrt(0.001) / 0.1
    assert one_step(optim.adam(0.5), 1.0, 2.0, mean=1.0, variance=1.0) == pytest.approx(
        1 - rate * mean / (np.sqrt(variance) + 1e-8), rel=1e-14
    )


def test_the_first_step_of_adam_has_the_length_of_the_learning_rate():
    assert one_step(optim.adam(0.125), 1.0, 1000.0) == pytest.approx(0.875, abs=1e-9)


@pytest.mark.parametrize("stype", ["row_sparse", "csr"])
@pytest.mark.parametrize("name", MAKERS)
def test_an_empty_gradient_changes_nothing_lazily_and_decays_everything_otherwise(name, stype):
    empty = so.zeros((3, 2), stype=stype)
    lazy, exact = (MAKERS[name](lazy=lazy, weight_decay=0.5) for lazy in (True, False))
    for optimizer in (lazy, exact):
        param = so.array(np.ones((3, 2)))
        state = optimizer.init(param)
        for slot in SLOTS[name]:
            state[slot][...] = 1.0
        optimizer.update(empty, state, param)
        unchanged = all((densify(state[slot]) == 1).all() for slot in SLOTS[name])
        assert (densify(param) == 1).all() == (optimizer is lazy)
        assert unchanged == (optimizer is lazy or name in ("sgd", "ftrl"))
        assert state["step"] == 1


@pytest.mark.parametrize("shape", [(), (5,), (0,), (0, 3), (4, 0), (1, 70000), (3, 2, 4)])
@pytest.mark.parametrize("name", MAKERS)
def test_parameters_of_every_shape_move_by_the_formula(name, shape):
    rng = np.random.default_rng(7)
    w, g = rng.integers(-4, 5, shape) / 2, rng.integers(-4, 5, shape) / 2
    zeros = zero_state(name, w)
    expected, _ = formula(name, g, zeros, w, 1)
    for stype in ("dense", "row_sparse", "csr")[: 1 + (len(shape) > 0) + (len(shape) == 2)]:
        param, optimizer = so.array(w), MAKERS[name](lazy=False)
        optimizer.update(as_sparse(np.asarray(g), stype), optimizer.init(param), param)
        np.testing.assert_allclose(densify(param), expected, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", MAKERS)
def test_the_dtype_of_the_parameter_stays_and_float16_is_computed_in_float32(name, dtype):
    rng = np.random.default_rng(8)
    w = rng.standard_normal((6, 2)).astype(dtype)
    g = rng.standard_normal((6, 2)).astype(dtype)
    param, optimizer = so.array(w), MAKERS[name]()
    state = optimizer.init(param)
    work = np.float64 if dtype == "float64" else np.float32
    zeros = zero_state(name, w)
    expected, moved = formula(name, g.astype(work), zeros, w.astype(work), 1)
    optimizer.update(so.array(g), state, param)
    assert param.dtype == dtype
    np.testing.assert_allclose(densify(param), expected.astype(dtype), rtol=1e-3)
    for slot, value in zip(SLOTS[name], moved, strict=True):
        assert state[slot].dtype == work
        np.testing.assert_allclose(densify(state[slot]), value, rtol=1e-6)


def test_a_tiny_epsilon_works_for_float16_zeros():
    param = so.array(np.ones((2, 2), np.float16))
    optimizer = optim.adam(0.5)
    optimizer.update(so.zeros((2, 2), np.float16), optimizer.init(param), param)
    assert (densify(param) == 1).all()


# Row-sparse parameters


@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize("stype", ["dense", "row_sparse", "csr"])
@pytest.mark.parametrize("name", MAKERS)
def test_rows_that_a_row_sparse_parameter_lacks_are_zeros_and_grow_when_a_gradient_has_them(
    name, stype, lazy
):
    rng = np.random.default_rng(9)
    w = rng.integers(-4, 5, (40, 2)) / 2
    w[rng.random(40) < 0.6] = 0
    sparse, dense = as_sparse(w, "row_sparse"), so.array(w)
    before = sparse.indices.copy()
    optimizer = MAKERS[name](lazy=lazy, weight_decay=0.25)
    states = optimizer.init(sparse), optimizer.init(dense)
    for g in (*gradients(w.shape, rng, 1), *gradients(w.shape, rng)):
        optimizer.update(as_sparse(g, stype), states[0], sparse)
        optimizer.update(as_sparse(g, stype), states[1], dense)
        sparse.storage.validate()
        np.testing.assert_array_equal(densify(sparse), densify(dense))
        touched = np.arange(40) if stype == "dense" else np.flatnonzero(g.any(axis=1))
        before = np.union1d(before, touched)
        np.testing.assert_array_equal(sparse.indices, before)
        for slot in SLOTS[name]:
            states[0][slot].storage.validate()
            assert states[0][slot].stype == "row_sparse"
            np.testing.assert_array_equal(densify(states[0][slot]), densify(states[1][slot]))


def test_a_parameter_that_stores_nothing_grows_from_the_gradient_alone():
    param = so.zeros((10**9, 4), np.float32, stype="row_sparse")
    optimizer = optim.adagrad(0.5)
    state = optimizer.init(param)
    g = so.row_sparse_array((np.ones((2, 4), np.float32), [5, 10**9 - 1]), (10**9, 4))
    optimizer.update(g, state, param)
    optimizer.update(g, state, param)
    assert param.indices.tolist() == [5, 10**9 - 1] and param.indices.dtype == np.int32
    assert (densify(so.NDArray(so.Dense(param.storage.data), param.backend)) < 0).all()


# What an update allocates, whom it shows its changes to, and what it refuses


@pytest.mark.parametrize("stype", ["row_sparse", "csr"])
@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize("name", MAKERS)
def test_an_update_allocates_nothing_of_the_size_of_the_table(name, lazy, stype):
    rows, columns, touched = 100_000, 16, 2_000
    rng = np.random.default_rng(10)
    param = so.zeros((rows, columns), np.float32)
    ids = np.sort(rng.choice(rows, touched, replace=False)).astype(np.int32)
    g = so.row_sparse_array((np.ones((touched, columns), np.float32), ids), (rows, columns))
    g = g.tostype(stype)
    optimizer = MAKERS[name](lazy=lazy, weight_decay=0.5, clip=1.0)
    state = optimizer.init(param)
    optimizer.update(g, state, param)
    tracemalloc.start()
    optimizer.update(g, state, param)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The row pointers of a csr gradient are as long as the table is high.
    assert peak < param.nbytes / (8 if stype == "row_sparse" else 4)


@pytest.mark.parametrize("name", MAKERS)
def test_whoever_shares_the_memory_of_a_parameter_does_not_see_it_move(name):
    values = np.ones((3, 2))
    param = so.asarray(values)
    view, other = param.data, so.asarray(param.data)
    optimizer = MAKERS[name]()
    optimizer.update(so.array(np.ones((3, 2))), optimizer.init(param), param)
    assert (densify(param) != 1).all()
    for seen in (values, view, densify(other)):
        assert (seen == 1).all()


@pytest.mark.parametrize("name", MAKERS)
def test_a_gradient_that_is_the_parameter_or_a_part_of_the_state_is_read_before_it_moves(name):
    w = np.array([[1.0, -2.0], [0.5, 4.0]])
    zeros = zero_state(name, w)
    param, optimizer = so.array(w), MAKERS[name]()
    optimizer.update(param, optimizer.init(param), param)
    np.testing.assert_allclose(densify(param), formula(name, w, zeros, w, 1)[0], rtol=1e-15)
    for slot in SLOTS[name]:
        param = so.array(w)
        state = optimizer.init(param)
        if state[slot].shape != w.shape:
            continue
        state[slot][...] = 2.0
        started = tuple(densify(state[s]) for s in SLOTS[name])
        optimizer.update(state[slot], state, param)
        expected, _ = formula(name, np.full_like(w, 2.0), started, w, 1)
        np.testing.assert_allclose(densify(param), expected, rtol=1e-15)


def test_a_tape_that_saved_the_parameter_refuses_after_an_update():
    param = so.array([[2.0]])
    optimizer = optim.sgd(0.5)
    with so.Tape() as tape:
        y = so.square(param)
    before = param.version
    optimizer.update(so.array([[1.0]]), optimizer.init(param), param)
    assert param.version > before
    with pytest.raises(so.GradientError, match="changed in place"):
        tape.gradient(y, param, output_gradients=so.array([[1.0]]))


def wrong_updates():
    """The error, its message, and how to spoil (gradient, state, param)."""
    f32 = np.float32
    yield so.ShapeError, r"gradient has shape \(1, 2\)", lambda g, s, p: (so.zeros((1, 2)), s, p)
    yield (
        so.DTypeError,
        "gradient has dtype float32",
        lambda g, s, p: (g.astype(f32), s, p),
    )
    yield TypeError, "gradient is ndarray", lambda g, s, p: (g.asnumpy(), s, p)
    yield TypeError, "param is ndarray", lambda g, s, p: (g, s, p.asnumpy())
    yield so.StorageError, "param is float64.*csr", lambda g, s, p: (g, s, p.tostype("csr"))
    yield (
        ValueError,
        r"state has \['step'\]; adam has \['step', 'mean', 'variance'\]",
        lambda g, s, p: (g, {"step": 0}, p),
    )
    yield ValueError, "state has NoneType", lambda g, s, p: (g, None, p)
    yield ValueError, "it must be a number of steps", lambda g, s, p: (g, {**s, "step": -1}, p)
    yield (
        ValueError,
        "share an array",
        lambda g, s, p: (g, {**s, "mean": s["variance"]}, p),
    )
    yield (
        so.ShapeError,
        r"state\['variance'\] has shape",
        lambda g, s, p: (g, {**s, "variance": so.zeros(3)}, p),
    )
    yield (
        so.StorageError,
        r"state\['variance'\] is csr",
        lambda g, s, p: (g, {**s, "variance": s["variance"].tostype("csr")}, p),
    )
    yield (
        so.DTypeError,
        r"state\['variance'\] has dtype float32",
        lambda g, s, p: (g, {**s, "variance": so.zeros((3, 2), f32)}, p),
    )


@pytest.mark.parametrize("error, match, spoil", list(wrong_updates()))
def test_what_does_not_belong_together_is_refused_before_anything_changes(error, match, spoil):
    optimizer = optim.adam(0.5, weight_decay=0.5)
    param = so.array(np.ones((3, 2)))
    state = optimizer.init(param)
    optimizer.update(so.array(np.ones((3, 2))), state, param)
    before, kept = densify(param), parts(state)
    versions = [param.version, state["mean"].version, state["variance"].version]
    with pytest.raises(error, match=match):
        optimizer.update(*spoil(so.array(np.ones((3, 2))), state, param))
    np.testing.assert_array_equal(densify(param), before)
    for name, value in parts(state).items():
        np.testing.assert_array_equal(value, kept[name])
    assert [param.version, state["mean"].version, state["variance"].version] == versions


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "int32", "bool"])
@pytest.mark.parametrize("name", MAKERS)
def test_complex_and_integer_parameters_are_refused_by_name(name, dtype):
    param = so.zeros((2, 2), dtype)
    with pytest.raises(so.DTypeError, match=f"param is {dtype}.*{label(name)} moves float16"):
        MAKERS[name]().init(param)
    with pytest.raises(so.DTypeError, match=f"param is {dtype}.*{label(name)} moves float16"):
        MAKERS[name]().update(param, {"step": 0}, param)


def test_a_state_with_other_rows_than_the_parameter_is_refused():
    param = so.row_sparse_array(([[1.0], [2.0]], [0, 2]), (4, 1))
    optimizer = optim.momentum(0.5)
    state = optimizer.init(so.row_sparse_array(([[1.0], [2.0]], [0, 3]), (4, 1)))
    with pytest.raises(so.StorageError, match="stores other rows than param"):
        optimizer.update(so.zeros((4, 1), stype="row_sparse"), state, param)


@pytest.mark.parametrize(
    "make, match",
    [
        (lambda: optim.sgd(-1.0), "learning_rate=-1.0"),
        (lambda: optim.sgd(float("nan")), "learning_rate=nan"),
        (lambda: optim.sgd(1.0, clip=-1.0), "clip=-1.0"),
        (lambda: optim.sgd(1.0, rescale=float("inf")), "rescale=inf"),
        (lambda: optim.sgd(1.0, weight_decay=-0.5), "weight_decay=-0.5"),
        (lambda: optim.momentum(1.0, 1.0), r"momentum=1.0, but it must lie in \[0, 1\)"),
        (lambda: optim.adagrad(1.0, 0.0), "epsilon=0.0, but it must be above 0"),
        (lambda: optim.adam(1.0, beta1=1.5), "beta1=1.5"),
        (lambda: optim.adam(1.0, beta2=-0.5), "beta2=-0.5"),
        (lambda: optim.adam(1.0, epsilon=-1e-8), "epsilon=-1e-08"),
        (lambda: optim.adamw(1.0, beta1=-0.5), "beta1=-0.5"),
        (lambda: optim.adamw(1.0, weight_decay=float("nan")), "weight_decay=nan"),
        (lambda: optim.rmsprop(1.0, decay=1.0), "decay=1.0"),
        (lambda: optim.group_adagrad(1.0, 0.0), "epsilon=0.0"),
        (lambda: optim.ftrl(0.0), "learning_rate=0.0, but it must be above 0"),
        (lambda: optim.ftrl(1.0, l1=-1.0), "l1=-1.0"),
        (lambda: optim.ftrl(1.0, beta=float("inf")), "beta=inf"),
    ],
)
def test_settings_out_of_range_are_refused_when_the_optimizer_is_made(make, match):
    with pytest.raises(ValueError, match=match):
        make()


# Schedules, and states as plain values


def test_a_schedule_is_asked_once_a_step_with_its_number_from_one():
    asked = []
    param = so.array([1.0])
    optimizer = optim.sgd(lambda step: asked.append(step) or 1 / step)
    state = optimizer.init(param)
    for _ in range(3):
        optimizer.update(so.array([1.0]), state, param)
    assert asked == [1, 2, 3]
    assert float(param) == pytest.approx(1 - 1 - 1 / 2 - 1 / 3)


@pytest.mark.parametrize("rate", [float("nan"), -1.0, "fast", None])
def test_a_schedule_that_gives_no_rate_changes_nothing(rate):
    param = so.array([1.0])
    optimizer = optim.momentum(lambda step: rate)
    state = optimizer.init(param)
    with pytest.raises((ValueError, TypeError), match=r"learning_rate\(1\)"):
        optimizer.update(so.array([1.0]), state, param)
    assert float(param) == 1.0 and state["step"] == 0 and float(state["velocity"]) == 0.0


@pytest.mark.parametrize("stype", ["dense", "row_sparse"])
@pytest.mark.parametrize("name", MAKERS)
def test_training_goes_on_from_a_copied_or_pickled_state_as_if_nothing_had_happened(name, stype):
    rng = np.random.default_rng(11)
    w = rng.standard_normal((20, 2))
    optimizer = MAKERS[name]()
    steps = list(gradients(w.shape, rng))
    params = [as_sparse(w, stype) for _ in range(3)]
    states = [optimizer.init(param) for param in params]
    for number, g in enumerate(steps):
        for param, state in zip(params, states, strict=True):
            optimizer.update(as_sparse(g, "row_sparse"), state, param)
        if number == 1:
            params[1], states[1] = copy.deepcopy((params[1], states[1]))
            params[2], states[2] = pickle.loads(pickle.dumps((params[2], states[2])))
    for param, state in zip(params[1:], states[1:], strict=True):
        np.testing.assert_array_equal(densify(param), densify(params[0]))
        assert {n: np.shape(v) for n, v in parts(state).items()} == {
            n: np.shape(v) for n, v in parts(states[0]).items()
        }
        for slot in SLOTS[name]:
            np.testing.assert_array_equal(densify(state[slot]), densify(states[0][slot]))


def test_optimizers_print_their_settings_and_pickle():
    optimizer = optim.adam(0.5, weight_decay=0.25)
    text = "adam(0.5, beta1=0.9, beta2=0.999, epsilon=1e-08, weight_decay=0.25, rescale=1.0, "
    assert repr(optimizer) == text + "clip=None, lazy=True)"
    assert repr(pickle.loads(pickle.dumps(optimizer))) == repr(optimizer)


@pytest.mark.parametrize("name", MAKERS)
def test_overflow_gives_infinity_everywhere_and_stops_nothing_halfway(name):
    param = so.array(np.ones((3, 2), np.float32))
    g = so.array(np.full((3, 2), 3e38, np.float32))
    optimizer = MAKERS[name](rescale=4.0)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        optimizer.update(g, optimizer.init(param), param)
    assert not np.isfinite(densify(param)).any()


@pytest.mark.parametrize("name", MAKERS)
def test_every_optimizer_finds_the_minimum_of_a_bowl(name):
    param, target = so.array([[4.0], [-3.0]]), np.array([[1.0], [2.0]])
    optimizer = MAKERS[name]()
    state = optimizer.init(param)
    for _ in range(400):
        optimizer.update(so.array(densify(param) - target), state, param)
    np.testing.assert_allclose(densify(param), target, atol=0.25)


# What is beside the optimizers


def test_ftrl_divides_by_the_rate_and_refuses_zero_before_anything_changes():
    param, optimizer = so.array([1.0]), optim.ftrl(lambda step: 0.0)
    state = optimizer.init(param)
    with pytest.raises(ValueError, match=r"learning_rate\(1\)=0.0, but it must be above 0"):
        optimizer.update(so.array([1.0]), state, param)
    assert float(param) == 1.0 and state["step"] == 0


def test_ftrl_takes_no_nan_for_zero():
    param, optimizer = so.array([1.0, 1.0]), optim.ftrl(0.5)
    optimizer.update(so.array([np.nan, 0.0]), optimizer.init(param), param)
    assert np.isnan(densify(param)).tolist() == [True, False]


def test_weight_decay_of_adamw_is_not_in_its_averages():
    param, optimizer = so.array([[2.0]]), optim.adamw(0.5, weight_decay=0.5)
    state = optimizer.init(param)
    optimizer.update(so.array([[0.0]]), state, param)
    assert float(param) == 1.5
    assert float(state["mean"]) == float(state["variance"]) == 0.0


def test_the_history_of_rows_takes_a_value_a_row():
    optimizer = optim.group_adagrad(0.5)
    assert optimizer.init(so.zeros((5, 3, 2)))["history"].shape == (5, 1, 1)
    sparse = optimizer.init(so.row_sparse_array((np.ones((2, 3)), [1, 4]), (6, 3)))["history"]
    assert sparse.shape == (6, 1) and sparse.indices.tolist() == [1, 4]
    with pytest.raises(
        so.ShapeError, match=r"has shape \(5, 3\); param of \(5, 3\) needs \(5, 1\)"
    ):
        state = {"step": 0, "history": so.zeros((5, 3))}
        optimizer.update(so.zeros((5, 3)), state, so.zeros((5, 3)))


def mixed():
    yield so.array(np.array([[3.0, -4.0]]))
    yield so.row_sparse_array((np.array([[12.0]], np.float32), [1]), (4, 1))
    yield so.csr_array((np.array([84.0]), [2], [0, 1]), (1, 3))
    yield so.zeros((2, 0))
    yield so.zeros((3, 2), stype="csr")


def test_the_global_norm_is_that_of_one_vector_of_all_values():
    assert optim.global_norm(list(mixed())) == 85.0
    assert optim.global_norm({str(n): g for n, g in enumerate(mixed())}) == 85.0
    assert optim.global_norm([]) == 0.0
    assert optim.global_norm([so.array([3e300, 4e300])]) == pytest.approx(5e300)
    assert optim.global_norm([so.array([3e-300]), so.array([4e-300])]) == pytest.approx(5e-300)
    assert optim.global_norm([so.array(np.array([3e4, 4e4], np.float16))]) == pytest.approx(
        5e4, rel=1e-3
    )
    assert optim.global_norm([so.array([3 + 4j])]) == 5.0


def test_clipping_scales_all_gradients_by_one_factor_and_keeps_storage_and_dtype():
    given = list(mixed())
    found = optim.clip_global_norm(given, 42.5)
    for g, clipped in zip(given, found, strict=True):
        assert clipped.spec == g.spec
        np.testing.assert_array_equal(densify(clipped), densify(g) / 2)
    assert optim.global_norm(found) == 42.5
    for g, same in zip(given, optim.clip_global_norm(given, 85.0), strict=True):
        assert same is g
    assert optim.clip_global_norm({"a": so.array([2.0])}, 0.0)["a"].asnumpy().tolist() == [0.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_norm_that_is_not_finite_is_refused_with_the_gradient_named(bad):
    gradients = {"a": so.array([1.0]), "b": so.array([1.0, bad])}
    assert not np.isfinite(optim.global_norm(gradients))
    with pytest.raises(ValueError, match="the norm of gradients 'b' is (nan|inf)"):
        optim.clip_global_norm(gradients, 1.0)


def test_norms_of_what_is_no_gradient_are_refused():
    with pytest.raises(so.DTypeError, match=r"a gradient is int64\[1\] dense"):
        optim.global_norm([so.array([1])])
    with pytest.raises(TypeError, match="a gradient is ndarray"):
        optim.global_norm([np.ones(1)])
    with pytest.raises(ValueError, match="limit=-1"):
        optim.clip_global_norm([], -1)


def test_schedules_start_at_the_rate_and_end_at_the_least():
    for schedule in (
        optim.Stepwise(1.0, 0.5, 2, least=0.125),
        optim.Polynomial(1.0, 10, power=2.0, least=0.125),
        optim.Cosine(1.0, 10, least=0.125),
    ):
        rates = [schedule(step) for step in range(1, 30)]
        assert rates[0] == 1.0 and rates[-1] == 0.125
        assert all(a >= b for a, b in zip(rates, rates[1:], strict=False))
        assert pickle.loads(pickle.dumps(schedule)) == schedule
        warm = optim.Warmup(schedule, 4)
        assert [warm(step) for step in (1, 2, 3, 4)] == [0.25, 0.5, 0.75, 1.0]
        assert [warm(step) for step in range(5, 20)] == rates[:15]
    assert optim.Warmup(0.5, 2)(1) == 0.25 and optim.Warmup(0.5, 2)(9) == 0.5
    assert repr(optim.sgd(optim.Cosine(1.0, 5))).startswith("sgd(Cosine(rate=1.0, steps=5, ")


@pytest.mark.parametrize(
    "make",
    [
        lambda: optim.Stepwise(-1.0, 0.5, 1),
        lambda: optim.Stepwise(1.0, 0.5, 0),
        lambda: optim.Polynomial(1.0, 0),
        lambda: optim.Cosine(float("nan"), 5),
        lambda: optim.Warmup(1.0, 0),
        lambda: optim.Warmup(-1.0, 5),
    ],
)
def test_schedules_out_of_range_are_refused_when_made(make):
    with pytest.raises(ValueError):
        make()


def test_groups_move_each_parameter_by_the_first_pattern_that_fits():
    params = {
        "user.table": so.array([[1.0]]),
        "item.table": so.array([[1.0]]),
        "b": so.array([1.0]),
    }
    descent = optim.groups(
        {"user.*": optim.sgd(0.5), "*.table": optim.sgd(0.25), "b": optim.adam(1)}
    )
    states = descent.init(params)
    ones = {name: so.array(np.ones(x.shape)) for name, x in params.items() if name != "b"}
    descent.update(ones, states, params)
    assert [float(x) for x in params.values()] == [0.5, 0.75, 1.0]
    assert [state["step"] for state in states.values()] == [1, 1, 0]
    with pytest.raises(KeyError, match="no group for parameter 'c'"):
        descent.init({"c": so.array([1.0])})
    with pytest.raises(TypeError, match="group 'a' is float"):
        optim.groups({"a": 0.5})


def test_groups_check_everything_before_anything_changes():
    params = {"a": so.array([1.0]), "b": so.array([1.0])}
    descent = optim.groups({"*": optim.sgd(0.5)})
    states = descent.init(params)
    with pytest.raises(so.ShapeError) as caught:
        descent.update({"a": so.array([1.0]), "b": so.array([1.0, 2.0])}, states, params)
    assert "at parameter 'b'" in caught.value.__notes__
    with pytest.raises(KeyError, match="gradient 'c' has no parameter; there are a, b"):
        descent.update({"a": so.array([1.0]), "c": so.array([1.0])}, states, params)
    assert float(params["a"]) == 1.0 and states["a"]["step"] == 0
