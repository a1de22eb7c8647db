"""The steps of the demo: what each one does, says and holds to be true."""

import inspect
import warnings
from collections.abc import Sequence
from itertools import islice
from statistics import mean, median
from time import perf_counter

import numpy as np

import sparseops as so
from sparseops.demo import laws, layer
from sparseops.demo.layer import project
from sparseops.demo.screen import Plain
from sparseops.demo.training import BATCH, COLUMNS, Classifier, Texts, batches, load
from sparseops.policy import format_bytes

STEPS = 20  # of each way

NEXT = (
    ("sparseops info", "versions, backends and settings"),
    ("sparseops demo --epochs 10", "whether longer training helps"),
    ("README.md", "'An operator of your own', 'When nothing fits: fallback'"),
)
SNIPPET = """\
>>> import sparseops as so
>>> x = so.csr_array([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]])
>>> so.dot(x, so.array([[1.0], [2.0]]), transpose_a=True)
<float64[3,1] row_sparse, 2 rows stored>
  row 1  [1.]
  row 2  [8.]
"""


class DemoError(so.SparseOpsError):
    """Something turned out otherwise than the demo says."""


def tell(screen: Plain, *, epochs: int) -> None:
    """The whole demo: train for `epochs`, and compare a few steps with the dense way."""
    start = perf_counter()
    train, test, names = show_data(screen)
    show_operator(screen)
    show_inference(screen)
    show_fallback(screen, train)
    show_laws(screen)
    accuracy = show_training(screen, train, test, names, epochs)
    smaller, faster = show_dense_way(screen, train, len(names), STEPS)
    show_end(screen, accuracy, smaller, faster, perf_counter() - start)


def show_data(screen: Plain) -> tuple[Texts, Texts, list[str]]:
    """The documents, and what they take as csr and would take dense."""
    screen.step("The data: text, as rows of words")
    screen.say(
        f"Nothing is downloaded: the documents are sections of the docstrings of the NumPy and "
        f"SciPy on this machine. Each word is hashed into one of {COLUMNS:,} columns, and the "
        f"label to guess is the subpackage that a document comes from, such as numpy.fft or "
        f"scipy.stats."
    )
    train, test, names = load()
    arrays = train.x, test.x
    screen.table(
        ("", "for training", "for testing"),
        ("labels", *(f"{len(np.unique(texts.labels))}" for texts in (train, test))),
        ("documents", *(f"{x.shape[0]:,}" for x in arrays)),
        ("stored values", *(f"{x.nnz:,}" for x in arrays)),
        ("share of all values", *(f"{x.nnz / x.size:.4%}" for x in arrays)),
        ("bytes as csr", *(format_bytes(x.nbytes) for x in arrays)),
        ("bytes as dense", *(format_bytes(x.dense_nbytes) for x in arrays)),
    )
    return train, test, names


def show_operator(screen: Plain) -> None:
    """The source of the demo's operator, and the table that it declares."""
    screen.step("An operator of your own")
    screen.say(
        "An operator says what its result looks like, has a kernel for each combination of "
        "storages, and gradients with a storage of their own. This one is a linear layer. The "
        "gradient by its weights is row_sparse: a row for each word of the batch, and no other. "
        "This is its whole source, the file sparseops/demo/layer.py:"
    )
    screen.code(inspect.getsource(layer))
    screen.say("It is called like a function, and prints as what it declares:")
    screen.code(f"{project!r}\n")


def show_inference(screen: Plain) -> None:
    """The storages of calls, without any data."""
    screen.step("Storage, known before there is data")
    screen.say(
        "The declared table is all there is to storage inference. What so.infer_storage says of "
        "four calls; x and w are what is asked, out is the answer:"
    )
    asked = [(x, w) for w in ("dense", "row_sparse") for x in ("csr", "row_sparse")]
    answers = [so.infer_storage(project, x=x, w=w) for x, w in asked]
    screen.table(
        ("x", "w", "out", "how"),
        *((*(answer[name] for name in ("x", "w", "out")), how(answer)) for answer in answers),
    )


def how(stypes: dict[str, str]) -> str:
    """Whether a kernel takes these storages as they are."""
    declared = {rule.signature.inputs for rule in project.kernels}
    return "as declared" if (stypes["x"], stypes["w"]) in declared else "falls back to dense"


def show_fallback(screen: Plain, train: Texts) -> None:
    """A fallback as it is recorded, and as it is refused."""
    rows = np.arange(0, COLUMNS, 256)
    pruned = so.row_sparse_array((np.ones((len(rows), 20), np.float32), rows), (COLUMNS, 20))
    screen.say(
        f"A fallback is never silent. Here is one: the weights are a row_sparse table of "
        f"{len(rows):,} rows, for which no kernel is declared."
    )
    with warnings.catch_warnings(action="ignore"), so.fallback("warn") as records:
        project(train.x[:BATCH], pruned)
    if not records:
        raise DemoError("a call fell back to dense and nothing was recorded")
    record = records[0]
    screen.table(
        ("operator", "storages", "bytes now", "bytes dense"),
        (
            record.operator,
            ", ".join(record.stypes),
            format_bytes(record.bytes_sparse),
            format_bytes(record.bytes_dense),
        ),
    )
    try:
        with so.fallback("error"):
            project(train.x[:BATCH], pruned)
    except so.DensifyError:
        screen.say(
            "By default it warns, once for each line of your program. Under so.fallback('error') "
            "the same call was refused before any memory was taken. The way out is one more "
            "signature: 'csr, row_sparse -> dense'."
        )
        return
    raise DemoError("so.fallback('error') let a fallback pass")


