"""Auxiliary states, the state of a call, versions, and writing without anybody else seeing it."""

import contextlib

import numpy as np
import pytest
from oracle import densify
from user_operators import SHAPE, dense_only, describing, doubling, restore_registry

import sparseops as so

registry = pytest.fixture(autouse=True)(restore_registry)

FLOATS = np.arange(6.0).reshape(SHAPE)


def counting(answer, signature="dense, dense -> dense", **options):
    """The operator "drawn" of `a` and a state `b`, whose kernel gives `answer`."""
    op = so.operator(describing("ab", outputs=options.pop("count", 1)), mutates=("b",), **options)

    @op.forward(signature)
    def kernel(backend, a, b):
        return answer(a, b)

    return op


# Auxiliary states


def test_a_state_is_renewed_and_its_version_counts_up():
    op = counting(lambda a, b: (a, b.with_data(b.data + 1)))
    x, state = so.array(FLOATS), so.zeros(SHAPE)
    for version in range(1, 4):
        result = op(x, state)
        assert isinstance(result, so.NDArray)
        assert (state.version, x.version) == (version, 0)
        assert (densify(state) == version).all()


def test_a_sparse_state_may_grow():
    def grown(a, b):
        row = len(b.indices)
        stored = np.concatenate([b.data, np.ones((1, 3))])
        return a, so.RowSparse(stored, np.arange(row + 1, dtype=np.int32), SHAPE)

    op = counting(grown, "dense, row_sparse -> dense")
    state = so.zeros(SHAPE, stype="row_sparse")
    for rows in (1, 2):
        op(so.array(FLOATS), state)
        assert state.storage.indices.tolist() == list(range(rows))


BAD_STATES = {
    "shape": lambda a, b: (a, so.Dense(FLOATS.T)),
    "dtype": lambda a, b: (a, so.Dense(FLOATS.astype(int))),
    "storage": lambda a, b: (a, so.zeros(SHAPE, stype="csr").storage),
    "nothing": lambda a, b: (a, None),
    "missing": lambda a, b: a,
    "result": lambda a, b: (None, so.Dense(FLOATS)),
    "raises": lambda a, b: 1 / 0,
}


@pytest.mark.parametrize("answer", BAD_STATES.values(), ids=BAD_STATES)
def test_a_failed_call_leaves_the_state_as_it_was(answer):
    x, state = so.array(FLOATS), so.zeros(SHAPE)
    storage = state.storage
    with pytest.raises((so.SparseOpsError, ZeroDivisionError)):
        counting(answer)(x, state)
    assert (state.storage, state.version) == (storage, 0)


def test_neither_of_two_states_changes_if_the_second_is_wrong():
    op = so.operator(describing("abc"), mutates=("b", "c"))
    op.forward("dense, dense, dense -> dense")(
        lambda backend, a, b, c: (a, so.Dense(FLOATS + 1), so.Dense(FLOATS.T))
    )
    states = so.zeros(SHAPE), so.zeros(SHAPE)
    with pytest.raises(so.ShapeError) as caught:
        op(so.array(FLOATS), *states)
    assert caught.value.slot == "c"
    assert [(s.version, densify(s).any()) for s in states] == [(0, False)] * 2


def test_a_call_that_fails_behind_the_kernel_leaves_the_state_as_it_was():
    def vector(a, b):
        return (3,), float

    op = so.operator(vector, mutates=("b",))
    op.forward("dense, dense -> dense")(
        lambda backend, a, b: (so.Dense(FLOATS[0]), b.with_data(b.data + 1))
    )
    state = so.zeros(SHAPE)
    with so.fallback("allow"), pytest.raises(so.ShapeError, match="csr has 2"):
        op(so.array(FLOATS), state, stype="csr")
    assert (state.version, densify(state).any()) == (0, False)


@pytest.mark.parametrize("stype", ("row_sparse", "csr"))
def test_a_state_that_falls_back_is_renewed_in_its_own_storage(stype):
    op = counting(lambda a, b: (a, b.with_data(b.data + FLOATS)))
    state = so.zeros(SHAPE, stype=stype)
    with so.fallback("allow") as records:
        op(so.array(FLOATS), state)
    assert len(records) == 1
    assert (state.stype, state.version) == (stype, 1)
    np.testing.assert_array_equal(densify(state), FLOATS)
    with so.fallback("error"), pytest.raises(so.DensifyError):
        op(so.array(FLOATS), state)
    assert state.version == 1


@pytest.mark.parametrize("constant", (FLOATS.tolist(), FLOATS.copy(), 3.0))
def test_a_state_is_an_array_that_can_be_renewed(constant):
    op = counting(lambda a, b: (a, so.Dense(FLOATS + 1)))
    op.forward("dense, scalar -> dense")(lambda backend, a, b: (a, so.Dense(FLOATS)))
    with pytest.raises(so.SparseOpsError, match=r"\bb is .*changes it"):
        op(so.array(FLOATS), constant)


def test_a_state_may_come_beside_several_results():
    op = counting(
        lambda a, b: (a, a, b.with_data(b.data + 1)),
        "dense, dense -> dense, dense",
        outputs=("v", "w"),
        count=2,
    )
    state = so.zeros(SHAPE)
    assert len(op(so.array(FLOATS), state)) == 2 and state.version == 1


def test_a_result_that_is_also_the_state_does_not_change_with_it():
    op = counting(lambda a, b: (b, b.with_data(b.data + 1)))
    both = counting(lambda a, b: [so.Dense(FLOATS + 1)] * 2)
    for call in (op, both):
        state = so.zeros(SHAPE)
        result = call(so.array(FLOATS), state)
        before = densify(result)
        call(so.array(FLOATS), state)
        state[...] = 7
        np.testing.assert_array_equal(densify(result), before)


