"""Matrix Market files: read as SciPy reads them, and refused where SciPy would look away."""

import gzip
import re
from io import BytesIO

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from data import FOLDER, MATRICES, needs_data
from oracle import assert_same, densify, stored

import sparseops as so
from sparseops import io

BANNER = "%%MatrixMarket matrix "


def read(text, **options):
    return io.read_mtx(BytesIO((BANNER + text).encode()), **options)


@pytest.mark.data
@needs_data
@pytest.mark.parametrize("name", MATRICES)
def test_real_files_are_read_as_scipy_reads_them(name):
    found = io.read_mtx(FOLDER / "mtx" / name)
    expected = scipy.io.mmread(FOLDER / "mtx" / name, spmatrix=False)
    assert found.stype == ("csr" if scipy.sparse.issparse(expected) else "dense")
    found.storage.validate()
    assert found.dtype == expected.dtype
    if found.stype == "dense":
        np.testing.assert_array_equal(found.asnumpy(), expected)
        return
    expected = expected.tocsr()
    expected.sum_duplicates()
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


@pytest.mark.data
@needs_data
@pytest.mark.parametrize("name", [f"mangle{n}.mtx" for n in (1, 2, 3, 4)])
def test_malformed_headers_are_refused_with_file_and_line(name):
    file = FOLDER / "mtx_malformed" / name
    with pytest.raises(so.FormatError, match="line 1: .*'junk' is not") as caught:
        io.read_mtx(file)
    assert str(caught.value).startswith(str(file))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "uint64", "complex128"])
@pytest.mark.parametrize("stype", ["dense", "csr", "row_sparse"])
@pytest.mark.parametrize("shape", [(1, 1), (4, 3), (1, 5), (3, 0), (0, 3)])
def test_what_is_written_is_read_again(tmp_path, shape, stype, dtype):
    rng = np.random.default_rng(1)
    x = (rng.standard_normal(shape) * 100 * (rng.random(shape) < 0.5)).astype(dtype)
    if dtype.startswith("complex"):
        x += 1j * rng.standard_normal(shape) * (x != 0)
    file = tmp_path / "x.mtx.gz"
    io.write_mtx(file, stored(x, stype, extra=0.3), comment="made\nby a test")
    found = io.read_mtx(file)
    wide = {"i": "int64", "u": "uint64", "f": "float64", "c": "complex128"}[np.dtype(dtype).kind]
    assert found.dtype == wide
    assert_same(found.astype(dtype), x)


def test_explicit_zeros_float16_and_bool_are_written():
    x = so.csr_array(([0.0, 1.5], [1, 0], [0, 1, 2]), (2, 2))
    for given, expected in ((x, x), (x.astype("float16"), x), (x.astype(bool), x.astype(bool))):
        file = BytesIO()
        io.write_mtx(file, given)
        file.seek(0)
        found = io.read_mtx(file)
        assert found.nnz == 2
        np.testing.assert_array_equal(densify(found), densify(expected))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("coordinate real symmetric\n2 2 2\n1 1 3\n2 1 4\n", [[3, 4], [4, 0]]),
        ("coordinate integer skew-symmetric\n2 2 1\n2 1 4\n", [[0, -4], [4, 0]]),
        ("coordinate complex hermitian\n2 2 2\n1 1 3 0\n2 1 1 2\n", [[3, 1 - 2j], [1 + 2j, 0]]),
        ("coordinate pattern Symmetric\n2 2 1\n2 1\n", [[0.0, 1.0], [1.0, 0.0]]),
        ("coordinate real general\n2 2 3\n1 1 1\n2 2 5\n1 1 2\n", [[3, 0], [0, 5]]),
        ("coordinate real general\r\n% c\r\n\r\n1 2 1\r\n1 2 -1e2\r\n", [[0, -100]]),
        ("array real symmetric\n2 2\n1\n2\n3\n", [[1, 2], [2, 3]]),
        ("array integer general\n2 1\n1\n2", [[1], [2]]),
    ],
)
def test_every_kind_of_matrix_is_filled_in(text, expected):
    found = read(text)
    found.storage.validate()
    np.testing.assert_array_equal(found.asnumpy(), expected)