def show_laws(screen: Plain) -> None:
    """Each declared signature, held to its law."""
    screen.step("Its laws, checked")
    screen.say(
        "Every signature must give the same values, and every gradient must be the slope that "
        "differences measure. The values are small integers, so equal means exactly equal."
    )
    found = list(laws.check(project))
    screen.table(
        ("signature", "law", "cases", ""),
        *(
            (law.signature, law.claim, str(law.cases), "holds" if law.holds else "BROKEN")
            for law in found
        ),
    )
    broken = [law for law in found if not law.holds]
    if broken:
        raise DemoError(f"project, '{broken[0].signature}': not true that it {broken[0].claim}")


def show_training(
    screen: Plain, train: Texts, test: Texts, names: Sequence[str], epochs: int
) -> float:
    """The accuracy of a classifier trained on row_sparse gradients."""
    screen.step("Training on row_sparse gradients")
    baseline = float(np.bincount(test.labels).max() / len(test.labels))
    screen.say(
        f"Softmax regression in batches of {BATCH}, with lazy Adagrad, which changes the rows "
        f"that a gradient stores and no others. Always to guess the most frequent label would be "
        f"right in {baseline:.1%} of the test documents."
    )
    model, taken, accuracy = Classifier(len(names), "row_sparse"), [], 0.0
    for epoch in range(1, epochs + 1):
        whole = list(batches(train, seed=epoch))
        steps = [model.learn(batch) for batch in screen.progress(whole, f"epoch {epoch}")]
        taken += steps
        accuracy = model.accuracy(test)
        screen.show(
            f"    epoch {epoch}   loss {mean(step.loss for step in steps):.3f}   "
            f"test accuracy {accuracy:.1%}   {sum(step.seconds for step in steps):.1f} s"
        )
    screen.show("")
    rows = mean(step.rows for step in taken)
    stored = mean(step.nbytes for step in taken)
    screen.say(
        f"A step changed {rows:,.0f} of the {COLUMNS:,} rows of the weight table. Its "
        f"gradient took {format_bytes(round(stored))}; dense it would take "
        f"{format_bytes(model.weights.dense_nbytes)}."
    )
    if not accuracy > baseline:
        raise DemoError(f"accuracy {accuracy:.1%} is not above the baseline of {baseline:.1%}")
    return accuracy


def show_dense_way(screen: Plain, train: Texts, labels: int, count: int) -> tuple[float, float]:
    """How many times smaller a row_sparse gradient is than a dense one, and a step faster."""
    screen.step("The same steps, the dense way")
    screen.say(
        f"Now {count} steps twice, from the same start on the same documents: once as above, once "
        f"with dense gradients and an Adagrad that goes over the whole table."
    )
    sparse, dense = Classifier(labels, "row_sparse"), Classifier(labels, "dense")
    whole = list(islice(batches(train, seed=0), count))
    few = [sparse.learn(batch) for batch in screen.progress(whole, "row_sparse")]
    all_rows = [dense.learn(batch) for batch in screen.progress(whole, "dense")]
    times = [median(step.seconds for step in steps) for steps in (few, all_rows)]
    sizes = [mean(step.nbytes for step in steps) for steps in (few, all_rows)]
    faster, smaller = times[1] / times[0], sizes[1] / sizes[0]
    screen.table(
        ("gradients", "time of a step", "bytes of a gradient"),
        *(
            (name, f"{seconds * 1000:.1f} ms", format_bytes(round(size)))
            for name, seconds, size in zip(("row_sparse", "dense"), times, sizes, strict=True)
        ),
        ("ratio", f"{faster:.0f}", f"{smaller:.0f}"),
    )
    apart = float(abs(sparse.weights.asnumpy() - dense.weights.asnumpy()).max())
    if not apart < 1e-4:
        raise DemoError(f"after {count} equal steps the two weight tables are {apart:g} apart")
    screen.say(
        f"Both ways are the same mathematics: after these steps the largest difference between the "
        f"two weight tables is {apart:.1g}."
    )
    return smaller, faster


def show_end(screen: Plain, accuracy: float, smaller: float, faster: float, seconds: float) -> None:
    """The demo in three numbers, and what to try next."""
    screen.step("What this was, in three numbers")
    screen.table(
        ("measured", "result"),
        ("test accuracy", f"{accuracy:.1%}"),
        ("gradients smaller by a factor of", f"{smaller:.0f}"),
        ("steps faster by a factor of", f"{faster:.0f}"),
    )
    screen.say(f"All of it took {seconds:.0f} seconds. To go on:")
    screen.table(("try", "to see"), *NEXT)
    screen.say("Or in Python:")
    screen.code(SNIPPET)
