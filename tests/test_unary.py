"""Functions of single values: NumPy's values and dtypes in every storage, and their slopes."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from oracle import check_forward, check_gradient, densify, places, storages, stored

import sparseops as so
from sparseops.ops.slope import CURVATURES, SLOPES, times_slope
from sparseops.registry import operators

DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 "
    "complex128"
).split()
SAME = ["dense -> dense", "row_sparse -> row_sparse", "csr -> csr"]

# The interval in which each function is smooth, and whether its results are exact.
KEPT = {
    "abs": (0.5, 2.0),
    "sign": (0.5, 2.0),
    "rint": (0.6, 1.4),
    "ceil": (0.1, 0.9),
    "floor": (0.1, 0.9),
    "trunc": (0.1, 0.9),
    "square": (-2.0, 2.0),
    "sqrt": (0.5, 2.0),
    "cbrt": (0.5, 2.0),
    "sin": (-2.0, 2.0),
    "tan": (-1.0, 1.0),
    "arcsin": (-0.8, 0.8),
    "arctan": (-2.0, 2.0),
    "sinh": (-2.0, 2.0),
    "tanh": (-2.0, 2.0),
    "arcsinh": (-2.0, 2.0),
    "arctanh": (-0.8, 0.8),
    "degrees": (-2.0, 2.0),
    "radians": (-2.0, 2.0),
    "expm1": (-2.0, 2.0),
    "log1p": (-0.5, 2.0),
    "negative": (-2.0, 2.0),
    "relu": (0.5, 2.0),
    "conj": (-2.0, 2.0),
    "real": (-2.0, 2.0),
    "imag": (-2.0, 2.0),
}
DENSE = {
    "exp": (-2.0, 2.0),
    "log": (0.5, 2.0),
    "cos": (-2.0, 2.0),
    "cosh": (-2.0, 2.0),
    "sigmoid": (-2.0, 2.0),
}
ALL = KEPT | DENSE
EXACT = "abs sign rint ceil floor trunc square negative relu conj real imag".split()
HOLOMORPHIC = (
    "square sqrt sin tan arcsin arctan sinh tanh arcsinh arctanh expm1 log1p negative exp log cos "
    "cosh sigmoid"
).split()
EDGED = "abs sign ceil floor sqrt cbrt relu log".split()
FLAT = "sign rint ceil floor trunc".split()


def reference(name):
    """NumPy's function of the operator called `name`."""
    if name == "relu":
        return lambda x: np.maximum(x, np.zeros((), x.dtype))
    if name == "sigmoid":
        return lambda x: 1 / (1 + 1 / np.exp(x))
    return getattr(np, name)


def takes(name, dtype):
    """Whether NumPy has the function for values of `dtype`."""
    if (name, np.dtype(dtype).kind) == ("relu", "c"):
        return False
    try:
        reference(name)(np.zeros(0, dtype))
    except TypeError:
        return False
    return True


def tolerance(name, dtype):
    if name in EXACT or np.dtype(dtype).kind not in "fc":
        return 0 if name in EXACT else 2e-3
    return 8 * np.finfo(dtype).eps


def integers(shape, dtype):
    return np.random.default_rng(1).integers(-3, 4, shape).astype(dtype)


def smooth(name, shape, seed=2):
    """Values where the function is smooth; with some zeros, unless zero is an edge or a pole."""
    low, high = ALL[name]
    values = np.random.default_rng(seed).uniform(low, high, shape)
    if name in EDGED:
        return values
    return values * np.random.default_rng(seed).choice([0, 1, 1, 1], shape)


@pytest.fixture(autouse=True)
def quiet():
    """Poles and invalid places are part of the tests: NumPy's warnings about them are expected."""
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALL)
def test_values_and_dtypes_are_those_of_numpy_in_every_storage(name, dtype):
    if not takes(name, dtype):
        with pytest.raises(so.DTypeError, match=dtype):
            operators[name](so.zeros((2, 2), dtype, stype="csr"))
        return
    values = integers((4, 5), dtype)
    if np.dtype(dtype).kind == "c":
        values = values * dtype_of(dtype)(0.5 + 0.25j)
    elif np.dtype(dtype).kind == "f":
        values = values / dtype_of(dtype)(4)
    check_forward(name, [values], reference(name), rtol=tolerance(name, dtype))


