"""Graphs: what a function computes, before values exist."""

import threading
from contextvars import ContextVar
from time import perf_counter

import numpy as np
import pytest
import scipy.sparse as sp
from user_operators import restore_registry

import sparseops as so

X = so.Spec((4, 6), "float32", "csr")
W = so.Spec((6, 2), "float32")
OPEN = so.Spec((4, 6), "float32", "undefined")


@pytest.fixture
def registry():
    yield from restore_registry()


def line_of(text):
    """Number of the line of this file that holds `text`."""
    with open(__file__) as lines:
        return next(n for n, line in enumerate(lines, 1) if text in line and "line_of" not in line)


def example(stype="csr"):
    return so.random((4, 6), density=0.4, dtype="float32", rng=1).tostype(stype)


def test_dictionaries_and_tuples_go_in_and_come_out():
    def f(batch, weights):
        scores = so.dot(batch["x"], weights[0]) + weights[1]
        return {"scores": scores, "parts": (so.sum(scores), [batch["x"]])}

    graph = so.trace(f)({"x": X}, (W, so.Spec(2, "float32")))
    assert list(graph.inputs) == ["batch.x", "weights.0", "weights.1"]
    weights = so.array(np.ones((6, 2), "float32")), so.array(np.ones(2, "float32"))
    x = example()
    found = graph.run({"x": x}, weights)
    assert list(found) == ["scores", "parts"]
    np.testing.assert_array_equal(
        found["scores"].asnumpy(), f({"x": x}, weights)["scores"].asnumpy()
    )
    assert found["parts"][1][0].stype == "csr"


def test_an_open_input_is_settled_by_the_call_that_uses_it_first():
    graph = so.trace(lambda x: (so.exp(x), so.sum(x)))(OPEN)
    assert graph.inputs["x"].stype == "dense"
    assert so.trace(lambda x: x + example())(OPEN).outputs[0].stype == "dense"


def test_an_array_in_two_slots_stays_one_value():
    graph = so.trace(lambda x: x * x)(OPEN)
    (call,) = graph.calls
    assert call.args[0] is call.args[1]
    assert graph.infer(x="csr").outputs[0].stype == "csr"


def test_an_open_array_in_two_slots_gets_the_sparse_storage_that_one_slot_needs(registry):
    @so.operator
    def mixed(a, b):
        """`a`."""
        return a.shape, a.dtype

    mixed.forward("csr, dense -> csr")(lambda backend, a, b: a)
    graph = so.trace(lambda x: mixed(x, x))(OPEN)
    assert graph.inputs["x"].stype == "csr"
    assert graph.assignment.steps[0].plan.casts == (None, "dense")


def test_branching_on_shapes_works_and_constants_are_held():
    held = so.array(np.ones((6, 2), "float32"))
    graph = so.trace(lambda x: so.dot(x, held) if x.shape[1] == 6 else x)(X)
    before = graph.run(example()).asnumpy()
    held[...] = 7
    np.testing.assert_array_equal(graph.run(example()).asnumpy(), before)


def test_a_number_stays_weak():
    assert so.trace(lambda x: 2.0 * x)(X).outputs == [X]


def test_indexing_is_traced():
    graph = so.trace(lambda x: (x[1], x[1:3], x[[0, 2]]))(X)
    assert [spec.shape for spec in graph.outputs] == [(6,), (2, 6), (2, 6)]
    x = example()
    for found, expected in zip(graph.run(x), (x[1], x[1:3], x[[0, 2]]), strict=True):
        assert found.spec == expected.spec


def branches(x):
    if so.sum(x) > 0:  # the branch
        return x
    return -x


def endless(x):
    return endless(x + 1)


def looping(x):
    while True:
        x = -x


@pytest.mark.parametrize(
    "function, text",
    [
        (branches, "the truth of a value"),
        (endless, "calls itself without end"),
        (lambda x: None, "NoneType"),
        (lambda x: "text", "str"),
        (lambda x: (), "no arrays"),
        (lambda x: x.asnumpy(), "asnumpy takes the values"),
        (lambda x: x.nnz, "nnz takes the values"),
        (lambda x: float(so.sum(x)), "float()"),
        (lambda x: x.__setitem__(0, 1), "compute a new one"),
    ],
)
def test_what_needs_values_is_refused_with_a_way_out(function, text):
    with pytest.raises(so.SparseOpsError, match=text):
        so.trace(function)(X)


