"""What happens when no signature keeps an array sparse: allow, warn or refuse.

A fallback is never silent by default: the first one at each line of the user's program warns, and
one that would allocate more than a limit is refused before anything is allocated.
"""

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from sparseops.errors import DensifyError

_PACKAGE = str(Path(__file__).parent) + os.sep
_UNITS = {"": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_UNITS |= {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_ACTIONS = ("allow", "warn", "error")


class FallbackWarning(UserWarning):
    """An operator ran dense although an array of the call is sparse."""


@dataclass(frozen=True)
class Fallback:
    """One call that runs dense where an array is sparse.

    Attributes
    ----------
    operator : str
        The operator's name.
    stypes : tuple of str
        The storages of the call: inputs, then results.
    reason : str
        Which slots are brought to or from dense, and the signatures that there are.
    bytes_sparse, bytes_dense : int
        What the affected sparse arrays take now, and what their dense copies would.
    where : tuple of (str, int)
        File and line of the user's call.
    """

    operator: str
    stypes: tuple[str, ...]
    reason: str
    bytes_sparse: int
    bytes_dense: int
    where: tuple[str, int]

    def __str__(self) -> str:
        return (
            f"{self.operator}({', '.join(self.stypes)}) falls back to dense: {self.reason}; "
            f"{format_bytes(self.bytes_sparse)} become {format_bytes(self.bytes_dense)}"
        )


@dataclass(eq=False)
class _Policy:
    action: str
    limit: int | None
    records: list[Fallback] = field(default_factory=list)
    seen: set[tuple] = field(default_factory=set)
    outer: "_Policy | None" = None


_current: ContextVar[_Policy | None] = ContextVar("fallback policy", default=None)
_default: list[_Policy] = []
#: The line to name instead of the caller's: where a graph that runs now was traced.
traced_at: ContextVar[tuple[str, int] | None] = ContextVar("traced at", default=None)


@contextmanager
def fallback(action: str = "warn", limit: int | str | None = "1 GiB") -> Iterator[list[Fallback]]:
    """Decide what storage fallbacks do inside the block, in this thread or task only.

    Parameters
    ----------
    action : {"allow", "warn", "error"}
        "warn" warns once for each line of the program, "error" raises DensifyError.
    limit : int, str or None
        The most bytes that the dense copies of one call may take under every action, as a number or
        like ``"1 GiB"``; None for no limit.

    Yields
    ------
    list of Fallback
        The fallbacks of the block so far, refused ones left out.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.csr_array(([1.0], [0], [0, 1]), shape=(1, 3))
    >>> with so.fallback("allow") as records:
    ...     y = so.exp(x)
    >>> records[0].bytes_dense
    24
    """
    policy = _Policy(_as_action(action), _as_limit(limit), outer=_current.get())
    token = _current.set(policy)
    try:
        yield policy.records
    finally:
        _current.reset(token)


def report(
    operator: str,
    stypes: tuple[str, ...],
    reason: str,
    *,
    bytes_sparse: int,
    bytes_dense: int,
) -> None:
    """Put one fallback before the current policy; raises DensifyError if it is refused."""
    frame = _user_frame()
    where = traced_at.get() or (frame.f_code.co_filename, frame.f_lineno)
    record = Fallback(operator, stypes, reason, bytes_sparse, bytes_dense, where)
    policy = _current.get() or _default_policy()
    if policy.limit is not None and bytes_dense > policy.limit:
        raise DensifyError(
            f"{record}, above the limit of {format_bytes(policy.limit)}; so.explain says how to "
            "stay sparse; to have the dense copies, write\n"
            f"with so.fallback('warn', limit='{-(-bytes_dense // 2**30)} GiB'): ...",
            operator=operator,
            declared=stypes,
        )
    if policy.action == "error":
        raise DensifyError(
            f"{record}; declare a signature for it, make the dense copy yourself with "
            "x.tostype('dense'), or allow it by\nwith so.fallback('allow'): ...",
            operator=operator,
            declared=stypes,
        )
    outer: _Policy | None = policy
    while outer is not None and outer not in _default:
        outer.records.append(record)
        outer = outer.outer
    if policy.action == "warn" and (where, operator) not in policy.seen:
        policy.seen.add((where, operator))
        module = frame.f_globals.get("__name__", "")
        warnings.warn_explicit(str(record), FallbackWarning, *where, module=module)


def format_bytes(count: int) -> str:
    """`count` bytes for people.

    Examples
    --------
    >>> format_bytes(12), format_bytes(3 * 2**20)
    ('12 bytes', '3.0 MiB')
    """
    if count < 1024:
        return f"{count} byte{'s' * (count != 1)}"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        count /= 1024
        if count < 1024 or unit == "TiB":
            break
    return f"{count:,.1f} {unit}"


def _user_frame() -> FrameType:
    """The innermost frame that runs code outside the package."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _default_policy() -> _Policy:
    if not _default:
        action = os.environ.get("SPARSEOPS_FALLBACK", "warn")
        limit = os.environ.get("SPARSEOPS_FALLBACK_LIMIT", "1 GiB")
        try:
            found = _Policy(_as_action(action), _as_limit(None if limit == "none" else limit))
        except ValueError as error:
            variables = f"SPARSEOPS_FALLBACK={action} SPARSEOPS_FALLBACK_LIMIT={limit}"
            raise ValueError(f"{error}; set by {variables}") from None
        _default.append(found)
    return _default[0]


def _as_action(action: str) -> str:
    if not isinstance(action, str) or action not in _ACTIONS:
        raise ValueError(f"fallback {action!r} is not one of {', '.join(_ACTIONS)}")
    return action


def _as_limit(limit: int | str | None) -> int | None:
    if limit is None:
        return None
    if isinstance(limit, (int, float)) and limit >= 0:
        return int(limit)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(limit).lower())
    if not found or found[2] not in _UNITS:
        raise ValueError(f"limit {limit!r} is not a number of bytes, like 10**9 or '1 GiB'")
    return int(float(found[1]) * _UNITS[found[2]])