def dtype_of(name):
    return np.dtype(name).type


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ALL)
def test_nan_infinity_and_signed_zeros_follow_numpy_where_they_are_stored(name, dtype):
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 65504.0], dtype)
    for stype in ("dense", "csr", "row_sparse"):
        shaped = special.reshape(1, -1) if stype == "csr" else special.reshape(-1, 1)
        x = so.NDArray(everywhere(shaped, stype), so.get_backend())
        with so.fallback("allow"):
            found = densify(operators[name](x)).ravel()
        expected = reference(name)(special)
        np.testing.assert_allclose(found, expected, rtol=tolerance(name, dtype))
        if name != "relu":
            np.testing.assert_array_equal(np.signbit(found[3:5]), np.signbit(expected[3:5]))


def everywhere(values, stype):
    """A storage that stores every one of `values`, zeros too."""
    rows, columns = values.shape
    if stype == "dense":
        return so.Dense(values.copy())
    if stype == "row_sparse":
        return so.RowSparse(values.copy(), np.arange(rows, dtype=np.int32), values.shape)
    indices = np.tile(np.arange(columns, dtype=np.int32), rows)
    indptr = np.arange(0, values.size + 1, columns, dtype=np.int32)
    return so.CSR(values.ravel().copy(), indices, indptr, values.shape)


@pytest.mark.parametrize("width", [np.int32, np.int64])
@pytest.mark.parametrize("name", KEPT)
def test_zero_preserving_functions_keep_the_structure_itself_without_a_fallback(name, width):
    values = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.0], [0.25, 0.0, 0.75]])
    with so.fallback("error"):
        for stype in ("csr", "row_sparse"):
            x = stored(values, stype, extra=0.5, width=width)
            y = operators[name](x)
            assert y.stype == stype and y.nnz == x.nnz
            for part in x.storage.aux:
                assert getattr(y.storage, part) is getattr(x.storage, part)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 3), (0,), (3,), (), (2, 0, 3)])
@pytest.mark.parametrize("name", ALL)
def test_empty_arrays_and_every_number_of_axes_work(name, shape):
    values = np.zeros(shape, np.float32)
    for stype in storages(values):
        with so.fallback("allow"):
            y = operators[name](so.zeros(shape, np.float32, stype=stype))
        expected = reference(name)(values)
        assert y.shape == shape and y.dtype == expected.dtype
        np.testing.assert_array_equal(densify(y), expected)


@pytest.mark.parametrize("name", KEPT)
def test_declared_signatures_are_the_three_storages(name):
    op = operators[name]
    assert [str(rule) for rule in op.kernels] == SAME
    assert [str(rule) for rule in op.gradients["x"]] == SAME


@pytest.mark.parametrize("name", DENSE)
def test_functions_that_are_not_zero_at_zero_make_sparse_arrays_dense_on_record(name):
    assert [str(rule) for rule in operators[name].kernels] == ["dense -> dense"]
    x = so.csr_array([[0.0, 0.5], [0.0, 0.0]])
    with so.fallback("allow") as records:
        y = operators[name](x)
    assert y.stype == "dense"
    assert [(r.operator, r.stypes) for r in records] == [(name, ("csr", "dense"))]


# Gradients


@pytest.mark.parametrize("name", ALL)
def test_gradients_agree_with_central_differences_in_every_storage(name):
    check_gradient(name, [smooth(name, (2, 3))], step=2.0**-16, rtol=1e-7)


@pytest.mark.parametrize("name", [*HOLOMORPHIC, "abs", "conj", "real", "imag"])
def test_complex_gradients_agree_with_central_differences(name):
    values = smooth(name, (2, 3)) * (0.8 + 0.5j)
    check_gradient(name, [values], step=2.0**-16, rtol=1e-7)


