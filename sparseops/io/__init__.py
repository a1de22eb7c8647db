"""Files in and out, and rows in batches.

`save` and `load` keep whatever is nested of arrays, without pickles; `read_libsvm` and `read_mtx`
read the formats of LIBSVM and of the Matrix Market. All readers hold what they read to its format:
what is wrong raises FormatError with the file and the line or member, and nothing is half read.
"""

from sparseops.io.archive import load, save
from sparseops.io.batching import Batches, batches
from sparseops.io.categoricals import from_categoricals
from sparseops.io.libsvm import read_libsvm, read_libsvm_batches
from sparseops.io.libsvm_text import write_libsvm
from sparseops.io.matrix_market import read_mtx, write_mtx

__all__ = [
    "Batches",
    "batches",
    "from_categoricals",
    "load",
    "read_libsvm",
    "read_libsvm_batches",
    "read_mtx",
    "save",
    "write_libsvm",
    "write_mtx",
]
