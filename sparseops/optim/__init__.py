"""Optimizers: objects that change a parameter and their state in place, by its gradient.

``optimizer.init(param)`` makes the state, and ``optimizer.update(gradient, state, param)`` is a
step. The state is a dict of arrays and the number of steps, which can be copied and saved.

**What ``lazy`` means.** A row_sparse gradient leaves most rows of a table out, and so does a csr
one, whose rows count as left out where they store nothing.

* ``lazy=True``, the default, touches only the rows that the gradient stores. A row that it leaves
  out keeps its weights *and* its state: no weight decay, no decay of momentum or averages. That is
  what MXNet's ``lazy_update=True`` does; it is *not* the update that a dense gradient would make.
* ``lazy=False`` makes exactly the update that the same gradient would make if it were dense, bit
  for bit. It visits every row that the parameter stores.

A dense gradient leaves nothing out, so for it the two are the same.

**The gradient that is used** is ``g = clip(rescale * gradient)``, each value limited to
``[-clip, clip]``, and then ``g + weight_decay * w``. The formulas are those of MXNet's operators.

`adamw` and `ftrl` have a weight decay of their own, which is no part of `g`.

**Several parameters** in a dict are moved by `groups`, which chooses an optimizer by the name of
each. `clip_global_norm` limits the norm of all gradients together. The classes `Stepwise`,
`Polynomial`, `Cosine` and `Warmup` are schedules, and so is any function of the step's number.

**Precision.** State and arithmetic have the dtype of the parameter, float32 where that is float16.
"""

from sparseops.optim.averages import adam, adamw
from sparseops.optim.clipping import clip_global_norm, global_norm
from sparseops.optim.descent import momentum, sgd
from sparseops.optim.grouping import Groups, groups
from sparseops.optim.history import adagrad, group_adagrad, rmsprop
from sparseops.optim.proximal import ftrl
from sparseops.optim.schedules import Cosine, Polynomial, Stepwise, Warmup
from sparseops.optim.update import Optimizer

__all__ = [
    "Cosine",
    "Groups",
    "Optimizer",
    "Polynomial",
    "Stepwise",
    "Warmup",
    "adagrad",
    "adam",
    "adamw",
    "clip_global_norm",
    "ftrl",
    "global_norm",
    "group_adagrad",
    "groups",
    "momentum",
    "rmsprop",
    "sgd",
]
