"""Files in and out."""

from sparseops.io.libsvm import read_libsvm, read_libsvm_batches
from sparseops.io.libsvm_text import write_libsvm
from sparseops.io.matrix_market import read_mtx, write_mtx

__all__ = ["read_libsvm", "read_libsvm_batches", "read_mtx", "write_libsvm", "write_mtx"]
