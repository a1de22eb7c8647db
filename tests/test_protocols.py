"""NumPy, scipy.sparse and DLPack reach operators or are refused; nothing leaves a tape unseen."""

import operator as python
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import STORAGES, assert_same, densify, stored
from scipy import special

import sparseops as so
from sparseops.numpy_functions import _SERVED
from sparseops.registry import operators

A = np.array([[1.0, 2.0, 0.5], [4.0, 1.0, 2.0]])
B = np.array([[2.0, 1.0, 1.0], [1.0, 4.0, 0.5]])
SQUARE = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0], [4.0, 1.0, 0.0]])
pytestmark = pytest.mark.filterwarnings("ignore::sparseops.FallbackWarning")


NUMPY = np.lib.NumpyVersion(np.__version__)
ARITHMETIC = {
    "+": python.add,
    "-": python.sub,
    "*": python.mul,
    "/": python.truediv,
    "//": python.floordiv,
    "%": python.mod,
    "**": python.pow,
}
COMPARISONS = {
    "==": python.eq,
    "!=": python.ne,
    "<": python.lt,
    "<=": python.le,
    ">": python.gt,
    ">=": python.ge,
}
MATRIX = {s: ARITHMETIC[s] for s in "+-*/"} | COMPARISONS | {"@": python.matmul}
OTHER_NAMES = {
    "absolute": "abs",
    "conjugate": "conj",
    "deg2rad": "radians",
    "matmul": "dot",
    "rad2deg": "degrees",
    "remainder": "mod",
}


def ufuncs(count):
    """The names of NumPy's ufuncs of so many inputs that an operator serves."""
    found = [f for f in vars(np).values() if isinstance(f, np.ufunc) and f.nin == count]
    names = {f.__name__ for f in found if OTHER_NAMES.get(f.__name__, f.__name__) in operators}
    return sorted(names)


# NumPy's ufuncs


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("name", ufuncs(1))
def test_ufuncs_of_one_array_are_operators(name, stype):
    ufunc, value = getattr(np, name), np.array([[0.0, 0.5], [0.25, 0.0]])
    if name == "invert":
        value = value != 0
    x = stored(value, stype)
    with np.errstate(all="ignore"):
        found = ufunc(x)
        assert type(found) is so.NDArray
        assert_same(found, ufunc(value))
        if ufunc(value[:1, :1]).any():
            assert found.stype == "dense"
        else:
            assert found.stype == stype


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("name", sorted(set(ufuncs(2)) - {"matmul"}))
def test_ufuncs_of_two_operands_are_operators_on_either_side(name, stype):
    ufunc, a, b = getattr(np, name), A, B
    if name.startswith("bitwise"):
        a, b = a.astype(int), b.astype(int)
    x = stored(a, stype)
    for other in (b, stored(b, stype), b.tolist(), b.dtype.type(2), 2, sp.csr_array(b)):
        plain = other.toarray() if sp.issparse(other) else other
        plain = densify(other) if isinstance(other, so.NDArray) else plain
        for found, expected in (
            (ufunc(x, other), ufunc(a, plain)),
            (ufunc(other, x), ufunc(plain, a)),
        ):
            assert type(found) is so.NDArray
            assert_same(found, expected)


def test_the_matrix_product_of_numpy_is_dot():
    x = so.csr_array(A)
    for found in (np.matmul(x, B.T), A @ so.csr_array(B).T, np.matmul(A, so.array(B.T))):
        assert type(found) is so.NDArray
        assert_same(found, A @ B.T)


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("symbol", ARITHMETIC | COMPARISONS)
def test_arrays_and_numbers_of_numpy_stand_on_either_side_of_every_operator(symbol, stype):
    function, x = (ARITHMETIC | COMPARISONS)[symbol], stored(A, stype)
    numbers = (2, 0.5, True, np.float64(2), np.float32(2), np.int8(2), np.bool_(True))
    for other in (B, B[0], B.tolist(), np.array(2.0), *numbers):
        for found, expected in (
            (function(x, other), function(A, other)),
            (function(other, x), function(other, A)),
        ):
            assert type(found) is so.NDArray
            assert_same(found, expected)


def test_ufuncs_of_others_are_not_taken_for_those_of_numpy():
    for name in ("expit", "expm1"):
        with pytest.raises(TypeError, match=f"^{name} has no operator here"):
            getattr(special, name)(so.csr_array(A))


