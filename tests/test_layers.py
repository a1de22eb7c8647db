"""Modules import only from the layers above their own, and the package loads only what it needs."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sparseops

PACKAGE = Path(__file__).parents[1] / "sparseops"
PATHS = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
LAYERS = (
    "errors, hints, spec, coalesce, storage, native, backend, registry, preview, picture, "
    "protocols, numpy_functions, operand, form, keys, reading, writing, ndarray, intake, "
    "constructors, creation, arguments, signature, policy, call, gradient, autograd, plan, slots, "
    "parameters, results, declaration, inference, operators, nesting, settling, program, traced, "
    "tracing, inputs, symbol, backpropagation, differentiation, execution, graph, bounds, "
    "measuring, suggestion, arrangement, finding, listing, drawing, report, densification, "
    "explanation, ops, optim, io, testing, bench, demo, cli, __init__"
).split(", ")
# Programs written on the public names, as a user's would be; the package never imports them.
PROGRAMS = {"bench", "demo", "cli"}
OPTIONAL = {
    "cupy",
    "cupyx",
    "graphviz",
    "hypothesis",
    "matplotlib",
    "pandas",
    "pytest",
    "rich",
    "torch",
}
DEFERRED = {("backend", "scipy.sparse")}
MOST_LINES = 330
MOST_SECONDS = 1.0  # the aim is 0.1 on a quiet machine; this holds on a busy one too


@pytest.mark.parametrize("path", PATHS)
def test_imports_point_upwards_and_stand_at_the_top(path):
    assert list(faults(path, (PACKAGE / path).read_text())) == []


@pytest.mark.parametrize(
    "path, source",
    [
        ("spec.py", "from sparseops.ndarray import NDArray"),
        ("spec.py", "import sparseops.ndarray"),
        ("spec.py", "from sparseops import ndarray"),
        ("spec.py", "import sparseops as so"),
        ("ops/cast.py", "from sparseops import cast"),
        ("ops/cast.py", "from sparseops.testing.laws import check_operator"),
        ("ops/cast.py", "from . import linalg"),
        ("__init__.py", "from sparseops import demo"),
        ("ndarray.py", "def f():\n    from sparseops.spec import Spec"),
        ("ndarray.py", "def f():\n    import scipy.sparse"),
        ("cli.py", "def f():\n    import json"),
        ("strange.py", ""),
    ],
)
def test_a_wrong_import_is_found(path, source):
    assert list(faults(path, source)) != []


@pytest.mark.parametrize(
    "path, source",
    [
        ("ndarray.py", "from sparseops.spec import Spec"),
        ("ndarray.py", "from sparseops import spec"),
        ("ops/cast.py", "from sparseops.ops.linalg import dot"),
        ("ops/__init__.py", "from sparseops.ops.cast import *"),
        ("demo/train.py", "import sparseops as so"),
        ("__init__.py", "from sparseops.ops import *"),
        ("backend.py", "def f():\n    import scipy.sparse"),
        ("report.py", "def f():\n    from rich.table import Table"),
    ],
)
def test_a_right_import_passes(path, source):
    assert list(faults(path, source)) == []


@pytest.mark.parametrize("path", PATHS)
def test_a_file_holds_one_noun(path):
    lines = (PACKAGE / path).read_text().count("\n")
    assert lines < MOST_LINES
    assert "utils" not in Path(path).with_suffix("").parts


def test_importing_the_package_loads_no_third_party_module_but_numpy():
    before = set(child("import numpy, sys; print(*sys.modules)").split())
    after = set(child("import numpy, sparseops, sys; print(*sys.modules)").split())
    roots = {name.partition(".")[0] for name in after - before}
    assert roots - sys.stdlib_module_names - {"numpy"} == {"sparseops"}


def test_importing_the_package_is_quick():
    clock = "from time import perf_counter as now; import numpy; start = now(); import sparseops; "
    seconds = [float(child(clock + "print(now() - start)")) for _ in range(5)]
    assert min(seconds) < MOST_SECONDS


def faults(path: str, source: str) -> Iterator[str]:
    """What is wrong with the imports of `source`, the text of the package's file `path`."""
    own = Path(path).with_suffix("").parts[0]
    if own not in LAYERS:
        yield f"{own} has no layer"
        return
    for line, name, inside in imports(ast.parse(source)):
        part = layer(name)
        if name.startswith("."):
            yield f"line {line}: relative import"
        elif inside and not optional(own, name):
            yield f"line {line}: {name} imported inside a function"
        elif part == "__init__" and own not in PROGRAMS:
            yield f"line {line}: the package itself imported"
        elif part in PROGRAMS and own == "__init__":
            yield f"line {line}: the program {part} imported by the package"
        elif part and part not in (own, "__init__") and part not in LAYERS[: LAYERS.index(own)]:
            yield f"line {line}: {name} is not above {own}"


def imports(tree: ast.AST, inside: bool = False) -> Iterator[tuple[int, str, bool]]:
    """Line and full name of each import, and whether it stands inside a function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{base}.{alias.name}", inside) for alias in node.names)
        else:
            within = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from imports(node, within)


def layer(name: str) -> str | None:
    """The layer that an import of `name` reaches; None outside of the package."""
    root, _, rest = name.partition(".")
    if root != "sparseops":
        return None
    part = rest.partition(".")[0]
    exists = part in LAYERS or (PACKAGE / part).is_dir() or (PACKAGE / f"{part}.py").is_file()
    return part if part and exists else "__init__"


def optional(own: str, name: str) -> bool:
    """Whether the layer `own` may import `name` inside a function."""
    deferred = any(own == here and f"{name}.".startswith(f"{there}.") for here, there in DEFERRED)
    return deferred or name.partition(".")[0] in OPTIONAL


def child(code: str) -> str:
    """What a fresh interpreter prints that finds the same package as this one."""
    environment = os.environ | {"PYTHONPATH": str(Path(sparseops.__file__).parents[1])}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout
