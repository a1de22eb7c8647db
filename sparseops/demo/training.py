"""A text classifier trained on row_sparse gradients, and the same training the dense way."""

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np

import sparseops as so
from sparseops import optim
from sparseops.demo.corpus import Document, documents, hashed, split
from sparseops.demo.layer import project

COLUMNS = 2**18
BATCH = 64
LEARNING_RATE = 1.0


class Texts(NamedTuple):
    """Documents as rows of words, and the number of each one's label."""

    x: so.NDArray
    labels: np.ndarray


class Step(NamedTuple):
    """The loss of one step of training, the size of its gradient, and how long it took."""

    loss: float
    rows: int
    nbytes: int
    seconds: float


class Classifier:
    """A table of weights with a row for each word and a column for each label.

    `stype` is the storage in which its gradients are asked for, and by which lazy Adagrad updates
    a few rows (row_sparse) or the whole table (dense).
    """

    def __init__(self, labels: int, stype: str):
        self.weights = so.zeros((COLUMNS, labels), np.float32)
        self.stype = stype
        self._optimizer = optim.adagrad(LEARNING_RATE)
        self._state = self._optimizer.init(self.weights)

    def learn(self, batch: Texts) -> Step:
        """One step of training."""
        start = perf_counter()
        with so.Tape() as tape:
            scores = project(batch.x, self.weights)
            loss = so.mean(so.softmax_cross_entropy(scores, batch.labels))
        gradient = tape.gradient(loss, self.weights, stypes=self.stype)
        self._optimizer.update(gradient, self._state, self.weights)
        seconds = perf_counter() - start
        return Step(float(loss), len(gradient.data), gradient.nbytes, seconds)

    def accuracy(self, texts: Texts) -> float:
        """The share of `texts` whose label has the highest score."""
        scores = project(texts.x, self.weights).asnumpy()
        return float((scores.argmax(axis=1) == texts.labels).mean())


def load() -> tuple[Texts, Texts, list[str]]:
    """The texts to train on, those to test on, and the names of the labels."""
    corpus = documents()
    names = sorted({document.label for document in corpus})
    train, test = split(corpus)
    return _texts(train, names), _texts(test, names), names


def batches(texts: Texts, seed: int) -> Iterator[Texts]:
    """The texts in a random order, `BATCH` at a time."""
    order = np.random.default_rng(seed).permutation(len(texts.labels))
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        yield Texts(so.take(texts.x, rows), texts.labels[rows])


def _texts(corpus: Sequence[Document], names: list[str]) -> Texts:
    x = so.csr_array(hashed([document.text for document in corpus]), (len(corpus), COLUMNS))
    return Texts(x, np.array([names.index(document.label) for document in corpus]))