def test_a_ufunc_without_an_operator_is_refused_with_the_way_out():
    x = so.csr_array(A)
    for call in (
        lambda: np.hypot(x, x),
        lambda: np.exp2(x),
        lambda: np.modf(x),
        lambda: np.add.reduce(x),
        lambda: np.add.outer(x, x),
        lambda: np.multiply.at(x, [0], 1),
        lambda: np.frompyfunc(abs, 1, 1)(x),
        lambda: np.frompyfunc(python.add, 2, 1)(x, x),
    ):
        with pytest.raises(TypeError, match=r" has no operator here; x.asnumpy\(\)"):
            call()


def test_parameters_of_ufuncs_are_refused_by_name():
    x = so.csr_array(A)
    with pytest.raises(TypeError, match=r"np.add takes no dtype, where here: it is so.add"):
        np.add(x, x, dtype=int, where=True)


def test_an_operator_of_the_user_does_not_take_over_a_function_of_numpy():
    @so.operator
    def hypot(a, b):
        return a.shape, a.dtype

    @hypot.forward("dense, dense -> dense")
    def kernel(backend, a, b):
        return a

    try:
        with pytest.raises(TypeError, match="np.hypot has no operator"):
            np.hypot(so.array(A), so.array(A))
    finally:
        del operators["hypot"]


def test_a_type_with_ufuncs_of_its_own_gets_its_turn():
    class Mine:
        def __array_ufunc__(self, *args, **kwargs):
            return "mine"

    assert np.add(so.array(A), Mine()) == "mine"
    assert np.add(Mine(), so.array(A)) == "mine"


# NumPy's other functions

CALLS = {
    "sum": (lambda np, x: np.sum(x), None),
    "sum of rows": (lambda np, x: np.sum(x, 1, keepdims=True), None),
    "mean": (lambda np, x: np.mean(x, axis=0), None),
    "max": (lambda np, x: np.max(x, axis=1), "max"),
    "amin": (lambda np, x: np.amin(x), "min"),
    "argmax": (lambda np, x: np.argmax(x, axis=1), "argmax"),
    "argmin": (lambda np, x: np.argmin(x), "argmin"),
    "diagonal": (lambda np, x: np.diagonal(x), "diagonal"),
    "max of": (lambda np, x: x.max(), "max"),
    "min of": (lambda np, x: x.min(axis=0), "min"),
    "dot": (lambda np, x: np.dot(x, B.T), None),
    "dot reversed": (lambda np, x: np.dot(B.T, x), None),
    "concatenate": (lambda np, x: np.concatenate([x, x]), None),
    "concat": (lambda np, x: np.concat((x, B), 1), None),
    "transpose": (lambda np, x: np.transpose(x), None),
    "permuted": (lambda np, x: np.transpose(x, (1, 0)), None),
    "reshape": (lambda np, x: np.reshape(x, (3, -1)), None),
    "broadcast_to": (lambda np, x: np.broadcast_to(x, (2, 3)), None),
    "clip": (lambda np, x: np.clip(x, 0, 1), "clip"),
    "clip by name": (lambda np, x: np.clip(x, min=0, max=1), "clip"),
    "where": (lambda np, x: np.where(B > 1, x, B), "where"),
    "norm": (lambda np, x: np.linalg.norm(x, axis=1), "norm"),
    "take": (lambda np, x: np.take(x, [1, 0, 1], axis=0), None),
    "zeros_like": (lambda np, x: np.zeros_like(x), None),
    "real": (lambda np, x: np.real(x), None),
    "imag": (lambda np, x: np.imag(x), None),
    "round": (lambda np, x: np.round(x), None),
    "copy": (lambda np, x: np.copy(x), None),
}


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("name", CALLS)
def test_functions_of_numpy_are_operators(name, stype):
    call, operator = CALLS[name]
    if operator is not None and operator not in operators:
        pytest.skip(f"there is no operator {operator}")
    found = call(np, stored(A, stype))
    assert type(found) is so.NDArray
    assert_same(found, call(np, A), rtol=1e-15 if name == "norm" else 0.0)


