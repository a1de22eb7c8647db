"""Operators like ``+=`` change an array, and nothing else, by NumPy's rules; storage is kept."""

import operator as python

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import STORAGES, assert_same, densify, stored

import sparseops as so

SQUARE = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0], [4.0, 1.0, 0.0]])
pytestmark = pytest.mark.filterwarnings("ignore::sparseops.FallbackWarning")
IN_PLACE = {
    "+": python.iadd,
    "-": python.isub,
    "*": python.imul,
    "/": python.itruediv,
    "//": python.ifloordiv,
    "%": python.imod,
    "**": python.ipow,
    "@": python.imatmul,
    "&": python.iand,
    "|": python.ior,
    "^": python.ixor,
}
IN_PLACE_WITH = {
    "a number": (
        {"+": 0, "-": 0, "*": 3, "/": 2, "//": 2, "%": 2, "**": 2, "&": 1, "|": 0},
        STORAGES,
    ),
    "an array of its storage": (dict.fromkeys("+-*&|^@"), ("dense", "csr")),
    "an array of NumPy": (dict.fromkeys(IN_PLACE, SQUARE + 1), ("dense",)),
    "a list": (dict.fromkeys("+-/", SQUARE.tolist()), ("dense",)),
    "a matrix of scipy": (dict.fromkeys("+-", sp.csr_array(SQUARE)), ("dense",)),
}


@pytest.mark.parametrize("kind", IN_PLACE_WITH)
@pytest.mark.parametrize("symbol", IN_PLACE)
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_an_array_is_changed_in_place(symbol, kind):
    values, stypes = IN_PLACE_WITH[kind]
    dtype, function = int if symbol in "&|^" else float, IN_PLACE[symbol]
    for stype in stypes if symbol in values else ():
        value, plain = values[symbol], values[symbol]
        if value is None:
            value, plain = stored(SQUARE.astype(dtype), stype), SQUARE.astype(dtype)
        if hasattr(value, "tocsr"):
            plain = value.toarray()
        if symbol in "&|^" and isinstance(value, np.ndarray):
            value = plain = value.astype(int)
        x = same = stored(SQUARE.astype(dtype), stype)
        spec, expected = x.spec, SQUARE.astype(dtype)
        x = function(x, value)
        assert x is same
        assert (x.spec, x.version) == (spec, 1)
        assert_same(x, function(expected, plain))
        assert not any(part.flags.writeable for part in x.storage.parts)


@pytest.mark.parametrize(
    "stype, other",
    [("csr", 1), ("csr", so.array(SQUARE)), ("csr", SQUARE), ("csr", SQUARE.tolist())]
    + [("row_sparse", 0.5), ("row_sparse", so.array(SQUARE)), ("csr", so.zeros(3))]
    + [("csr", so.array(SQUARE, stype="row_sparse"))],
    ids=str,
)
def test_in_place_storage_is_kept_or_the_way_out_named(stype, other):
    x = stored(SQUARE, stype)
    with so.fallback("allow"), pytest.raises(so.StorageError, match="write x = x [+] y"):
        x += other
    assert (densify(x).tolist(), x.version) == (SQUARE.tolist(), 0)


def test_in_place_nothing_is_made_dense_before_the_refusal():
    x = so.zeros((2**40, 2**20), stype="row_sparse")
    with so.fallback("error"), pytest.raises(so.StorageError, match="write x = x - y"):
        x -= 1
    with pytest.raises(so.StorageError):
        np.add(x, 1, out=x)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i8", "f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("other", ["?", "i1", "u1", "i8", "f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("stype", STORAGES)
def test_in_place_dtypes_are_cast_by_the_rule_of_numpy(stype, dtype, other):
    a, b = SQUARE.astype(dtype), SQUARE.astype(other)
    for function in (python.iadd, python.imul):
        x, plain = stored(a, stype), a.copy()
        try:
            function(plain, b)
        except TypeError:
            with pytest.raises(so.DTypeError, match="values are not put into"):
                function(x, stored(b, stype))
            continue
        function(x, stored(b, stype))
        assert_same(x, plain)


@pytest.mark.parametrize("number", [2, 2.5, 2j, True, np.float64(2), np.int64(2)], ids=repr)
@pytest.mark.parametrize("dtype", ["?", "i1", "i8", "f4", "c8"])
def test_in_place_numbers_are_weak_as_in_numpy(dtype, number):
    x, plain = stored(SQUARE.astype(dtype), "csr"), SQUARE.astype(dtype)
    try:
        plain *= number
    except TypeError:
        with pytest.raises(so.DTypeError):
            x *= number
        return
    x *= number
    assert_same(x, plain)


def test_in_place_shapes_do_not_grow():
    x = so.array([1.0, 2.0])
    with pytest.raises(so.ShapeError, match=r"x \+= y gives float64\[2,2\]"):
        x += so.zeros((2, 2))
    assert x.version == 0


def test_views_do_not_see_what_is_done_in_place():
    x = so.array([1.0, 2.0])
    seen, other = x.data, so.asarray(x.data)
    x += 1
    assert (seen.tolist(), densify(other).tolist()) == ([1, 2], [1, 2])
    assert densify(x).tolist() == [2, 3]


def test_out_is_written_as_in_place():
    x, out = so.csr_array(SQUARE), so.zeros((3, 3), "f4", stype="csr")
    assert np.add(x, x, out=out) is out
    assert_same(out, (2 * SQUARE).astype("f4"))
    assert out.version == 1
    with pytest.raises(so.StorageError, match=r"np.cos\(..., out=x\) gives .* dense"):
        np.cos(x, out=out)
    with pytest.raises(TypeError, match="would write into ndarray"):
        np.add(x, x, out=np.zeros((3, 3)))
    plain = np.zeros((3, 3))
    with pytest.raises(TypeError, match="would write into ndarray"):
        plain += x


@pytest.mark.parametrize("stype", STORAGES)
def test_in_place_nothing_gets_off_a_tape(stype):
    x, y = stored(SQUARE, stype), stored(SQUARE, stype)
    with so.Tape() as tape:
        with pytest.raises(so.GradientError, match=r"x \+= y would .* write x = x [+] y"):
            x += y
        with pytest.raises(so.GradientError, match="use its result"):
            np.add(x, x, out=x)
        assert x.version == 0
        with tape.pause():
            x += y
    assert_same(x, 2 * SQUARE)


def test_a_tape_notices_what_changed_in_place():
    x = so.array([1.0, 2.0])
    with so.Tape() as tape:
        y = so.sum(x * x)
        x *= 2
    with pytest.raises(so.GradientError, match="changed in place"):
        tape.gradient(y, x)
    w = so.array([1.0, 2.0])
    with so.Tape() as tape:
        x = w * 3
        x += 1
        y = so.sum(x)
    with pytest.raises(so.GradientError, match="changed in place"):
        tape.gradient(y, w)


def test_counting_in_place_is_allowed_while_a_tape_records():
    count, mask = so.array([0, 0]), so.array([1, 1])
    with so.Tape():
        count += 1
        count += mask
    assert densify(count).tolist() == [2, 2]


def test_what_is_traced_is_bound_anew():
    def function(x):
        y = x
        x += x
        assert x is not y
        return np.sin(x)

    assert so.infer_storage(function, x="csr").outputs == ("csr",)
    with pytest.raises(TypeError, match="traced has no values"):
        so.infer_storage(lambda x: 1 in x, x="csr")
