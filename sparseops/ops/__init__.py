"""The built-in operators, declared with the calls that users have."""

from sparseops.ops.cast import *
from sparseops.ops.comparison import *
from sparseops.ops.elementwise import *
from sparseops.ops.extremes import *
from sparseops.ops.gather import *
from sparseops.ops.indexing import *
from sparseops.ops.joining import *
from sparseops.ops.linalg import *
from sparseops.ops.logic import *
from sparseops.ops.loss import *
from sparseops.ops.multiply import *
from sparseops.ops.power import *
from sparseops.ops.product_gradients import *
from sparseops.ops.reduction import *
from sparseops.ops.remainder import *
from sparseops.ops.replace import *
from sparseops.ops.row import *
from sparseops.ops.sampled import *
from sparseops.ops.shape import *
from sparseops.ops.slicing import *
from sparseops.ops.unary import *
