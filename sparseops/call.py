"""One recorded call of an operator."""

from collections.abc import Sequence
from typing import Any

from sparseops.ndarray import NDArray


class Call:
    """One operator call, with no more of its arrays than its gradient rules name.

    Attributes
    ----------
    plan : Plan
        How the call was done; its operator, parameters, specs and storages.
    tokens_in, tokens_out : list
        The arrays by their tokens; None for numbers.
    inputs, outputs : sequence
        The arrays that some rule names, and the numbers; None for what is not kept, and empty where
        nothing is.
    versions : sequence of int
        The versions that the inputs had.
    structures : sequence
        The storages of sparse results, without values.
    """

    __slots__ = (
        "inputs",
        "outputs",
        "plan",
        "state",
        "structures",
        "tokens_in",
        "tokens_out",
        "versions",
    )

    def __init__(self, plan: Any, args: Sequence[Any], results: Sequence[NDArray], state: Any):
        self.plan = plan
        self.state = state
        self.tokens_in = [x.token if type(x) is NDArray else None for x in args]
        self.tokens_out = [x.token for x in results]
        self.versions = [x.version if type(x) is NDArray else 0 for x in args]
        self.inputs = self.outputs = self.structures = ()
        if plan.keeps_inputs:
            keeps = plan.keeps_inputs
            self.inputs = [x if k else None for x, k in zip(args, keeps, strict=True)]
        if plan.keeps_outputs:
            keeps = plan.keeps_outputs
            self.outputs = [x if k else None for x, k in zip(results, keeps, strict=True)]
        if plan.sparse_results:
            self.structures = [
                x.storage.with_data(None) if x.storage.aux else None for x in results
            ]
