"""Sparse tensors, and operators that declare the storage of their results and gradients."""

from importlib import import_module

from sparseops import optim
from sparseops.autograd import Tape, grad, is_training, value_and_grad
from sparseops.backend import get_backend, register_backend, use_backend
from sparseops.constructors import array, asarray, csr_array, row_sparse_array
from sparseops.creation import random, zeros
from sparseops.densification import record_densification
from sparseops.errors import (
    BackendError,
    DensifyError,
    DTypeError,
    FormatError,
    GradientError,
    ShapeError,
    SparseOpsError,
    StorageError,
)
from sparseops.graph import Graph, trace
from sparseops.ndarray import NDArray
from sparseops.operators import Operator, operator
from sparseops.ops import *
from sparseops.policy import Fallback, FallbackWarning, fallback
from sparseops.report import explain
from sparseops.spec import Spec, StorageType
from sparseops.storage import CSR, Dense, RowSparse, Storage
from sparseops.symbol import infer_storage


def __getattr__(name: str) -> object:
    """The modules `io` and `testing`, imported when they are first asked for."""
    if name not in ("io", "testing"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"sparseops.{name}")
