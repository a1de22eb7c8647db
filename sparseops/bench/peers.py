"""The libraries that cases run on: how each takes arrays, gives results and limits its threads.

A peer is a class whose name in `PEERS` is the one that cases use. Its modules are imported in the
worker that runs it, and nowhere else.
"""

import os
from importlib import import_module
from typing import Any

import numpy as np

from sparseops.bench.data import Matrix, Rows


class Peer:
    """A library that takes NumPy arrays as they are; the base of the others."""

    module = ""

    def __init__(self) -> None:
        self.library = import_module(self.module)

    @property
    def version(self) -> str:
        """The version of the library, or which part of it runs."""
        return getattr(import_module(self.module.partition(".")[0]), "__version__", "")

    def set_threads(self, count: int) -> int:
        """How many threads it has, where the environment alone does not set them."""
        return 1

    def take(self, value: Any) -> Any:
        """An input as the library's own array."""
        kinds = {Matrix: self.csr, Rows: self.rows}
        return kinds.get(type(value), self.dense)(value)

    def csr(self, x: Matrix) -> Any:
        """A csr matrix."""
        return x

    def rows(self, x: Rows) -> Any:
        """A row_sparse array."""
        return x

    def dense(self, x: Any) -> Any:
        """A dense array."""
        return x

    #: Waits for a result, where calls return before they are done.
    finish = None

    def give(self, result: Any) -> Any:
        """A result as an array of NumPy, Matrix or Rows."""
        return result


class SparseOps(Peer):
    """The library that is measured."""

    module = "sparseops"

    @property
    def version(self) -> str:
        """Whether compiled kernels take part."""
        compiled = self.library.get_backend("scipy").kernels is not None
        return "with compiled kernels" if compiled else "on SciPy alone"

    def set_threads(self, count: int) -> int:
        """As many as it can use: one, but for the compiled kernels."""
        if self.library.get_backend("scipy").kernels is not None:
            self.library.set_num_threads(count)
        return self.library.get_num_threads()

    def csr(self, x: Matrix) -> Any:
        """A csr array."""
        return self.library.csr_array((x.data, x.indices, x.indptr), x.shape)

    def rows(self, x: Rows) -> Any:
        """A row_sparse array."""
        return self.library.row_sparse_array((x.data, x.indices), x.shape)

    def dense(self, x: Any) -> Any:
        """A dense array."""
        return self.library.array(x)

    def give(self, result: Any) -> Any:
        """The parts of the storage."""
        if result.stype == "csr":
            return Matrix(result.data, result.indices, result.indptr, result.shape)
        if result.stype == "row_sparse":
            return Rows(result.data, result.indices, result.shape)
        return result.asnumpy()


class SciPy(Peer):
    """`scipy.sparse`, and NumPy for what is dense."""

    module = "scipy.sparse"

    def csr(self, x: Matrix) -> Any:
        """A csr_array."""
        return self.library.csr_array((x.data, x.indices, x.indptr), x.shape)

    def give(self, result: Any) -> Any:
        """The parts of a csr_array."""
        if not hasattr(result, "tocsr"):
            return result
        found = result.tocsr()
        return Matrix(found.data, found.indices, found.indptr, found.shape)


class ScikitLearn(SciPy):
    """scikit-learn on SciPy's matrices."""

    module = "sklearn"

    def csr(self, x: Matrix) -> Any:
        """A csr_matrix."""
        sparse = import_module("scipy.sparse")
        return sparse.csr_matrix((x.data, x.indices, x.indptr), x.shape)


class MKL(ScikitLearn):
    """Intel's MKL through sparse_dot_mkl."""

    module = "sparse_dot_mkl"

    def set_threads(self, count: int) -> int:
        """As many as the environment says."""
        return count


class Torch(Peer):
    """PyTorch; row_sparse arrays are hybrid COO tensors, coalesced."""

    module = "torch"

    def set_threads(self, count: int) -> int:
        """As many as PyTorch says it has."""
        self.library.set_num_threads(count)
        return self.library.get_num_threads()

    def csr(self, x: Matrix) -> Any:
        """A csr tensor."""
        parts = (self.dense(part) for part in (x.indptr, x.indices, x.data))
        return self.library.sparse_csr_tensor(*parts, size=x.shape)

    def rows(self, x: Rows) -> Any:
        """A COO tensor of whole rows."""
        ids = self.dense(x.indices.astype(np.int64))[None]
        return self.library.sparse_coo_tensor(ids, self.dense(x.data), x.shape).coalesce()

    def dense(self, x: Any) -> Any:
        """A tensor."""
        return self.library.from_numpy(np.ascontiguousarray(x))

    def give(self, result: Any) -> Any:
        """The parts of a sparse tensor, or its values."""
        torch = self.library
        result = result.detach()
        if result.layout == torch.sparse_csr:
            parts = (result.values(), result.col_indices(), result.crow_indices())
            return Matrix(*(part.numpy() for part in parts), tuple(result.shape))
        if result.layout == torch.sparse_coo and result.sparse_dim() == 1:
            result = result.coalesce()
            return Rows(result.values().numpy(), result.indices()[0].numpy(), tuple(result.shape))
        return result.to_dense().numpy()


