"""Laws about what comes back beside values: structure, storages, widths, records of fallbacks."""

import pickle
from typing import Any

from sparseops.backend import get_backend
from sparseops.constructors import asarray
from sparseops.ndarray import NDArray
from sparseops.operators import Operator
from sparseops.signature import NUMBERS
from sparseops.spec import Spec
from sparseops.testing.dense import densify, differing
from sparseops.testing.law import Breach, NotConcerned, law
from sparseops.testing.run import Run, fingerprint


@law(
    "V2",
    "results are well-formed",
    "the structure was not rebuilt, sorted or merged after entries came or went",
)
def well_formed(run: Run) -> Any:
    """Whether each sparse result is canonical: in range, ascending, exact, without slack."""
    if run.error is not None:
        return NotConcerned
    for x in run.results:
        text = fault(x.storage if isinstance(x, NDArray) else x)
        if text:
            return Breach(text, "structure")
    return None


def fault(x: Any) -> str:
    """What is wrong with the structure of a storage, or a csr array of scipy; empty if nothing."""
    if hasattr(x, "indptr") and getattr(x, "format", "csr") == "csr":
        return _csr_fault(x)
    if hasattr(x, "indices") and hasattr(x, "stype"):
        rows = x.indices.tolist()
        if x.data.shape != (len(rows), *x.shape[1:]):
            return f"data has shape {x.data.shape} for {len(rows)} rows of shape {x.shape[1:]}"
        return _descent("indices", rows, x.shape[0], strict=True)
    return ""


def _csr_fault(x: Any) -> str:
    indptr, indices = x.indptr.tolist(), x.indices.tolist()
    rows, columns = x.shape
    if len(indptr) != rows + 1 or indptr[0] != 0 or indptr[-1] != len(indices):
        return f"indptr={indptr} for {rows} rows and {len(indices)} indices"
    if len(x.data) != len(indices):
        return f"{len(x.data)} values and {len(indices)} indices"
    # A matrix of scipy may say that its entries stand in any order.
    strict = getattr(x, "has_canonical_format", True) if hasattr(x, "stype") else _claims(x)
    for row in range(rows):
        if indptr[row] > indptr[row + 1]:
            return f"indptr={indptr} decreases"
        part = indices[indptr[row] : indptr[row + 1]]
        text = _descent("indices", part, columns, strict)
        if text:
            return f"row {row}: {text}"
    return ""


def _claims(x: Any) -> bool:
    """Whether a matrix of scipy already says that it is canonical, right or wrong."""
    return bool(getattr(x, "_has_canonical_format", False))


def _descent(name: str, found: list[int], limit: int, strict: bool) -> str:
    for position, index in enumerate(found):
        if not 0 <= index < limit:
            return f"{name}[{position}]={index}, but there are {limit}"
        if strict and position and index <= found[position - 1]:
            return f"{name}={found} does not ascend"
    return ""


def only_operators(subject: Any) -> str:
    """Why a law about declarations does not apply."""
    return "" if subject.operator is not None else "a plain function declares no storage"


@law(
    "I11",
    "results have the storage inferred or declared",
    "the kernel returns another storage, for some values only",
    applies=only_operators,
)
def storages_as_inferred(run: Run) -> Any:
    """Whether results have the storages that inference says."""
    if run.error is not None:
        return NotConcerned
    operator = run.subject.operator
    specs = [x.spec if isinstance(x, NDArray) else x for x in run.inputs]
    found = operator.infer(*specs, outputs=run.case.declared, **run.params)
    found = (found,) if isinstance(found, Spec) else found
    for x, name, spec in zip(run.results, operator.outputs, found, strict=True):
        if not isinstance(x, NDArray):
            return Breach(f"{name} is {type(x).__name__}", "type")
        if x.stype != spec.stype:
            return Breach(f"{name} is {x.stype}; inferred is {spec.stype}", "storage")
    return None