def test_containers_without_end_are_refused():
    def itself(x):
        found = [x]
        found.append(found)
        return found

    def deep(x):
        for _ in range(5000):
            x = {"inner": x}
        return x

    for function in (itself, deep):
        with pytest.raises(ValueError, match="64 levels deep, or a container holds itself"):
            so.trace(function)(X)
    with pytest.raises(ValueError, match="64 levels deep"):
        so.trace(lambda x: 1)(itself(X))
    with pytest.raises(ValueError, match="64 levels deep"):
        so.infer_storage(itself, x="csr")
    with pytest.raises(so.StorageError, match="calls itself without end"):
        so.infer_storage(endless, x="csr")
    with pytest.raises(so.StorageError, match="returned NoneType; it returns arrays"):
        so.infer_storage(lambda x: None, x="csr")


def test_a_function_is_called_as_it_can_be():
    with pytest.raises(TypeError, match=r"2 specs given, and the function takes \(x\)"):
        so.trace(branches)(X, X)
    with pytest.raises(TypeError, match="missing a required argument: 'w'"):
        so.trace(lambda x, *, w: x)(X)
    with pytest.raises(TypeError, match="a function is traced, not int"):
        so.trace(3)(X)


def by_scipy(x):
    return sp.csr_array(np.eye(4)) @ x  # the product of scipy


def test_what_other_libraries_take_is_refused_at_the_user_s_line():
    line = line_of("# the product of scipy")
    with pytest.raises(so.SparseOpsError, match=rf"{line}: .* write so.dot\(matrix, x\)"):
        so.trace(by_scipy)(X)
    for way in (
        lambda x: so.dot(sp.csr_array(np.eye(4)), x),
        lambda x: x @ sp.csr_array(np.eye(6)),
    ):
        assert so.trace(way)(X).outputs == [so.Spec((4, 6), float, "csr")]


def test_divmod_is_traced():
    assert [s.shape for s in so.trace(lambda x: divmod(x, 2))(X).outputs] == [(4, 6), (4, 6)]
    assert so.trace(lambda x: divmod(2, x))(so.Spec(3)).outputs == [so.Spec(3), so.Spec(3)]


def test_an_unknown_operator_is_named_with_its_line():
    with pytest.raises(so.SparseOpsError, match=f"{__file__}:.*no_such.*made by @so.operator"):
        so.trace(lambda x: so.no_such(x))(X)


def test_text_of_a_traced_value_has_no_digits():
    assert so.trace(lambda x: x if f"{x}" else -x)(X).outputs == [X]
    with pytest.raises(so.SparseOpsError, match="text takes the values"):
        so.trace(lambda x: f"{x:.2f}")(X)


def test_the_error_names_the_line_that_branches():
    with pytest.raises(so.SparseOpsError, match=f"{__file__}:{line_of('# the branch')}: "):
        so.trace(branches)(X)


def test_a_loop_without_end_is_cut_off(monkeypatch):
    monkeypatch.setattr("sparseops.tracing._MOST_CALLS", 50)
    with pytest.raises(so.SparseOpsError, match="50 calls"):
        so.trace(looping)(X)


def test_what_numpy_has_and_we_have_not_is_refused():
    with pytest.raises(TypeError, match="no operator"):
        so.trace(lambda x: np.linalg.svd(x))(X)
    with pytest.raises(AttributeError, match="foo"):
        so.trace(lambda x: x.foo())(X)


def test_changing_a_captured_array_is_noticed():
    held = so.array([1.0])

    def f(x):
        held[...] = 2
        return x

    with pytest.raises(so.SparseOpsError, match="changed the captured array held"):
        so.trace(f)(X)


def test_a_conflict_names_both_ends_and_the_lines(registry):
    @so.operator
    def only_csr(x):
        """`x`."""
        return x.shape, x.dtype

    only_csr.forward("csr -> csr")(lambda backend, x: x)

    def f(x):
        made = so.exp(x)  # the maker
        return only_csr(made)  # the reader

    with pytest.raises(so.StorageError, match="no signature of only_csr") as caught:
        so.trace(f)(so.Spec((2, 2)))
    notes = "\n".join(caught.value.__notes__)
    assert f"result of exp at {__file__}:{line_of('# the maker')}" in notes
    assert f"{__file__}:{line_of('# the reader')}" in notes


def test_an_open_input_that_causes_a_conflict_is_named(registry):
    @so.operator
    def only_csr(x):
        """`x`."""
        return x.shape, x.dtype

    only_csr.forward("csr -> csr")(lambda backend, x: x)
    with pytest.raises(so.StorageError) as caught:
        so.trace(lambda x: (so.exp(x), only_csr(x)))(OPEN)
    assert "declare x=" in "\n".join(caught.value.__notes__)


def test_a_result_is_not_declared_twice_otherwise():
    graph = so.trace(lambda x: so.dot(x, x, transpose_b=True, stype="csr"))(X)
    assert graph.infer(out="csr").outputs[0].stype == "csr"
    with pytest.raises(so.StorageError, match="is declared dense, and csr by stype= of dot at"):
        graph.infer(out="dense")
    with pytest.raises(TypeError, match="no value 'y'; it has"):
        graph.infer(y="dense")


