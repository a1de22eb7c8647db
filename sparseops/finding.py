"""What reports hold: a line for each value, and what is found of calls that densify."""

from typing import Any, NamedTuple

from sparseops.spec import Spec


class Finding(NamedTuple):
    """One call that densifies.

    Attributes
    ----------
    operator : str
        The operator's name.
    stypes : tuple of str
        The storages of the call: inputs, then results.
    reason : str
        Why no signature keeps it sparse.
    bytes_sparse : int or None
        What the sparse arrays take that are made dense: exact where arrays were given, else a
        bound; None where it is unknown.
    bytes_dense : int
        What their dense copies take.
    where : tuple of (str, int)
        File and line of the user's call.
    suggestion : str
        The change that removes it at least cost, to be pasted; empty where there is none.
    """

    operator: str
    stypes: tuple[str, ...]
    reason: str
    bytes_sparse: int | None
    bytes_dense: int
    where: tuple[str, int]
    suggestion: str

    @property
    def ratio(self) -> float | None:
        """How many times more bytes the dense copies take."""
        return self.bytes_dense / self.bytes_sparse if self.bytes_sparse else None

    def plain(self) -> dict[str, Any]:
        """The parts by name, for JSON."""
        return {**self._asdict(), "ratio": self.ratio}


class Line(NamedTuple):
    """One call of the function or of its gradients, or one input.

    `name` is its (first) result, `inputs` the names of what it reads; `signature` is the one
    chosen, and `bytes` what the results take, None where that is unknown.
    """

    name: str
    operator: str
    inputs: tuple[str, ...]
    specs: tuple[Spec, ...]
    stypes: tuple[str, ...]
    signature: str
    bytes: int | None
    bytes_dense: int
    where: tuple[str, int]
    backward: bool = False
    fallback: Finding | None = None

    def plain(self) -> dict[str, Any]:
        """The parts by name, for JSON."""
        return {**self._asdict(), "fallback": self.fallback and self.fallback.plain()}
