"""Assignment changes one array alone, keeps its spec, and counts up its version."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import STORAGES, densify

import sparseops as so

VALUES = np.array([[0.0, 1.0], [2.0, 0.0]])
OTHER = np.array([[5.0, 0.0], [0.0, 7.0]])


def sources():
    """`OTHER` as a value of every kind."""
    return {
        "list": OTHER.tolist(),
        "numpy": OTHER,
        "integers": OTHER.astype("i4"),
        "transposed": OTHER.T.copy().T,
        "foreign": OTHER.astype(">f4"),
        "dense": so.array(OTHER),
        "row_sparse": so.array(OTHER, stype="row_sparse"),
        "csr": so.array(OTHER, "f2", stype="csr"),
    }


@pytest.mark.parametrize("kind", sources())
@pytest.mark.parametrize("stype", STORAGES)
def test_a_value_of_every_kind_replaces_all_and_changes_nothing_else(stype, kind):
    value = sources()[kind]
    for key in (Ellipsis, slice(None)):
        x = so.array(VALUES, stype=stype)
        seen, same = x.data, so.asarray(x)
        before = seen.copy()
        spec = x.spec
        x[key] = value
        assert densify(x).tolist() == OTHER.tolist()
        assert (x.spec, x.version) == (spec, 1)
        assert same is x
        np.testing.assert_array_equal(seen, before)
        x.storage.validate()
        assert not any(part.flags.writeable for part in x.storage.parts)
        x[key] = VALUES
        assert x.version == 2
        assert densify(so.asarray(value)).tolist() == OTHER.tolist()


@pytest.mark.parametrize("build", [sp.csr_array, sp.coo_array, sp.csc_matrix])
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_a_matrix_of_scipy_replaces_a_sparse_array(stype, build):
    x = so.array(VALUES, stype=stype)
    x[...] = build(OTHER)
    assert densify(x).tolist() == OTHER.tolist()


def test_a_matrix_of_scipy_replaces_a_dense_array():
    x = so.array(VALUES)
    x[...] = sp.csr_array(OTHER)
    assert densify(x).tolist() == OTHER.tolist()


@pytest.mark.parametrize(
    "key, value",
    [
        *(((0, 1), 5), (0, [8, 9]), ([1, 0], [[1, 2], [3, 4]]), (slice(0, 1), 3), (-1, 4)),
        *((np.array([True, False]), 6), (Ellipsis, 2.5), (None, 1), ((slice(None), 1), [1, 2])),
        *((so.array([1]), 3), (np.int64(1), so.array([1.0, 2.0])), (0, so.zeros(2))),
        (1, so.array([0.0, 4.0], stype="row_sparse")),
    ],
    ids=repr,
)
def test_a_dense_array_is_assigned_to_as_one_of_numpy(key, value):
    x, expected = so.array(VALUES), VALUES.copy()
    x[key] = value
    plain = [densify(v) if isinstance(v, so.NDArray) else v for v in (key, value)]
    expected[plain[0]] = plain[1]
    np.testing.assert_array_equal(densify(x), expected)
    assert x.version == 1


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("key", [0, (0, 1), slice(0, 2), [0], (slice(None), slice(None))], ids=repr)
def test_places_of_a_sparse_array_are_assigned_to_as_those_of_numpy(stype, key):
    x, expected = so.array(VALUES, stype=stype), VALUES.copy()
    x[key] = 0
    expected[key] = 0
    assert (densify(x).tolist(), x.stype, x.version) == (expected.tolist(), stype, 1)


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize(
    "value", [np.zeros((3, 3)), [1, 2, 3], "a", [["a"]], [[1], [2, 3]]], ids=repr
)
def test_what_does_not_fit_is_refused_and_changes_nothing(stype, value):
    x = so.array(VALUES, stype=stype)
    with pytest.raises((ValueError, TypeError)):
        x[...] = value
    assert densify(x).tolist() == VALUES.tolist()
    assert not any(part.flags.writeable for part in x.storage.parts)


@pytest.mark.parametrize("value", [[[1j, 0], [0, 0]], so.array(OTHER * 1j), OTHER * 1j], ids=repr)
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_an_imaginary_part_is_not_dropped(stype, value):
    x = so.array(VALUES, stype=stype)
    with pytest.raises(TypeError, match="complex"):
        x[...] = value


@pytest.mark.parametrize("value", [so.array(OTHER * 1j), OTHER * 1j], ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_an_imaginary_part_is_not_dropped_in_a_dense_array(value):
    x = so.array(VALUES)
    with pytest.raises(so.DTypeError, match="complex128 values do not fit float64"):
        x[...] = value


@pytest.mark.parametrize(
    "stype",
    [
        "dense",
        "csr",
        "row_sparse",
    ],
)
def test_a_number_of_python_that_does_not_fit_is_refused(stype):
    x = so.zeros((1, 2), "i1", stype=stype)
    with pytest.raises((OverflowError, so.DTypeError)):
        x[...] = [[300, 0]]


@pytest.mark.parametrize("stype", STORAGES)
def test_assignment_takes_nothing_off_a_tape(stype):
    value, x = so.array(VALUES, stype=stype), so.zeros((2, 2), stype=stype)
    with so.Tape(), pytest.raises(so.GradientError):
        x[...] = value.astype("f8")


def test_an_array_may_be_assigned_to_itself():
    for stype in STORAGES:
        x = so.array(VALUES, stype=stype)
        x[...] = x
        assert densify(x).tolist() == VALUES.tolist()
    x = so.array([1.0, 2.0, 3.0])
    x[1:] = x.data[:-1]
    assert x.asnumpy().tolist() == [1, 1, 2]


# Copies on write


def test_memory_that_nobody_else_sees_is_written_in_place():
    x = so.array(VALUES)
    address = x.data.ctypes.data
    x[0, 0] = 5
    x[1, 1] = 6
    assert x.data.ctypes.data == address


@pytest.mark.parametrize("stype", STORAGES)
def test_whoever_saw_the_values_keeps_them(stype):
    x = so.array(VALUES, stype=stype)
    seen = {
        "data": lambda: x.data,
        "part of data": lambda: x.data[:1],
        "storage": lambda: x.storage.data,
        "memory": lambda: memoryview(x.data),
        "numpy": lambda: np.asarray(x) if stype == "dense" else x.data,
        "array": lambda: so.asarray(x.data).data,
    }
    for look in seen.values():
        view = look()
        before = np.array(view)
        with x.writing() as data:
            data[...] += 1
        np.testing.assert_array_equal(view, before)
    assert x.version == len(seen)


def test_results_that_share_memory_with_an_input_do_not_change_with_it():
    x = so.csr_array(VALUES)
    others = [x[...], so.cast_storage(x, stype="csr"), +x, x.tostype("csr"), so.asarray(x)]
    others = [y for y in others if y is not x]
    matrix = x.asscipy()
    x[...] = OTHER
    for y in others:
        assert densify(y).tolist() == VALUES.tolist()
    assert matrix.toarray().tolist() == VALUES.tolist()


def test_only_values_are_copied_on_write():
    x = so.csr_array(VALUES)
    y = so.NDArray(x.storage, x.backend)
    with y.writing() as data:
        data *= 2
    assert np.shares_memory(x.indices, y.indices)
    assert densify(x).tolist() == VALUES.tolist()
    assert densify(y).tolist() == (2 * VALUES).tolist()


def test_a_write_that_fails_counts_and_locks_again():
    x = so.array(VALUES)
    with pytest.raises(ZeroDivisionError), x.writing() as data:
        data[0, 0] = 9
        raise ZeroDivisionError
    assert x.version == 1
    assert not x.storage.data.flags.writeable


def test_a_storage_of_another_spec_is_refused():
    x = so.csr_array(VALUES)
    for other in (
        so.zeros((2, 2)),
        so.zeros((2, 3), stype="csr"),
        so.zeros((2, 2), "f4", stype="csr"),
    ):
        with pytest.raises(so.ShapeError, match="cannot become"):
            x.assign(other.storage)
    assert x.version == 0


def test_arrays_of_many_threads_do_not_meet():
    x = so.array(np.zeros(100))
    seen = []

    def work(number):
        y = so.asarray(x.data)
        for _ in range(50):
            y[...] = number
            seen.append((np.unique(y.data).tolist(), number))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 200
    assert all(values == [number] for values, number in seen)
    assert not x.asnumpy().any()
