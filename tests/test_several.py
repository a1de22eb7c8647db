"""add_n: one sum, whatever the storages, without making dense what need not be."""

from itertools import product

import numpy as np
import pytest
from oracle import assert_same, check_gradient, densify, stored

import sparseops as so

STYPES = ("dense", "row_sparse", "csr")


def terms(count, shape=(5, 3), dtype="float64"):
    rng = np.random.default_rng(0)
    return [
        (rng.integers(-4, 5, shape) * (rng.random(shape) < 0.5)).astype(dtype) for _ in range(count)
    ]


def expected_storage(stypes):
    if "dense" in stypes:
        return "dense"
    return "row_sparse" if "row_sparse" in stypes else "csr"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_mixture_is_added_without_a_fallback(count):
    values = terms(count)
    for stypes in product(STYPES, repeat=count):
        arrays = [stored(v, s, extra=0.2) for v, s in zip(values, stypes, strict=True)]
        with so.fallback("error"):
            found = so.add_n(*arrays)
        assert found.stype == expected_storage(stypes)
        assert_same(found, sum(values))
        assert so.add_n.infer(*(x.spec for x in arrays)) == found.spec
        for stype in STYPES:
            with so.fallback("allow"):
                declared = so.add_n(*arrays, stype=stype)
            assert declared.stype == stype
            assert_same(declared, sum(values))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "complex64"])
@pytest.mark.parametrize("stype", STYPES)
def test_many_arrays_of_one_storage_are_added_in_their_dtype(stype, dtype):
    values = terms(7, dtype=dtype)
    expected = values[0]
    for value in values[1:]:
        expected = expected + value
    assert_same(so.add_n(*(stored(v, stype) for v in values)), expected)


def test_dtypes_and_widths_are_those_that_all_fit():
    a, b = terms(1, dtype="int8")[0], terms(1, dtype="float32")[0]
    for stype in STYPES:
        wide = stored(a, stype, width=np.int64)
        assert_same(so.add_n(wide, stored(b, stype), wide), a + b + a)
        if stype != "dense":
            assert so.add_n(wide, stored(b, stype), wide).indices.dtype == np.int64


def test_gradients_live_where_each_array_stores():
    check_gradient("add_n", terms(2, (3, 2)))
    x, y = so.csr_array([[1.0, 0.0]]), so.array([[2.0, 3.0]])
    with so.Tape() as tape:
        z = so.add_n(x, y, x)
    gx, gy = tape.gradient(z, [x, y], output_gradients=so.array([[5.0, 7.0]]))
    assert gx.stype == "csr" and densify(gx).tolist() == [[10.0, 0.0]]
    assert gy.stype == "dense" and densify(gy).tolist() == [[5.0, 7.0]]


def test_numpy_arrays_are_constants_and_shapes_are_equal():
    x = so.csr_array([[1.0, 0.0]])
    assert densify(so.add_n(x, np.ones((1, 2)), x)).tolist() == [[3.0, 1.0]]
    with pytest.raises(so.ShapeError, match=r"arrays\[1\] has shape \(2,\)"):
        so.add_n(so.zeros(1), so.zeros(2))
    with pytest.raises(so.ShapeError, match="at least one array"):
        so.add_n()
    with pytest.raises(so.StorageError):
        so.add_n(x, 1.0)


def test_mixtures_are_traced():
    graph = so.trace(so.add_n)(
        so.Spec((2, 2), float, "csr"),
        so.Spec((2, 2), float, "dense"),
        so.Spec((2, 2), float, "csr"),
    )
    assert [spec.stype for spec in graph.outputs] == ["dense"]


def test_arrays_of_mixed_storages_have_one_shape_too():
    with pytest.raises(so.ShapeError, match=r"arrays\[1\] has shape \(3,\)"):
        so.add_n(so.array(1.0), so.zeros((3,), stype="row_sparse"))


def test_mixed_storages_get_the_dtype_of_all_arrays_at_once():
    values = [np.array([[2]], d) for d in ("u1", "f2", "i1")]
    arrays = [so.array(v).tostype(s) for v, s in zip(values, ("csr", "dense", "csr"), strict=True)]
    assert so.add_n(*arrays).dtype == np.result_type(*values) == np.float16
    assert so.add_n.infer(*[x.spec for x in arrays]).dtype == np.float16


@pytest.mark.parametrize("hostile", [(), np.ones(2), 3, None])
def test_inference_takes_specs_alone(hostile):
    with pytest.raises(TypeError):
        so.add_n.infer(hostile, hostile)