@pytest.mark.parametrize(
    "name, complex_values",
    # The gradient of real is what arrives, and does not depend on x.
    [(n, False) for n in ALL if n != "real"] + [(n, True) for n in HOLOMORPHIC],
)
def test_second_gradients_agree_with_central_differences_of_the_first(name, complex_values):
    values = smooth(name, (2, 3)) * (0.8 + 0.5j if complex_values else 1)
    heads = np.random.default_rng(4).integers(1, 4, (2, 2, 3)).astype(values.dtype)
    for stype in ("dense", "csr", "row_sparse") if name in KEPT else ("dense",):
        x = stored(values, stype, extra=0.3)
        with so.fallback("allow"):
            found = densify(gradient_of_gradient(name, x, heads))
            expected = np.zeros_like(values)
            for place in zip(*np.nonzero(places(x)), strict=True):
                expected[place] = slope_of_gradient(name, x, place, heads)
        assert not found[~places(x)].any()
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


def gradient(name, x, head):
    with so.Tape() as tape:
        y = operators[name](x)
    return tape.gradient(y, x, output_gradients=so.array(head.astype(y.dtype)))


def gradient_of_gradient(name, x, heads):
    with so.Tape() as tape:
        g = gradient(name, x, heads[0])
    return tape.gradient(g, x, output_gradients=so.array(heads[1].astype(g.dtype)))


def slope_of_gradient(name, x, place, heads, step=2.0**-16):
    """The derivative of sum(heads[1] * gradient) by one value, by differences."""

    def at(offset):
        moved = densify(x)
        moved[place] += offset
        where = places(x)
        storage = x.storage
        if x.stype == "dense":
            data = moved
        elif x.stype == "csr":
            data = moved[where]
        else:
            data = moved[x.indices]
        near = so.NDArray(storage.with_data(data), x.backend)
        return (np.conj(heads[1]) * densify(gradient(name, near, heads[0]))).sum().real

    slope = (at(step) - at(-step)) / (2 * step)
    if np.iscomplexobj(densify(x)):
        slope = slope + 1j * (at(1j * step) - at(-1j * step)) / (2 * step)
    return slope


