"""An array shows its parts without copies, converts exactly, and keeps what it holds to itself."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import STORAGES, assert_same, stored

import sparseops as so

DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
VALUES = np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3], [0, 0, 0]])


def forms(dtypes=("f8",), widths=(np.int32, np.int64)):
    """`VALUES` in every storage, dtype and index width, with explicit zeros."""
    for dtype, stype in itertools.product(dtypes, STORAGES):
        for width in widths if stype != "dense" else widths[:1]:
            rng = np.random.default_rng(0)
            yield stored(VALUES.astype(dtype), stype, extra=0.3, rng=rng, width=width)


def parts(x):
    return [x.data, *x.aux.values()]


# Parts


def test_parts_are_read_only_views_of_what_is_stored():
    for x in forms():
        for view, part in zip(parts(x), x.storage.parts, strict=True):
            assert np.shares_memory(view, part)
            assert view is not part
            with pytest.raises(ValueError, match="read-only"):
                view[...] = 0


def test_auxiliary_arrays_come_by_name_in_the_order_of_mxnet():
    for x in forms():
        assert tuple(x.aux) == so.StorageType(x.stype).aux
        for name, view in x.aux.items():
            np.testing.assert_array_equal(view, getattr(x, name))


def test_a_storage_has_no_index_arrays_of_another():
    for x in forms():
        for name in {"indices", "indptr"} - set(x.aux):
            assert not hasattr(x, name)
            with pytest.raises(AttributeError, match=f"{x.stype} has no '{name}'"):
                getattr(x, name)


def test_nothing_is_set_but_values():
    x = so.array([1.0, 2.0])
    for name in ("data", "shape", "dtype", "spec", "stype", "backend", "nnz", "other"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)


def test_facts_of_an_array():
    for x in forms():
        assert (x.shape, x.ndim, x.size, len(x)) == ((4, 3), 2, 12, 4)
        assert x.spec == so.Spec(x.shape, x.dtype, x.stype)
        assert x.nnz == x.data.size
        assert x.nbytes == sum(part.nbytes for part in parts(x))
        assert x.dense_nbytes == 96
    huge = so.zeros((2**62, 2**10), stype="row_sparse")
    assert (huge.size, huge.dense_nbytes, len(huge)) == (2**72, 2**75, 2**62)


# Conversions


@pytest.mark.parametrize("dtype", DTYPES)
def test_storages_convert_exactly(dtype):
    for x in forms([dtype]):
        values = VALUES.astype(dtype)
        for stype in STORAGES:
            assert_same(x.tostype(stype), values)
        assert x.tostype(x.stype) is x
        dense = x.asnumpy()
        np.testing.assert_array_equal(dense, values)
        assert dense.dtype == dtype
        assert dense.flags.writeable and dense.flags.c_contiguous
        assert not np.shares_memory(dense, x.data)


def test_no_array_becomes_undefined():
    with pytest.raises(so.StorageError, match="dense, row_sparse, csr"):
        so.csr_array([[1.0]]).tostype("undefined")


@pytest.mark.parametrize("stype", ["CSR", "coo", None, 3])
def test_an_unknown_storage_is_refused(stype):
    with pytest.raises(so.StorageError):
        so.array([[1.0]]).tostype(stype)


def test_widths_of_indices_survive_conversions():
    for width in (np.int32, np.int64):
        for source, target in (("csr", "row_sparse"), ("row_sparse", "csr")):
            x = stored(VALUES.astype(float), source, width=width)
            assert x.tostype(target).indices.dtype == width
            assert x.copy().indices.dtype == x.astype("f4").indices.dtype == width


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "f2"])
def test_scipy_gets_the_structure_shared_and_values_of_its_own(dtype):
    x = stored(VALUES.astype(dtype), "csr")
    matrix = x.asscipy()
    assert isinstance(matrix, sp.csr_array)
    assert matrix.dtype == dtype
    np.testing.assert_array_equal(matrix.toarray(), VALUES.astype(dtype))
    assert np.shares_memory(matrix.indices, x.indices)
    assert not matrix.indices.flags.writeable
    matrix.data[...] = 0
    with pytest.warns(sp.SparseEfficiencyWarning):
        matrix[0, 0] = 1
    matrix.sort_indices()
    assert_same(x, VALUES.astype(dtype))
    np.testing.assert_array_equal((matrix @ np.ones((3, 1), dtype))[0], matrix.toarray()[0, :1])


def test_what_scipy_changes_in_place_is_never_the_array():
    x = so.csr_array([[0.0, 1.0], [2.0, 0.0]])
    for source in (x, x.copy(), so.array(x), pickle.loads(pickle.dumps(x))):
        matrix = source.asscipy()
        matrix.data[...] = 0
        with pytest.raises(ValueError):
            matrix.eliminate_zeros()
        assert_same(source, np.array([[0.0, 1.0], [2.0, 0.0]]))


def test_scipy_has_no_float16():
    with pytest.raises(so.DTypeError, match="float16"):
        so.csr_array(np.eye(2, dtype="f2")).asscipy()


@pytest.mark.parametrize("stype", ["dense", "row_sparse"])
def test_only_csr_goes_to_scipy(stype):
    with pytest.raises(so.StorageError, match=r"x.tostype\('csr'\)"):
        so.zeros((2, 2), stype=stype).asscipy()


def test_an_array_that_is_there_stays():
    for x in forms():
        assert x.to("scipy") is x
        with pytest.raises(so.BackendError, match="no backend 'none'"):
            x.to("none")


# Python and NumPy


@pytest.mark.parametrize("stype", STORAGES)
@pytest.mark.parametrize("value", [0, 1, -2.5, True, 3 - 4j])
def test_one_value_is_a_number(stype, value):
    x = so.array([[value]], stype=stype)
    assert bool(x) is bool(value)
    assert x.item() == complex(x) == value
    assert type(x.item()) is type(value)
    for convert in (float, int):
        if isinstance(value, complex):
            with pytest.raises(TypeError):
                convert(x)
        else:
            assert convert(x) == convert(value)


def test_a_stored_nothing_is_a_zero():
    for stype in ("csr", "row_sparse"):
        x = so.zeros((1, 1), stype=stype)
        assert (bool(x), float(x), int(x), complex(x), x.item()) == (False, 0, 0, 0, 0)


@pytest.mark.parametrize("convert", [bool, float, int, complex, so.NDArray.item])
def test_several_values_or_none_are_no_number(convert):
    for x in (so.zeros(2), so.zeros(0), so.zeros((2, 2), stype="csr")):
        with pytest.raises(so.ShapeError, match=f"needs one value; shape .* has {x.size}"):
            convert(x)


def test_a_number_has_no_length():
    for look in (len, iter):
        with pytest.raises(TypeError, match="no length"):
            look(so.array(1.0))


def test_arrays_hash_by_identity():
    x, y = so.array([1.0]), so.array([1.0])
    assert len({x, y, x}) == 2
    assert {x: 1}[x] == 1


def test_numpy_reads_dense_arrays_and_cannot_write_them():
    x = so.array([1.0, 2.0])
    for read in (np.asarray, lambda x: np.array(x, copy=False)):
        seen = read(x)
        assert np.shares_memory(seen, x.data)
        assert not seen.flags.writeable
    own = np.array(x)
    own[...] = 0
    assert np.asarray(x, "f4").dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.array(x, "f4", copy=False)
    assert_same(x, np.array([1.0, 2.0]))


def test_numpy_cannot_be_allowed_to_write():
    x = so.array([1.0, 2.0])
    with pytest.raises(ValueError):
        np.asarray(x).setflags(write=True)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_numpy_makes_no_sparse_array_dense(stype):
    x = so.zeros((2, 2), stype=stype)
    for make in (
        np.asarray,
        np.array,
        lambda x: np.asarray([x, x]),
        so.array([[1.0]]).asnumpy().dot,
    ):
        with pytest.raises((so.StorageError, TypeError), match="asnumpy|ufunc"):
            make(x)


def test_numpy_takes_nothing_off_a_tape():
    x = so.array([1.0])
    with so.Tape() as tape:
        with pytest.raises(so.GradientError, match=r"x.asnumpy\(\)"):
            np.asarray(x)
        assert x.asnumpy().tolist() == [1]
        with tape.pause():
            assert np.asarray(x).tolist() == [1]


@pytest.mark.parametrize("name", ["toarray", "todense", "tocsr", "numpy", "backward", "cuda"])
def test_attributes_of_other_libraries_get_the_way_that_there_is_here(name):
    x = so.csr_array([[0.0, 2.0]])
    with pytest.raises(AttributeError, match=rf"csr has no '{name}'; .*(x\.|tape\.)"):
        getattr(x, name)
    assert not hasattr(x, name) and not hasattr(x, "no_such_thing")


def test_divmod_is_the_quotient_and_the_rest():
    values = np.array([7, -7])
    x = so.array(values)
    for found, expected in ((divmod(x, 2), divmod(values, 2)), (divmod(9, x), divmod(9, values))):
        for part, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(part.asnumpy(), wanted)
