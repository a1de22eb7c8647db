"""The files of real data that some tests read, and readers for them."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import sparseops as so

FOLDER = Path(os.environ.get("SPARSEOPS_DATA") or Path(__file__).parents[2] / "shared" / "data")
MATRICES = (
    "bcsstk13.mtx.gz",
    "comments_cover.mtx",
    "complex.mtx",
    "cover_structure.mtx",
    "cryg2500.mtx.gz",
    "empty.mtx",
    "full_symmetric.mtx",
    "jagmesh7.mtx",
    "karate.mtx",
    "olm1000.mtx.gz",
    "rajat01.mtx.gz",
)

needs_data = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"no folder {FOLDER}; SPARSEOPS_DATA names another"
)


def read_libsvm(name, columns):
    """The rows of a gzipped file in libsvm's format as csr, and their labels.

    A line is a label and `column:value` pairs, columns counted from 1.
    """
    labels, data, indices, indptr = [], [], [], [0]
    with gzip.open(FOLDER / name, "rt") as lines:
        for line in lines:
            label, *pairs = line.split()
            labels.append(float(label))
            for pair in pairs:
                column, value = pair.split(":")
                indices.append(int(column) - 1)
                data.append(float(value))
            indptr.append(len(indices))
    return so.csr_array((data, indices, indptr), (len(labels), columns)), np.array(labels)


def read_cora():
    """Features and adjacency as scipy matrices, labels, and the rows to test on."""
    features = scipy.sparse.csr_array(scipy.sparse.load_npz(FOLDER / "cora_features.npz"))
    adjacency = scipy.sparse.csr_array(scipy.sparse.load_npz(FOLDER / "cora_adjacency.npz"))
    labels = np.load(FOLDER / "cora_labels.npy")
    return features, adjacency, labels, np.loadtxt(FOLDER / "cora_test_index.txt", dtype=int)
