"""The page of operators, sparseops/ops/README.md, made of what the operators declare.

``PYTHONPATH=. python tests/operators_page.py`` writes the page.
"""

import inspect
import re
import sys
from pathlib import Path

import numpy as np
from operator_examples import EXAMPLES

import sparseops as so
from sparseops.registry import operators
from sparseops.testing.axes import Axes, shape_of

PACKAGE = Path(so.__file__).parent
PAGE = PACKAGE / "ops" / "README.md"
DTYPES = ("bool", "int32", "float16", "float64", "complex64")
LENGTHS = dict.fromkeys("mnkl", 3)

HEAD = """\
# Operators

Made of the declarations themselves by `tests/operators_page.py`, and kept true by a test.

Of each operator: its signatures, the storages of inputs on the left and of results on the right;
the storage of each gradient, for the storages of the inputs; what it costs; and the dtype of its
result for inputs of a few dtypes, – where it refuses them. Storages that no signature names fall
back to the nearest dense one, on record. `scalar` is a number, and `x...` stands for several.

Some things hold for all of them:

* **What is not stored is 0 and is skipped** (`skip_unstored`): `0 * inf` at a place that a sparse
  array does not store is 0, not NaN. At stored places, and in dense arrays, NaN and infinities
  follow IEEE 754, as in NumPy.
* **Explicit zeros are kept.** A structure follows from values only where dense becomes sparse.
* **Gradients are structured**: that by a sparse input lives on the places which it stores.
* The embedding look-up is `take`, whose gradient by a dense table is row_sparse. Sums over segments
  are `sum(x, axis=1)` of csr rows, or `scatter_rows` for numbered ones.

Operators without `so.` in front are those in which gradients and keys are written.
"""


def families():
    """The built-in operators by module, in the order of their files."""
    found = {}
    for name, op in sorted(operators.items()):
        if op.__module__.startswith("sparseops.ops."):
            found.setdefault(op.__module__, []).append((name, op))
    return sorted(found.items())


def sentences(op, pattern):
    """The sentences of an operator's notes that have the pattern."""
    text = " ".join(inspect.getdoc(op).split())
    found = re.split(r"(?<=[.;]) (?=[A-Z`O])", text)
    return [s.strip() for s in found if re.search(pattern, s)]


def cost(op):
    """What the docstring says of complexity."""
    found = sentences(op, r"\bO\(")
    return re.sub(r"^(Notes -----|.*?----- )\s*", "", found[0]) if found else ""


def dtypes(name, op):
    """The result's dtype for inputs of each of `DTYPES`; an empty text where it cannot be asked."""
    example, *_ = EXAMPLES.get(name, [{}])
    params = example.get("params", {})
    params = dict(params if isinstance(params, dict) else params[0])
    params.pop("stype", None)
    axes = example.get("shapes") or op.shapes
    if axes is None or any(map(callable, params.values())):
        return ""
    axes = Axes.parse(axes)
    count = 2 if axes.repeated else len(axes.inputs)
    shapes = [shape_of(group, LENGTHS) for group in axes.expand(count)]
    stypes = op.kernels[0].signature.expand(count)
    outputs = {"outputs": "dense"} if op.needs_stype else {}
    shown = []
    for dtype in DTYPES:
        answer = "–"
        # Numbers of rows or classes are integers whatever the values are.
        for others in (dtype, "int64"):
            specs = [
                1 if stype == "scalar" else so.Spec(shape, others if n else dtype, stype)
                for n, (shape, stype) in enumerate(zip(shapes, stypes, strict=True))
            ]
            try:
                result = op.infer(*specs, **params, **outputs)
            except (so.SparseOpsError, TypeError, ValueError, IndexError):
                continue
            answer = str(np.dtype(result.dtype))
            break
        shown.append(f"{dtype} → {answer}")
    return ", ".join(shown)


def facts(name, op):
    """What an operator may have in common with others: its table, its cost, its dtypes."""
    table = "\n".join(line[2:] for line in repr(op).splitlines()[1:])
    found = [("Cost", cost(op)), ("Dtypes", dtypes(name, op))]
    given = "  \n".join(f"{title}: {text}" for title, text in found if text)
    return f"```text\n{table}\n```\n\n{given}\n"


def heading(name, op):
    """How an operator is called, and what it is."""
    summary = inspect.getdoc(op).partition("\n\n")[0].replace("\n", " ")
    public = f"so.{name}" if name in so.ops.__all__ else name
    return f"**`{public}({', '.join(op.starred_inputs())}{parameters(op)})`** {summary}  "


def parameters(op):
    """The parameters as they stand in a call."""
    shown = [
        name if value is inspect.Parameter.empty else f"{name}={value!r}"
        for name, value in op.defaults.items()
    ]
    return "".join(f", {text}" for text in shown)


def page():
    """The text of the page."""
    lines = [HEAD]
    for module, listed in families():
        title = sys.modules[module].__doc__.partition("\n")[0].rstrip(".")
        lines.append(f"## {title}\n")
        alike = {}
        for name, op in listed:
            alike.setdefault(facts(name, op), []).append(heading(name, op))
        for common, headings in alike.items():
            lines += [*headings, "", common]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
