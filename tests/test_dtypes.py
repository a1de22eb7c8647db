"""Every dtype goes through every kind of operator as it does in NumPy, in every storage."""

from itertools import product

import numpy as np
import pytest
from oracle import STORAGES, assert_same, stored

import sparseops as so
from sparseops.registry import operators

DTYPES = [np.dtype(c) for c in "?bhilBHILefdFD"]
# The dtypes beside each of all of these: what the others promote to is between them.
OTHERS = [np.dtype(c) for c in "?bBiLefdD"]
LEFT = np.array([[0, 1, 3], [2, 0, 0], [1, 2, 0]])
RIGHT = np.array([[1, 0, 2], [3, 0, 1], [0, 1, 0]])
NUMBERS = [True, 2, 2.0, 2j, np.bool_(True), np.int8(2), np.uint64(2), np.float32(2), np.float16(2)]
PAIRS = {
    name: getattr(np, name)
    for name in (
        *("add", "subtract", "multiply", "divide", "power", "floor_divide", "maximum"),
        *("equal", "less", "logical_and", "bitwise_or"),
    )
}
SINGLES = [
    name
    for name, op in operators.items()
    if op.inputs == ("x",) and op.reference is getattr(np, name, 0) and not op.defaults
]
DIVISIONS = ("divide", "floor_divide")
pytestmark = pytest.mark.filterwarnings("ignore::sparseops.FallbackWarning")


def expected(function, *args):
    """What NumPy answers, or None where it has no such loop."""
    try:
        with np.errstate(all="ignore"):
            return function(*args)
    except TypeError:
        return None


def check(name, inputs, answer):
    """The operator gives `answer`, or refuses the dtypes where it is None."""
    if answer is None:
        with pytest.raises(so.DTypeError):
            operators[name](*inputs)
        return
    with np.errstate(all="ignore"):
        assert_same(operators[name](*inputs), answer)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", PAIRS)
def test_two_arrays_promote_as_in_numpy(name, dtype):
    a, full = LEFT.astype(dtype), name in DIVISIONS
    for other in OTHERS:
        b = (RIGHT + full).astype(other)
        answer = expected(PAIRS[name], a, b)
        for stype in STORAGES:
            x = stored(a, stype)
            check(name, (x, stored(b, "dense" if full else stype)), answer)
            check(name, (x, so.array(b)), answer)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", PAIRS)
def test_numbers_promote_as_in_numpy(name, dtype):
    a = LEFT.astype(dtype)
    for number, stype in product(NUMBERS, STORAGES):
        check(name, (stored(a, stype), number), expected(PAIRS[name], a, number))
        check(name, (number, stored(a, stype)), expected(PAIRS[name], number, a))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", SINGLES)
def test_functions_of_one_array_have_the_dtype_of_numpy(name, dtype):
    a = LEFT.astype(dtype)
    for stype in STORAGES:
        check(name, (stored(a, stype),), expected(getattr(np, name), a))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_products_of_matrices_promote_as_in_numpy(dtype):
    a = LEFT.astype(dtype)
    for other in OTHERS:
        b = RIGHT.astype(other)
        for stypes in product(STORAGES, repeat=2):
            check("dot", [stored(v, s) for v, s in zip((a, b), stypes, strict=True)], a @ b)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [n for n in ("sum", "mean", "max", "min") if n in operators])
def test_reductions_have_the_dtype_of_numpy(name, dtype):
    a = LEFT.astype(dtype)
    for stype, axis in product(STORAGES, (None, 0, 1)):
        if name in ("max", "min") and dtype.kind == "c":
            with pytest.raises(so.DTypeError):
                operators[name](stored(a, stype), axis=axis)
            continue
        found = operators[name](stored(a, stype), axis=axis)
        # Exact as the values are, but for the mean's division in another width.
        assert_same(found, getattr(np, name)(a, axis=axis), rtol=1e-3 * (dtype == np.float16))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_constructors_and_casts_keep_values_in_every_dtype(dtype):
    a = LEFT.astype(dtype)
    for stype in STORAGES:
        x = so.array(LEFT, dtype, stype=stype)
        assert (x.stype, x.dtype) == (stype, dtype)
        assert_same(x, a)
        assert_same(so.zeros((2, 2), dtype, stype=stype), np.zeros((2, 2), dtype))
        for other in DTYPES:
            if dtype.kind == "c" and other.kind not in "cb":
                with pytest.raises(so.DTypeError, match="real or imag"):
                    x.astype(other)
                continue
            assert x.astype(other).stype == stype
            assert_same(x.astype(other), a.astype(other))
        for target in STORAGES:
            assert_same(x.tostype(target), a)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_shapes_rows_and_joins_keep_every_dtype(dtype):
    a = LEFT.astype(dtype)
    for stype in STORAGES:
        x = stored(a, stype)
        assert_same(so.transpose(x), a.T)
        assert_same(so.reshape(x, shape=(1, 9)), a.reshape(1, 9))
        assert_same(so.concat(x, x), np.concatenate([a, a]))
        assert_same(so.take(x, [2, 0]), a[[2, 0]])
        assert_same(x[1:], a[1:])
        assert_same(x[0], a[0])


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.kind in "fc"], ids=str)
def test_gradients_have_the_dtype_of_their_inputs(dtype):
    for name, stype in product(("add", "multiply", "maximum", "dot", "subtract"), STORAGES):
        for other in (d for d in OTHERS if d.kind in "fc"):
            x, y = stored(LEFT.astype(dtype), stype), stored(RIGHT.astype(other), stype)
            with so.Tape() as tape:
                z = operators[name](x, y)
            g, h = tape.gradient(z, [x, y], output_gradients=np.ones((3, 3)))
            assert (g.dtype, h.dtype) == (dtype, other)
            g.storage.validate()
