"""Ways out of a fallback: the cheapest change of a call that needs none, written to be pasted."""

import ast
import linecache
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from sparseops.errors import SparseOpsError
from sparseops.form import form_of
from sparseops.graph import Graph
from sparseops.measuring import densifying
from sparseops.program import Node, Value
from sparseops.settling import Settler
from sparseops.spec import STORAGES, UNDEFINED

_SYMBOLS = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.MatMult: "dot",
    ast.Pow: "power",
    ast.Mod: "mod",
    ast.FloorDiv: "floor_divide",
}


class Change(NamedTuple):
    """Casts of a call's inputs, by slot, and the storage declared for its result."""

    casts: Mapping[int, str]
    stype: str | None


def suggest(graph: Graph, node: Node) -> str:
    """The cheapest change of the call that removes its fallback, as source text.

    Searched are all casts of sparse inputs and all declared results; the cheapest one causes the
    fewest dense bytes in the whole program, its own casts included.
    """
    best = cost = None
    for change in _changes(graph, node):
        found = _cost(graph, node, change)
        if found is not None and (cost is None or found < cost):
            best, cost = change, found
    return _written(graph, node, best) if best else ""


def _changes(graph: Graph, node: Node) -> Iterator[Change]:
    """Casts of the sparse inputs, and storages of the result: few before many."""
    options = []
    for x in node.args:
        stype = graph.spec(x).stype if type(x) is Value else None
        others = [s for s in STORAGES if s != stype] if stype in ("csr", "row_sparse") else []
        options.append((None, *others))
    single = len(node.results) == 1
    declared = [s for s in STORAGES if s != node.declared[0]] if single else []
    for casts in product(*options[:4], *[(None,)] * len(options[4:])):
        for stype in (None, *declared):
            if stype or any(casts):
                yield Change({slot: s for slot, s in enumerate(casts) if s}, stype)


def _cost(graph: Graph, node: Node, change: Change) -> tuple | None:
    """Fallbacks, dense bytes and number of edits with the change; None where it does not help."""
    settler = Settler(graph.program.backend)
    forms, dense, count = dict(graph.assignment.forms), 0, 0
    for other in graph.program.nodes:
        given = [forms[x.number] if type(x) is Value else x for x in other.args]
        declared = graph.declared(other)
        if other is node:
            for slot, stype in change.casts.items():
                spec = given[slot].spec
                if stype == "csr" and spec.ndim != 2:
                    return None
                given[slot] = form_of(spec.with_stype(stype), settler.backend)
                dense += spec.dense_nbytes * (stype == "dense")
            declared = (change.stype,) if change.stype else declared
        try:
            step = settler.settle(other.operator, given, declared, other.params)
        except SparseOpsError:
            return None
        cause = densifying(other, step)
        if cause is not None:
            if other is node:
                return None
            dense, count = dense + cause.bytes_dense, count + 1
        for value, form in zip(other.results, step.results, strict=True):
            forms[value.number] = form
    return count, dense, len(change.casts) + (change.stype is not None)


def _written(graph: Graph, node: Node, change: Change) -> str:
    """The call as the user wrote it, with the change; with the values' names if it is unknown."""
    operator, names = node.operator.__name__, _expressions(node)
    if names is None or len(names[1]) != len(node.args):
        shown = [x.name if type(x) is Value else repr(x) for x in node.args]
        names = f"so.{operator}", shown, [f"{k}={v!r}" for k, v in node.given_parameters]
        stypes = graph.declared(node)
        if len(stypes) == 1 and stypes[0] != UNDEFINED:
            names[2].append(f"stype={stypes[0]!r}")
    function, args, keywords = names
    args = [
        f'{_tight(text)}.tostype("{change.casts[slot]}")' if slot in change.casts else text
        for slot, text in enumerate(args)
    ]
    if change.stype:
        keywords = [text for text in keywords if not text.startswith("stype=")]
        keywords.append(f'stype="{change.stype}"')
    return f"{function}({', '.join([*args, *keywords])})"


def _expressions(node: Node) -> tuple[str, list[str], list[str]] | None:
    """The function, arguments and keywords of the call in the user's source."""
    source = _segment(node)
    try:
        tree = ast.parse(source.strip(), mode="eval").body
    except SyntaxError:
        return None
    text = lambda part: ast.get_source_segment(source.strip(), part)  # noqa: E731
    if isinstance(tree, ast.BinOp) and type(tree.op) in _SYMBOLS:
        return f"so.{_SYMBOLS[type(tree.op)]}", [text(tree.left), text(tree.right)], []
    if isinstance(tree, ast.Call):
        written, name = text(tree.func), node.operator.__name__
        keywords = [text(part) for part in tree.keywords]
        args = [text(part) for part in tree.args]
        if written.rpartition(".")[2] == name and len(args) == len(node.args):
            return written, args, keywords
        if isinstance(tree.func, ast.Attribute) and tree.func.attr == name:
            return f"so.{name}", [text(tree.func.value), *args], keywords
    return None


def _segment(node: Node) -> str:
    """The source of the call."""
    if node.code is None:
        return ""
    code, instruction = node.code
    position = list(code.co_positions())[instruction // 2]
    first, last, start, end = position
    if None in position:
        return ""
    lines = [linecache.getline(code.co_filename, n) for n in range(first, last + 1)]
    if not all(lines):
        return ""
    # Columns are counted in bytes.
    raw = [line.encode() for line in lines]
    raw[-1] = raw[-1][:end]
    raw[0] = raw[0][start:]
    return b"".join(raw).decode()


def _tight(text: str) -> str:
    try:
        tree: Any = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    plain = (ast.Name, ast.Call, ast.Attribute, ast.Subscript)
    return text if isinstance(tree, plain) else f"({text})"
