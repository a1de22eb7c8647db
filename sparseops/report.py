"""The explanation of a function: the storage and bytes of every value, and where it densifies."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sparseops.bounds import most
from sparseops.drawing import as_dot, as_svg
from sparseops.errors import FormatError, SparseOpsError
from sparseops.finding import Finding, Line
from sparseops.graph import Graph, trace
from sparseops.inputs import as_input
from sparseops.listing import as_html, as_text
from sparseops.measuring import bounded, densifying, measured
from sparseops.ndarray import NDArray
from sparseops.nesting import walk_leaves
from sparseops.program import Cause, Node, Value
from sparseops.spec import STORAGES, Spec
from sparseops.suggestion import suggest


class Report:
    """What `explain` found.

    Attributes
    ----------
    inputs, calls : list of Line
        The inputs, and the calls in order, those of gradients last.
    fallbacks : list of Finding
        The calls that densify.
    gradients : dict
        The spec of each gradient asked for, by the input's name.
    outputs : dict
        The names of what the function returns and of the gradients, by what they are.
    exact : bool
        Whether bytes were measured on arrays; otherwise they are bounds.
    """

    def __init__(
        self,
        inputs: list[Line],
        calls: list[Line],
        gradients: dict[str, Spec],
        outputs: dict[str, str],
        exact: bool,
    ):
        self.inputs = inputs
        self.calls = calls
        self.gradients = gradients
        self.outputs = outputs
        self.exact = exact

    @property
    def fallbacks(self) -> list[Finding]:
        """The calls that densify, in order."""
        return [line.fallback for line in self.calls if line.fallback is not None]

    def to_json(self) -> str:
        """The report as JSON text."""
        plain = {
            "exact": self.exact,
            "inputs": [line.plain() for line in self.inputs],
            "calls": [line.plain() for line in self.calls],
            "fallbacks": [found.plain() for found in self.fallbacks],
            "gradients": self.gradients,
            "outputs": self.outputs,
        }
        return json.dumps(plain, default=str, indent=2)

    def to_dot(self) -> str:
        """The drawing in the language of Graphviz."""
        return as_dot(self)

    def to_svg(self) -> str:
        """The drawing as SVG text."""
        return as_svg(self)

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def explain(
    function: Callable[..., Any],
    *specs_or_arrays: Any,
    wrt: Any = (),
    stypes: Any = None,
    nnz: Mapping[str, int] | None = None,
) -> Report:
    """What a function does to storage: of every value and gradient, and where it densifies.

    Parameters
    ----------
    function : callable
        Written with operators.
    *specs_or_arrays : Spec or array
        The inputs, nested as the function takes them. From specs nothing runs; with arrays for all
        inputs the function runs once, and bytes are exact.
    wrt : str, int or sequence of them, optional
        The inputs by which gradients are explained too, by name or place.
    stypes : str or sequence, optional
        The storages asked for the gradients.
    nnz : mapping, optional
        From the names of sparse inputs to the number of entries (csr) or rows (row_sparse) that
        they store, for bounds of bytes.

    Returns
    -------
    Report
        Prints as a table; `.fallbacks` are the calls that densify, each with the reason, the bytes
        and the cheapest way out; `.to_svg()` and `.to_dot()` draw it.

    Notes
    -----
    A call whose dense copies would take more than 1 GiB is not run.

    Examples
    --------
    >>> import sparseops as so
    >>> x, w = so.Spec((8192, 1_000_000), "float32", "csr"), so.Spec((1_000_000, 1), "float32")
    >>> report = so.explain(lambda x, w: so.sum(so.dot(x, w)), x, w, wrt="w", nnz={"x": 327_680})
    >>> report.gradients
    {'w': Spec((1000000, 1), 'float32', 'row_sparse')}
    >>> so.explain(lambda x: so.exp(x), x).fallbacks[0].suggestion
    'so.exp(x.tostype("dense"))'
    """
    graph = trace(function)(*specs_or_arrays)
    arrays = _arrays(graph, specs_or_arrays)
    names = [wrt] if isinstance(wrt, (str, int)) else list(wrt)
    backward = graph.gradient(names, stypes) if names else None
    sources = [graph.source(name).name for name in names]
    lines = _lines(graph, _sizes(graph, arrays, nnz or {}), lambda node: suggest(graph, node))
    if backward is not None:
        hint = _ask(graph, names, backward)
        lines += _lines(backward, _sizes(backward, arrays, nnz or {}), lambda node: hint)
    sizes = _sizes(graph, arrays, nnz or {})
    inputs = [_input_line(graph, value, sizes) for value in graph.program.inputs]
    outputs = {name: value.name for name, value in graph.leaves()}
    gradients = {}
    if backward is not None:
        gradients = dict(zip(sources, backward.outputs, strict=True))
        for name, (_, value) in zip(sources, backward.leaves(), strict=True):
            outputs[f"gradient by {name}"] = _name(backward, value)
    return Report(inputs, lines, gradients, outputs, bool(arrays))


def _arrays(graph: Graph, given: Sequence[Any]) -> dict[str, NDArray]:
    """The arrays by the names of inputs, where arrays are given for all."""
    leaves = [x for _, x in walk_leaves(list(given), "") if hasattr(x, "dtype")]
    if any(isinstance(x, Spec) for x in leaves) or len(leaves) != len(graph.inputs):
        return {}
    return {
        name: as_input(x, name, spec, graph.program)
        for x, (name, spec) in zip(leaves, graph.inputs.items(), strict=True)
    }


def _sizes(graph: Graph, arrays: Mapping[str, NDArray], nnz: Mapping[str, int]) -> dict:
    """The bytes of each value, by number; None where they are unknown."""
    program, assignment = graph.program, graph.assignment
    for name in nnz:
        if name not in graph.inputs:
            raise TypeError(f"nnz names {name!r}; the inputs are {', '.join(graph.inputs)}")
        spec = graph.inputs[name]
        if not 0 <= nnz[name] <= most(spec):
            raise FormatError(f"nnz={nnz[name]} for {name}, but {spec} stores 0 to {most(spec)}")
    known = {v.number: nnz[v.name] for v in program.inputs if v.name in nnz}
    found = bounded(program, assignment, known)
    if arrays and all(value.name in arrays for value in program.inputs):
        given = {value.number: arrays[value.name] for value in program.inputs}
        found |= measured(program, assignment, given, "1 GiB")
    return found


def _lines(graph: Graph, sizes: Mapping[int, int | None], hint: Callable[[Node], str]) -> list:
    """The calls of a graph; of the graph of a gradient, those that it adds."""
    lines = []
    backward_only = bool(graph.forward_names)
    for node, step in zip(graph.program.nodes, graph.assignment.steps, strict=True):
        if backward_only and not node.backward:
            continue
        cause = densifying(node, step)
        specs = tuple(form.spec for form in step.results)
        found = [sizes.get(value.number) for value in node.results]
        lines.append(
            Line(
                name=_name(graph, node.results[0]),
                operator=node.operator.__name__,
                inputs=tuple(_name(graph, value) for value in node.values),
                specs=specs,
                stypes=step.filled,
                signature=str(step.plan.rule.signature or step.plan.rule.name),
                bytes=None if None in found else sum(found),
                bytes_dense=sum(spec.dense_nbytes for spec in specs),
                where=node.where,
                backward=backward_only,
                fallback=cause and _finding(cause, node, sizes, hint(node)),
            )
        )
    return lines


def _finding(cause: Cause, node: Node, sizes: Mapping[int, int | None], hint: str) -> Finding:
    found = [sizes.get(value.number) for value in cause.sparse]
    return Finding(
        operator=cause.operator,
        stypes=cause.stypes,
        reason=cause.reason,
        bytes_sparse=None if None in found else sum(found),
        bytes_dense=cause.bytes_dense,
        where=node.where,
        suggestion=hint,
    )


def _name(graph: Graph, value: Value) -> str:
    """The name of a value; in the graph of a gradient, that of the forward value it copies."""
    maker = value.maker
    if maker is not None and maker.cast_for is not None and maker.values[0].maker is not maker:
        inner = maker.values[0]
        if inner.number in graph.forward_names:
            value = inner
    known = graph.forward_names.get(value.number)
    return known.name if known is not None else value.name


def _ask(graph: Graph, wrt: Sequence[Any], backward: Graph) -> str:
    """The storages to ask for gradients, if others than those asked densify less."""
    best, cost = "", _dense_bytes(backward)
    if not cost:
        return ""
    for stype in STORAGES:
        try:
            found = _dense_bytes(graph.gradient(wrt, stype))
        except SparseOpsError:
            continue
        if found < cost:
            best, cost = f'stypes="{stype}"', found
    return best


def _dense_bytes(graph: Graph) -> int:
    steps = zip(graph.program.nodes, graph.assignment.steps, strict=True)
    causes = [densifying(node, step) for node, step in steps if node.backward]
    return sum(cause.bytes_dense for cause in causes if cause)


def _input_line(graph: Graph, value: Value, sizes: Mapping[int, int | None]) -> Line:
    spec = graph.spec(value)
    size = sizes.get(value.number)
    stypes = (spec.stype,)
    return Line(value.name, "input", (), (spec,), stypes, "", size, spec.dense_nbytes, ("", 0))