def test_looking_at_a_storage_binds_the_trace_to_it():
    graph = so.trace(lambda x: x if x.stype == "csr" else -x)(X)
    with pytest.raises(so.StorageError, match="saw csr; for dense trace it again"):
        graph.infer(x="dense")
    assert so.trace(lambda x: x.tostype("dense"))(X).infer(x="row_sparse").outputs == [
        so.Spec((4, 6), "float32")
    ]


def test_run_refuses_other_arrays_than_inferred():
    graph = so.trace(lambda x: -x)(X)
    with pytest.raises(so.StorageError, match=r"graph.infer\(x='dense'\)"):
        graph.run(example("dense"))
    with pytest.raises(so.ShapeError, match="trace for its spec"):
        graph.run(so.zeros((2, 2), stype="csr"))
    with pytest.raises(TypeError, match="arrays for x"):
        graph.run()
    with pytest.raises(so.SparseOpsError, match="give an array"):
        graph.run(X)


def test_intermediate_results_are_freed():
    def chain(x):
        for _ in range(20):
            x = -x
        return x

    x = so.array(np.ones(1000))
    run = so.trace(chain)(x.spec).execute(x)
    assert run.peak_bytes == 2 * x.nbytes


def test_workers_see_the_context_and_run_at_once(registry):
    seen, variable = [], ContextVar("variable", default="outer")
    meeting = threading.Barrier(2, timeout=10)

    @so.operator
    def meet(x):
        """`x`, when another thread is here too."""
        return x.shape, x.dtype

    @meet.forward("dense -> dense")
    def _meet(backend, x):
        meeting.wait()
        seen.append(variable.get())
        return x

    variable.set("inner")
    graph = so.trace(lambda x, y: meet(x) + meet(y))(so.Spec(2), so.Spec(2))
    x = so.array([1.0, 2.0])
    assert graph.run(x, x, workers=2).asnumpy().tolist() == [2.0, 4.0]
    assert seen == ["inner", "inner"]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_first_exception_in_order_is_raised(registry, workers):
    @so.operator
    def failing(x, *, number):
        """Nothing."""
        return x.shape, x.dtype

    @failing.forward("dense -> dense")
    def _fail(backend, x, *, number):
        raise ValueError(f"number {number}")

    def f(x):
        return [
            failing(so.exp(so.exp(x)) if number == 1 else x, number=number) for number in (1, 2)
        ]

    with pytest.raises(ValueError, match="number 1") as caught:
        so.trace(f)(so.Spec(2)).run(so.array([1.0, 2.0]), workers=workers)
    assert any(__file__ in note for note in caught.value.__notes__)


def test_ten_thousand_calls_are_inferred_in_half_a_second():
    def chain(x):
        y = x
        for _ in range(5000):
            y = -(y * x)
        return y

    graph = so.trace(chain)(X)
    best = np.inf
    for _ in range(3):
        start = perf_counter()
        graph.infer(x="dense")
        best = min(best, perf_counter() - start)
    assert len(graph.calls) == 10_000
    assert best < 0.5


def growing(x):
    y = x
    for _ in range(2000):
        y = so.concat(y, x, axis=0)
    return y


def test_inference_does_not_slow_down_where_each_call_has_a_new_shape():
    graph = so.trace(growing)(so.Spec((4, 6), "float32", "undefined"))
    best = np.inf
    for stype in ("csr", "row_sparse", "dense"):
        start = perf_counter()
        inferred = graph.infer(x=stype)
        best = min(best, perf_counter() - start)
    assert inferred.outputs == [so.Spec((4 * 2001, 6), "float32")]
    assert best < 0.5


def test_the_gradient_of_a_long_program_is_linear():
    def seconds(count):
        def chain(x):
            y = x
            for _ in range(count):
                y = -(y * x)
            return so.sum(y)

        graph, best = so.trace(chain)(X), np.inf
        for _ in range(2):
            start = perf_counter()
            graph.gradient("x")
            best = min(best, perf_counter() - start)
        return best

    assert seconds(2000) < 16 * seconds(500)


def test_a_fallback_of_a_run_names_the_line_that_was_traced():
    def f(x):
        return so.exp(x) + so.sum(so.exp(x * 2))  # falls back twice

    graph = so.trace(f)(X)
    with so.fallback("allow") as records:
        graph.run(example(), workers=2)
        graph.gradient("x").run(example(), so.zeros((4, 6), "float32"))
    assert {record.where for record in records} == {(__file__, line_of("# falls back twice"))}
    with pytest.warns(so.FallbackWarning) as caught:
        graph.run(example())
    assert {w.lineno for w in caught} == {line_of("# falls back twice")}
