"""What must hold before an optimizer changes anything."""

from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np

from sparseops.errors import BackendError, DTypeError, ShapeError, StorageError
from sparseops.ndarray import NDArray

_DTYPES = (np.float16, np.float32, np.float64)


def check_update(
    optimizer: str,
    slots: tuple[str, ...],
    gradient: NDArray,
    state: dict[str, Any],
    param: NDArray,
    *,
    by_row: bool = False,
) -> None:
    """Raise unless the three belong together; `by_row` is what it is of an Optimizer."""
    check_param(optimizer, param)
    _check_like("gradient", gradient, param, param.shape, param.dtype)
    names = ["step", *slots]
    if not isinstance(state, dict) or set(state) != set(names):
        found = list(state) if isinstance(state, dict) else type(state).__name__
        raise ValueError(f"state has {found}; {optimizer} has {names}: make it by init(param)")
    step = state["step"]
    if not isinstance(step, Integral) or step < 0:
        raise ValueError(f"state['step']={step!r}, but it must be a number of steps, at least 0")
    arrays = [param, *(state[name] for name in slots)]
    if len({id(x) for x in arrays}) < len(arrays):
        raise ValueError("param and the arrays of the state share an array; each must be its own")
    for name in slots:
        label, x = f"state[{name!r}]", state[name]
        shape = state_shape(param.shape, by_row)
        _check_like(label, x, param, shape, work_dtype(param.dtype))
        if x.stype != param.stype:
            raise StorageError(
                f"{label} is {x.stype} and param {param.stype}; init(param) makes them alike",
                slot=label,
                declared=x.stype,
                available=param.stype,
            )
        if x.stype == "row_sparse" and not _same(x.storage.indices, param.storage.indices):
            raise StorageError(
                f"{label} stores other rows than param; init(param) makes them alike",
                slot=label,
            )


def check_number(name: str, value: Any, least: float | None = None) -> None:
    """Raise unless `value` is a finite number, and not below `least`."""
    if not isinstance(value, Real):
        raise TypeError(f"{name} is {type(value).__name__}; it must be a number")
    if not -inf < value < inf or (least is not None and value < least):
        rule = "finite" if least is None else f"finite and at least {least}"
        raise ValueError(f"{name}={value}, but it must be {rule}")


def check_share(name: str, value: float) -> None:
    """Raise unless `value` is in [0, 1)."""
    check_number(name, value)
    if not 0 <= value < 1:
        raise ValueError(f"{name}={value}, but it must lie in [0, 1)")


def check_positive(name: str, value: float) -> None:
    """Raise unless `value` is above 0."""
    check_number(name, value)
    if not value > 0:
        raise ValueError(f"{name}={value}, but it must be above 0")


def check_param(optimizer: str, param: NDArray) -> None:
    """Raise unless `param` is one that optimizers move."""
    if not isinstance(param, NDArray):
        raise TypeError(f"param is {type(param).__name__}; it must be an NDArray")
    if param.stype == "csr":
        raise StorageError(
            f"param is {param.spec}; {optimizer} moves dense and row_sparse ones",
            slot="param",
            declared="csr",
            available=("dense", "row_sparse"),
        )
    if param.dtype not in _DTYPES:
        raise DTypeError(
            f"param is {param.spec}; {optimizer} moves float16, float32 and float64", slot="param"
        )


def _check_like(
    label: str, x: Any, param: NDArray, shape: tuple[int, ...], dtype: np.dtype
) -> None:
    if not isinstance(x, NDArray):
        raise TypeError(f"{label} is {type(x).__name__}; it must be an NDArray")
    if x.backend is not param.backend:
        raise BackendError(
            f"{label} is on {x.backend.name} and param on {param.backend.name}; move one with "
            f"x.to({param.backend.name!r})",
            slot=label,
        )
    if x.shape != shape:
        needed = "has" if shape == param.shape else f"of {param.shape} needs"
        raise ShapeError(f"{label} has shape {x.shape}; param {needed} {shape}", slot=label)
    if x.dtype != dtype:
        raise DTypeError(
            f"{label} has dtype {x.dtype}; param of {param.dtype} needs {dtype}", slot=label
        )


def work_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of state and arithmetic for parameters of `dtype`."""
    return np.result_type(dtype, np.float32)


def state_shape(shape: tuple[int, ...], by_row: bool) -> tuple[int, ...]:
    """The shape of a state's arrays for a parameter of `shape`; one value a row if `by_row`."""
    return shape[:1] + (1,) * len(shape[1:]) if by_row else shape


def _same(one: Any, other: Any) -> bool:
    return one is other or (len(one) == len(other) and bool((one == other).all()))