class MXNet(Peer):
    """Apache MXNet 1.9, whose calls return before they are done."""

    module = "mxnet"

    def set_threads(self, count: int) -> int:
        """As many as the environment says."""
        return int(os.environ["OMP_NUM_THREADS"])

    def csr(self, x: Matrix) -> Any:
        """A csr NDArray."""
        parts = (x.data, x.indices.astype(np.int64), x.indptr.astype(np.int64))
        return self.library.nd.sparse.csr_matrix(parts, shape=x.shape, dtype=x.data.dtype)

    def rows(self, x: Rows) -> Any:
        """A row_sparse NDArray."""
        parts = (x.data, x.indices.astype(np.int64))
        return self.library.nd.sparse.row_sparse_array(parts, shape=x.shape, dtype=x.data.dtype)

    def dense(self, x: Any) -> Any:
        """An NDArray."""
        return self.library.nd.array(x, dtype=x.dtype)

    @staticmethod
    def finish(result: Any) -> None:
        """Wait until the result is there."""
        result.wait_to_read()

    def give(self, result: Any) -> Any:
        """The parts of an NDArray."""
        if result.stype == "csr":
            parts = (result.data, result.indices, result.indptr)
            data, indices, indptr = (part.asnumpy() for part in parts)
            nnz = int(indptr[-1])  # arrays may be longer than what they store
            return Matrix(data[:nnz], indices[:nnz], indptr, result.shape)
        if result.stype == "row_sparse":
            return Rows(result.data.asnumpy(), result.indices.asnumpy(), result.shape)
        return result.asnumpy()


class GraphBLAS(Peer):
    """SuiteSparse:GraphBLAS through python-graphblas."""

    module = "graphblas"

    def set_threads(self, count: int) -> int:
        """As many as GraphBLAS says it has."""
        self.library.ss.config["nthreads"] = count
        return self.library.ss.config["nthreads"]

    def csr(self, x: Matrix) -> Any:
        """A Matrix."""
        make = self.library.Matrix.from_csr
        return make(x.indptr, x.indices, x.data, ncols=x.shape[1])

    def dense(self, x: Any) -> Any:
        """A full Vector or Matrix."""
        kind = self.library.Vector if x.ndim == 1 else self.library.Matrix
        return kind.from_dense(x)

    def give(self, result: Any) -> Any:
        """The parts of a Matrix, or a Vector's values."""
        if result.ndim == 1:
            return result.to_dense(fill_value=0)
        indptr, indices, data = result.to_csr()
        return Matrix(data, indices.astype(np.int64), indptr.astype(np.int64), result.shape)


class Jax(Peer):
    """JAX on the CPU, jitted; it has a pool of threads of its own."""

    module = "jax"

    def set_threads(self, count: int) -> int:
        """As many as cores, unless there is to be one."""
        return count

    def csr(self, x: Matrix) -> Any:
        """A BCSR array."""
        sparse, put = import_module("jax.experimental.sparse"), self.library.numpy.asarray
        return sparse.BCSR(tuple(map(put, (x.data, x.indices, x.indptr))), shape=x.shape)

    def dense(self, x: Any) -> Any:
        """An array."""
        return self.library.numpy.asarray(x)

    @staticmethod
    def finish(result: Any) -> None:
        """Wait until the result is there."""
        result.block_until_ready()

    def give(self, result: Any) -> Any:
        """An array of NumPy."""
        return np.asarray(result)


class Hypothesis(Peer):
    """hypothesis, for the strategies that draw arrays."""

    module = "hypothesis"


PEERS: dict[str, type[Peer]] = {
    "sparseops": SparseOps,
    "scipy": SciPy,
    "torch": Torch,
    "mxnet": MXNet,
    "mkl": MKL,
    "graphblas": GraphBLAS,
    "jax": Jax,
    "sklearn": ScikitLearn,
    "hypothesis": Hypothesis,
}