@pytest.mark.parametrize("stype", ["dense", "csr", "row_sparse"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", ALL)
def test_gradients_have_the_dtype_of_the_input(name, dtype, stype):
    x = stored(smooth(name, (2, 3)).astype(dtype), stype)
    with so.fallback("allow"):
        g = gradient(name, x, np.ones((2, 3)))
    assert g.dtype == dtype and g.stype == stype
    with so.fallback("allow"):
        wide = gradient(name, x.astype("float64"), np.ones((2, 3)))
    np.testing.assert_allclose(densify(g), densify(wide), rtol=0.02 if dtype == "float16" else 1e-4)


@pytest.mark.parametrize("stype", ["dense", "csr", "row_sparse"])
@pytest.mark.parametrize("name", FLAT)
def test_gradients_of_steps_are_zero_arrays_whatever_arrives(name, stype):
    x = stored(np.array([[0.5, 0.0], [1.5, -2.5]]), stype)
    g = gradient(name, x, np.array([[np.nan, np.inf], [1.0, -1.0]]))
    assert g.stype == stype and g.nnz == (4 if stype == "dense" else 0)
    assert not densify(g).any()


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("name", sorted(KEPT.keys() - FLAT))
def test_gradients_by_sparse_inputs_live_on_the_stored_places_without_a_fallback(name, stype):
    x = stored(smooth(name, (3, 4)), stype, extra=0.4)
    with so.fallback("error"), so.Tape() as tape:
        y = operators[name](x)
    with so.fallback("error"):
        g = tape.gradient(y, x, output_gradients=so.array(np.ones((3, 4))), stypes=stype)
    assert g.stype == stype
    if name != "imag":  # zero, so nothing is stored
        np.testing.assert_array_equal(g.indices, x.indices)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("name", SLOPES.keys() - DENSE.keys())
def test_a_gradient_that_arrives_on_fewer_places_is_taken_there(name, stype):
    x = stored(smooth(name, (4, 4), seed=5), stype, extra=0.4)
    head = np.zeros((4, 4))
    rows = np.arange(4)[densify(x).any(axis=1)][::2]
    head[rows] = densify(x)[rows] != 0
    with so.Tape() as tape:
        y = operators[name](x)
    g = tape.gradient(y, x, output_gradients=stored(head, stype))
    expected = densify(gradient(name, x, np.ones((4, 4)))) * head
    np.testing.assert_allclose(densify(g), expected, rtol=1e-15)


def test_relu_has_no_gradient_at_zero_and_keeps_nan():
    x = so.array([-2.0, -0.0, 0.0, 3.0])
    assert densify(gradient("relu", x, np.ones(4))).tolist() == [0, 0, 0, 1]
    assert np.isnan(densify(so.relu(so.array([np.nan]))))


def test_abs_has_no_gradient_at_zero_and_is_real_for_complex_values():
    assert densify(gradient("abs", so.array([0.0, -2.0]), np.ones(2))).tolist() == [0, -1]
    x = so.csr_array(np.array([[0, 3 + 4j]], np.complex64))
    assert so.abs(x).dtype == np.float32 and densify(so.abs(x)).tolist() == [[0, 5]]


def test_the_gradient_of_sign_is_refused_for_complex_values():
    with pytest.raises(so.GradientError, match="sign is declared for real values"):
        gradient("sign", so.array([1 + 1j]), np.ones(1))


@pytest.mark.parametrize("shape", [(3, 4), (5,), ()])
@pytest.mark.parametrize("name", ["real", "imag"])
def test_parts_of_complex_values_are_arrays_of_their_own(name, shape):
    x = so.array(np.full(shape, 1 + 2j))
    part = operators[name](x).storage.data
    assert part.flags.c_contiguous and not np.shares_memory(part, x.data)


def test_sqrt_of_a_negative_value_is_nan_and_numpy_warns_as_it_likes():
    with np.errstate(invalid="warn"), pytest.warns(RuntimeWarning, match="invalid value"):
        y = so.sqrt(so.csr_array([[0.0, -1.0]]))
    assert np.isnan(densify(y)[0, 1])
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        so.sqrt(so.array([-1.0]))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_sigmoid_is_right_and_quiet_however_large_its_argument(dtype):
    values = np.array([-1000, -30, -1, 0, 1, 30, 1000], dtype)
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        found = so.sigmoid(so.array(values))
        g = gradient("sigmoid", so.array(values), np.ones(7))
    real = values.real.astype(np.longdouble)
    expected = 1 / (1 + np.exp(-real))
    np.testing.assert_allclose(
        densify(found), expected.astype(values.real.dtype), rtol=4 * np.finfo(dtype).eps
    )
    slopes = (expected / (1 + np.exp(real))).astype(values.real.dtype)
    np.testing.assert_allclose(densify(g), slopes, rtol=1e-2, atol=np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint64"])
def test_sigmoid_of_integers_does_not_wrap(dtype):
    found = so.sigmoid(so.array(np.array([0, 1], dtype)))
    assert found.dtype == np.exp(np.zeros(0, dtype)).dtype
    np.testing.assert_allclose(densify(found), [0.5, 1 / (1 + np.exp(-1))], rtol=1e-3)


@pytest.mark.parametrize("name", ["arcsinh", "arctan", "log1p", "expm1", "tanh", "sqrt", "cbrt"])
def test_slopes_of_large_values_neither_overflow_nor_cancel(name):
    values = np.array([1e3, 1e15, -1e3 if name == "expm1" else 1e30])
    slopes = {
        "arcsinh": 1 / np.hypot(1, values),
        "arctan": 1 / (1 + values**2),
        "log1p": 1 / (1 + values),
        "expm1": np.exp(values),
        "tanh": np.zeros(3),
        "sqrt": 0.5 / np.sqrt(values),
        "cbrt": 1 / (3 * np.cbrt(values) ** 2),
    }
    found = densify(gradient(name, so.array(values), np.ones(3)))
    np.testing.assert_allclose(found, slopes[name], rtol=1e-14)
    narrow = np.array([300.0], np.float16)
    if name == "arcsinh":
        found = densify(gradient(name, so.array(narrow), np.ones(1)))
        np.testing.assert_allclose(found, 1 / 300, rtol=1e-3)


# zeros_like and times_slope


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_like_keeps_storage_dtype_and_width_and_stores_nothing(dtype):
    values = integers((3, 4), dtype)
    check_forward("zeros_like", [values], np.zeros_like)
    for stype in ("csr", "row_sparse"):
        x = stored(values, stype, width=np.int64)
        y = so.zeros_like(x)
        assert y.stype == stype and y.nnz == 0 and y.indices.dtype == np.int64


def test_zeros_like_ignores_nan_also_in_its_gradient():
    g = gradient("zeros_like", so.array([np.nan, 1.0]), np.array([np.inf, 1.0]))
    assert densify(g).tolist() == [0, 0]


@pytest.mark.parametrize("of", SLOPES)
def test_times_slope_multiplies_at_the_places_of_its_first_factor(of):
    y = np.array([[0.0, 2.0, 1.0], [0.0, 0.0, -3.0]])
    x = np.array([[0.5, 0.25, 0.75], [0.0, 0.0, 0.125]])
    expected = densify(times_slope(so.array(y), so.array(x), of=of))
    for stype in ("csr", "row_sparse"):
        sparse = stored(y, stype)
        for other in (stored(x, stype), stored(x, stype, extra=1.0)):
            found = times_slope(sparse, other, of=of)
            np.testing.assert_array_equal(found.indices, sparse.indices)
            np.testing.assert_allclose(
                densify(found)[y != 0], expected[y != 0], rtol=1e-15, atol=1e-15
            )
    assert set(SLOPES) == set(CURVATURES)


@pytest.mark.parametrize("stype", ["dense", "csr", "row_sparse"])
@pytest.mark.parametrize("of", sorted(SLOPES))
def test_times_slope_has_right_gradients_by_both_factors(of, stype):
    values = [smooth(of, (2, 3), seed) for seed in (8, 9)]
    x = stored(values[0], stype, extra=0.3)
    y = so.NDArray(x.storage.with_data(x.data * 0.5 + 1.0), x.backend)
    check_times_slope(of, y, x)
    check_times_slope(of, y.astype(complex) * (1 - 2j), x.astype(complex) * (0.5 + 0.25j))


def check_times_slope(of, y, x, step=2.0**-16):
    with so.Tape(persistent=True) as tape:
        out = times_slope(y, x, of=of)
    head = (np.arange(6).reshape(2, 3) + 1).astype(out.dtype)
    found = tape.gradient(out, [y, x], output_gradients=so.array(head))
    for slot, g in enumerate(found):
        for n in range(x.nnz):
            slope = 0
            for unit in (1, 1j)[: 1 + (out.dtype.kind == "c")]:
                sums = []
                for offset in (step * unit, -step * unit):
                    args = [y, x]
                    data = args[slot].data.copy()
                    data.reshape(-1)[n] += offset
                    args[slot] = so.NDArray(args[slot].storage.with_data(data), x.backend)
                    moved = densify(times_slope(*args, of=of))
                    sums.append((np.conj(head) * moved).sum().real)
                slope += unit * (sums[0] - sums[1]) / (2 * step)
            np.testing.assert_allclose(g.data.reshape(-1)[n], slope, rtol=1e-6, atol=1e-6)


def test_times_slope_refuses_other_shapes_and_names():
    x = so.array([1.0, 2.0])
    with pytest.raises(so.ShapeError, match=r"y has shape \(2,\) and x has \(1,\)"):
        times_slope(x, so.array([1.0]), of="sin")
    with pytest.raises(ValueError, match="of='gamma' has no slope here; there are log, sin"):
        times_slope(x, x, of="gamma")


# Public names


@pytest.mark.parametrize("name", [*ALL, "zeros_like"])
def test_operators_are_public_documented_and_pickle_by_name(name):
    op = getattr(so, name)
    assert op is operators[name] and pickle.loads(pickle.dumps(op)) is op
    assert op.shapes == "(m,n)->(m,n)" and op.reference is not None
    for heading in ("Parameters", "Returns", "Examples"):
        assert f"{heading}\n{'-' * len(heading)}\n" in inspect.getdoc(op)
    assert f">>> so.{name}(" in op.__doc__
    if name != "zeros_like":
        assert "gradient by `x` is" in op.__doc__


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALL)
def test_the_declared_reference_is_the_function_itself(name, dtype):
    if takes(name, dtype):
        values = integers((2, 3), dtype)
        found = operators[name].reference(values)
        assert found.dtype == densify(operators[name](so.array(values))).dtype
        np.testing.assert_allclose(found, reference(name)(values), rtol=1e-2)
