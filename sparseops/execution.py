"""Programs run on arrays: each call as soon as its inputs are there, each value freed after its
last reader.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextvars import copy_context
from queue import SimpleQueue
from threading import Thread
from typing import Any

from sparseops.ndarray import NDArray
from sparseops.policy import report, traced_at
from sparseops.program import Assignment, Node, Program, Value


class Execution:
    """One run of a program.

    Attributes
    ----------
    result : object
        What the function returns.
    values : dict
        The arrays that are results of the program, by number.
    peak_bytes : int
        The most bytes of results that were held at once; inputs and constants, and memory shared
        with them, are not counted.
    """

    def __init__(self, program: Program, assignment: Assignment, given: Mapping[int, NDArray]):
        self.result: Any = None
        self.values: dict[int, NDArray] = dict(given)
        for value in program.values:
            if value.constant is not None:
                self.values[value.number] = value.constant
        self.peak_bytes = 0
        self._nodes = program.nodes
        self._steps = assignment.steps
        self._bytes = 0
        self._buffers: dict[int, list] = {}
        for array in self.values.values():
            self._hold(array, outside=True)

    def call(self, index: int) -> tuple[NDArray, ...]:
        """The results of call number `index`."""
        node = self._nodes[index]
        token = traced_at.set(node.where if node.where[1] else None)
        try:
            return self._call(node, self._steps[index].filled)
        finally:
            traced_at.reset(token)

    def _call(self, node: Node, filled: Sequence[str]) -> tuple[NDArray, ...]:
        args = [self.values[x.number] if type(x) is Value else x for x in node.args]
        if node.cause is not None:
            size = sum(self.values[value.number].nbytes for value in node.cause.sparse)
            report(
                node.cause.operator,
                node.cause.stypes,
                node.cause.reason,
                bytes_sparse=size,
                bytes_dense=node.cause.bytes_dense,
            )
        stypes = filled[len(args) :]
        stype = stypes[0] if len(stypes) == 1 else stypes
        try:
            answer = node.operator(*args, stype=stype, **node.params)
        except Exception as error:
            error.add_note(f"called at {node.place}")
            raise
        return answer if isinstance(answer, tuple) else (answer,)

    def keep(self, node: Node, results: Sequence[NDArray]) -> None:
        """Take in the results of a call."""
        for value, array in zip(node.results, results, strict=True):
            self.values[value.number] = array
            self._hold(array)
        self.peak_bytes = max(self.peak_bytes, self._bytes)

    def free(self, number: int) -> None:
        """Drop a value that has no reader left."""
        array = self.values.pop(number)
        for part in array.storage.parts:
            owner = _owner(part)
            entry = self._buffers[id(owner)]
            entry[1] -= 1
            if not entry[1]:
                del self._buffers[id(owner)]
                self._bytes -= entry[2]

    def _hold(self, array: NDArray, outside: bool = False) -> None:
        for part in array.storage.parts:
            owner = _owner(part)
            entry = self._buffers.get(id(owner))
            if entry is None:
                size = 0 if outside else int(owner.nbytes)
                # The owner is kept alive, so that no other array gets its id.
                entry = self._buffers[id(owner)] = [owner, 0, size]
                self._bytes += size
            entry[1] += 1


def execute(
    program: Program,
    assignment: Assignment,
    given: Mapping[int, NDArray],
    results: Iterable[Value],
    workers: int = 1,
) -> Execution:
    """Run all calls of the program on the arrays `given`."""
    if not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers={workers!r} is not a number of threads, which is at least 1")
    run = Execution(program, assignment, given)
    readers = _Readers(program, results)
    # States change in place, in the order of the program.
    if workers == 1 or any(node.operator.mutates for node in program.nodes):
        for index, node in enumerate(program.nodes):
            run.keep(node, run.call(index))
            readers.done(node, run)
    else:
        _Threads(program, run, readers, workers).finish()
    return run


class _Readers:
    """How many readers each value still has."""

    def __init__(self, program: Program, results: Iterable[Value]):
        self.left = dict.fromkeys([v.number for v in results], 1)
        for node in program.nodes:
            for value in node.values:
                self.left[value.number] = self.left.get(value.number, 0) + 1

    def done(self, node: Node, run: Execution) -> None:
        """Free what `node` was the last to read, and results that nobody reads."""
        for value in node.values:
            self.left[value.number] -= 1
        for value in (*node.values, *node.results):
            if not self.left.get(value.number) and value.number in run.values:
                run.free(value.number)


class _Threads:
    """Calls run at once, as far as they do not wait for each other's results."""

    def __init__(self, program: Program, run: Execution, readers: _Readers, workers: int):
        self.nodes = program.nodes
        self.run = run
        self.readers = readers
        self.workers = workers
        self.index = {id(node): number for number, node in enumerate(self.nodes)}
        self.waiting, self.readers_of = [], [[] for _ in self.nodes]
        for number, node in enumerate(self.nodes):
            makers = {self.index[id(v.maker)] for v in node.values if v.maker is not None}
            self.waiting.append(len(makers))
            for maker in makers:
                self.readers_of[maker].append(number)
        self.failed: dict[int, BaseException] = {}
        self.todo: SimpleQueue = SimpleQueue()
        self.done: SimpleQueue = SimpleQueue()

    def finish(self) -> None:
        """Run everything; the first exception is that of the first call in order."""
        threads = [Thread(target=self._work, daemon=True) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        ready = [number for number, count in enumerate(self.waiting) if not count]
        running = 0
        try:
            while ready or running:
                for number in sorted(ready):
                    if number < min(self.failed, default=len(self.nodes)):
                        # A context is entered by one thread at a time, so each call has a copy.
                        self.todo.put((number, copy_context()))
                        running += 1
                ready = []
                if running:
                    ready = self._take(*self.done.get())
                    running -= 1
        finally:
            for _ in threads:
                self.todo.put(None)
            for thread in threads:
                thread.join()
        if self.failed:
            raise self.failed[min(self.failed)]

    def _work(self) -> None:
        """What each thread does: the calls that are ready, until there are no more."""
        while (task := self.todo.get()) is not None:
            number, context = task
            try:
                self.done.put((number, context.run(self.run.call, number), None))
            except BaseException as error:
                self.done.put((number, None, error))

    def _take(self, number: int, results: Any, error: BaseException | None) -> list[int]:
        """Keep what a call gave; the calls that waited for it alone."""
        if error is not None:
            self.failed[number] = error
            return []
        node = self.nodes[number]
        self.run.keep(node, results)
        self.readers.done(node, self.run)
        freed = []
        for reader in self.readers_of[number]:
            self.waiting[reader] -= 1
            if not self.waiting[reader]:
                freed.append(reader)
        return freed


def _owner(part: Any) -> Any:
    """The array that owns the memory of `part`."""
    base = getattr(part, "base", None)
    while base is not None and hasattr(base, "nbytes"):
        part, base = base, getattr(base, "base", None)
    return part
