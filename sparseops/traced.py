"""What stands for an array while a function is traced: all but its values."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from sparseops.backend import Backend
from sparseops.errors import TraceError
from sparseops.operand import Operand
from sparseops.operators import Operator
from sparseops.program import Value
from sparseops.reading import read
from sparseops.registry import operators
from sparseops.spec import UNDEFINED, Spec, as_stype

_PACKAGE = str(Path(__file__).parent) + os.sep
_LIBRARIES = ("numpy.", "scipy.")
_VALUES = (
    "data indices indptr aux storage nnz nbytes item asnumpy asscipy version token writing copy to"
).split()


def user_frame() -> FrameType:
    """The innermost frame of the user's: outside the package, NumPy and SciPy."""
    frame = sys._getframe(1)
    while not _is_users(frame) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _is_users(frame: FrameType) -> bool:
    inside = frame.f_code.co_filename.startswith(_PACKAGE)
    return not inside and not frame.f_globals.get("__name__", "").startswith(_LIBRARIES)


class Traced(Operand):
    """A value of which shape, dtype and storage are known, and nothing else."""

    __slots__ = ("tracer", "value")

    def __init__(self, tracer: Any, value: Value):
        self.tracer = tracer
        self.value = value

    def trace_call(self, operator: Operator, args: Any, stype: Any, params: Any) -> Any:
        """The results of a call with this value among `args`."""
        return self.tracer.call(operator, args, stype, params)

    @property
    def known(self) -> Spec:
        """Its spec by now; the storage of an input may be undefined until a call settles it."""
        return self.tracer.assignment.forms[self.value.number].spec

    @property
    def spec(self) -> Spec:
        """The shape, dtype and storage type."""
        self.tracer.seen[self.value.number] = self.known.stype
        return self.known

    @property
    def stype(self) -> str:
        """The storage type."""
        return self.spec.stype

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.known.shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the values."""
        return self.known.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.known.ndim

    @property
    def size(self) -> int:
        """The number of values, stored or not."""
        return self.known.size

    @property
    def dense_nbytes(self) -> int:
        """The bytes that dense storage takes."""
        return self.known.dense_nbytes

    @property
    def backend(self) -> Backend:
        """The library that will hold the values."""
        return self.tracer.program.backend

    @property
    def recorded(self) -> bool:
        """Whether a tape may be watching, in front of which no value may leave."""
        return True

    def tostype(self, stype: str) -> "Traced":
        """The values in storage type `stype`."""
        # A call even where nothing is to be done: the input may be declared otherwise later.
        return operators["cast_storage"](self, stype=as_stype(stype, known=True))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array of shape () has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator["Traced"]:
        return (operators["row"](self, number) for number in range(len(self)))

    def __getitem__(self, key: Any) -> "Traced":
        if self.known.stype == UNDEFINED and type(key) is not int and key is not Ellipsis:
            name = self.value.name
            raise_at(f"how {name}[key] is read depends on the storage of {name}; declare it")
        return read(self, key)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise_at(
            "x[key] = value changes an array, and a graph has no memory to change; compute a new "
            "one, with so.where or so.add"
        )

    def __bool__(self) -> NoReturn:
        self._refuse("the truth of a value decides what the function does")

    def __float__(self) -> NoReturn:
        self._refuse("float() takes a value")

    def __int__(self) -> NoReturn:
        self._refuse("int() takes a value")

    def __complex__(self) -> NoReturn:
        self._refuse("complex() takes a value")

    def __format__(self, text: str) -> str:
        return format(repr(self), text) if not text else self._refuse("text takes the values")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        name = self.value.name
        self._refuse(
            f"NumPy or another library takes the values (a scipy matrix with @ {name} does: write "
            f"so.dot(matrix, {name}))"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name in _VALUES:
            self._refuse(f".{name} takes the values")
        raise AttributeError(
            f"a traced array has no {name!r}; operators of sparseops, Python and NumPy are traced"
        )

    def _refuse(self, what: str) -> NoReturn:
        raise_at(
            f"{what}, and {self.value.name} has none while the function is traced; branch on "
            "shapes, dtypes and arguments that are no arrays, and compute with operators"
        )

    def __repr__(self) -> str:
        return f"<traced {self.value.name}: {self.known}>"


def raise_at(message: str) -> NoReturn:
    """Raise TraceError with the user's line."""
    frame = user_frame()
    raise TraceError(f"{frame.f_code.co_filename}:{frame.f_lineno}: {message}")


def last_user_line(error: BaseException) -> tuple[str, int]:
    """The last line of the user's that an error passed."""
    found, step = ("the function", 0), error.__traceback__
    while step is not None:
        if _is_users(step.tb_frame):
            found = step.tb_frame.f_code.co_filename, step.tb_lineno
        step = step.tb_next
    return found
