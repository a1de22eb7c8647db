"""Matrices of the user's, read from files."""

import numpy as np

import sparseops as so
from sparseops.bench.data import Matrix


def read_matrix(path: str) -> Matrix:
    """The matrix in a Matrix Market (.mtx), NumPy (.npz) or LIBSVM file, as csr of float32."""
    if path.endswith((".mtx", ".mtx.gz")):
        found = so.io.read_mtx(path)
    elif path.endswith(".npz"):
        found = so.io.load(path)
    else:
        found = so.io.read_libsvm(path)[0]
    if not isinstance(found, so.NDArray) or found.ndim != 2:
        raise so.FormatError(f"{path} has no single matrix")
    x = found.tostype("csr").astype(np.float32)
    return Matrix(x.data, x.indices, x.indptr, x.shape)
