"""What users' kernels return: held to the declaration, whatever they do."""

import contextlib

import numpy as np
import pytest
import scipy.sparse
from oracle import densify
from user_operators import SHAPE, describing, restore_registry

import sparseops as so

registry = pytest.fixture(autouse=True)(restore_registry)

FLOATS = np.arange(6.0).reshape(SHAPE)
INT = np.int32


def returning(answer, signature="dense -> dense"):
    """The operator "drawn" of one input `a`, declared float64[2,3], whose kernel gives `answer`."""
    op = so.operator(describing("a"))

    @op.forward(signature)
    def kernel(backend, a):
        return answer(a) if callable(answer) else answer

    return op


def csr(data, indices, indptr, shape=SHAPE):
    return so.CSR(np.asarray(data), np.asarray(indices, INT), np.asarray(indptr, INT), shape)


def rows(data, indices, shape=SHAPE):
    return so.RowSparse(np.asarray(data), np.asarray(indices, INT), shape)


def check_refused(op, error, *messages, x=None):
    x = so.array(FLOATS) if x is None else x
    before, storage = densify(x), x.storage
    with pytest.raises(error) as caught:
        op(x)
    assert isinstance(caught.value, error)
    assert caught.value.operator == "drawn"
    assert f"in drawn(a: {x.spec})" in caught.value.__notes__
    text = " ".join([str(caught.value), *caught.value.__notes__])
    for message in (*messages, "kernel"):
        assert message in text
    assert x.storage is storage
    np.testing.assert_array_equal(densify(x), before)
    return caught.value


# The wrong kind of thing