@pytest.mark.parametrize("stype", STORAGES)
def test_functions_of_numpy_tell_facts(stype):
    x = stored(A, stype)
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1)) == ((2, 3), 2, 6, 3)
    assert (np.iscomplexobj(x), np.isrealobj(x)) == (False, True)
    assert np.result_type(x.astype("f4"), "c8", x.astype("i8")) == np.complex128
    assert np.result_type(x.astype("f4"), 1.0) == np.float32


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.argsort(x),
        lambda x: np.atleast_2d(x),
        lambda x: np.sort(x),
        lambda x: np.allclose(x, x),
        lambda x: np.array_equal(x, A),
        lambda x: np.einsum("ij->i", x),
        lambda x: np.linalg.svd(x),
        lambda x: np.outer(B, x),
        lambda x: np.save("file", x),
    ],
    ids=range(9),
)
def test_functions_without_an_operator_are_refused_with_the_way_out(call, stype):
    with pytest.raises(TypeError, match=r"np\.[a-z0-9._]+ has no operator here; x.asnumpy\(\)"):
        call(stored(A, stype))


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda x: np.sum(x, dtype=float), "np.sum of arrays of sparseops: .*'dtype'"),
        (lambda x: np.sum(x, 0, float), "np.sum of arrays of sparseops: too many"),
        (lambda x: np.mean(x, out=A), "np.mean .*'out'"),
        (lambda x: np.reshape(x, (3, 2), order="F"), "np.reshape .*'order'"),
        (lambda x: np.transpose(x, (0, 1)), r"axes=\(0, 1\) has no operator"),
        (lambda x: np.take(x, [0]), "write axis=0"),
        (lambda x: np.take(x, [0], axis=1), "write axis=0"),
        (lambda x: np.round(x, 2), "whole ones"),
        (lambda x: np.concatenate([x, x], dtype="f4"), "np.concatenate .*'dtype'"),
    ],
)
def test_what_an_operator_does_not_do_is_refused_by_name(call, match):
    with pytest.raises(TypeError, match=match):
        call(so.csr_array(A))


def test_numpy_compares_dense_arrays_in_tests():
    np.testing.assert_allclose(so.array(A), A)
    np.testing.assert_array_equal(A, so.array(A))
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(so.array(A), B)
    with pytest.raises(so.StorageError, match="asnumpy"):
        np.testing.assert_allclose(so.csr_array(A), A)


# Tapes

ON_TAPE = {
    "ufunc": lambda x: np.square(x),
    "ufunc of numpy and array": lambda x: np.multiply(B, x),
    "array of numpy": lambda x: B * x,
    "number of numpy": lambda x: np.float64(2) * x,
    "matmul": lambda x: B.T @ x,
    "dot": lambda x: np.dot(B.T, x),
    "sum": lambda x: np.sum(x, axis=0),
    "concatenate": lambda x: np.concatenate([x, B]),
    "transpose": lambda x: np.transpose(x),
    "copy": lambda x: np.copy(x),
    "scipy @": lambda x: sp.csr_array(B).T @ x,
    "scipy *": lambda x: sp.csr_array(B) * x,
    "scipy +": lambda x: sp.csr_array(B) + x,
    "scipy -": lambda x: sp.csr_array(B) - x,
    "@ scipy": lambda x: x @ sp.csr_array(B).T,
    "/ scipy": lambda x: x / sp.csr_array(B),
    "scipy dot": lambda x: sp.csr_array(B).T.dot(x),
    "matrix @": lambda x: sp.csr_matrix(B).T @ x,
    "matrix +": lambda x: sp.csr_matrix(B) + x,
}


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("name", ON_TAPE)
def test_what_numpy_and_scipy_do_is_recorded(name, stype):
    x = stored(A, stype)
    with so.Tape() as tape:
        y = so.sum(ON_TAPE[name](x))
    found, step = densify(tape.gradient(y, x)), 2.0**-10
    for place in np.ndindex(A.shape):
        values = []
        for offset in (step, -step):
            moved = A.copy()
            moved[place] += offset
            values.append(float(so.sum(ON_TAPE[name](stored(moved, stype)))))
        np.testing.assert_allclose(found[place], (values[0] - values[1]) / (2 * step))


@pytest.mark.parametrize(
    "leave",
    [
        np.asarray,
        np.from_dlpack,
        lambda x: np.testing.assert_allclose(x, A),
        lambda x: A.T.dot(x),
        lambda x: sp.csr_array(A).multiply(x),
        lambda x: np.concatenate([A, A]).dot(x.T),
        lambda x: np.argsort(x),
        lambda x: A.__iadd__(x),
        lambda x: np.add(x, x, out=np.zeros((2, 3))),
    ],
    ids=range(9),
)
def test_what_would_leave_a_tape_raises(leave):
    x = so.array(A)
    with so.Tape(), pytest.raises((so.GradientError, TypeError), match=r"asnumpy\(\)"):
        leave(x)


