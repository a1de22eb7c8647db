"""What is reached on real data with operators declared here, as a user would declare them."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from data import FOLDER, MATRICES, needs_data, read_cora, read_libsvm
from oracle import check_forward, check_gradient

import sparseops as so
from sparseops import optim

pytestmark = [pytest.mark.data, needs_data]

TRAINING = 140  # rows of Cora
HIDDEN = 16


@so.operator(shapes="(m,n),(n)->(m)", reference=lambda x, w: x @ w)
def margins(x, w):
    """The product of each row of `x` with the vector `w`."""
    if x.shape[1:] != w.shape:
        raise so.ShapeError(f"x has {x.shape[1]} columns, w has shape {w.shape}")
    return x.shape[:1], np.result_type(x.dtype, w.dtype)


@margins.forward("dense, dense -> dense")
def _margins(backend, x, w):
    return so.Dense(x.data @ w.data)


@margins.forward("csr, dense -> dense")
def _margins_csr(backend, x, w):
    return so.Dense(backend.matrix(x) @ w.data)


@margins.backward("w", "dense, dense -> dense", "csr, dense -> row_sparse")
def _margins_w(g, x):
    return so.dot(x, g, transpose_a=True)


@so.operator(shapes="(n,n),(n,k)->(n,k)", reference=lambda graph, h: graph @ h)
def neighbors(graph, h):
    """For each node of `graph` the rows of `h` at its neighbors, weighted and added up."""
    if graph.shape != (h.shape[0], h.shape[0]):
        raise so.ShapeError(f"graph has shape {graph.shape}, h has {h.shape[0]} rows")
    return h.shape, np.result_type(graph.dtype, h.dtype)


@neighbors.forward("dense, dense -> dense")
def _neighbors(backend, graph, h):
    return so.Dense(graph.data @ h.data)


@neighbors.forward("csr, dense -> dense")
def _neighbors_csr(backend, graph, h):
    return so.Dense(backend.matrix(graph) @ h.data)


@neighbors.backward("h", "dense, dense -> dense", "csr, dense -> dense")
def _neighbors_h(g, graph):
    return neighbors(so.transpose(graph), g)


@pytest.mark.parametrize(
    "name, shapes", [("margins", ((3, 4), 4)), ("neighbors", ((3, 3), (3, 2)))]
)
def test_the_operators_declared_here_give_equal_values_in_every_storage(name, shapes):
    rng = np.random.default_rng(0)
    values = [rng.integers(-2, 3, shape).astype(float) for shape in shapes]
    check_forward(name, values, np.dot)
    check_gradient(name, values, wrt=[1])


def logistic_regression(x, y, *, epochs, batch, learning_rate, rng):
    """The weights of each epoch, learnt from row_sparse gradients by lazy Adagrad."""
    w = so.zeros(x.shape[1])
    optimizer = optim.adagrad(learning_rate)
    state = optimizer.init(w)
    for _ in range(epochs):
        order = rng.permutation(len(y))
        for start in range(0, len(y), batch):
            rows = order[start : start + batch]
            examples = so.take(x, rows)
            with so.Tape() as tape:
                loss = so.mean(so.logistic_loss(margins(examples, w), y[rows]))
            gradient = tape.gradient(loss, w)
            assert gradient.stype == "row_sparse"
            np.testing.assert_array_equal(gradient.indices, np.unique(examples.indices))
            optimizer.update(gradient, state, w)
        yield w


def with_intercept(x):
    """`x` with a column of ones behind it."""
    ones = scipy.sparse.csr_array(np.ones((x.shape[0], 1)))
    return so.csr_array(scipy.sparse.hstack([x.asscipy(), ones], format="csr"))


def test_a_logistic_regression_with_row_sparse_gradients_classifies_incomes():
    (x, y), (x_test, y_test) = read_libsvm("a9a.gz", 123), read_libsvm("a9a.t.gz", 123)
    assert (x.shape, x_test.shape) == ((32560, 123), (16281, 123))
    x, x_test = with_intercept(x), with_intercept(x_test)
    with so.fallback("error"):
        accuracies = [
            ((margins(x_test, w).asnumpy() > 0) == y_test).mean()
            for w in logistic_regression(
                x, y, epochs=6, batch=64, learning_rate=0.05, rng=np.random.default_rng(0)
            )
        ]
    assert np.mean(accuracies[-3:]) >= 0.848


def normalized(adjacency):
    """The graph with a loop at each node, scaled by the root of both nodes' degrees."""
    graph = adjacency + scipy.sparse.eye_array(adjacency.shape[0], format="csr")
    scale = scipy.sparse.diags_array(1 / np.sqrt(graph.sum(axis=1)))
    return so.csr_array((scale @ graph @ scale).tocsr().astype(np.float32))


