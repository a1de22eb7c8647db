"""Archives: what is saved is loaded exactly, and what is damaged or hostile is refused."""

import gc
import os
import tracemalloc
import zipfile
from io import BytesIO

import numpy as np
import pytest
import scipy.sparse
from oracle import assert_same, densify, stored

import sparseops as so
from sparseops import io, optim
from sparseops.io.tree import encoded

DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128"
).split()


def saved(value, **options):
    file = BytesIO()
    io.save(file, value, **options)
    file.seek(0)
    return file


def equal(one, other):
    """Whether two values are alike to the bit, types and storages too."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert list(one) == list(other)
        return all(equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        return all(map(equal, one, other))
    if isinstance(one, so.NDArray):
        assert one.spec == other.spec
        pairs = zip(one.storage.parts, other.storage.parts, strict=True)
        return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in pairs)
    if isinstance(one, (np.ndarray, np.generic)):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    return repr(one) == repr(other)


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_storage_and_width_is_kept(dtype, compress):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((5, 3)) * 50 * (rng.random((5, 3)) < 0.5)).astype(dtype)
    for stype in ("dense", "row_sparse", "csr"):
        for width in (np.int32, np.int64):
            given = stored(x, stype, extra=0.2, width=width)
            found = io.load(saved(given, compress=compress))
            found.storage.validate()
            assert equal(found, given)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 2), (2, 0), (2, 3, 4)])
def test_every_shape_is_kept(shape):
    rng = np.random.default_rng(1)
    for stype in ("dense", "row_sparse", "csr")[: 1 + (len(shape) > 0) + (len(shape) == 2)]:
        given = stored(rng.standard_normal(shape) if shape else np.array(1.5), stype)
        assert equal(io.load(saved(given)), given)


def test_any_nesting_is_kept():
    x = so.csr_array([[0.0, np.nan], [-0.0, np.inf]])
    value = {
        "": [x, {"../../etc/passwd": (x, ())}, []],
        "numbers": [0, -(10**30), True, None, 0.1, -0.0, float("nan"), float("-inf"), 1 - 2j],
        "numpy": [np.float32(0.1), np.int64(-3), np.arange(6).reshape(2, 3).T, np.bool_(True)],
        "text": "a\nb \u20ac",
        "deep": {"a": {"b": {"c": [[[so.zeros(2)]]]}}},
    }
    assert equal(io.load(saved(value)), value)


def test_training_goes_on_from_a_file(tmp_path):
    rng = np.random.default_rng(2)
    params = {"table": so.array(rng.standard_normal((6, 2))), "b": so.zeros(2, np.float32)}
    descent = optim.groups({"table": optim.adam(0.1), "*": optim.group_adagrad(0.1)})
    states = descent.init(params)
    g = {
        "table": so.row_sparse_array((rng.standard_normal((2, 2)), [1, 4]), (6, 2)),
        "b": so.array(np.ones(2, np.float32)),
    }
    descent.update(g, states, params)
    io.save(tmp_path / "run.npz", {"params": params, "states": states})
    run = io.load(tmp_path / "run.npz")
    for p, s in ((params, states), (run["params"], run["states"])):
        descent.update(g, s, p)
    assert equal(run, {"params": params, "states": states})


def test_equal_values_make_equal_files_and_paths_are_used_as_they_are(tmp_path):
    value = {"w": so.csr_array([[0, 1]])}
    assert saved(value).getvalue() == saved(value).getvalue()
    io.save(tmp_path / "weights", value)
    assert [p.name for p in tmp_path.iterdir()] == ["weights"]
    with np.load(tmp_path / "weights") as archive:
        assert archive["0.data"].tolist() == [1]


@pytest.mark.parametrize(
    "value, error, match",
    [
        ({"a": [1, object()]}, TypeError, r"value\['a'\]\[1\] is object"),
        ({1: 2}, TypeError, "value has the key 1; keys are strings"),
        (np.array([None]), TypeError, "dtype object"),
        (np.array(["a"]), TypeError, "dtype <U1"),
        (scipy.sparse.csr_array((1, 1)), TypeError, "value is csr_array"),
    ],
)
def test_nothing_else_is_saved_and_the_old_file_stays(tmp_path, value, error, match):
    file = tmp_path / "x.npz"
    io.save(file, 1)
    with pytest.raises(error, match=match):
        io.save(file, value)
    assert io.load(file) == 1 and list(tmp_path.iterdir()) == [file]


def test_a_value_that_holds_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(ValueError, match="nested deeper than 64 times"):
        saved(value)


def scipy_file(matrix, compressed=True):
    file = BytesIO()
    scipy.sparse.save_npz(file, matrix, compressed=compressed)
    file.seek(0)
    return file


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_sparse_files_of_scipy_are_loaded(kind, make):
    x = np.array([[0, 2, 0], [1, 0, 3], [0, 0, 0], [4, 0, 0]])
    found = io.load(scipy_file(make(x).asformat(kind)))
    assert found.stype == "csr"
    assert_same(found, x)


def test_other_formats_of_scipy_are_refused_with_a_way_out():
    with pytest.raises(so.FormatError, match="'dia' is not csr, csc or coo; so.asarray"):
        io.load(scipy_file(scipy.sparse.dia_array(np.eye(3))))


def test_row_pointers_that_only_the_shape_asks_for_are_limited():
    high = scipy.sparse.coo_array(([1.0], ([3], [0])), shape=(10**9, 1))
    content = scipy_file(high, compressed=False)
    with pytest.raises(so.FormatError, match="row pointers of 1000000000 rows"):
        io.load(content)
    with zipfile.ZipFile(scipy_file(scipy.sparse.csc_array(np.eye(2)))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with pytest.raises(so.FormatError, match="row pointers of 1000000000 rows"):
        io.load(packed(parts | {"shape.npy": member(np.array([10**9, 2]))}))


def test_plain_archives_of_numpy_are_dicts_of_arrays():
    file = BytesIO()
    np.savez_compressed(file, a=np.arange(3), b=np.asfortranarray(np.eye(2, 3)), c=np.float32(2))
    file.seek(0)
    found = io.load(file)
    assert list(found) == ["a", "b", "c"] and found["b"].stype == "dense"
    assert densify(found["a"]).tolist() == [0, 1, 2] and found["c"].dtype == np.float32
    np.testing.assert_array_equal(densify(found["b"]), np.eye(2, 3))


def members(value=None):
    """The members of the archive of a small csr array."""
    value = so.csr_array([[0.0, 1.5], [2.0, 0.0]]) if value is None else value
    with zipfile.ZipFile(saved(value)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts, **options):
    file = BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    file.seek(0)
    return file


def member(data, allow_pickle=False):
    file = BytesIO()
    np.lib.format.write_array(file, np.asarray(data), allow_pickle=allow_pickle)
    return file.getvalue()


def structure(node):
    return member(encoded(node))


def csr_node(shape=(2, 2)):
    return structure({"array": 0, "stype": "csr", "shape": list(shape)})


NOT_OURS = member(np.frombuffer(b'{"sparseops": 2, "value": {}}', np.uint8))
HUGE = b"\x93NUMPY\x01\x00v\x00" + (
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117) + b"\n"
)
EMPTY_TEXT = b"\x93NUMPY\x01\x00v\x00" + (
    b"{'descr': '|S0', 'fortran_order': False, 'shape': (1000000000000000,), }".ljust(117) + b"\n"
)
HOSTILE = {
    "texts of no length": ({"0.data.npy": EMPTY_TEXT}, "dtype .S0.* cannot be stored"),
    "index out of range": (
        {"0.indices.npy": member(np.array([1, 9], np.int32))},
        r"indices\[1\]=9",
    ),
    "unsorted rows": ({"0.indptr.npy": member(np.array([0, 3, 2], np.int32))}, "indptr"),
    "lengths": ({"0.data.npy": member(np.ones(3))}, r"data has shape \(3,\)"),
    "shape": ({"structure.npy": csr_node((5, 2))}, "5 rows need 6"),
    "absurd shape": ({"structure.npy": csr_node((10**18, 2))}, "indptr has 3 entries"),
    "negative shape": ({"structure.npy": csr_node((-2, 2))}, "value"),
    "width": ({"0.indptr.npy": member(np.array([0, 1, 2], np.int64))}, "share one width"),
    "text": ({"0.data.npy": member(np.array(["a", "b"]))}, "holds text"),
    "objects": ({"0.data.npy": member(np.array([None, 1], object), True)}, "Python objects"),
    "no array": ({"0.data.npy": b"hello"}, "'0.data': it starts with b'hello'"),
    "absurd size": ({"0.data.npy": HUGE}, "needs 8000000000000 bytes, but there are 0"),
    "cut off": ({"0.data.npy": member(np.ones(2))[:-1]}, "needs 16 bytes, but there are 15"),
    "more": ({"0.more.npy": member(np.ones(2))}, "member '0.more' belongs to nothing"),
    "path": ({"../../x.npy": member(np.ones(2))}, "'../../x' belongs to nothing"),
    "no npy": ({"0.data.py": b"import os"}, "'0.data.py' is no array"),
    "version": ({"structure.npy": NOT_OURS}, "version 2 of the format; this is version 1"),
    "json": ({"structure.npy": member(np.frombuffer(b"[" * 9999, np.uint8))}, "not JSON"),
    "kind": ({"structure.npy": structure({"pickle": 0})}, "of the kind 'pickle', which is unknown"),
    "number": (
        {"structure.npy": structure({"array": "0", "stype": "csr", "shape": [2, 2]})},
        "number",
    ),
    "stype": ({"structure.npy": structure({"array": 0, "stype": "coo", "shape": [2, 2]})}, "coo"),
    "missing": (
        {"structure.npy": structure({"array": 1, "stype": "csr", "shape": [2, 2]})},
        "missing",
    ),
    "float": ({"structure.npy": structure({"float": "much"})}, "value"),
    "list": ({"structure.npy": structure({"list": {"a": 1}})}, "is not a list"),
    "plain": ({"structure.npy": structure({"plain": [1]})}, "is list, not a plain value"),
    "header": (
        {"0.data.npy": b"\x93NUMPY\x01\x00\x02\x00{}"},
        "header is not one of the npy format",
    ),
    "beyond": ({"0.data.npy": HUGE.replace(b"1000000000000,", b"9999999999999999999,")}, "int64"),
    "no text": ({"structure.npy": member(np.ones(2))}, "the structure is not a text"),
    "no node": ({"structure.npy": structure({"list": [3]})}, "is not a node"),
    "key": ({"structure.npy": structure({"dict": [[1, {"plain": 2}]]})}, "or it is no string"),
    "dense": (
        {"structure.npy": structure({"array": 0, "stype": "dense", "shape": [3]})},
        r"it has shape \(2,\), not \(3,\)",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_with_file_and_reason(tmp_path, name):
    changed, match = HOSTILE[name]
    file = tmp_path / "weights.npz"
    file.write_bytes(packed(members() | changed).getvalue())
    with pytest.raises(so.FormatError, match=match) as caught:
        io.load(file)
    assert str(caught.value).startswith(str(file))


def test_an_array_used_twice_is_refused():
    node = {"array": 0, "stype": "csr", "shape": [2, 2]}
    with pytest.raises(so.FormatError, match=r"member '0.data' is used twice"):
        io.load(packed(members() | {"structure.npy": structure({"list": [node, node]})}))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_stands_twice_is_refused():
    file = packed(members())
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("0.data.npy", member(np.ones(2)))
    file.seek(0)
    with pytest.raises(so.FormatError, match="member '0.data' stands twice"):
        io.load(file)


def test_the_shape_of_a_matrix_of_scipy_is_two_integers():
    with zipfile.ZipFile(scipy_file(scipy.sparse.csr_array(np.eye(2)))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for shape in (np.array([2, 2, 2]), np.array([2.0, 2.0])):
        with pytest.raises(so.FormatError, match="the shape of a matrix is two integers"):
            io.load(packed(parts | {"shape.npy": member(shape)}))


def test_bool_is_zero_or_one():
    content = members(so.array([True, False]))
    content["0.data.npy"] = content["0.data.npy"][:-1] + b"\x02"
    with pytest.raises(so.FormatError, match="bool is neither 0 nor 1"):
        io.load(packed(content))


def test_a_compressed_bomb_is_refused_before_it_unpacks():
    node = structure({"numpy": 0})
    zeros = member(np.zeros(2**21))
    file = packed({"structure.npy": node, "0.npy": zeros}, compression=zipfile.ZIP_DEFLATED)
    assert len(file.getvalue()) < 2**16
    gc.collect()
    tracemalloc.start()
    with pytest.raises(so.FormatError, match="unpack to .* bytes; limit=1000000"):
        io.load(file, limit=10**6)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20
    assert io.load(file, limit=None).shape == (2**21,)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing_are_refused(method):
    with pytest.raises(so.FormatError, match="packed in a way that no npz is"):
        io.load(packed(members(), compression=method))


def test_a_file_cut_off_anywhere_or_with_any_bit_turned_is_refused_or_equal():
    given = so.csr_array([[0.0, 1.5], [2.0, 0.0]])
    content = saved(given).getvalue()
    for end in range(0, len(content), 7):
        with pytest.raises(so.FormatError, match="BytesIO"):
            io.load(BytesIO(content[:end]))
    rng = np.random.default_rng(3)
    for at in rng.choice(len(content), 300):
        turned = bytearray(content)
        turned[at] ^= 1 << rng.integers(8)
        try:
            assert equal(io.load(BytesIO(bytes(turned))), given)
        except so.FormatError:
            pass


def test_loading_takes_little_more_memory_than_the_arrays():
    file = saved(so.random((2000, 1000), density=0.2, rng=0))
    gc.collect()
    tracemalloc.start()
    found = io.load(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.5 * found.nbytes + 2**22


def test_the_name_is_there_without_an_import_and_unknown_ones_are_not():
    assert so.io is io
    with pytest.raises(AttributeError, match="no attribute 'oi'"):
        so.oi  # noqa: B018


def test_a_missing_file_is_an_error_of_the_system(tmp_path):
    for read in (io.load, io.read_mtx, io.read_libsvm):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "absent")
    assert os.listdir(tmp_path) == []


# Batches


@pytest.mark.parametrize("stype", ["dense", "csr", "row_sparse"])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("size", [1, 4, 10, 99])
def test_batches_have_every_row_once_and_the_last_one_is_kept(stype, shuffle, size):
    x = np.arange(20.0).reshape(10, 2)
    loader = io.batches(stored(x, stype), np.arange(10), size, shuffle=shuffle, seed=1)
    found = list(loader)
    assert len(found) == len(loader) == -(-10 // size)
    rows = np.concatenate([densify(labels) for _, labels in found])
    assert sorted(rows.tolist()) == list(range(10))
    assert shuffle or rows.tolist() == list(range(10))
    np.testing.assert_array_equal(np.concatenate([densify(part) for part, _ in found]), x[rows])
    kept = "dense" if shuffle and stype == "row_sparse" else stype
    assert all(part.stype == kept for part, _ in found)


def order(loader):
    return [int(i) for ids in loader for i in densify(ids)]


def test_orders_follow_from_the_seed_and_differ_between_epochs():
    x = np.arange(50)
    one, other = (io.batches(x, batch_size=8, shuffle=True, seed=5) for _ in range(2))
    epochs = [order(one) for _ in range(3)]
    assert epochs == [order(other) for _ in range(3)]
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert order(io.batches(x, batch_size=8, shuffle=True, seed=6)) != epochs[0]


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_parts_of_one_seed_have_every_row_once(shuffle):
    x = np.arange(11)
    parts = [io.batches(x, batch_size=2, shuffle=shuffle, seed=3, shard=(n, 3)) for n in range(3)]
    assert [len(part) for part in parts] == [2, 2, 2]
    for _ in range(2):
        rows = [order(part) for part in parts]
        assert sorted(sum(rows, [])) == list(range(11))
        assert shuffle or rows[1] == [1, 4, 7, 10]


def test_no_rows_give_no_batches():
    assert list(io.batches(so.zeros((0, 3), stype="csr"))) == []


@pytest.mark.parametrize(
    "given, match",
    [
        ({"y": [1]}, "rows differ"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"shard": (2, 2)}, "shard"),
        ({"shard": (0, 2), "shuffle": True}, "without a seed"),
    ],
)
def test_wrong_batches_are_refused(given, match):
    with pytest.raises(ValueError, match=match):
        io.batches(np.zeros((2, 2)), **given)