def _chosen(run: Run) -> tuple[Any, tuple[str, ...]]:
    operator, stypes = run.subject.operator, run.case.stypes
    known = (*stypes, *operator.declared(run.case.declared))
    values = run.subject.completed(run.params)
    numbers = [s.values if isinstance(s.values, NUMBERS) else None for s in run.case.samples]
    return operator.choose(known, values, numbers=numbers, backend=get_backend().name)


def _by_table(subject: Any) -> str:
    if only_operators(subject):
        return only_operators(subject)
    own = type(subject.operator).__call__ is not Operator.__call__
    return "the operator decides for itself which signatures serve" if own else ""


@law(
    "I13",
    "a fallback is recorded if, and only if, something sparse runs dense",
    "the operator makes a sparse array dense, or calls another that does, and says nothing",
    applies=_by_table,
)
def fallbacks_recorded(run: Run) -> Any:
    """Whether records of fallbacks are those that the chosen signature means."""
    if run.error is not None:
        return NotConcerned
    rule, filled = _chosen(run)
    if rule.signature is None:
        named = filled
    else:
        named = rule.signature.expand(len(run.case.samples)) + rule.signature.outputs
    dense = [f != n and n == "dense" for f, n in zip(filled, named, strict=True)]
    if any(dense) and not run.records:
        return Breach(f"no record, though '{rule}' serves {filled}", "silent")
    # A kernel may say of itself that these shapes run dense; then it says so once.
    others = [r for r in run.records if r.operator != run.subject.operator.__name__]
    if others or len(run.records) > 1 + any(dense):
        record = (others or run.records)[0]
        return Breach(f"{len(run.records)} records of one call; one is {record}", "records")
    return None


@law(
    "V6",
    "int32 and int64 indices give the same, and a width is kept",
    "indices are narrowed, or positions are computed in a type too small for them",
)
def widths_kept(run: Run) -> Any:
    """Whether the indices of sparse results are as wide as the widest of sparse inputs."""
    widths = [s.width for s in run.case.samples if s.sparse]
    if run.error is not None or not widths or run.case.declared or run.subject.dialect == "scipy":
        return NotConcerned
    if run.subject.operator is not None and not is_native(run):
        return NotConcerned
    if len(set(widths)) > 1:
        # Promoted, or that of the input whose structure the result has.
        return None
    for x in run.results:
        for name, part in getattr(x, "aux", {}).items():
            if part.dtype != widths[0] and not _wide_integers(run):
                text = f"{name} of the result is {part.dtype}; the inputs have {widths[0]}"
                return Breach(text, "width")
    return None


def _wide_integers(run: Run) -> bool:
    """Whether a dense input holds int64, which may be indices of the result."""
    return any(
        not s.sparse and s.dtype is not None and s.dtype == "int64" for s in run.case.samples
    )


def is_native(run: Run) -> bool:
    """Whether the kernel takes and gives the storages of the call without casts."""
    rule, filled = _chosen(run)
    if rule.signature is None:
        return True
    return filled == rule.signature.expand(len(run.case.samples)) + rule.signature.outputs


@law(
    "V13",
    "results survive pickle and a way through scipy",
    "the result holds memory that is not its own, or arrays of another class",
    applies=lambda s: "the results are not sparseops' arrays" if s.dialect == "scipy" else "",
    turn=(0, 4),
)
def round_trip(run: Run) -> Any:
    """Whether a result is the same after a round trip."""
    if run.error is not None:
        return NotConcerned
    for x in run.results:
        if not isinstance(x, NDArray):
            return NotConcerned
        again = pickle.loads(pickle.dumps(x))
        if again.spec != x.spec or fingerprint(again) != fingerprint(x):
            return Breach(f"{x.spec} comes back as {again.spec}, or with other bytes", "pickle")
        if x.stype == "csr" and x.dtype != "float16":  # which scipy has not
            back = asarray(x.asscipy())
            if back.spec != x.spec or differing(densify(back), densify(x)).any():
                return Breach(f"{x.spec} comes back from scipy as {back.spec}", "scipy")
    return None
