"""What the example models have in common: a command line, progress, a learning curve, scores."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec

import numpy as np

import sparseops as so


def arguments(doc, argv, **defaults):
    """The command line of a model; `defaults` name its numbers, which become options."""
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    parser.add_argument("--file", help="data to train on; by default it is generated")
    parser.add_argument("--test", help="data to test on; by default a fifth of the file")
    parser.add_argument("--plot", metavar="PNG", help="draw the learning curve into a file")
    for name, value in {"seed": 0, **defaults}.items():
        kind = float if isinstance(value, float) else int
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=value)
    return parser.parse_args(argv)


def progress(items: Iterable, what: str) -> Iterator:
    """The items of a sequence, under a bar where `rich` and a terminal are there."""
    if find_spec("rich") is not None and sys.stderr.isatty():
        console = import_module("rich.console").Console(stderr=True)
        track = import_module("rich.progress").track
        yield from track(items, description=what, console=console, transient=True)
    else:
        yield from items


class Curve:
    """The score of each epoch, printed as it comes; drawn into a file where one is asked for."""

    def __init__(self, score: str, file: str | None = None):
        self.score = score
        self.file = file
        self.losses: list[float] = []
        self.scores: list[float] = []

    def add(self, losses, score):
        """An epoch with the mean losses of its batches."""
        self.losses.append(float(np.mean(losses)))
        self.scores.append(float(score))
        epoch = len(self.scores)
        print(
            f"epoch {epoch:3}   loss {self.losses[-1]:.4f}   {self.score} {score:.4f}", flush=True
        )

    def draw(self):
        """Write the picture."""
        if self.file is None:
            return
        figure = import_module("matplotlib.figure").Figure(figsize=(6, 3.5), layout="constrained")
        axes = figure.subplots()
        epochs = range(1, len(self.scores) + 1)
        (loss,) = axes.plot(epochs, self.losses, color="tab:gray", label="training loss")
        other = axes.twinx()
        (score,) = other.plot(epochs, self.scores, color="tab:blue", marker="o", label=self.score)
        axes.set(xlabel="epoch", ylabel="training loss")
        other.set_ylabel(self.score)
        axes.legend(handles=[loss, score], loc="center right")
        figure.savefig(self.file, dpi=150)


def area_under_curve(scores, labels):
    """The share of pairs of a positive and a negative row that `scores` put in the right order."""
    order = np.argsort(scores, kind="stable")
    ranked, ranks = scores[order], np.empty(len(scores))
    ties = np.flatnonzero(np.diff(ranked, prepend=np.nan) != 0)
    ends = np.append(ties[1:], len(ranked))
    ranks[order] = np.repeat((ties + ends + 1) / 2, ends - ties)
    positive = labels > 0
    count = positive.sum()
    below = ranks[positive].sum() - count * (count + 1) / 2
    return below / (count * (len(labels) - count))


def split(count, rng, share=0.8):
    """Numbers of rows to train on, and to test on."""
    order = rng.permutation(count)
    return order[: int(share * count)], order[int(share * count) :]


def labeled_rows(given):
    """Training and test rows, with their labels 0 and 1, of files of libsvm's format.

    Columns count from 1. A test file may lack the last columns; it has no others.
    """

    def read(file, columns=None):
        x, y = so.io.read_libsvm(file, dtype=np.float32, base=1, num_columns=columns)
        return x, (y.asnumpy() > 0).astype(np.float32)

    x, y = read(given.file)
    if given.test:
        return (x, y), read(given.test, x.shape[1])
    return [(x[rows], y[rows]) for rows in split(len(y), np.random.default_rng(given.seed))]


def clicks(count, *, fields=6, sizes=40, rank=3, interactions=2.0, seed=0):
    """Rows like those of a click log, with labels that depend on pairs of their categories.

    A row has one category in each of some fields; categories are drawn by a power law. The logit of
    a label is a weight for each category, and for each pair of fields the product of a hidden
    vector of each category, which no linear model can represent.
    """
    rng = np.random.default_rng(seed)
    odds = 1.0 / np.arange(1, sizes + 1)
    ids = rng.choice(sizes, (count, fields), p=odds / odds.sum()) + sizes * np.arange(fields)
    weights = rng.normal(0, 0.5, fields * sizes)
    hidden = rng.normal(0, 1, (fields * sizes, rank))
    vectors = hidden[ids]
    pairs = (vectors.sum(axis=1) ** 2 - (vectors**2).sum(axis=1)).sum(axis=1) / 2
    logits = weights[ids].sum(axis=1) + interactions * pairs / pairs.std()
    labels = (rng.random(count) < 1 / (1 + np.exp(-logits))).astype(np.float32)
    indptr = np.arange(0, count * fields + 1, fields)
    values = np.ones(count * fields, np.float32)
    x = so.csr_array((values, ids.reshape(-1), indptr), (count, fields * sizes))
    return x, labels, ids


def generated_clicks(count, seed):
    """Training and test rows of `clicks`, with their labels."""
    x, labels, _ = clicks(count, seed=seed)
    rows = split(count, np.random.default_rng(seed))
    return [(x[part], labels[part]) for part in rows]
