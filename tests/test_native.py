"""Compiled kernels: the results of SciPy's way, on any number of threads, in any process."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from optim_formulas import MAKERS
from oracle import densify

import sparseops as so
from sparseops import native

BACKEND = so.get_backend("scipy")
pytestmark = pytest.mark.skipif(
    native.load() is None, reason="sparseops was installed without its compiled kernels"
)
VALUES = np.array([0.0, -0.0, 1.0, -2.5, 0.1, 3e30, np.nan, np.inf])


def matrix(rng, rows, columns, dtype, width, density=0.3):
    """A csr array with empty rows, explicit zeros and special values."""
    mask = rng.random((rows, columns)) < density * rng.integers(0, 2, (rows, 1))
    indptr = np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(width)
    indices = np.nonzero(mask)[1].astype(width)
    return so.csr_array(
        (rng.choice(VALUES, len(indices)).astype(dtype), indices, indptr), mask.shape
    )


def rows_of(rng, rows, width, dtype, index):
    ids = np.flatnonzero(rng.random(rows) < 0.5).astype(index)
    return so.row_sparse_array((values(rng, dtype, len(ids), width), ids), (rows, width))


def values(rng, dtype, *shape):
    return rng.choice(VALUES[:6], shape).astype(dtype)


def csr_dense(rng, rows, columns, dtype, width):
    x = matrix(rng, rows, columns, dtype, width)
    return [so.dot(x, values(rng, dtype, columns, k)) for k in (0, 1, 3, 8, 13, 64, 100)] + [
        so.dot(x, values(rng, dtype, columns)),
        so.dot(x, values(rng, dtype, 5, columns), transpose_b=True),
    ]


def row_sums(rng, rows, columns, dtype, width):
    # Halves, which are added up exactly in any order.
    x = matrix(rng, rows, columns, dtype, width)
    halves = rng.integers(-8, 9, x.nnz).astype(dtype) / 2
    x = so.csr_array((halves, x.indices, x.indptr), x.shape)
    return [so.sum(x, axis=1), so.mean(x, axis=1)]


def csr_transposed_dense(rng, rows, columns, dtype, width):
    x = matrix(rng, rows, columns, dtype, width)
    g = values(rng, dtype, rows, 9)
    return [
        so.dot(x, g, transpose_a=True),
        so.dot(x * 2, g, transpose_a=True),
        so.dot(x, g[:, 0].copy(), transpose_a=True),
        so.dot(x, g, transpose_a=True, stype="dense"),
    ]


def sum_by_row(rng, rows, columns, dtype, width):
    ids = rng.integers(0, columns, rows).astype(width) if columns else np.zeros(0, width)
    g = values(rng, dtype, len(ids), 2, 3)
    return [so.scatter_rows(g, ids, num_rows=n, stype="row_sparse") for n in (columns, 2**31 + 9)]


def merge_csr(rng, rows, columns, dtype, width):
    a, b = (matrix(rng, rows, columns, dtype, width) for _ in range(2))
    return [a + b, a - b, a * b, b - a]


def merge_rows(rng, rows, columns, dtype, width):
    a, b = (rows_of(rng, rows, columns, dtype, width) for _ in range(2))
    return [a + b, a - b]


def dense_to_csr(rng, rows, columns, dtype, width):
    x = rng.choice(VALUES, (rows, columns)) * (rng.random((rows, columns)) < 0.2)
    return [so.array(x.astype(dtype)).tostype("csr")]


def dense_to_rows(rng, rows, columns, dtype, width):
    x = rng.choice(VALUES, (rows, columns)) * (rng.random((rows, 1)) < 0.4)
    return [so.array(x.astype(dtype)).tostype("row_sparse")]


def take_rows(rng, rows, columns, dtype, width):
    ids = rng.integers(-rows, rows, (2, 5)).astype(width) if rows else np.zeros((2, 0), width)
    return [so.take(so.array(values(rng, dtype, rows, columns)), ids)]


def csr_csr(rng, rows, columns, dtype, width):
    a, b = matrix(rng, rows, columns, dtype, width), matrix(rng, columns, rows + 1, dtype, width)
    return [so.dot(a, b), so.dot(b, a, transpose_a=True, transpose_b=True)]


def sampled(rng, rows, columns, dtype, width):
    # Eighths, whose products are added up exactly in any order.
    a, b = (rng.integers(-8, 9, (n, 21)).astype(dtype) / 8 for n in (rows, columns))
    return [so.sddmm(matrix(rng, rows, columns, dtype, width), a, b, transpose_b=True)]


def step(rng, rows, columns, dtype, width):
    found = []
    for settings in ({}, {"weight_decay": 0.125, "clip": 0.75, "rescale": 0.3}, {"lazy": False}):
        for name, make in MAKERS.items():
            if name == "group_adagrad":
                continue
            optimizer, w = make(**settings), so.array(values(rng, dtype, rows, columns))
            state = optimizer.init(w)
            for _ in range(3):
                optimizer.update(rows_of(rng, rows, columns, dtype, width), state, w)
            optimizer.update(so.array(values(rng, dtype, rows, columns)), state, w)
            found += [w, *(x for x in state.values() if isinstance(x, so.NDArray))]
    return found


KERNELS = (
    csr_dense,
    row_sums,
    csr_transposed_dense,
    sum_by_row,
    merge_csr,
    merge_rows,
    dense_to_csr,
    dense_to_rows,
    take_rows,
    csr_csr,
    sampled,
    step,
)
SHAPES = ((7, 11), (0, 3), (3, 0), (1, 1), (40, 300), (300, 40))


def results(kernel, seed=0, shapes=SHAPES, dtype=np.float32, width=np.int32):
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        return [x for shape in shapes for x in kernel(rng, *shape, dtype, width)]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert x.spec == y.spec
        for part, other in zip(x.storage.parts, y.storage.parts, strict=True):
            assert part.dtype == other.dtype
            np.testing.assert_array_equal(part, other)


@pytest.fixture
def scipy_alone(monkeypatch):
    """A function that does something without the compiled kernels."""

    def run(function, *args, **options):
        with monkeypatch.context() as patch:
            patch.setattr(BACKEND, "kernels", None)
            return function(*args, **options)

    return run


@pytest.fixture(params=["plain", "avx2"])
def instructions(request):
    compiled = native.load().compiled
    before = compiled.instructions()
    try:
        compiled.set_instructions(request.param)
    except ValueError as error:
        pytest.skip(str(error))
    yield request.param
    compiled.set_instructions(before)


@pytest.fixture
def threads():
    before = so.get_num_threads()
    yield so.set_num_threads
    so.set_num_threads(before)


@pytest.mark.parametrize("width", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_results_are_those_without_kernels(kernel, dtype, width, instructions, scipy_alone):
    for seed in range(2):
        given = {"seed": seed, "dtype": dtype, "width": width}
        assert_same(results(kernel, **given), scipy_alone(results, kernel, **given))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_the_kernel_of_the_name_is_what_was_compared(kernel, monkeypatch):
    name, made = kernel.__name__, []
    real = getattr(native.load(), name)
    monkeypatch.setattr(native.load(), name, lambda *args: made.append(real(*args)) or made[-1])
    results(kernel)
    assert any(x is not None for x in made)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_results_do_not_depend_on_the_number_of_threads(kernel, threads):
    shapes = ((3000, 500), (500, 3000))
    threads(1)
    expected = results(kernel, shapes=shapes)
    for count in (2, 5):
        threads(count)
        assert_same(results(kernel, shapes=shapes), expected)


def test_values_of_two_dtypes_are_left_to_scipy(scipy_alone):
    x = so.csr_array(([1.0, 2.0], [0, 1], [0, 1, 2]), (2, 2))
    d = np.ones((2, 3), np.float32)
    assert_same([so.dot(x, d)], [scipy_alone(so.dot, x, d)])
    assert native.load().csr_dense(x.storage, d) is None
    assert native.load().csr_dense(x.astype("complex64").storage, d) is None


def test_a_structure_is_grouped_by_column_once(monkeypatch):
    made = []
    real = native.load()._grouped
    monkeypatch.setattr(native.load(), "_grouped", lambda *args: made.append(args) or real(*args))
    x = so.csr_array(([1.0, 2.0], [0, 1], [0, 1, 2]), (2, 2))
    for y in (x, x, so.square(x), x * 2):
        so.dot(y, np.ones((2, 1)), transpose_a=True)
    assert len(made) == 1
    x[0, 1] = 5.0
    found = so.dot(x, np.ones((2, 1)), transpose_a=True)
    np.testing.assert_array_equal(densify(found), [[1.0], [7.0]])
    assert len(made) == 2


def test_what_is_known_of_a_structure_goes_with_it():
    x = so.csr_array(([1.0, 2.0], [0, 1], [0, 1, 2]), (2, 2))
    so.dot(x, np.ones((2, 1)), transpose_a=True)
    known = weakref.ref(x.storage.derived["by_column"][0])
    del x
    gc.collect()
    assert known() is None


def test_threads_are_counted(threads):
    threads(3)
    assert so.get_num_threads() == 3
    with pytest.raises(ValueError, match="count=0; it must be 1 or more"):
        so.set_num_threads(0)
    for wrong in (1.5, True, "2"):
        with pytest.raises(TypeError, match="count is .*; it must be an integer"):
            so.set_num_threads(wrong)
    assert so.get_num_threads() == 3


@pytest.mark.parametrize(
    "variables, printed",
    [
        ({"SPARSEOPS_NUM_THREADS": "3"}, "3 True"),
        ({"OMP_NUM_THREADS": "2,1"}, "2 True"),
        ({"SPARSEOPS_NUM_THREADS": "no", "OMP_NUM_THREADS": "4"}, "4 True"),
        ({"SPARSEOPS_NATIVE": "0", "SPARSEOPS_NUM_THREADS": "3"}, "1 False"),
    ],
)
def test_the_environment_says_how_many_threads_there_are(variables, printed):
    clean = {k: v for k, v in os.environ.items() if not k.endswith("NUM_THREADS")}
    code = (
        "import sparseops as so; "
        "print(so.get_num_threads(), so.get_backend('scipy').kernels is not None)"
    )
    environment = {**clean, "PYTHONPATH": os.path.dirname(os.path.dirname(so.__file__))}
    found = subprocess.run(
        # A source tree in the working directory would hide what is installed, kernels and all.
        [sys.executable, "-P", "-c", code],
        env=environment | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == printed


def test_without_kernels_there_is_one_thread(monkeypatch):
    monkeypatch.setattr(native, "load", lambda: None)
    so.set_num_threads(1)
    assert so.get_num_threads() == 1
    with pytest.raises(so.BackendError, match="installed without its compiled kernels"):
        so.set_num_threads(2)


def test_kernels_called_with_arrays_that_do_not_belong_together_raise():
    compiled = native.load().compiled
    indptr, indices = np.array([0, 1], np.int32), np.array([0], np.int32)
    data, dense, out = np.ones(1), np.ones((1, 2)), np.empty((1, 2))

    def call(indptr, indices, data, dense, out):
        compiled.csr_dense(indptr, indices, data, None, dense, out)

    call(indptr, indices, data, dense, out)
    with pytest.raises(ValueError, match="out has 1 values; it must have 2"):
        call(indptr, indices, data, dense, out[:, :1].copy())
    with pytest.raises(TypeError, match="dense has another type than the others"):
        call(indptr, indices, data, dense.astype(np.float32), out)
    with pytest.raises(TypeError, match="indptr has another type"):
        call(indptr.astype(np.int64), indices, data, dense, out)
    with pytest.raises(ValueError, match="not C-contiguous"):
        call(indptr, indices, data, np.ones((2, 2)).T, out)
    out.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        call(indptr, indices, data, dense, out)


def every_kernel(seed):
    """Results of all kernels, large enough for several threads, as bytes."""
    return [
        part.tobytes()
        for kernel in KERNELS
        for x in results(kernel, seed, ((2000, 100),))
        for part in x.storage.parts
    ]


def test_threads_of_python_call_every_kernel_at_once(threads):
    expected = every_kernel(1)
    threads(4)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(every_kernel, [1] * 16):
            assert found == expected


def every_kernel_in_threads(seed):
    so.set_num_threads(3)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(every_kernel, [seed] * 2)
    assert first == second
    return first


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_have_threads_of_their_own(method, threads):
    threads(3)
    expected = every_kernel(2)
    with multiprocessing.get_context(method).Pool(2) as pool:
        for found in pool.map_async(every_kernel_in_threads, [2] * 3).get(timeout=120):
            assert found == expected
    assert every_kernel(2) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_that_is_forked_while_kernels_run_works(threads):
    threads(3)
    expected = every_kernel(3)
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(every_kernel, 3) for _ in range(4)]
        for _ in range(5):
            child = os.fork()
            if child == 0:
                # The test's own process must not go on in the child, whatever happens.
                try:
                    signal.alarm(60)
                    right = every_kernel(3) == expected
                finally:
                    os._exit(0 if right else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert all(x.result() == expected for x in running)


def test_strided_parts_are_read_as_they_stand():
    def strided(values):
        return np.repeat(values, 2)[::2]

    x = so.csr_array(([1.0, 2.0], [1, 0], [0, 1, 2]), (2, 2))
    indices, indptr = strided(x.indices), strided(x.indptr)
    y = so.NDArray(so.CSR(strided(x.data), indices, indptr, x.shape), BACKEND)
    rows = so.NDArray(
        so.RowSparse(strided(np.ones((2, 1))), strided(np.array([0, 1])), (2, 1)), BACKEND
    )
    w = so.zeros((2, 1))
    so.optim.sgd(1.0).update(rows, {"step": 0}, w)
    np.testing.assert_array_equal(densify(w), -densify(rows))
    dense = np.array([[3.0], [5.0]])
    found = [
        so.dot(y, dense),
        so.dot(y, dense, transpose_a=True),
        so.dot(y, y),
        y + x * 2,
        y * (x + x),
        so.take(y, [1, 0]),
        y.tostype("dense"),
        so.sddmm(y, np.eye(2), np.eye(2)),
        rows + so.row_sparse_array((np.ones((1, 1)), [0]), (2, 1)),
    ]
    m = densify(x)
    expected = [
        m @ dense,
        m.T @ dense,
        m @ m,
        3 * m,
        2 * m * m,
        m[[1, 0]],
        m,
        m * 0,
        [[2.0], [1.0]],
    ]
    for x, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(densify(x), wanted)
