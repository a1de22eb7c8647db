"""A linear layer whose gradient has a row for each word of the batch."""

import numpy as np

import sparseops as so


@so.operator
def project(x, w):
    """Each row of `x` times the matrix `w`."""
    if x.shape[1] != w.shape[0]:
        raise so.ShapeError(f"x has shape {x.shape} and w {w.shape}")
    return (x.shape[0], w.shape[1]), np.result_type(x.dtype, w.dtype)


@project.forward("dense, dense -> dense")
def _project_dense(backend, x, w):
    return so.Dense(x.data @ w.data)


@project.forward("csr, dense -> dense")
def _project_csr(backend, x, w):
    return so.Dense(backend.matrix(x) @ w.data)


@project.backward("w", "dense, dense -> dense", "csr, dense -> row_sparse")
def _project_w(g, x):
    return so.dot(x, g, transpose_a=True)
