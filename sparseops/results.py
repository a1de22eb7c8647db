"""What kernels return, held to what they declare before it becomes arrays."""

from collections.abc import Sequence
from typing import Any, NoReturn

from sparseops.errors import DTypeError, FormatError, ShapeError, StorageError
from sparseops.form import Form
from sparseops.ndarray import NDArray
from sparseops.plan import Plan
from sparseops.storage import Storage


def admit(
    plan: Plan, storage: Any, form: Form, given: Sequence[Any], name: str | None = None
) -> NDArray:
    """An array of `storage`, which the kernel of `plan` returned, if it has the form declared.

    The structure of what a user's kernel makes is checked whole, O(stored); that of the package's
    own kernels is trusted, and so is one taken over from an input among `given`.
    """
    if not isinstance(storage, Storage):
        _refuse(plan, storage, form, name)
    data, spec = storage.data, form.spec
    if type(data) is not plan.backend.array_type:
        if not isinstance(data, plan.backend.array_type) and not hasattr(data, "dtype"):
            _refuse(plan, storage, form, name)
        # Reductions of NumPy give scalars where arrays of shape () are meant.
        storage = storage.with_data(plan.backend.xp.asarray(data))
        data = storage.data
    if (
        storage.stype != spec.stype
        or storage.shape != spec.shape
        or (data.dtype is not spec.dtype and data.dtype != spec.dtype)
    ):
        _refuse(plan, storage, form, name)
    if storage.aux and not _has_structure_of(storage, given):
        if not plan.trusted:
            try:
                storage.validate()
            except FormatError as error:
                error.operator = plan.operator.__name__
                error.add_note(f"kernel {plan.rule.name} returned it for {spec}")
                raise
        plan.backend.freeze(*storage.parts)
    else:
        plan.backend.freeze(data)
    return NDArray(storage, form)


def admit_all(
    plan: Plan, answer: Any, args: Sequence[Any], given: Sequence[Any]
) -> tuple[NDArray, ...]:
    """The arrays of several results; and, once all are right, the new values of the states."""
    operator = plan.operator
    names = (*operator.outputs, *operator.mutates)
    if not isinstance(answer, (tuple, list)) or len(answer) != len(names):
        count = len(answer) if isinstance(answer, (tuple, list)) else 1
        raise StorageError(
            f"kernel {plan.rule.name} returned {count} storages; {operator.__name__} "
            f"declares {len(names)}: {', '.join(names)}",
            operator=operator.__name__,
            declared=names,
        )
    states = [args[operator.inputs.index(name)] for name in operator.mutates]
    for name, state in zip(operator.mutates, states, strict=True):
        if type(state) is not NDArray:
            raise StorageError(
                f"{name} is {state!r}; {operator.__name__} changes it: give an array"
            )
    forms = (*plan.results, *(state.form for state in states))
    arrays = tuple(
        admit(plan, storage, form, given, name)
        for storage, form, name in zip(answer, forms, names, strict=True)
    )
    results = arrays[: len(operator.outputs)]
    for state, renewed in zip(states, arrays[len(results) :], strict=True):
        state.assign(renewed.storage)
    return results


def _has_structure_of(storage: Any, given: Sequence[Any]) -> bool:
    """Whether `storage` has the index arrays of an input, which were checked before."""
    for x in given:
        if type(x) is type(storage) and x.shape == storage.shape:
            same = x.indices is storage.indices
            if same and storage.stype == "csr":
                same = x.indptr is storage.indptr
            if same:
                return storage.data.shape == storage.stored_shape
    return False


def _refuse(plan: Plan, storage: Any, form: Form, name: str | None) -> NoReturn:
    spec, operator = form.spec, plan.operator
    name = name or operator.outputs[0]
    promise = f"kernel {plan.rule.name} declares {name}: {spec}"
    parts = {"operator": operator.__name__, "slot": name, "declared": spec}
    if not isinstance(storage, Storage):
        kind = type(storage).__name__
        ways = {"ndarray": "so.Dense(values)", "NDArray": "its .storage"}
        way = "backend.csr(matrix)" if hasattr(storage, "tocsr") else ways.get(kind, "a storage")
        raise StorageError(f"{promise}, but returned {kind}; return {way}", **parts)
    if not hasattr(storage.data, "dtype"):
        raise StorageError(f"{promise}, but its data is {type(storage.data).__name__}", **parts)
    lengths = ",".join(map(str, storage.shape))
    actual = f"{storage.data.dtype}[{lengths}] {storage.stype}"
    kind = StorageError
    if storage.stype == spec.stype:
        kind = ShapeError if storage.shape != spec.shape else DTypeError
    raise kind(f"{promise}, but returned {actual}", available=actual, **parts)
