"""Sparse tensors, and operators that declare the storage of their results and gradients."""

from sparseops import optim
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
)
from sparseops.graph import infer_storage
from sparseops.ndarray import NDArray
from sparseops.operators import Operator, operator
from sparseops.ops import *
from sparseops.policy import Fallback, FallbackWarning, fallback
from sparseops.spec import Spec, StorageType
from sparseops.storage import CSR, Dense, RowSparse, Storage
