"""libsvm's format: what is read is what a plain loop reads, and what is wrong has file and line."""

import gzip
import re
import warnings
from io import BytesIO

import numpy as np
import pytest
from data import FOLDER, needs_data
from data import read_libsvm as plain_libsvm
from oracle import assert_same, densify, stored

import sparseops as so
from sparseops import io
from sparseops.io import lines
from sparseops.io.decimals import Text


def tokens(rng, count):
    """Decimals in every way that programs write them."""
    kinds = (
        lambda: str(int(rng.integers(10 ** int(rng.integers(1, 17))))),
        lambda: repr(float(rng.standard_normal())),
        lambda: f"{rng.uniform(-1000, 1000):.{rng.integers(9)}f}",
        lambda: f"{rng.uniform(-1e5, 1e5):+.{rng.integers(17)}e}",
        lambda: f"{rng.random():.{rng.integers(20)}f}",
        lambda: f"{rng.standard_normal():.16g}",
        lambda: f"{rng.uniform(-100, 100):.17g}",
        lambda: "0.5" + "0" * int(rng.integers(13)) + "1",
        # Halfway between two doubles, where rounding twice would go wrong.
        lambda: str(2**53 + 2 * int(rng.integers(2**40)) + 1),
        lambda: str(rng.choice(["nan", "-inf", "inf", ".5", "-7.", "+1", "0", "-0", "1e-310"])),
    )
    return [kinds[rng.integers(len(kinds))]() for _ in range(count)]


def test_numbers_are_read_to_the_last_bit_as_python_reads_them():
    written = tokens(np.random.default_rng(0), 5000)
    text = Text(" ".join(written).encode() + b"\n")
    stops = np.cumsum([len(token) + 1 for token in written]) - 1
    starts = stops - [len(token) for token in written]
    values, good = text.floats(starts, stops)
    assert good.all()
    expected = np.array([float(token) for token in written])
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(np.signbit(values), np.signbit(expected))


@pytest.mark.parametrize(
    "token",
    ["", ".", "+", "--1", "1.2.3", "1e", "1_0", "0x10", "1:2", "abc", "12;45678", "1-2", "/"],
)
def test_what_is_no_number_is_told_from_numbers_beside_it(token):
    text = Text(f"5 {token} 7\n".encode())
    stop = 2 + len(token)
    values, good = text.floats(np.array([0, 2, stop + 1]), np.array([1, stop, stop + 2]))
    assert good.tolist() == [True, False, True] and values[[0, 2]].tolist() == [5.0, 7.0]


def example(rng, rows, columns, density=0.3):
    x = np.where(rng.random((rows, columns)) < density, rng.standard_normal((rows, columns)), 0)
    return x, rng.integers(-1, 2, rows).astype(float)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (1, 1), (7, 5), (300, 3)])
def test_what_is_written_is_read_again(tmp_path, shape, base, packed):
    x, y = example(np.random.default_rng(1), *shape)
    file = tmp_path / ("rows.svm.gz" if packed else "rows.svm")
    matrix = stored(x, "csr", extra=0.2)
    io.write_libsvm(file, matrix, y, base=base)
    assert (file.read_bytes()[:2] == b"\x1f\x8b") == packed
    found, labels = io.read_libsvm(file, base=base, num_columns=shape[1])
    assert_same(found, x)
    assert_same(labels, y)
    np.testing.assert_array_equal(found.indices, matrix.indices)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8"])
def test_values_of_every_dtype_come_back_exactly(dtype):
    rng = np.random.default_rng(2)
    x = (rng.standard_normal((50, 4)) * 100).astype(dtype)
    file = BytesIO()
    io.write_libsvm(file, so.array(x), np.zeros(50), base=0)
    file.seek(0)
    assert_same(io.read_libsvm(file, base=0, num_columns=4, dtype=dtype)[0], x)
    assert not file.closed


