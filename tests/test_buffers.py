"""Memory that others own, and threads that read one array."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import densify

import sparseops as so

MATRIX = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [4.0, 0.0, 8.0]])


def mapped(folder, name, array, mode):
    path = folder / f"{name}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode=mode)


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_memory_mapped_files_are_arrays(tmp_path, mode):
    matrix = sp.csr_array(MATRIX)
    parts = [
        mapped(tmp_path, name, getattr(matrix, name), mode)
        for name in ("data", "indices", "indptr")
    ]
    x = so.csr_array(tuple(parts), matrix.shape)
    np.testing.assert_array_equal(densify(x), MATRIX)
    d = so.array(mapped(tmp_path, "dense", MATRIX, mode))
    np.testing.assert_array_equal(densify(so.dot(x, d)), MATRIX @ MATRIX)
    np.testing.assert_array_equal(densify(d.tostype("csr")), MATRIX)
    rows = mapped(tmp_path, "rows", MATRIX[[0, 2]], mode), mapped(tmp_path, "ids", [0, 2], mode)
    np.testing.assert_array_equal(densify(so.row_sparse_array(rows, MATRIX.shape)), MATRIX)


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_writing_into_an_array_leaves_the_mapped_file_as_it_is(tmp_path, mode):
    file = mapped(tmp_path, "dense", MATRIX, mode)
    x = so.array(file)
    x[0, 0] = 7
    np.testing.assert_array_equal(np.load(tmp_path / "dense.npy"), MATRIX)
    np.testing.assert_array_equal(file, MATRIX)
    assert x.asnumpy()[0, 0] == 7


def test_threads_read_one_array_at_once():
    rng = np.random.default_rng(0)
    values = rng.integers(-4, 5, (200, 50)) * (rng.random((200, 50)) < 0.2) / 2
    weights = rng.integers(-4, 5, (50, 3)) / 2
    arrays = [so.array(values).tostype(stype) for stype in ("csr", "row_sparse", "dense")]
    w = so.array(weights)

    def read(n):
        x = arrays[n % 3]
        with so.fallback("allow"), so.Tape() as tape:
            loss = so.sum(so.dot(x, w))
        return (
            so.dot(x, w).asnumpy(),
            so.sum(x, axis=1).asnumpy(),
            densify(x[5:60]),
            densify(x[[3, 1, 7]]),
            densify(tape.gradient(loss, w)),
            repr(x),
        )

    with ThreadPoolExecutor(8) as pool, so.fallback("allow"):
        found = list(pool.map(read, range(120)))
    expected = (
        values @ weights,
        values.sum(axis=1),
        values[5:60],
        values[[3, 1, 7]],
        np.repeat(values.sum(axis=0)[:, None], 3, axis=1),
    )
    for n, (*results, shown) in enumerate(found):
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, wanted)
        assert shown == repr(arrays[n % 3])
    for x in arrays:
        np.testing.assert_array_equal(densify(x), values)
