"""The built-in operators, declared with the calls that users have."""

from sparseops.ops.attention import *
from sparseops.ops.cast import *
from sparseops.ops.choice import *
from sparseops.ops.comparison import *
from sparseops.ops.counting import *
from sparseops.ops.diagonals import *
from sparseops.ops.dropping import *
from sparseops.ops.elementwise import *
from sparseops.ops.extent import *
from sparseops.ops.extremes import *
from sparseops.ops.gather import *
from sparseops.ops.indexing import *
from sparseops.ops.joining import *
from sparseops.ops.limits import *
from sparseops.ops.linalg import *
from sparseops.ops.location import *
from sparseops.ops.logic import *
from sparseops.ops.loss import *
from sparseops.ops.multiply import *
from sparseops.ops.norms import *
from sparseops.ops.power import *
from sparseops.ops.product_gradients import *
from sparseops.ops.reduction import *
from sparseops.ops.remainder import *
from sparseops.ops.replace import *
from sparseops.ops.row import *
from sparseops.ops.sampled import *
from sparseops.ops.several import *
from sparseops.ops.shape import *
from sparseops.ops.slicing import *
from sparseops.ops.squares import *
from sparseops.ops.unary import *

__all__ = [
    "abs",
    "add",
    "add_n",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "argmax",
    "argmin",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "cast",
    "cast_storage",
    "cbrt",
    "ceil",
    "clip",
    "concat",
    "conj",
    "cos",
    "cosh",
    "degrees",
    "diagonal",
    "divide",
    "dot",
    "dropout",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "imag",
    "invert",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logistic_loss",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "nnz",
    "norm",
    "not_equal",
    "one_hot",
    "power",
    "radians",
    "real",
    "relu",
    "reshape",
    "retain",
    "rint",
    "scatter_rows",
    "sddmm",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softmax",
    "softmax_cross_entropy",
    "sparse_mask",
    "sqrt",
    "square",
    "square_sum",
    "stored_log_softmax",
    "stored_softmax",
    "subtract",
    "sum",
    "sum_to",
    "take",
    "tan",
    "tanh",
    "transpose",
    "trunc",
    "where",
    "zeros_like",
]
