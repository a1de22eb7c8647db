"""The demo's documents are many, labeled, the same in every run, and hash into a canonical csr."""

import re
import zlib
from collections import Counter

import numpy as np
import pytest

from sparseops.demo.corpus import MODULES, Document, documents, hashed, split

TEXTS = ["the cat saw the cat", "", "a dog and THE cat", "42 1.5"]


@pytest.fixture(scope="module")
def corpus():
    return documents()


def column(word, columns=2**18):
    return zlib.crc32(word.encode()) % columns


def test_there_are_thousands_of_documents_of_many_labels(corpus):
    labels = Counter(document.label for document in corpus)
    assert 5_000 < len(corpus) < 20_000
    assert labels.keys() == {".".join(module.split(".")[:2]) for module in MODULES}
    assert max(labels.values()) < 0.3 * len(corpus)


def test_no_text_stands_twice(corpus):
    assert len({document.text for document in corpus}) == len(corpus)


def test_no_text_gives_its_label_away(corpus):
    parts = {part for module in MODULES for part in module.split(".")}
    words = {word for document in corpus for word in re.findall(r"\w+", document.text.lower())}
    assert words.isdisjoint(parts | {"np"})


def test_the_documents_are_found_again_without_a_word(corpus, capfd):
    assert documents() == corpus
    assert capfd.readouterr() == ("", "")


def test_a_docstring_is_on_one_side_of_the_split(corpus):
    train, test = split(corpus)
    assert Counter(train) + Counter(test) == Counter(corpus)
    assert {d.source for d in train}.isdisjoint(d.source for d in test)
    assert 0.15 < len(test) / len(corpus) < 0.25


def test_the_split_of_a_document_does_not_depend_on_the_others(corpus):
    few = corpus[::-7]
    train, test = map(set, split(corpus))
    assert split(few) == ([d for d in few if d in train], [d for d in few if d in test])


@pytest.mark.parametrize("percent, sides", [(0, (1, 0)), (100, (0, 1))])
def test_a_split_may_be_empty_on_one_side(percent, sides):
    train, test = split([Document("label", "text", "source")], percent=percent)
    assert (len(train), len(test)) == sides


def test_words_are_counted_in_the_columns_of_their_hashes():
    data, indices, indptr = hashed(TEXTS)
    row = dict(zip(indices[: indptr[1]].tolist(), data[: indptr[1]].tolist(), strict=True))
    weights = {"the": 1 + np.log(2), "cat": 1 + np.log(2), "saw": 1.0}
    length = np.sqrt(sum(weight**2 for weight in weights.values()))
    assert row == {column(w): pytest.approx(v / length, rel=1e-6) for w, v in weights.items()}


def test_case_does_not_matter_and_a_text_without_words_is_an_empty_row():
    _, indices, indptr = hashed(TEXTS)
    assert indptr.tolist() == [0, 3, 3, 7, 7]
    assert sorted(map(column, ["dog", "and", "the", "cat"])) == indices[3:].tolist()


def test_words_that_share_a_column_add_up():
    data, indices, indptr = hashed(TEXTS, columns=1)
    assert indptr.tolist() == [0, 1, 1, 2, 2]
    assert indices.tolist() == [0, 0]
    assert data.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("texts", [[], [""], TEXTS, TEXTS * 50])
def test_hashed_texts_are_a_canonical_csr(texts):
    data, indices, indptr = hashed(texts, columns=64)
    assert (data.dtype, indices.dtype, indptr.dtype) == (np.float32, np.int32, np.int32)
    assert len(indptr) == len(texts) + 1
    assert indptr[0] == 0
    assert indptr[-1] == len(indices) == len(data)
    rows = np.repeat(np.arange(len(texts)), np.diff(indptr))
    assert np.all(np.diff(rows * 64 + indices) > 0)
    assert np.allclose(np.bincount(rows, data.astype(float) ** 2)[np.unique(rows)], 1)
    assert np.all((indices >= 0) & (indices < 64))
