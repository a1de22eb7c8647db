"""Files in and out."""

from sparseops.io.libsvm import read_libsvm, read_libsvm_batches
from sparseops.io.libsvm_text import write_libsvm

__all__ = ["read_libsvm", "read_libsvm_batches", "write_libsvm"]