# The state of a call


def test_the_state_of_a_call_reaches_its_gradient_and_no_other():
    op = so.operator(describing("a"))
    serial = iter(range(10))

    @op.forward("dense -> dense")
    def kernel(backend, a, *, state):
        assert vars(state) == {}
        state.serial = next(serial)
        return a

    @op.backward("a", "dense -> dense")
    def rule(g, state):
        seen.append(state.serial)
        return g

    seen = []
    x = so.array(FLOATS)
    with so.Tape(persistent=True) as tape:
        first, second = op(x), op(x)
    for y in (second, first, first):
        tape.gradient(y, x, output_gradients=FLOATS)
    assert seen == [1, 0, 0]


# Writing


def views_of(x):
    """Arrays that share memory with `x`, made in every way that makes such."""
    reshaped = so.operator(lambda_reshaped)
    reshaped.forward("dense -> dense")(lambda backend, a: so.Dense(a.data.reshape(-1)))
    same = so.operator(describing("a", name="same"))
    same.forward("dense -> dense")(lambda backend, a: a)
    first = so.operator(lambda_first)
    first.forward("dense -> dense")(lambda backend, a: so.Dense(a.data[:1]))
    yield reshaped(x)
    yield same(x)
    yield first(x)
    yield so.NDArray(x.storage, x.backend)
    yield so.NDArray(so.Dense(x.storage.data), x.backend)
    yield so.asarray(x.data)
    yield so.asarray(x.storage.data)
    yield x.tostype("dense").astype(x.dtype)


def lambda_reshaped(a):
    return (6,), a.dtype


def lambda_first(a):
    return (1, 3), a.dtype


@pytest.mark.parametrize("position", range(8))
@pytest.mark.parametrize("fresh", (lambda: so.array(FLOATS), lambda: doubling()(FLOATS / 2)))
def test_writing_is_seen_by_no_array_that_shares_memory(fresh, position):
    x = fresh()
    view = list(views_of(x))[position]
    before = densify(view)
    x[...] = 7
    np.testing.assert_array_equal(densify(view), before)
    assert (densify(x) == 7).all()
    if view is not x:
        x = fresh()
        view = list(views_of(x))[position]
        view[...] = 7
        np.testing.assert_array_equal(densify(x), FLOATS)


def test_writing_is_not_seen_by_a_view_taken_before():
    x = so.array(FLOATS)
    data, storage = x.data, x.storage
    with x.writing() as values:
        values[0] = 7
    np.testing.assert_array_equal(data, FLOATS)
    np.testing.assert_array_equal(storage.data, FLOATS)
    assert (densify(x)[0] == 7).all()


def test_asarray_shares_memory_and_is_copied_on_the_first_write():
    values = FLOATS.copy()
    x = so.asarray(values)
    assert np.shares_memory(x.storage.data, values)
    x[...] = 7
    np.testing.assert_array_equal(values, FLOATS)
    mine = x.storage.data.ctypes.data
    x[...] = 8
    assert x.storage.data.ctypes.data == mine, "copied once"


def test_an_array_that_shares_nothing_is_written_in_place():
    for x in (so.array(FLOATS), doubling()(FLOATS), so.zeros(SHAPE)):
        place = x.storage.data.ctypes.data
        for _ in range(3):
            with x.writing() as values:
                values += 1
            del values
            x[0] = 5
        assert x.storage.data.ctypes.data == place


@pytest.mark.parametrize("stype", ("dense", "row_sparse", "csr"))
def test_writing_counts_up_the_version_also_if_it_fails(stype):
    x = so.array(FLOATS).tostype(stype)
    with x.writing() as values:
        values *= 2
    assert x.version == 1
    np.testing.assert_array_equal(densify(x), FLOATS * 2)
    with contextlib.suppress(KeyError), x.writing() as values:
        values[...] = 0
        raise KeyError
    assert x.version == 2
    with pytest.raises(ValueError, match="read-only"):
        values[...] = 1


@pytest.mark.parametrize("stype", ("row_sparse", "csr"))
def test_writing_the_values_of_a_sparse_array_is_not_seen_by_arrays_of_its_structure(stype):
    x = so.array(FLOATS).tostype(stype)
    y = doubling()(x)
    shared = so.NDArray(x.storage, x.backend)
    assert y.storage.indices is x.storage.indices
    with x.writing() as values:
        values[...] = 9
    np.testing.assert_array_equal(densify(y), FLOATS * 2)
    np.testing.assert_array_equal(densify(shared), FLOATS)
    assert (x.data == 9).all()


@pytest.mark.parametrize("stype", ("dense", "row_sparse", "csr"))
def test_assigning_all_replaces_values_and_structure(stype):
    x = so.zeros(SHAPE, stype=stype)
    x[...] = FLOATS
    assert (x.stype, x.version) == (stype, 1)
    np.testing.assert_array_equal(densify(x), FLOATS)
    with pytest.raises((so.ShapeError, ValueError)):
        x[...] = FLOATS.T
    np.testing.assert_array_equal(densify(x), FLOATS)


def test_an_array_cannot_become_another_spec():
    x = so.array(FLOATS)
    for other in (FLOATS.T, FLOATS.astype(int)):
        with pytest.raises(so.SparseOpsError):
            x.assign(so.Dense(other))
    with pytest.raises(so.SparseOpsError):
        x.assign(so.zeros(SHAPE, stype="csr").storage)
    assert x.version == 0


def test_a_cast_of_a_fallback_does_not_share_with_its_input():
    x = so.array(FLOATS).tostype("csr")
    with so.fallback("allow"):
        y = dense_only()(x)
    with x.writing() as values:
        values[...] = 9
    np.testing.assert_array_equal(densify(y), FLOATS * 2)
