"""The laws of storage inference, tried on every partial assignment; no random inputs needed."""

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from sparseops.testing.law import TABLE, Breach, all_laws
from sparseops.testing.report import Failure, LawResult, Report
from sparseops.testing.table import Table, tables
from sparseops.testing.table_laws import unreachable


def check_inference(
    op: Any,
    *,
    params: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    inputs: int | Sequence[str] = 1,
    outputs: int | Sequence[str] = 1,
) -> Report:
    """The laws of storage inference, tried on every partial assignment of storages.

    Parameters
    ----------
    op : Operator or callable
        An operator, with its table or its own function; or a bare function from a tuple of
        storages, "undefined" where unknown, to a tuple of the same length.
    params : mapping or sequence of mappings, optional
        Parameters with which the operator infers, beside its defaults.
    inputs, outputs : int or sequence of str, optional
        The slots of a bare function.

    Returns
    -------
    Report

    Examples
    --------
    >>> import sparseops as so
    >>> so.testing.check_inference(so.dot).failures
    []
    """
    given = [dict(params)] if isinstance(params, Mapping) else list(params or [{}])
    return Report(
        getattr(op, "__name__", type(op).__name__),
        inference_results(tables(op, given, inputs, outputs)),
    )


def inference_results(found: Sequence[Table], laws: Sequence[Any] | None = None) -> list[LawResult]:
    """The results of the laws of inference on these tables."""
    wanted = [known for known in laws or all_laws() if known.scope == TABLE]
    results = []
    for known in wanted:
        start, failures = perf_counter(), []
        for table in found:
            breach = known.check(table)
            if breach is not None:
                failures.append(_failure(known, breach))
                break
        if known.id == "I16":
            failures = [
                _failure(known, Breach(f"never chosen: {text}", example=text))
                for text in unreachable(found)
            ]
        cases = sum(len(table.answers) for table in found)
        status = "failed" if failures else "ok"
        results.append(
            LawResult(known.id, known.title, status, cases, perf_counter() - start, "", failures)
        )
    return results


def _failure(known: Any, breach: Breach) -> Failure:
    return Failure(known.id, known.title, known.why, breach.message, breach.example)
