"""Graphs: what a function computes, with the storage of every value, before values exist."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sparseops.differentiation import differentiate
from sparseops.execution import Execution, execute
from sparseops.inputs import as_input, as_traced, backend_of, check_arguments, input_names
from sparseops.ndarray import NDArray
from sparseops.nesting import form_of_nest, map_leaves, walk_leaves
from sparseops.program import Assignment, Node, Program, Value
from sparseops.spec import Spec, as_stype
from sparseops.traced import Traced
from sparseops.tracing import Tracer, check_storages, without_collection


class Graph:
    """The calls that a function makes, in order, and what is inferred of every value.

    Made by `trace`; never changed: `infer` and `gradient` give other graphs. Values are called by
    the names of the function's parameters (``name.key`` inside of nested arguments), results by
    the operator that gives them (`dot`, `dot_2` …), and what the function returns also ``out``
    (``out.0``, ``out.key`` where it is nested).

    Examples
    --------
    >>> import sparseops as so
    >>> x, w = so.Spec((8, 1000), "float32", "csr"), so.Spec((1000, 1), "float32", "undefined")
    >>> graph = so.trace(lambda x, w: so.sum(so.dot(x, w)))(x, w)
    >>> graph
    <graph of 2 calls>
      x    float32[8,1000] csr    input
      w    float32[1000,1] dense  input
      dot  float32[8,1] dense     = dot(x, w)
      sum  float32[] dense        = sum(dot)  -> out
    >>> graph.gradient("w").outputs
    [Spec((1000, 1), 'float32', 'row_sparse')]
    """

    def __init__(
        self,
        program: Program,
        assignment: Assignment,
        signature: tuple[Any, Any],
        specs: Mapping[int, Spec],
        seen: Mapping[int, str],
        declared: Mapping[int, str],
    ):
        self.program = program
        self.assignment = assignment
        self._arguments, self._results = signature
        self._specs = specs
        self._seen = seen
        self._declared = declared
        self._made_by: Callable[[Graph], Graph] | None = None
        self._forward: Graph | None = None
        self.forward_names: dict[int, Value] = {}

    @property
    def calls(self) -> list[Node]:
        """The calls in order."""
        return list(self.program.nodes)

    @property
    def inputs(self) -> dict[str, Spec]:
        """The spec of each input, by name."""
        return {value.name: self.spec(value) for value in self.program.inputs}

    @property
    def outputs(self) -> list[Spec]:
        """The specs of what the function returns, in order."""
        return [self.spec(value) for _, value in self.leaves()]

    def spec(self, value: Value) -> Spec:
        """What is inferred of a value."""
        return self.assignment.forms[value.number].spec

    def declared(self, node: Node) -> tuple[str, ...]:
        """The storages declared for the results of a call."""
        return node.declared_with(self._declared)

    def infer(self, **declared: str) -> "Graph":
        """The graph with other storages declared, and what follows from them.

        One pass in the order of the calls: an input that nobody declares is settled by the first
        call that uses it, and a declared result is met by the call that makes it. O(calls).

        Parameters
        ----------
        **declared : str
            Storages by the names of inputs and results; "undefined" takes a declaration back.

        Raises
        ------
        StorageError
            If no signature fits a call, or a result is declared otherwise by its ``stype=``.
        """
        if self._forward is not None:
            return self._made_by(self._forward.infer(**declared))
        wanted = dict(self._declared)
        values = self._by_name()
        for name, stype in declared.items():
            if name not in values:
                raise TypeError(f"the graph has no value {name!r}; it has {', '.join(values)}")
            wanted[values[name].number] = as_stype(stype)
        with without_collection():
            assignment = self._assign(wanted)
        check_storages(self._seen, self.program, assignment)
        return self._with(self.program, assignment, self._results, wanted)

    def gradient(self, wrt: Any, stypes: Any = None) -> "Graph":
        """The graph of the gradients of what the function returns, by inputs.

        The calls of the graph stay as they are; those that compute gradients are appended, by the
        rules that a tape would choose, and what the gradients do not need is left out.

        Parameters
        ----------
        wrt : str, int or sequence of them
            Names of inputs, or their places among the inputs.
        stypes : str or sequence, optional
            The storage asked for each gradient, as in `Tape.gradient`.

        Returns
        -------
        Graph
            Its outputs are the gradients: one, or a list where `wrt` is a sequence. What the
            function returns and is not a scalar has a gradient to start from: the further inputs
            `g` (`g.0` …), by position after the function's own.
        """
        single = isinstance(wrt, (str, int))
        sources = [self.source(name) for name in ([wrt] if single else wrt)]
        targets = [value for _, value in self.leaves()]
        with without_collection():
            found = differentiate(self.program, self.assignment, targets, sources, stypes)
        results = found.gradients[0] if single else found.gradients
        graph = self._with(found.program, found.assignment, results, {})
        graph._arguments = found.arguments(self._arguments)
        graph._forward = self
        graph.forward_names = {v.number: self.program.values[n] for n, v in found.renamed.items()}
        graph._made_by = lambda forward: forward.gradient(wrt, stypes)
        return graph

    def run(self, *arrays: Any, workers: int = 1) -> Any:
        """What the function returns for `arrays`: the values and storages of eager execution.

        Parameters
        ----------
        *arrays : array
            The inputs, nested as the function takes them, in the storages inferred.
        workers : int, optional
            How many calls may run at once, in threads that see the caller's context; the first
            exception is the one that a single worker would raise.
        """
        return self.execute(*arrays, workers=workers).result

    def execute(self, *arrays: Any, workers: int = 1) -> Execution:
        """The run as an object: its `result`, and `peak_bytes`, the most bytes of results held at
        once.
        """
        given = self._check(arrays)
        leaves = [value for _, value in self.leaves()]
        done = execute(self.program, self.assignment, given, leaves, workers)
        done.result = map_leaves(lambda x: done.values[x.number], self._results)
        return done

    def _assign(self, wanted: Mapping[int, str]) -> Assignment:
        program, assignment = self.program, Assignment(self.program.backend)
        for value in program.values:
            if value.constant is not None:
                assignment.add_value(value, value.constant.spec)
        for value in program.inputs:
            spec = self._specs[value.number]
            stype = wanted.get(value.number, spec.stype)
            assignment.add_value(value, Spec(spec.shape, spec.dtype, stype))
        for node in program.nodes:
            assignment.add_node(node, node.declared_with(wanted))
        assignment.close(program.inputs)
        return assignment

    def _with(self, program: Any, assignment: Any, results: Any, declared: Any) -> "Graph":
        signature = self._arguments, results
        return Graph(program, assignment, signature, self._specs, self._seen, declared)

    def leaves(self) -> list[tuple[str, Value]]:
        """What the function returns, in order, each with its name."""
        return list(walk_leaves(self._results, "out"))

    def _by_name(self) -> dict[str, Value]:
        """Values by name; those that the program names before those that are only returned."""
        values = {name: value for name, value in self.leaves()}
        return values | {v.name: v for v in self.program.values if v.constant is None}

    def source(self, wrt: Any) -> Value:
        """The input by its name or place."""
        inputs = {value.name: value for value in self.program.inputs}
        names = list(inputs)
        if isinstance(wrt, int) and -len(names) <= wrt < len(names):
            return inputs[names[wrt]]
        if wrt not in inputs:
            raise TypeError(f"the graph has no input {wrt!r}; it has {', '.join(names)}")
        return inputs[wrt]

    def _check(self, arrays: Sequence[Any]) -> dict[int, NDArray]:
        """The arrays by the numbers of their inputs, held to what was inferred."""
        expected, given = list(self._arguments), list(arrays)
        if form_of_nest(expected) != form_of_nest(given):
            names = ", ".join(value.name for value in self.program.inputs)
            raise TypeError(f"run() takes arrays for {names}, nested as the function takes them")
        found = {}
        pairs = zip(walk_leaves(expected, ""), walk_leaves(given, ""), strict=True)
        for (_, value), (_, x) in pairs:
            if type(value) is Value:
                found[value.number] = as_input(x, value.name, self.spec(value), self.program)
        return found

    def __repr__(self) -> str:
        spoken = {value.number: name for name, value in self.leaves()}
        rows = [(v.name, str(self.spec(v)), "input") for v in self.program.inputs]
        for node in self.program.nodes:
            shown = [x.name if type(x) is Value else repr(x) for x in node.args]
            shown += [f"{name}={value!r}" for name, value in node.given_parameters]
            for value in node.results:
                text = f"= {node.operator.__name__}({', '.join(shown)})"
                if value.number in spoken:
                    text += f"  -> {spoken[value.number]}"
                rows.append((value.name, str(self.spec(value)), text))
        widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:2]]
        head = f"<graph of {len(self.program.nodes)} calls>"
        return "\n".join(
            [head, *(f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows)]
        )


def trace(function: Callable[..., Any]) -> Callable[..., Graph]:
    """A function from specs to the graph of what `function` computes.

    `function` runs once, on values of which shape, dtype and storage are known, and nothing else.
    It may branch on shapes, dtypes and arguments that are no arrays; to branch on values is an
    error that names the line. Arrays that it captures are constants.

    Parameters
    ----------
    function : callable
        Written with operators of sparseops, Python and NumPy; it takes and returns arrays, also in
        tuples, lists and dictionaries.

    Returns
    -------
    callable
        ``(*specs, **specs) -> Graph``; a storage may be "undefined", an array stands for its spec,
        and other values are passed on as they are.

    Raises
    ------
    TraceError
        If the function reads values, changes arrays, does not end, or returns no arrays.

    Examples
    --------
    >>> import sparseops as so
    >>> x = so.Spec((3, 4), "float64", "csr")
    >>> so.trace(lambda x: {"double": x + x, "total": x.sum()})(x).outputs
    [Spec((3, 4), 'float64', 'csr'), Spec((), 'float64', 'dense')]
    """

    def traced(*specs: Any, **named: Any) -> Graph:
        check_arguments(function, specs, named)
        names = input_names(function, len(specs), named)
        arguments = [*specs, *named.values()]
        tracer = Tracer(backend_of(arguments))
        known: dict[int, Spec] = {}
        values, symbols = [], []
        for name, argument in zip(names, arguments, strict=True):
            leaves = iter([n for n, _ in walk_leaves(argument, name)])
            made = map_leaves(lambda x: as_traced(tracer, next(leaves), x, known), argument)  # noqa: B023
            symbols.append(made)
            values.append(map_leaves(lambda x: x.value if type(x) is Traced else None, made))
        results = tracer.results_of(
            function, symbols[: len(specs)], dict(zip(named, symbols[len(specs) :], strict=True))
        )
        tracer.assignment.close(tracer.program.inputs)
        return Graph(
            tracer.program, tracer.assignment, (tuple(values), results), known, tracer.seen, {}
        )

    return traced