@pytest.mark.parametrize(
    "answer",
    [
        None,
        3.0,
        "dense",
        FLOATS,
        [FLOATS],
        scipy.sparse.csr_array(FLOATS),
        so.Dense,
        (so.Dense(FLOATS),),
        [so.Dense(FLOATS)],
        NotImplemented,
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_a_kernel_that_returns_no_storage_is_named(answer):
    op = returning(lambda a: answer)
    error = check_refused(op, so.StorageError, "out: float64[2,3] dense", type(answer).__name__)
    assert (error.slot, error.declared) == ("out", so.Spec(SHAPE))


def test_a_kernel_that_returns_an_array_is_told_so():
    check_refused(returning(lambda a: so.array(FLOATS)), so.StorageError, "NDArray")


def test_a_matrix_of_scipy_is_not_the_data_of_a_storage():
    with pytest.raises(so.SparseOpsError):
        returning(so.Dense(scipy.sparse.csr_array(FLOATS)))(so.array(FLOATS))


class Named:
    shape = SHAPE


@pytest.mark.parametrize("data", (Named(), None))
def test_data_that_is_no_array_at_all_is_refused(data):
    made = so.Dense(Named())
    made.data = data
    check_refused(returning(made), so.StorageError, type(data).__name__)


# Lies


@pytest.mark.parametrize(
    "answer, error, actual",
    [
        (so.Dense(FLOATS.T), so.ShapeError, "float64[3,2] dense"),
        (so.Dense(FLOATS[None]), so.ShapeError, "float64[1,2,3] dense"),
        (so.Dense(FLOATS[0]), so.ShapeError, "float64[3] dense"),
        (so.Dense(FLOATS.astype(np.float32)), so.DTypeError, "float32[2,3] dense"),
        (so.Dense(FLOATS.astype(int)), so.DTypeError, "int64[2,3] dense"),
        (so.Dense(FLOATS.astype(complex)), so.DTypeError, "complex128[2,3] dense"),
        (so.Dense(FLOATS.astype(">f8")), so.DTypeError, ">f8"),
        (so.Dense(FLOATS.astype(object)), so.DTypeError, "object"),
        (so.Dense(np.float64(3)), so.ShapeError, "float64[] dense"),
        (csr([1.0], [0], [0, 1, 1]), so.StorageError, "float64[2,3] csr"),
        (rows([[1.0, 2, 3]], [1]), so.StorageError, "float64[2,3] row_sparse"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_result_that_is_not_as_declared_is_refused(answer, error, actual):
    found = check_refused(returning(answer), error, "float64[2,3] dense", actual)
    assert found.slot == "out" and found.declared == so.Spec(SHAPE)
    assert actual in found.available


BROKEN = {
    "csr data too short": csr([1.0], [0, 1], [0, 1, 2]),
    "csr data too long": csr([1.0, 2, 3], [0, 1], [0, 1, 2]),
    "csr data 2-D": csr([[1.0], [2]], [0, 1], [0, 1, 2]),
    "csr columns out of range": csr([1.0, 2], [0, 3], [0, 1, 2]),
    "csr columns negative": csr([1.0, 2], [-1, 0], [0, 1, 2]),
    "csr columns unsorted": csr([1.0, 2], [2, 0], [0, 2, 2]),
    "csr columns twice": csr([1.0, 2], [2, 2], [0, 2, 2]),
    "csr indptr short": csr([1.0, 2], [0, 1], [0, 2]),
    "csr indptr long": csr([1.0, 2], [0, 1], [0, 1, 2, 2]),
    "csr indptr empty": csr([], [], []),
    "csr indptr not from 0": csr([1.0, 2], [0, 1], [1, 1, 2]),
    "csr indptr falls": csr([1.0, 2], [0, 1], [0, 3, 2]),
    "csr indptr beyond": csr([1.0, 2], [0, 1], [0, 1, 3]),
    "csr slack": csr([1.0, 2], [0, 1], [0, 1, 1]),
    "rows twice": rows([[1.0, 2, 3]] * 2, [1, 1]),
    "rows unsorted": rows([[1.0, 2, 3]] * 2, [1, 0]),
    "rows out of range": rows([[1.0, 2, 3]], [2]),
    "rows negative": rows([[1.0, 2, 3]], [-1]),
    "rows too few": rows([[1.0, 2, 3]], [0, 1]),
    "rows too many": rows([[1.0, 2, 3]] * 2, [1]),
    "rows too narrow": rows([[1.0, 2]], [1]),
    "rows 1-D": rows([1.0], [1]),
    "row numbers as a list": so.RowSparse(FLOATS, [0, 1], SHAPE),
    "row numbers of int16": so.RowSparse(FLOATS, np.array([0, 1], np.int16), SHAPE),
    "row numbers of float": so.RowSparse(FLOATS, np.array([0.0, 1]), SHAPE),
    "row numbers 2-D": so.RowSparse(FLOATS, np.array([[0], [1]], INT), SHAPE),
    "row numbers None": so.RowSparse(FLOATS, None, SHAPE),
    "widths differ": so.CSR(FLOATS[0][:1], np.zeros(1, np.int64), np.array([0, 1, 1], INT), SHAPE),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
def test_a_broken_structure_is_refused(answer):
    op = returning(answer, f"dense -> {answer.stype}")
    check_refused(op, so.FormatError, f"float64[2,3] {answer.stype}")


def test_a_kernel_that_returns_its_data_in_another_structure_is_refused():
    x = so.csr_array(([1.0, 2.0], [0, 2], [0, 2, 2]), shape=SHAPE)
    wider = returning(lambda a: so.CSR(a.data, a.indices, a.indptr, (2, 4)), "csr -> csr")
    check_refused(wider, so.ShapeError, "float64[2,4] csr", x=x)


@pytest.mark.parametrize(
    "x, change",
    [
        (so.csr_array(([1.0, 2.0], [0, 2], [0, 2, 2]), shape=SHAPE), lambda d: d[:1]),
        (so.csr_array(([1.0, 2.0], [0, 2], [0, 2, 2]), shape=SHAPE), lambda d: d[:, None]),
        (so.row_sparse_array((FLOATS, [0, 1]), SHAPE), lambda d: d[:1]),
        (so.row_sparse_array((FLOATS, [0, 1]), SHAPE), lambda d: d[:, :2]),
        (so.row_sparse_array((FLOATS, [0, 1]), SHAPE), lambda d: d[:, :, None]),
        (so.row_sparse_array((FLOATS, [0, 1]), SHAPE), lambda d: d[:, 0]),
    ],
)
def test_values_that_do_not_fit_the_structure_of_the_input_are_refused(x, change):
    op = returning(lambda a: a.with_data(change(a.data)), f"{x.stype} -> {x.stype}")
    check_refused(op, so.FormatError, "data has shape", x=x)


def test_a_structure_of_the_inputs_is_accepted_whatever_it_stores():
    x = so.csr_array(([0.0, 2.0], [0, 2], [0, 2, 2]), shape=SHAPE)
    doubled = returning(lambda a: a.with_data(a.data * 2), "csr -> csr")(x)
    assert doubled.nnz == 2 and doubled.storage.indices is x.storage.indices


def test_a_number_of_numpy_is_accepted_as_the_data_of_a_scalar_array():
    op = so.operator(lambda_of_scalar)
    op.forward("dense -> dense")(lambda backend, a: so.Dense(a.data.sum()))
    total = op(so.array(FLOATS))
    assert total.shape == () and float(total) == 15


def lambda_of_scalar(a):
    return (), a.dtype


# Several results


def two(answer):
    op = so.operator(describing("a", outputs=2), outputs=("values", "ids"))
    op.forward("dense -> dense, csr")(lambda backend, a: answer)
    return op


GOOD = so.Dense(FLOATS), csr([1.0], [0], [0, 1, 1])


@pytest.mark.parametrize("answer", (GOOD, list(GOOD)))
def test_several_results_come_as_a_tuple(answer):
    found = two(answer)(so.array(FLOATS))
    assert isinstance(found, tuple) and [x.stype for x in found] == ["dense", "csr"]


@pytest.mark.parametrize(
    "answer", (None, GOOD[0], GOOD[:1], (*GOOD, GOOD[0]), (), iter(GOOD), dict.fromkeys(GOOD))
)
def test_a_wrong_number_of_results_is_refused_naming_them(answer):
    check_refused(two(answer), so.StorageError, "2: values, ids")


@pytest.mark.parametrize("answer", ((GOOD[0], GOOD[0]), (GOOD[0], None), (GOOD[0], FLOATS)))
def test_the_wrong_one_of_several_results_is_named(answer):
    assert check_refused(two(answer), so.StorageError, "ids: float64[2,3] csr").slot == "ids"


# What a kernel does to its inputs, and what it raises


@pytest.mark.parametrize("stype", ("dense", "row_sparse", "csr"))
@pytest.mark.parametrize(
    "make", (so.array, so.asarray, lambda x: so.array(x).copy(), lambda x: so.zeros(SHAPE))
)
@pytest.mark.parametrize("part", ("data", "indices", "indptr"))
def test_a_kernel_cannot_write_into_its_inputs(make, stype, part):
    x = make(FLOATS.copy()).tostype(stype)
    if not hasattr(x.storage, part):
        return

    def writing(a):
        getattr(a, part)[...] = 7
        return a

    with pytest.raises(ValueError, match="read-only") as caught:
        returning(writing, f"{stype} -> {stype}")(x)
    assert f"in drawn(a: {x.spec})" in caught.value.__notes__


@pytest.mark.parametrize("stype", ("row_sparse", "csr"))
def test_copies_and_written_arrays_are_read_only_again(stype):
    x = so.array(FLOATS).tostype(stype)
    x[...] = FLOATS * 2
    with x.writing() as data:
        data[...] += 1
    for array in (x, x.copy(), so.array(x)):
        for name in ("data", *array.storage.aux):
            assert not getattr(array.storage, name).flags.writeable
            assert not getattr(array, name).flags.writeable


def test_a_kernel_cannot_change_a_result_that_it_gave_away():
    buffer = np.zeros(SHAPE)
    y = returning(so.Dense(buffer))(so.array(FLOATS))
    with contextlib.suppress(ValueError):
        buffer[...] = 1
    assert not y.asnumpy().any()


class Own(Exception):
    def __init__(self, code):
        super().__init__(code)
        self.code = code


def test_what_a_kernel_raises_reaches_the_user_as_it_is_with_the_call_noted():
    error = Own(7)

    def raising(a):
        raise error

    with pytest.raises(Own) as caught:
        returning(raising)(so.array(FLOATS))
    assert caught.value is error and error.__cause__ is None
    assert error.__notes__ == ["in drawn(a: float64[2,3] dense)"]


def test_what_a_describing_function_or_a_condition_raises_reaches_the_user_with_the_call_noted():
    def broken(a, *, p=1):
        raise Own(p)

    op = so.operator(broken)
    op.forward("dense -> dense")(lambda backend, a: a)
    for call in (lambda: op(so.zeros(SHAPE), p=2), lambda: op.infer(so.Spec(SHAPE), p=2)):
        with pytest.raises(Own) as caught:
            call()
        assert caught.value.__notes__ == ["in broken(a: float64[2,3] dense, p=2)"]


@pytest.mark.parametrize("args", ((so.zeros(SHAPE), 2), (so.zeros(SHAPE), so.zeros(SHAPE))))
def test_what_a_condition_raises_reaches_the_user_with_the_call_noted(args):
    def broken(b):
        raise Own(b)

    def broken_by_parameter(p):
        raise Own(p)

    op = so.operator(describing("ab", params={"p": 1}))
    op.forward("dense, scalar -> dense", where=broken)(lambda backend, a, b: a)
    op.forward("dense, dense -> dense", where=broken_by_parameter)(lambda backend, a, b: a)
    for _ in range(2):
        with pytest.raises(Own) as caught:
            op(*args)
        shown = getattr(args[1], "spec", args[1])
        assert caught.value.__notes__ == [f"in drawn(a: float64[2,3] dense, b: {shown}, p=1)"]


def test_an_exception_in_a_fallback_names_the_call():
    op = returning(lambda a: 1 / 0)
    with so.fallback("allow"), pytest.raises(ZeroDivisionError) as caught:
        op(so.zeros(SHAPE, stype="csr"))
    assert "in drawn(a: float64[2,3] dense)" in caught.value.__notes__