def dropout(values, rng, rate=0.7):
    """`values` with a share of `rate` made zero, and the others scaled up."""
    return values * ((rng.random(values.shape) >= rate) / (1 - rate)).astype(np.float32)


def glorot(shape, rng):
    """Uniform weights for a layer of this shape."""
    limit = np.sqrt(6 / sum(shape))
    return so.array(rng.uniform(-limit, limit, shape).astype(np.float32))


def convolve(graph, x, first, second, keep):
    """The class scores of each node, from two rounds of neighbors."""
    h = so.relu(neighbors(graph, so.dot(x, first)))
    return neighbors(graph, so.dot(h * keep, second))


def graph_convolution(graph, features, labels, *, epochs, seed):
    """The class of each node, as learnt from the labels of the first 140."""
    rng = np.random.default_rng(seed)
    weights = [glorot((features.shape[1], HIDDEN), rng), glorot((HIDDEN, 7), rng)]
    optimizers = [optim.adam(0.01, weight_decay=5e-4, lazy=False), optim.adam(0.01)]
    states = [optimizer.init(w) for optimizer, w in zip(optimizers, weights, strict=True)]
    everything = np.ones((graph.shape[0], HIDDEN), np.float32)
    for _ in range(epochs):
        x = so.csr_array(
            (dropout(features.data, rng), features.indices, features.indptr), features.shape
        )
        with so.Tape() as tape:
            scores = convolve(graph, x, *weights, dropout(everything, rng))
            loss = so.mean(so.softmax_cross_entropy(scores[:TRAINING], labels[:TRAINING]))
        gradients = tape.gradient(loss, weights)
        assert [g.stype for g in gradients] == ["row_sparse", "dense"]
        for optimizer, *parts in zip(optimizers, gradients, states, weights, strict=True):
            optimizer.update(*parts)
    return convolve(graph, features, *weights, everything).asnumpy().argmax(axis=1)


def test_a_graph_convolution_classifies_papers():
    features, adjacency, labels, test = read_cora()
    graph = normalized(adjacency)
    scale = scipy.sparse.diags_array(1 / np.maximum(features.sum(axis=1), 1))
    x = so.csr_array((scale @ features).astype(np.float32))
    with so.fallback("error"):
        found = [graph_convolution(graph, x, labels, epochs=200, seed=seed) for seed in range(5)]
    assert np.mean([(classes == labels)[test].mean() for classes in found]) >= 0.81


def read(name):
    """The scipy csr_array of a Matrix Market file."""
    return scipy.sparse.csr_array(scipy.io.mmread(FOLDER / "mtx" / name))


@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_market_file_keeps_its_entries(name):
    expected = read(name)
    x = so.csr_array(scipy.io.mmread(FOLDER / "mtx" / name))
    x.storage.validate()
    assert (x.shape, x.dtype, x.nnz) == (expected.shape, expected.dtype, expected.nnz)
    assert (x.asscipy() != expected).nnz == 0


@pytest.mark.parametrize("name", MATRICES)
def test_transposes_and_products_of_real_matrices_equal_scipys(name):
    expected = read(name)
    x = so.csr_array(expected)
    rng = np.random.default_rng(0)
    left, right = (rng.integers(-3, 4, (n, 2)).astype(float) for n in x.shape)
    products = [
        (so.transpose(x), expected.T),
        (so.dot(x, right), expected @ right),
        (so.dot(x, left, transpose_a=True), expected.T @ left),
        (so.dot(x, x, transpose_a=True), expected.T @ expected),
    ]
    for found, wanted in products:
        found.storage.validate()
        assert_close(found, wanted)


def assert_close(found, wanted):
    """`found` has the values of `wanted`, up to the order of summation."""
    if found.stype == "csr":
        differences, wanted = (found.asscipy() - wanted).data, wanted.data
    else:
        differences = found.asnumpy() - wanted
    largest = np.abs(wanted).max(initial=0)
    assert np.abs(differences).max(initial=0) <= 1e-12 * largest
