"""Copies and pickles are equal arrays with memory of their own."""

import copy
import pickle

import numpy as np
import pytest
from oracle import STORAGES, assert_same, densify, stored

import sparseops as so

DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
VALUES = np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3], [0, 0, 0]])


def forms(dtypes=("f8",)):
    """`VALUES` in every storage, dtype and index width, with explicit zeros."""
    for dtype in dtypes:
        for stype in STORAGES:
            for width in (np.int32, np.int64):
                yield stored(VALUES.astype(dtype), stype, extra=0.3, width=width)


def parts(x):
    return [x.data, *x.aux.values()]


@pytest.mark.parametrize("duplicate", [so.NDArray.copy, copy.copy, copy.deepcopy, so.array])
def test_copies_are_equal_and_share_nothing(duplicate):
    for x in forms():
        x[...] = VALUES
        other = duplicate(x)
        assert other is not x
        assert other.spec == x.spec
        assert_same(other, densify(x))
        for a, b in zip(parts(x), parts(other), strict=True):
            assert not np.shares_memory(a, b)
            assert a.dtype == b.dtype
        assert not any(part.flags.writeable for part in other.storage.parts)
        other[...] = np.ones((4, 3))
        assert_same(x, VALUES.astype(float))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_equal_and_canonical(protocol):
    for x in forms(DTYPES):
        other = pickle.loads(pickle.dumps(x, protocol))
        assert other.spec == x.spec
        assert other.backend is x.backend
        other.storage.validate()
        for a, b in zip(parts(x), parts(other), strict=True):
            np.testing.assert_array_equal(a, b, strict=True)
        assert not any(part.flags.writeable for part in other.storage.parts)
        other[...] = VALUES * 0
        assert not densify(other).any()


def test_pickles_of_other_shapes():
    for x in (
        *(
            so.array(3),
            so.zeros((0, 4)),
            so.zeros((0, 3), stype="csr"),
            so.array(np.ones((2, 1, 3))),
        ),
        *(so.zeros((2**40, 3), stype="row_sparse"), so.asarray(np.asfortranarray(VALUES))),
        so.row_sparse_array((np.ones((1, 2, 2)), [5])),
    ):
        other = pickle.loads(pickle.dumps(x))
        assert other.spec == x.spec
        np.testing.assert_array_equal(other.data, x.data)


def test_pickled_buffers_that_somebody_keeps_are_not_written():
    x, buffers = so.array([1.0, 2.0]), []
    text = pickle.dumps(x, 5, buffer_callback=buffers.append)
    kept = [bytearray(buffer.raw()) for buffer in buffers]
    other = pickle.loads(text, buffers=kept)
    other[...] = 9
    assert pickle.loads(text, buffers=kept).asnumpy().tolist() == [1, 2]


def test_a_pickle_that_somebody_broke_is_refused():
    restore, (storage, backend) = so.csr_array([[0, 1]]).__reduce__()
    broken = so.CSR(storage.data, np.array([7], np.int32), storage.indptr, storage.shape)
    with pytest.raises(so.FormatError, match=r"indices\[0\]=7"):
        restore(broken, backend)


@pytest.mark.parametrize("duplicate", [so.NDArray.copy, copy.deepcopy, so.array])
def test_gradients_flow_through_copies(duplicate):
    x = so.array([1.0, 2.0])
    with so.Tape() as tape:
        y = so.sum(duplicate(x))
    assert tape.gradient(y, x).asnumpy().tolist() == [1, 1]
