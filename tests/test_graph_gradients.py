"""Graphs of gradients: known before values exist, and equal to those of tapes."""

import gc

import numpy as np
import pytest

import sparseops as so

X = so.Spec((4, 6), "float32", "csr")
W = so.Spec((6, 2), "float32")
pytestmark = pytest.mark.filterwarnings("ignore::sparseops.FallbackWarning")


def example():
    return so.random((4, 6), density=0.4, dtype="float32", rng=1)


def test_the_gradient_of_a_result_that_is_no_scalar_takes_its_start():
    graph = so.trace(lambda x, w: so.dot(x, w))(X, W).gradient("w")
    assert graph.outputs == [so.Spec((6, 2), "float32", "row_sparse")]
    x, w, g = example(), so.zeros((6, 2), "float32"), so.array(np.ones((4, 2), "float32"))
    with so.Tape() as tape:
        y = so.dot(x, w)
    expected = tape.gradient(y, w, output_gradients=g)
    np.testing.assert_array_equal(graph.run(x, w, g).asnumpy(), expected.asnumpy())


def test_gradient_graphs_report_the_fallbacks_that_a_tape_reports():
    def f(x, w):
        return so.sum(so.dot(so.exp(x), w))

    x, w = example(), so.array(np.ones((6, 2), "float32"))
    with so.fallback("allow") as expected:
        with so.Tape() as tape:
            y = f(x, w)
        tape.gradient(y, [x, w])
    with so.fallback("allow") as records:
        so.trace(f)(X, W).gradient(("x", "w")).run(x, w)
    assert [(r.operator, r.stypes, r.bytes_sparse, r.bytes_dense) for r in records] == [
        (r.operator, r.stypes, r.bytes_sparse, r.bytes_dense) for r in expected
    ]
    assert records


def test_gradient_graphs_are_pruned_and_fan_in_is_an_add():
    def f(x, w):
        so.exp(w)
        return so.sum(so.dot(x, w) * 2) + so.sum(w)

    graph = so.trace(f)(X, W).gradient("w")
    names = [call.operator.__name__ for call in graph.calls]
    assert "exp" not in names
    assert [call.operator.__name__ for call in graph.calls if call.backward].count("add") == 1


def test_storages_asked_of_gradients_are_met():
    graph = so.trace(lambda x, w: so.sum(so.dot(x, w)))(X, W)
    assert [graph.gradient("w", stypes=s).outputs[0].stype for s in ("dense", "row_sparse")] == [
        "dense",
        "row_sparse",
    ]
    again = graph.gradient("w").infer(x="dense")
    assert again.outputs[0].stype == "dense"


def test_no_path_gives_an_empty_gradient():
    graph = so.trace(lambda x, w: so.sum(x))(X, W).gradient(("w",))
    assert graph.outputs == [so.Spec((6, 2), "float32", "row_sparse")]
    assert graph.run(example(), so.zeros((6, 2), "float32"))[0].nnz == 0


def test_gradients_of_gradients_are_graphs_too():
    square = so.trace(lambda x: so.sum(x * x * x))(so.Spec(3))
    second = square.gradient("x").gradient("x")
    x, g = so.array([1.0, 2.0, 3.0]), so.array(np.ones(3))
    np.testing.assert_array_equal(second.run(x, g).asnumpy(), 6 * x.asnumpy())


def test_integers_have_no_gradient():
    with pytest.raises(so.GradientError, match="x is int64"):
        so.trace(lambda x, w: so.sum(w))(so.Spec(3, "int64"), so.Spec(2)).gradient("x")
    with pytest.raises(TypeError, match="no input 'z'"):
        so.trace(lambda x: so.sum(x))(so.Spec(3)).gradient("z")


def test_the_search_for_garbage_goes_on_afterwards():
    graph = so.trace(lambda x: so.sum(so.exp(x)))(so.Spec(3))
    assert gc.isenabled()
    graph.gradient("x")
    with pytest.raises(TypeError):
        graph.gradient("y")
    with pytest.raises(so.ShapeError):
        graph.gradient("x", stypes="csr")
    assert gc.isenabled()
    gc.disable()
    try:
        graph.infer()
        assert not gc.isenabled()
    finally:
        gc.enable()