# scipy.sparse

FORMATS = [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix]


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("build", FORMATS)
@pytest.mark.parametrize("symbol", MATRIX)
def test_matrices_of_scipy_stand_on_either_side(symbol, build, stype):
    function, x, matrix = MATRIX[symbol], stored(SQUARE, stype), build(SQUARE)
    for order in (1, -1):
        args, plain = (x, matrix)[::order], (SQUARE, SQUARE)
        if symbol == "*" and isinstance(matrix, sp.spmatrix):
            with pytest.raises(TypeError, match="multiplies as a matrix: write @"):
                function(*args)
            continue
        with np.errstate(all="ignore"):
            found = function(*args)
            assert type(found) is so.NDArray
            where = SQUARE != 0 if symbol == "/" else None
            assert_same(found, function(*plain), where=where)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("build", [sp.csr_matrix, np.matrix])
def test_the_ambiguous_product_with_a_matrix_is_refused(build):
    x, matrix = so.csr_array(SQUARE), build(SQUARE)
    for call in (lambda: x * matrix, lambda: matrix * x, lambda: python.imul(x, matrix)):
        with pytest.raises(TypeError, match="write @"):
            call()
    assert_same(x @ matrix, SQUARE @ SQUARE)
    assert_same(so.multiply(x, matrix), SQUARE * SQUARE)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_scipy_makes_no_sparse_array_dense(stype):
    x = stored(SQUARE, stype)
    for call in (
        lambda: sp.csr_array(x),
        lambda: sp.csr_array(SQUARE).multiply(x),
        lambda: sp.csr_array(SQUARE).maximum(x),
        lambda: sp.csr_array(SQUARE) ** x,
        lambda: sp.linalg.spsolve(sp.csc_array(SQUARE), x),
    ):
        with pytest.raises((TypeError, ValueError, NotImplementedError)):
            call()


def test_scipy_takes_dense_arrays_in_where_it_is_asked_to():
    assert sp.csr_array(so.array(SQUARE)).toarray().tolist() == SQUARE.tolist()
    x = sp.linalg.aslinearoperator(sp.csr_array(SQUARE)) @ so.array(SQUARE)
    np.testing.assert_array_equal(x, SQUARE @ SQUARE)


# Conversions


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f8", "c16"])
@pytest.mark.parametrize("copy", [None, True, False] if NUMPY >= "2.1.0" else [None])
def test_dlpack_gives_a_copy_unless_none_is_asked_for(dtype, copy):
    x = so.array(SQUARE.astype(dtype))
    found = np.from_dlpack(x) if copy is None else np.from_dlpack(x, copy=copy)
    np.testing.assert_array_equal(found, x.data, strict=True)
    assert np.shares_memory(found, x.data) is (copy is False)
    assert found.flags.writeable is False or not np.shares_memory(found, x.data)


def test_dlpack_of_old_consumers_has_memory_of_its_own():
    class Old:
        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **_):
            return self.x.__dlpack__()

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    x = so.array(SQUARE)
    found = np.from_dlpack(Old(x))
    assert not np.shares_memory(found, x.data)
    assert x.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_dlpack_makes_no_sparse_array_dense(stype):
    x = stored(SQUARE, stype)
    for call in (x.__dlpack__, x.__dlpack_device__):
        with pytest.raises(so.StorageError, match="DLPack would make .* dense; write x.asnumpy"):
            call()


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_torch_cannot_change_an_array():
    import torch

    x = so.array(SQUARE)
    torch.from_dlpack(x)[0, 0] = 9
    assert_same(x, SQUARE)


@pytest.mark.parametrize("stype", STORAGES)
def test_one_value_is_formatted_as_its_number(stype):
    x = so.array([[1.23456]], stype=stype)
    assert f"{x:.2f}" == "1.23"
    assert f"{x:>8.1e}" == " 1.2e+00"
    assert f"{x}" == str(x)
    with pytest.raises(so.ShapeError, match="a format needs one value"):
        f"{so.zeros((2, 2), stype=stype):.2f}"


def test_functions_of_numpy_are_served_by_operators_that_are_or_will_be():
    names = {name for name, _ in _SERVED.values() if name is not None}
    later = {"max", "min", "argmax", "argmin", "diagonal", "clip", "where", "norm"}
    assert names - set(operators) <= later
