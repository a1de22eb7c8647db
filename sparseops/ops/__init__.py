"""The built-in operators, declared with the calls that users have."""

from sparseops.ops.cast import *
from sparseops.ops.elementwise import *
from sparseops.ops.indexing import *
from sparseops.ops.linalg import *
from sparseops.ops.loss import *
from sparseops.ops.reduction import *
from sparseops.ops.shape import *
from sparseops.ops.unary import *
