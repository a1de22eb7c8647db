"""Storage inference of a function from names of storages alone: no shapes, no values."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from sparseops.constructors import asarray
from sparseops.errors import StorageError
from sparseops.nesting import walk_leaves
from sparseops.operand import Operand
from sparseops.operators import Operator
from sparseops.parameters import complete
from sparseops.signature import NUMBERS, SCALAR
from sparseops.spec import UNDEFINED, as_stype


class InferredStorages(dict):
    """The storage of every named value, and `outputs`, those of the results in order."""

    outputs: tuple[str, ...] = ()


class _Symbol(Operand):
    """A value of which only the storage is known, or not even that yet."""

    __slots__ = ("stype",)

    def __init__(self, stype: str):
        self.stype = stype

    @property
    def shape(self) -> NoReturn:
        """Not known."""
        raise StorageError("infer_storage knows storages alone, not shapes; use so.trace")

    @property
    def dtype(self) -> NoReturn:
        """Not known."""
        raise StorageError("infer_storage knows storages alone, not dtypes; use so.trace")

    def trace_call(self, operator: Operator, args: Any, stype: Any, params: Any) -> Any:
        """The results of one call: the storages that the operator infers."""
        given = [
            x if isinstance(x, (_Symbol, *NUMBERS)) else _Symbol(asarray(x).stype) for x in args
        ]
        operator.check_count(given)
        filled = _infer(operator, given, operator.declared(stype), params)
        for x, settled in zip(given, filled, strict=False):
            if isinstance(x, _Symbol):
                x.stype = settled
        results = tuple(_Symbol(stype) for stype in filled[len(given) :])
        return results[0] if len(results) == 1 else results


def infer_storage(function: Callable[..., Any], /, **stypes: str) -> InferredStorages:
    """The storages of a function's values, from those of its inputs.

    Calls are inferred in the order in which `function` makes them; an input left open gets the
    storage that the first call using it gives it, dense if none does. Describing functions do not
    run, so shapes and dtypes are not known inside.

    Parameters
    ----------
    function : callable
        An operator, or a function written with operators.
    **stypes : str
        The storages of inputs by name, and for an operator also of results; what is left out is
        "undefined".

    Returns
    -------
    InferredStorages
        A mapping from each input (and each result of an operator) to its storage; `.outputs` has
        the results in order.

    Raises
    ------
    StorageError
        If no signature fits a call, or `function` reads a shape or dtype.

    Examples
    --------
    >>> import sparseops as so
    >>> so.infer_storage(so.dot, a="csr", b="dense")
    {'a': 'csr', 'b': 'dense', 'out': 'dense'}
    >>> so.infer_storage(lambda x, w: so.dot(x, w, transpose_a=True) * 2, x="csr").outputs
    ('row_sparse',)
    """
    stypes = {name: as_stype(stype) for name, stype in stypes.items()}
    if isinstance(function, Operator):
        return _of_operator(function, stypes)
    parameters = inspect.signature(function).parameters
    for name in stypes:
        if name not in parameters:
            raise TypeError(f"the function has no input {name!r}; it has {', '.join(parameters)}")
    symbols = {
        name: _Symbol(stypes.get(name, UNDEFINED))
        for name, parameter in parameters.items()
        if name in stypes or parameter.default is parameter.empty
    }
    try:
        results = function(**symbols)
    except RecursionError:
        raise StorageError(
            "the function calls itself without end; what ends a recursion must be an argument that "
            "is no array"
        ) from None
    listed = [x for _, x in walk_leaves(results, "out")]
    for x in listed:
        if not hasattr(x, "stype"):
            raise StorageError(f"the function returned {type(x).__name__}; it returns arrays")
    found = InferredStorages(
        {name: "dense" if x.stype == UNDEFINED else x.stype for name, x in symbols.items()}
    )
    found.outputs = tuple("dense" if x.stype == UNDEFINED else x.stype for x in listed)
    return found


def _of_operator(operator: Operator, stypes: dict[str, str]) -> InferredStorages:
    names = (*operator.inputs, *operator.outputs)
    for name in stypes:
        if name not in names:
            raise TypeError(f"{operator.__name__} has no slot {name!r}; it has {', '.join(names)}")
    declared = tuple(stypes.get(name, UNDEFINED) for name in operator.outputs)
    inputs = [_Symbol(stypes.get(name, UNDEFINED)) for name in operator.inputs]
    params = {name: d for name, d in operator.defaults.items() if d is not inspect.Parameter.empty}
    filled = _infer(operator, inputs, declared, params, complete_parameters=False)
    found = InferredStorages(zip(names, filled, strict=True))
    found.outputs = filled[len(inputs) :]
    return found


def _infer(
    operator: Operator,
    inputs: Sequence[Any],
    declared: Sequence[str],
    params: dict[str, Any],
    complete_parameters: bool = True,
) -> tuple[str, ...]:
    known = [SCALAR if isinstance(x, NUMBERS) else x.stype for x in inputs]
    slots: dict[int, list[int]] = {}
    for slot, x in enumerate(inputs):
        if known[slot] == UNDEFINED:
            slots.setdefault(id(x), []).append(slot)
    same = [shared for shared in slots.values() if len(shared) > 1]
    if complete_parameters:
        params = complete(operator, params)
    return operator.choose((*known, *declared), params, numbers=inputs, same=same)[1]
