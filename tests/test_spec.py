"""A Spec is a value: what it takes, how it prints, equal by its parts, never changed."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparseops as so
from sparseops.spec import STORAGES, as_dtype, as_shape, as_stype, broadcast

DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
lengths = st.integers(0, 4)
specs = st.builds(
    so.Spec,
    st.tuples(lengths, lengths),
    st.sampled_from(DTYPES),
    st.sampled_from((*STORAGES, "undefined")),
)


@pytest.mark.parametrize(
    "spec, text",
    [
        (so.Spec((3, 4), np.float32, "csr"), "float32[3,4] csr"),
        (so.Spec((), "f2"), "float16[] dense"),
        (so.Spec(5), "float64[5] dense"),
        (so.Spec((0, 2, 1), bool, "row_sparse"), "bool[0,2,1] row_sparse"),
        (so.Spec([2**40, 7], "c8", "undefined"), "complex64[1099511627776,7] undefined"),
    ],
)
def test_a_spec_prints_dtype_shape_and_storage(spec, text):
    assert str(spec) == f"{spec}" == text


@given(specs)
def test_a_spec_can_be_written_again_from_its_repr(spec):
    again = eval(repr(spec), {"Spec": so.Spec})
    assert again == spec
    assert hash(again) == hash(spec)


@given(specs, specs)
def test_specs_are_equal_exactly_when_their_parts_are(a, b):
    parts = [(x.shape, x.dtype, x.stype) for x in (a, b)]
    assert (a == b) is (parts[0] == parts[1])
    assert (a != b) is (parts[0] != parts[1])
    assert len({a, b}) == len(set(parts))


def test_equal_parts_written_differently_make_equal_specs():
    plain = so.Spec((2, 3), "float32", "csr")
    for shape in ([2, 3], np.array([2, 3]), iter((2, 3)), range(2, 4), (np.int8(2), np.uint64(3))):
        assert so.Spec(shape, np.dtype(">f4"), so.StorageType.CSR) == plain
    assert so.Spec(2, "l") == so.Spec((2,), "q") == so.Spec(np.array(2), np.int64)


def test_a_spec_equals_nothing_but_specs():
    spec = so.Spec((2, 3), "f4", "csr")
    for other in (str(spec), (spec.shape, spec.dtype, spec.stype), None, 0):
        assert spec != other


@given(specs, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_copies_and_pickles_of_a_spec_are_equal(spec, protocol):
    for again in (pickle.loads(pickle.dumps(spec, protocol)), copy.copy(spec), copy.deepcopy(spec)):
        assert again == spec
        assert type(again.stype) is str
        assert all(type(n) is int for n in again.shape)


@pytest.mark.parametrize("name", ["shape", "dtype", "stype", "other"])
def test_a_spec_is_never_changed(name):
    spec = so.Spec((2, 3), "f4", "csr")
    with pytest.raises(AttributeError, match="never changed"):
        setattr(spec, name, None)
    with pytest.raises(AttributeError):
        delattr(spec, name)
    assert spec == so.Spec((2, 3), "f4", "csr")


def test_no_array_is_changed_through_its_spec():
    x = so.zeros((2, 2))
    with pytest.raises(AttributeError):
        x.spec.stype = "csr"
    assert so.zeros((2, 2)).spec == so.Spec((2, 2))


@pytest.mark.parametrize(
    "shape, message",
    [
        ((2, -1), r"shape\[1\]=-1, but a length lies in \[0, 2\*\*63\)"),
        (-3, r"shape\[0\]=-3"),
        ((2**63,), r"shape\[0\]=9223372036854775808"),
        ((2, 2.0), r"shape \(2, 2.0\) is not a tuple of integers"),
        (2.0, "is not a tuple"),
        ("23", "is not a tuple"),
        (None, "is not a tuple"),
        ([[1, 2]], "is not a tuple"),
        (np.array([[1, 2]]), "is not a tuple"),
        ((1,) * 65, "more than 64 dimensions"),
        (itertools.count(), "more than 64 dimensions"),
    ],
)
def test_a_bad_shape_is_refused_by_axis_and_value(shape, message):
    with pytest.raises(so.ShapeError, match=message):
        so.Spec(shape)


def test_an_array_has_as_many_dimensions_as_numpy_allows():
    assert so.Spec((1,) * 64).ndim == 64
    assert so.zeros((1,) * 64).ndim == 64


@pytest.mark.parametrize("code", DTYPES)
def test_every_dtype_that_arrays_hold_is_taken_and_made_native(code):
    for order in "=<>":
        dtype = as_dtype(np.dtype(code).newbyteorder(order))
        assert dtype == np.dtype(code)
        assert dtype.isnative
    assert as_dtype(np.dtype(code).type) == as_dtype(np.dtype(code).name) == np.dtype(code)


@pytest.mark.parametrize(
    "dtype",
    [
        *("O", "U3", "S", "V8", "M8[s]", "m8", "longdouble", "clongdouble", "f4,i4", "nonsense"),
        *([("a", "f4"), ("a", "f4")], {"names": 1}, (float, (2,)), object(), 5, "", so.Spec),
    ],
)
def test_a_dtype_that_arrays_cannot_hold_is_refused_with_those_that_they_can(dtype):
    with pytest.raises(so.DTypeError, match="arrays hold bool, int8 to int64"):
        so.Spec(3, dtype)


@pytest.mark.parametrize("stype", ["CSR", "coo", "", None, 1, [], b"csr", "default", "scalar"])
def test_an_unknown_storage_is_refused_with_the_known_ones(stype):
    with pytest.raises(so.StorageError, match="there are undefined, dense, row_sparse, csr"):
        so.Spec((2, 2), float, stype)


@pytest.mark.parametrize("shape", [(), (1,), (1, 2, 3)])
def test_csr_has_two_dimensions(shape):
    with pytest.raises(so.ShapeError, match=f"has {len(shape)} dimensions; csr has 2"):
        so.Spec(shape, float, "csr")


def test_row_sparse_has_rows():
    with pytest.raises(so.ShapeError, match="at least 1 dimension"):
        so.Spec((), float, "row_sparse")
    assert so.Spec((0,), float, "row_sparse").ndim == 1


def test_what_is_undefined_may_have_any_shape():
    for shape in ((), 3, (1, 2, 3)):
        assert so.Spec(shape, float, "undefined").shape == as_shape(shape)


def test_only_a_known_storage_is_one_of_an_array():
    assert [as_stype(s, known=True) for s in STORAGES] == list(STORAGES)
    with pytest.raises(so.StorageError, match="dense, row_sparse, csr"):
        as_stype("undefined", known=True)


def test_sizes_are_exact_beyond_the_integers_of_the_machine():
    spec = so.Spec((2**62, 2**62), "c16", "csr")
    assert spec.size == 2**124
    assert spec.dense_nbytes == 2**128
    assert (so.Spec(()).size, so.Spec((2**62, 0)).size) == (1, 0)


def test_with_stype_changes_nothing_else():
    spec = so.Spec((2, 3), "f2")
    assert spec.with_stype("csr") == so.Spec((2, 3), "f2", "csr")
    assert spec.stype == "dense"
    with pytest.raises(so.ShapeError):
        so.Spec(3).with_stype("csr")


def test_storage_types_have_the_numbers_and_the_index_arrays_of_mxnet():
    facts = {str(s): (s.id, s.aux) for s in so.StorageType}
    assert facts == {
        "undefined": (-1, ()),
        "dense": (0, ()),
        "row_sparse": (1, ("indices",)),
        "csr": (2, ("indptr", "indices")),
    }


def test_storage_types_are_strings():
    assert so.StorageType.CSR == "csr"
    assert {so.StorageType.CSR: 1}["csr"] == 1
    assert f"{so.StorageType.ROW_SPARSE}" == "row_sparse"
    assert [s for s in so.StorageType if s != "undefined"] == list(STORAGES)
    for storage in (so.Dense, so.RowSparse, so.CSR):
        assert so.StorageType(storage.stype).aux == storage.aux


@given(st.lists(st.lists(st.sampled_from([0, 1, 1, 2, 3]), max_size=3).map(tuple), max_size=4))
def test_shapes_broadcast_as_those_of_numpy(shapes):
    try:
        expected = np.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(so.ShapeError, match="do not broadcast"):
            broadcast(*shapes)
    else:
        assert broadcast(*shapes) == expected


def test_shapes_broadcast_whose_size_numpy_cannot_count():
    huge = 2**62
    assert broadcast((huge, huge), (huge, 1), (1,)) == (huge, huge)
    with pytest.raises(so.ShapeError, match=r"\(4611686018427387904, 2\) and \(3,\)"):
        broadcast((huge, 2), (3,))


@pytest.mark.parametrize("shape", [True, (2, False), [True], np.bool_(True)])
def test_truths_are_no_lengths(shape):
    with pytest.raises(so.ShapeError, match="not a tuple of integers"):
        so.Spec(shape)
    with pytest.raises(so.ShapeError, match="not a tuple of integers"):
        so.scatter_rows(so.zeros((1, 2)), [0], num_rows=True)