def test_blocks_end_anywhere(monkeypatch):
    x, y = example(np.random.default_rng(3), 60, 6)
    file = BytesIO()
    io.write_libsvm(file, so.array(x).tostype("csr"), y)
    for size in (1, 2, 7, 100, 10**6):
        monkeypatch.setattr(lines, "_BLOCK", size)
        file.seek(0)
        found, labels = io.read_libsvm(file, base=1, num_columns=6)
        assert_same(found, x)
        assert_same(labels, y)


@pytest.mark.parametrize("size", [1, 3, 60, 1000])
def test_batches_are_the_rows_in_order_and_the_last_one_is_kept(monkeypatch, size):
    x, y = example(np.random.default_rng(4), 60, 6)
    file = BytesIO()
    io.write_libsvm(file, so.array(x).tostype("csr"), y)
    monkeypatch.setattr(lines, "_BLOCK", 200)
    file.seek(0)
    parts = list(io.read_libsvm_batches(file, size, base=1, num_columns=6))
    assert [p.shape[0] for p, _ in parts] == [min(size, 60 - s) for s in range(0, 60, size)]
    np.testing.assert_array_equal(np.concatenate([densify(p) for p, _ in parts]), x)
    np.testing.assert_array_equal(np.concatenate([densify(labels) for _, labels in parts]), y)


def read(text, **options):
    return io.read_libsvm(BytesIO(text), **({"base": 1} | options))


def test_comments_blank_lines_and_every_line_end_are_taken():
    x, y = read(b"\n# all of it\n1 1:2 #3:4\r\n\n  -1\t2:5  \n0")
    assert densify(x).tolist() == [[2, 0], [0, 5], [0, 0]] and densify(y).tolist() == [1, -1, 0]


def test_query_ids_are_returned_when_asked_for():
    text = b"1 qid:7 1:2\n2 1:3 2:1\n3 qid:0\n"
    assert len(read(text)) == 2
    x, y, ids = read(text, qid=True)
    assert ids.dtype == np.int64 and densify(ids).tolist() == [7, -1, 0]
    assert densify(x).tolist() == [[2, 0], [3, 1], [0, 0]]
    assert densify(read(b"1 1:2\n", qid=True)[2]).tolist() == [-1]
    file = BytesIO()
    io.write_libsvm(file, x, y, qid=np.array([7, 1, 0]))
    assert file.getvalue() == b"1.0 qid:7 1:2.0\n2.0 qid:1 1:3.0 2:1.0\n3.0 qid:0\n"


def test_the_base_is_never_guessed_in_silence():
    for text, base, columns in ((b"1 1:2 3:1\n", 1, 3), (b"1 0:2 3:1\n", 0, 4)):
        with pytest.warns(UserWarning, match=f"base={base} is assumed") as caught:
            x, _ = io.read_libsvm(BytesIO(text))
        assert x.shape == (1, columns) and caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert io.read_libsvm(BytesIO(text), base=base)[0].shape == (1, columns)
    for base in (2, -1, True, "0"):
        with pytest.raises(ValueError, match="columns count from 0 or 1"):
            read(b"1 1:1\n", base=base)