@pytest.mark.parametrize(
    "text, fact",
    [
        ("coordinate real\n2 2 1\n1 1 5\n", "line 1: the header has 4 words"),
        ("array pattern general\n2 2\n", "line 1: an array has values"),
        ("coordinate real general\n% only\n", "line 3: the file ends before its sizes"),
        ("coordinate real general\n2 2\n1 1 5\n", "line 2: '2 2' is not rows, columns, entries"),
        ("coordinate real general\n-2 2 1\n1 1 5\n", "line 2: '-2 2 1' is not rows"),
        ("coordinate real symmetric\n2 3 1\n2 1 5\n", "line 2: 2 rows and 3 columns"),
        ("coordinate real general\n2 2 1\n3 1 5\n", "line 3: row index out of bounds"),
        ("coordinate real general\n2 2 1\n1 0 5\n", "line 3: column index out of bounds"),
        ("coordinate real general\n2 2 2\n1 1 1.000000000005\n", "line 3: truncated file"),
        ("coordinate real general\n2 2 1\n1 1 5\n1 2 3\n", "line 4: too many lines"),
        ("coordinate real general\n2 2 1\n%\n1 1 5\n", "line 3: '%' is not the line of an entry"),
        ("coordinate real general\n2 2 1\n1 1 0x10\n", "line 3: '1 1 0x10' is not the line"),
        ("coordinate real general\n2 2 1\n1 1 5 7\n", "line 3: '1 1 5 7' is not the line"),
        ("coordinate pattern general\n2 2 1\n1 1 7\n", "line 3: '1 1 7' is not the line"),
        ("coordinate integer general\n2 2 1\n1 1 1.5\n", "line 3: '1 1 1.5' is not the line"),
        ("coordinate integer general\n2 2 1\n1 1 " + "9" * 20, "line 3: integer out of range"),
        ("coordinate real symmetric\n2 2 1\n\n1 2 5\n", "line 4: entry (1, 2) is not on or below"),
        ("coordinate real skew-symmetric\n2 2 1\n1 1 5\n", "line 3: entry (1, 1) is not below"),
        ("coordinate complex hermitian\n1 1 1\n1 1 5 1\n", "line 3: the diagonal of a Hermitian"),
        ("coordinate real general\n2 2 999999999999\n1 1 5\n", "line 2: the sizes"),
        ("array real general\n999999999 999999999\n1\n", "line 2: the sizes"),
        ("array complex general\n0 2\n\n1 2\n", "line 4: the sizes (0, 2) have no values"),
        ("coordinate real general\n9999999999 2 1\n1 1 5\n", "line 2: making the row pointers"),
    ],
)
def test_a_wrong_line_is_refused_with_file_and_line(text, fact):
    with pytest.raises(so.FormatError, match=re.escape(f"<BytesIO>, {fact}")):
        read(text)


@pytest.mark.parametrize("text", [b"", b"\n", b"1 2 3\n", b"\x00\xff", b"%%MatrixMarket"])
def test_what_is_no_matrix_market_file_is_refused(text):
    with pytest.raises(so.FormatError, match="line 1: the (first line is|header has)"):
        io.read_mtx(BytesIO(text))


def test_wide_matrices_cost_nothing_by_their_columns_and_limits_can_be_lifted():
    found = read("coordinate real general\n2 3000000000 1\n2 2500000000 3\n")
    assert found.shape == (2, 3 * 10**9) and found.indices.tolist() == [2_499_999_999]
    text = "coordinate real general\n1000 1 1\n1 1 3\n"
    with pytest.raises(so.FormatError, match="limit=100"):
        read(text, limit=100)
    assert read(text, limit=None).shape == (1000, 1)


def test_packed_text_is_unpacked_up_to_the_limit_and_damage_is_found():
    text = (BANNER + "coordinate real general\n1 1 1\n" + "\n" * 10**5 + "1 1 3\n").encode()
    packed = gzip.compress(text)
    assert io.read_mtx(BytesIO(packed)).nnz == 1
    with pytest.raises(so.FormatError, match="unpacks to more than 1000 bytes"):
        io.read_mtx(BytesIO(packed), limit=1000)
    with pytest.raises(so.FormatError, match="damaged or cut off"):
        io.read_mtx(BytesIO(packed[:-12]))


def test_only_matrices_are_written():
    with pytest.raises(so.ShapeError, match="a matrix has two dimensions"):
        io.write_mtx(BytesIO(), so.zeros(3))
