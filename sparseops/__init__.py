"""Sparse tensors, and operators that declare the storage of their results and gradients."""

from importlib import import_module

from sparseops import ops
from sparseops.autograd import Tape, grad, is_training, value_and_grad
from sparseops.backend import get_backend, register_backend, use_backend
from sparseops.constructors import array, asarray, csr_array, row_sparse_array
from sparseops.creation import random, zeros
from sparseops.errors import (
    BackendError,
    DensifyError,
    DTypeError,
    FormatError,
    GradientError,
    ShapeError,
    SparseOpsError,
    StorageError,
    TraceError,
)
from sparseops.native import get_num_threads, set_num_threads
from sparseops.ndarray import NDArray
from sparseops.operators import Operator, operator
from sparseops.ops import *
from sparseops.policy import Fallback, FallbackWarning, fallback
from sparseops.spec import Spec, StorageType
from sparseops.storage import CSR, Dense, RowSparse, Storage

#: What is imported when it is first asked for: a module, or the module that has it.
_LAZY = {
    "Graph": "sparseops.graph",
    "explain": "sparseops.report",
    "infer_storage": "sparseops.symbol",
    "io": "",
    "optim": "",
    "record_densification": "sparseops.densification",
    "testing": "",
    "trace": "sparseops.graph",
}

__all__ = [
    *ops.__all__,
    *_LAZY,
    "BackendError",
    "CSR",
    "DTypeError",
    "Dense",
    "DensifyError",
    "Fallback",
    "FallbackWarning",
    "FormatError",
    "GradientError",
    "NDArray",
    "Operator",
    "RowSparse",
    "ShapeError",
    "SparseOpsError",
    "Spec",
    "Storage",
    "StorageError",
    "StorageType",
    "Tape",
    "TraceError",
    "array",
    "asarray",
    "csr_array",
    "fallback",
    "get_backend",
    "get_num_threads",
    "grad",
    "is_training",
    "operator",
    "random",
    "register_backend",
    "row_sparse_array",
    "set_num_threads",
    "use_backend",
    "value_and_grad",
    "zeros",
]


def __getattr__(name: str) -> object:
    """A name that is imported when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _LAZY[name]
    found = getattr(import_module(module), name) if module else import_module(f"sparseops.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