@pytest.mark.parametrize(
    "text, fact",
    [
        (b"1 1:1\n\nx 1:1\n", "line 3: label 'x' is not a number"),
        (b"1 1:1\n1:1 2:3\n", "line 2: label '1:1' is not a number"),
        (b"1,2 1:1\n", "line 1: label '1,2' is not a number"),
        (b"1 1:1 2\n", "line 1: '2' is not column:value"),
        (b"1 1:1 2:3:4\n", "line 1: '2:3:4' is not column:value"),
        (b"1 1: 2\n", "line 1: '2' is not column:value"),
        (b"1 1:\n", "line 1: value '' is not a number"),
        (b"1 :1\n", "line 1: column '' is not an integer"),
        (b"1 -1:1\n", "line 1: column '-1' is not an integer"),
        (b"1 1.5:1\n", "line 1: column '1.5' is not an integer"),
        (b"1 9999999999999999999:1\n", "line 1: column '9999999999999999999' is not an integer"),
        (b"# c\n1 1:abc\n", "line 2: value 'abc' is not a number"),
        (b"1 1:1 1:2\n", "line 1: column 1 behind column 1; they ascend"),
        (b"1\n1 3:1 2:2\n", "line 2: column 2 behind column 3; they ascend"),
        (b"1 1:1\n1 0:1\n", "line 2: column 0 is not in [1, 4)"),
        (b"1 1:1\n\n1 4:1\n", "line 3: column 4 is not in [1, 4)"),
        (b"1 1:1 qid:2\n", "line 1: qid stands behind the label alone"),
        (b"1 qid:1 qid:2\n", "line 1: qid stands behind the label alone"),
        (b"1 qid:-1\n", "line 1: query id '-1' is not an integer"),
        (b"1 \x001:1\n", "has no place in a text"),
    ],
)
def test_a_wrong_line_is_refused_with_file_and_line(tmp_path, text, fact):
    file = tmp_path / "rows.svm"
    file.write_bytes(text)
    with pytest.raises(so.FormatError, match=re.escape(fact)) as caught:
        io.read_libsvm(file, base=1, num_columns=3)
    assert str(caught.value).startswith(str(file))
    with pytest.raises(so.FormatError, match=re.escape(fact)):
        list(io.read_libsvm_batches(file, 1, base=1, num_columns=3))


def test_values_that_the_dtype_lacks_are_refused():
    with pytest.raises(so.FormatError, match="line 1: value 0.5 does not fit int64"):
        read(b"1 1:0.5\n", dtype=int)
    with pytest.raises(so.FormatError, match=r"line 2: value 1e\+300 does not fit float32"):
        read(b"1 1:inf\n1 1:1e300\n", dtype="float32")
    with pytest.raises(so.DTypeError, match="dtype complex128 is not"):
        read(b"1\n", dtype=complex)


def test_a_line_without_end_and_a_file_cut_off_are_refused(monkeypatch):
    monkeypatch.setattr(lines, "_LONGEST", 1000)
    monkeypatch.setattr(lines, "_BLOCK", 100)
    with pytest.raises(so.FormatError, match="line 2: more than 1000 bytes in one line"):
        read(b"1 1:1\n" + b"1 " * 1000)
    packed = gzip.compress(b"1 1:1\n" * 1000)
    with pytest.raises(so.FormatError, match="damaged or cut off"):
        read(packed[:-20])


def test_what_cannot_be_written_is_refused():
    x = so.csr_array([[1.0]])
    with pytest.raises(so.ShapeError, match=r"not \(m, n\) and \(m,\)"):
        io.write_libsvm(BytesIO(), x, [1, 2])
    with pytest.raises(so.DTypeError, match="complex128"):
        io.write_libsvm(BytesIO(), x.astype(complex), [1])
    with pytest.raises(ValueError, match="negative id"):
        io.write_libsvm(BytesIO(), x, [1], qid=[-1])


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    file = tmp_path / "rows.svm"
    file.write_bytes(b"old")
    with pytest.raises(so.ShapeError):
        io.write_libsvm(file, so.zeros((2, 2)), [1])
    assert file.read_bytes() == b"old" and list(tmp_path.iterdir()) == [file]


@pytest.mark.data
@needs_data
def test_a9a_is_read_as_a_plain_loop_reads_it():
    x, y = plain_libsvm("a9a.t.gz", 123)
    found, labels = io.read_libsvm(FOLDER / "a9a.t.gz", base=1, num_columns=123)
    assert found.spec == x.spec
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(x, name))
    np.testing.assert_array_equal(densify(labels), y)


def test_query_ids_are_an_integer_a_row(tmp_path):
    x = so.csr_array(np.eye(2))
    for qid in ([1, 2, 3], [1.0, 2.0], 1):
        with pytest.raises(so.ShapeError, match="qid is .*; it must have an integer a row"):
            io.write_libsvm(tmp_path / "x.svm", x, [0, 1], qid=qid)


def test_a_batch_has_rows():
    with pytest.raises(ValueError, match="batch_size=0, but a batch has rows"):
        next(iter(io.read_libsvm_batches(BytesIO(b"1 1:2"), 0, num_columns=3, base=1)))
