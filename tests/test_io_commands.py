"""`sparseops info FILE`, `sparseops convert IN OUT` and `sparseops spy FILE`."""

import numpy as np
import pytest
import scipy.sparse
from oracle import densify

import sparseops as so
from sparseops import cli, io


@pytest.fixture
def rows(tmp_path):
    file = tmp_path / "rows.svm"
    file.write_text("1 1:0.5 3:0\n-1\n1 2:2\n")
    return file


def facts(text):
    return {line[:14].strip(): line[14:] for line in text.splitlines() if line}


def test_info_tells_what_a_file_holds(rows, capsys):
    assert cli.main(["info", str(rows), "--base", "1"]) == 0
    x, y = capsys.readouterr().out.split("\n\n")[1:]
    found = facts(x)
    assert found["array"] == "x" and found["shape"] == "3 x 3"
    assert found["storage"] == "csr of float64" and found["stored"] == "3 of 9 values"
    assert found["in a row"] == "0 to 2, mean 1, median 1" and found["empty rows"] == "1"
    assert found["stored zeros"] == "1" and found["indices"] == "int32"
    assert found["canonical"] == "yes" and found["bytes"] == "52, dense 72"
    assert facts(y)["storage"] == "dense of float64"


def test_info_tells_whether_scipy_wrote_what_is_sorted(tmp_path, capsys):
    for indices, answer in (([0, 2], "yes"), ([2, 0], "no: made so by sorting and adding up")):
        file = str(tmp_path / "x.npz")
        matrix = scipy.sparse.csr_array(([1.0, 2.0], indices, [0, 2]), shape=(1, 3))
        scipy.sparse.save_npz(file, matrix)
        assert cli.main(["info", file]) == 0
        assert facts(capsys.readouterr().out)["canonical"] == answer


def test_info_of_nested_arrays_names_them(tmp_path, capsys):
    file = str(tmp_path / "x.npz")
    io.save(file, {"a": [so.zeros((5, 2), stype="row_sparse"), 3], "b": {"c": so.zeros(())}})
    assert cli.main(["info", file]) == 0
    out = capsys.readouterr().out
    assert "array         a.0" in out and "array         b.c" in out
    assert "rows stored   0 of 5" in out
    io.save(file, [1, 2])
    assert cli.main(["info", file]) == 0
    assert "no arrays" in capsys.readouterr().out


def test_files_are_converted_there_and_back(rows, tmp_path, capsys):
    x, y = io.read_libsvm(rows, base=1)
    steps = ["rows.npz", "again.svm.gz", "again.mtx", "again.npz"]
    previous = str(rows)
    for step in steps:
        target = str(tmp_path / step)
        assert cli.main(["convert", previous, target, "--base", "1"]) == 0
        previous = target
    assert "columns are counted from 1" in (err := capsys.readouterr().err)
    assert "labels are left out" in err
    data = io.load(tmp_path / "rows.npz")
    np.testing.assert_array_equal(densify(data["y"]), densify(y))
    for found in (data["x"], io.load(tmp_path / "again.npz")):
        assert found.stype == "csr" and found.nnz == x.nnz
        np.testing.assert_array_equal(densify(found), densify(x))


@pytest.mark.parametrize(
    "given, target, match",
    [
        ({"a": [1.0]}, "out.svm", "has no labels"),
        ({"a": [1.0], "b": [2.0]}, "out.mtx", "has 2 arrays; an mtx file has one"),
        ({"a": [1.0]}, "out.csv", "the end of its name is none of .npz"),
        ({"a": [1.0]}, "out.npz.gz", "the end of its name is none of .npz"),
    ],
)
def test_what_cannot_be_converted_is_refused_and_writes_nothing(
    tmp_path, capsys, given, target, match
):
    file = tmp_path / "in.npz"
    io.save(file, {name: so.array([value]) for name, value in given.items()})
    assert cli.main(["convert", str(file), str(tmp_path / target)]) == 1
    assert match in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["in.npz"]


def test_damaged_and_missing_files_are_status_one(tmp_path, capsys):
    file = tmp_path / "x.npz"
    file.write_bytes(b"PK\x03\x04")
    for argv in (["info", str(file)], ["info", str(tmp_path / "absent.mtx")]):
        assert cli.main(argv) == 1
        out, err = capsys.readouterr()
        assert err.startswith("sparseops: ") and str(tmp_path) in err


def test_spy_draws_what_a_file_stores(rows, tmp_path, capsys):
    picture = tmp_path / "rows.png"
    assert cli.main(["spy", str(rows), "--base", "1", "--out", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "rows.png: float64[3,3] csr, 3 stored" in capsys.readouterr().out
    assert cli.main(["spy", str(rows), "--base", "1", "--out", str(picture), "--name", "z"]) == 1
    assert "nothing to draw; it has 'x', 'y'" in capsys.readouterr().err
    assert cli.main(["spy", str(tmp_path / "no.mtx"), "--out", str(picture)]) == 1
