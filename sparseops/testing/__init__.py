"""Tests of sparse operators: laws, strategies, assertions, and a minimiser.

`check_operator` tries to break an operator in every way. Only the strategies need hypothesis.
"""

from importlib import import_module
from typing import Any

from sparseops.testing.assertions import assert_allclose, assert_no_fallback, assert_storage
from sparseops.testing.check import check_operator
from sparseops.testing.graph_laws import check_graph
from sparseops.testing.inference import check_inference
from sparseops.testing.layout import laid_out
from sparseops.testing.minimise import minimise
from sparseops.testing.numeric import numerical_grad
from sparseops.testing.printing import as_code, hazards_of
from sparseops.testing.report import LawsBroken
from sparseops.testing.sample import scipy_csr
from sparseops.testing.suite import parametrize_with_laws

_STRATEGIES = (
    "HAZARDS",
    "arrays",
    "csr_arrays",
    "dense_arrays",
    "dtypes",
    "graphs",
    "operator_inputs",
    "row_sparse_arrays",
    "scipy_arrays",
    "specs",
    "storage_types",
)


def __getattr__(name: str) -> Any:
    if name not in _STRATEGIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = "programs" if name == "graphs" else "strategies"
        return getattr(import_module(f"sparseops.testing.{module}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "hypothesis":
            raise
        raise ImportError(
            f"so.testing.{name} needs hypothesis: pip install 'sparseops[testing]'"
        ) from None


def __dir__() -> list[str]:
    return sorted([*globals(), *_STRATEGIES])
