"""A two-layer graph convolution: the class of a node, from its features and its neighbors'.

    python graph_convolution.py --file cora.npz --plot curve.png

A file is an npz archive, as `so.io.save` writes it, of ``{"features", "graph", "labels",
"train", "test"}``: two csr matrices, class numbers, and the numbers of nodes to train and to test
on. Without one, a graph of communities is generated. As in Kipf and Welling: Semi-Supervised
Classification with Graph Convolutional Networks, ICLR (2017).
"""

import sys

import numpy as np
import scipy.sparse
from training import Curve, arguments, progress

import sparseops as so

HIDDEN = 16


def normalized(graph):
    """The graph, a matrix of scipy, with loops, scaled by the root of both nodes' degrees."""
    graph = scipy.sparse.csr_array(graph) + scipy.sparse.eye_array(graph.shape[0], format="csr")
    scale = scipy.sparse.diags_array(1 / np.sqrt(graph.sum(axis=1)))
    return so.csr_array((scale @ graph @ scale).tocsr().astype(np.float32))


def communities(nodes, classes, *, seed=0):
    """Features, graph and labels: nodes of a class have more edges and some words in common."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, nodes)
    inside = labels[:, None] == labels
    edges = np.triu(rng.random((nodes, nodes)) < np.where(inside, 16, 1) / nodes, 1)
    graph = scipy.sparse.csr_array((edges | edges.T).astype(np.float32))
    common = rng.random((classes, 200)) < 0.1
    words = rng.random((nodes, 200)) < np.where(common[labels], 0.12, 0.05)
    return scipy.sparse.csr_array(words.astype(np.float32)), graph, labels


def dropped(values, rng, rate):
    """`values` with a share of `rate` made zero, and the others scaled up."""
    return values * ((rng.random(values.shape) >= rate) / (1 - rate)).astype(np.float32)


def scores(params, graph, x, keep=None):
    """The class scores of each node, from two rounds of neighbors."""
    h = so.relu(so.dot(graph, so.dot(x, params["first"])))
    return so.dot(graph, so.dot(h if keep is None else h * keep, params["last"]))


def train(x, graph, labels, rows, *, epochs, rate, drop, seed):
    """The parameters and the loss after each epoch, which is one step."""
    rng, count = np.random.default_rng(seed), int(labels.max()) + 1

    def glorot(*shape):
        limit = np.sqrt(6 / sum(shape))
        return so.array(rng.uniform(-limit, limit, shape).astype(np.float32))

    params = {"first": glorot(x.shape[1], HIDDEN), "last": glorot(HIDDEN, count)}
    optimizer = so.optim.groups(
        {"first": so.optim.adam(rate, weight_decay=5e-4, lazy=False), "last": so.optim.adam(rate)}
    )
    states = optimizer.init(params)
    for _ in progress(range(epochs), "training"):
        some = so.csr_array((dropped(x.data, rng, drop), x.indices, x.indptr), x.shape)
        keep = dropped(np.ones((x.shape[0], HIDDEN), np.float32), rng, drop)
        with so.Tape() as tape:
            found = so.take(scores(params, graph, some, keep), rows)
            loss = so.mean(so.softmax_cross_entropy(found, labels[rows]))
        gradients = tape.gradient(loss, list(params.values()))
        optimizer.update(dict(zip(params, gradients, strict=True)), states, params)
        yield params, loss.item()


def main(argv=None):
    given = arguments(__doc__, argv, epochs=200, rate=0.01, drop=0.7, nodes=1000, classes=5)
    if given.file:
        data = so.io.load(given.file)
        features, graph = data["features"].asscipy(), data["graph"].asscipy()
        labels, rows, test = (data[name].asnumpy() for name in ("labels", "train", "test"))
    else:
        features, graph, labels = communities(given.nodes, given.classes, seed=given.seed)
        rows, test = np.arange(20 * given.classes), np.arange(given.nodes // 2, given.nodes)
    scale = scipy.sparse.diags_array(1 / np.maximum(features.sum(axis=1), 1))
    x, graph = so.csr_array((scale @ features).astype(np.float32)), normalized(graph)
    print(f"{graph.shape[0]:,} nodes, {graph.nnz:,} edges and loops; {len(rows)} nodes to train on")
    curve, losses = Curve("accuracy", given.plot), []
    settings = {"epochs": given.epochs, "rate": given.rate, "drop": given.drop, "seed": given.seed}
    for step, (params, loss) in enumerate(train(x, graph, labels, rows, **settings), 1):
        losses.append(loss)
        if step % 20 == 0 or step == given.epochs:
            classes = scores(params, graph, x).asnumpy().argmax(axis=1)
            curve.add(losses, (classes == labels)[test].mean())
            losses = []
    curve.draw()
    return curve


if __name__ == "__main__":
    main(sys.argv[1:])
