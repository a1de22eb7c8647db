"""Calls of operators: numbers, constants, any number of arrays, declared results, backends."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from oracle import densify
from user_operators import SHAPE, Row, describing, doubling, operator_of, restore_registry

import sparseops as so
from sparseops import backend as backends

registry = pytest.fixture(autouse=True)(restore_registry)

FLOATS = np.arange(6.0).reshape(SHAPE)


@pytest.fixture
def twin():
    """A second backend, made of NumPy and SciPy as well."""
    load = lambda: backends.Backend("twin", np, "scipy.sparse", np.asarray)  # noqa: E731
    so.register_backend("twin", load)
    yield so.get_backend("twin")
    del backends._loaders["twin"], backends._loaded["twin"]


@pytest.fixture
def scaled():
    """A product, which takes a number or an array on the right."""

    @so.operator
    def scaled(x, s):
        """`x` times `s`."""
        return x.shape, np.result_type(x.dtype, s if not hasattr(s, "dtype") else s.dtype)

    @scaled.forward("dense, scalar -> dense", "csr, scalar -> csr")
    def _by_number(backend, x, s):
        return x.with_data(x.data * s)

    @scaled.forward("dense, dense -> dense")
    def _by_array(backend, x, s):
        return x.with_data(x.data * s.data)

    return scaled


# Numbers


@pytest.mark.parametrize("dtype", (np.int8, np.uint8, np.float16, np.float32, np.complex64))
@pytest.mark.parametrize(
    "number",
    (True, 2, 2.0, 2j, np.float32(2), np.float64(2), np.int16(2), np.uint64(2), np.complex64(2)),
    ids=lambda number: type(number).__name__,
)
def test_numbers_promote_as_in_numpy(scaled, dtype, number):
    values = np.array([[1, 2, 3], [0, 5, 6]], dtype)
    expected = values * number
    for x in (so.array(values), so.csr_array(values)):
        result = scaled(x, number)
        assert (result.dtype, result.stype) == (expected.dtype, x.stype)
        np.testing.assert_array_equal(densify(result), expected)


def test_a_number_stays_one_beside_a_constant(scaled):
    values = FLOATS.astype(np.float32)
    for constant in (values, scipy.sparse.csr_array(values)):
        assert scaled(constant, 2.0).dtype == np.float32
    assert scaled(values, np.float64(2)).dtype == np.float64
    assert scaled(scipy.sparse.csr_array(values), 2.0).stype == "csr"


def test_numbers_alone_are_arrays_of_no_axes(scaled):
    result = scaled(2, 3.5)
    assert (result.shape, float(result)) == ((), 7)


def test_a_bool_of_numpy_is_a_number(scaled):
    x = so.csr_array(FLOATS)
    for true in (True, np.True_):
        assert scaled(x, true).stype == "csr"


@pytest.mark.parametrize("number", (Fraction(1, 2), Decimal(2)))
def test_a_number_of_another_kind_is_refused(scaled, number):
    with pytest.raises(TypeError):
        scaled(so.array(FLOATS), number)


def test_the_second_number_is_used_and_not_the_first_that_made_the_plan(scaled):
    x = so.csr_array(FLOATS)
    results = [densify(scaled(x, n)) for n in (2.0, 3.0, 0.0, -0.0, math.nan, 2, True)]
    for result, n in zip(results, (2.0, 3.0, 0.0, -0.0, math.nan, 2, True), strict=True):
        np.testing.assert_array_equal(result, np.where(FLOATS != 0, FLOATS * n, 0))
    assert np.signbit(results[3][0, 1]) and not np.signbit(results[2][0, 1])


def test_a_condition_reads_the_number_of_each_call():
    def below(b):
        """The number is below 1."""
        return b < 1

    rows = [
        Row(("csr", "scalar"), ("csr",), where=below),
        Row(("dense", "scalar"), ("dense",)),
        Row(("csr", "csr"), ("row_sparse",)),
    ]
    op, x = operator_of(rows), so.zeros(SHAPE, stype="csr")
    for n, stype in (
        (0.5, "csr"),
        (2.0, "dense"),
        (0.25, "csr"),
        (math.nan, "dense"),
        (1, "dense"),
    ):
        with so.fallback("allow") as records:
            assert op(x, n).stype == stype
        assert len(records) == (stype == "dense")
    assert op(x, x).stype == "row_sparse", "a condition on a number is not met by an array"


# Constants


@pytest.mark.parametrize(
    "constant",
    [
        FLOATS.tolist(),
        FLOATS,
        FLOATS.astype(int),
        FLOATS[::-1],
        np.asfortranarray(FLOATS),
        FLOATS.astype(">f8"),
        tuple(map(tuple, FLOATS)),
    ],
)
def test_lists_and_numpy_arrays_are_constants(scaled, constant):
    x = so.array(FLOATS)
    np.testing.assert_array_equal(densify(scaled(x, constant)), FLOATS * np.asarray(constant))
    np.testing.assert_array_equal(densify(scaled(constant, x)), FLOATS * np.asarray(constant))
    np.testing.assert_array_equal(
        densify(scaled(constant, constant)), np.asarray(constant) * np.asarray(constant)
    )


@pytest.mark.parametrize(
    "form", (scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array)
)
def test_arrays_of_scipy_are_constants_that_stay_sparse(form):
    result = doubling()(form(FLOATS))
    assert result.stype == "csr"
    np.testing.assert_array_equal(densify(result), FLOATS * 2)


@pytest.mark.parametrize("wrong", ("text", None, {}, object(), [[1], [2, 3]], [None]), ids=repr)
def test_what_is_no_array_is_refused(scaled, wrong):
    for args in ((so.array(FLOATS), wrong), (wrong, so.array(FLOATS)), (wrong, 2)):
        with pytest.raises(so.SparseOpsError):
            scaled(*args)


def test_a_constant_is_not_changed_and_not_kept_open_to_change():
    values = FLOATS.copy()
    x = doubling()(values)
    values[...] = 9
    np.testing.assert_array_equal(densify(x), FLOATS * 2)


# Any number of arrays


@pytest.mark.parametrize("count", range(4))
def test_any_number_of_arrays_is_taken_even_none(count):
    row = Row(("dense",), ("dense",), variadic=True)
    op = operator_of([Row(("csr",), ("csr",), variadic=True), row])
    x = so.zeros(SHAPE, stype="csr")
    assert op(*[x] * count).stype == ("csr" if count else "dense")
    assert op(*[x] * count, stype="csr").stype == "csr"
    with so.fallback("allow") as records:
        assert op(*[x] * count, so.zeros(SHAPE)).stype == "dense"
    assert [r.bytes_dense for r in records] == [48 * count] * (count > 0)


# Declared results


def test_a_call_may_declare_its_result():
    op = doubling()
    for have in ("dense", "row_sparse", "csr"):
        for declared in ("dense", "row_sparse", "csr", None, "undefined", so.StorageType.CSR):
            with so.fallback("allow"):
                result = op(so.array(FLOATS).tostype(have), stype=declared)
            wanted = have if declared in (None, "undefined") else declared
            assert result.stype == wanted
            np.testing.assert_array_equal(densify(result), FLOATS * 2)


def test_each_of_several_results_may_be_declared():
    op = operator_of([Row(("dense",), ("dense", "csr"))])
    x = so.zeros(SHAPE)
    for declared in ((None, "dense"), [None, "dense"], ("undefined", "dense")):
        assert [y.stype for y in op(x, stype=declared)] == ["dense", "dense"]
    for wrong in ("dense", ("dense",), ("dense",) * 3, ()):
        with pytest.raises(so.StorageError, match="2"):
            op(x, stype=wrong)


@pytest.mark.parametrize(
    "wrong", ("coo", "scalar", "", 5, ("dense", "dense"), so.Spec(3)), ids=repr
)
def test_a_declared_result_that_is_no_storage_is_refused(wrong):
    with pytest.raises(so.StorageError):
        doubling()(so.zeros(SHAPE), stype=wrong)


# Backends


def test_arrays_of_two_backends_are_refused_with_the_way_out(scaled, twin):
    x, y = so.array(FLOATS), so.array(FLOATS, backend="twin")
    with pytest.raises(so.BackendError, match=r"scipy and twin.*x\.to\('scipy'\)") as caught:
        scaled(x, y)
    assert caught.value.operator == "scaled"
    result = scaled(x.to("twin"), y)
    assert result.backend is twin
    np.testing.assert_array_equal(densify(result), FLOATS * FLOATS)


def test_constants_and_numbers_follow_the_backend_of_the_arrays(scaled, twin):
    y = so.array(FLOATS, backend="twin")
    assert scaled(y, FLOATS).backend is scaled(y, 2).backend is twin
    assert scaled(FLOATS, FLOATS).backend.name == "scipy"
    with so.use_backend("twin"):
        assert scaled(FLOATS, FLOATS).backend is twin
        assert scaled(so.array(FLOATS, backend="scipy"), FLOATS).backend.name == "scipy"


def test_a_call_without_arrays_runs_on_the_current_backend(twin):
    op = so.operator(describing([]))
    op.forward("-> dense")(lambda backend: so.Dense(backend.xp.zeros(SHAPE)))
    assert op().backend.name == "scipy"
    with so.use_backend("twin"):
        assert op().backend is twin
    assert op().backend.name == "scipy"


def test_a_kernel_for_one_backend_serves_it_alone(twin):
    op = operator_of([Row(("dense",), ("dense",)), Row(("csr",), ("csr",), backend="twin")])
    x = so.zeros(SHAPE, stype="csr")
    with so.fallback("allow") as records:
        assert op(x).stype == "dense"
        assert op(x.to("twin")).stype == "csr"
    assert len(records) == 1


def test_a_cast_without_its_storage_is_refused():
    with pytest.raises(TypeError, match="needs stype="):
        so.cast_storage(so.csr_array([[1.0]]))
