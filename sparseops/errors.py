"""The exceptions of the package; every one is a `SparseOpsError`."""

from typing import Any


class SparseOpsError(Exception):
    """Base of every error that sparseops raises about arrays and operators.

    The parts of the message are attributes, so that tools need not parse it; a part that does not
    apply is None.

    Parameters
    ----------
    message : str
        The fact: value before rule, in lower case.
    operator, slot : str, optional
        The operator and the name of its input or output.
    declared, available : object, optional
        What was given or promised, and what would have been right.
    """

    def __init__(
        self,
        message: str = "",
        *,
        operator: str | None = None,
        slot: str | None = None,
        declared: Any = None,
        available: Any = None,
    ):
        super().__init__(message)
        self.operator = operator
        self.slot = slot
        self.declared = declared
        self.available = available


class ShapeError(SparseOpsError, ValueError):
    """Shapes that do not fit together, or a shape that an array cannot have."""


class DTypeError(SparseOpsError, TypeError):
    """A type of values that an array or an operator cannot have."""


class FormatError(SparseOpsError, ValueError):
    """A structure that does not describe an array: indices, `indptr`, lengths."""


class StorageError(SparseOpsError, TypeError):
    """Storage types that no declared signature serves, or a broken declaration."""


class DensifyError(StorageError):
    """A storage fallback that the policy refuses, before anything is allocated."""


class BackendError(SparseOpsError, RuntimeError):
    """A backend that is absent, or arrays of two backends in one call."""


class GradientError(SparseOpsError, RuntimeError):
    """A gradient that nobody declared, or that the tape can no longer compute."""


class TraceError(SparseOpsError, TypeError):
    """A function that cannot be traced: it reads values, or returns something else than arrays."""
