"""Laws about the way an operator behaves: what it keeps, threads, states, and inference as run."""

import gc
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from sparseops.autograd import Tape
from sparseops.ndarray import NDArray
from sparseops.spec import Spec
from sparseops.testing.dense import densify
from sparseops.testing.law import GRADIENT, WHOLE, Breach, NotConcerned, law
from sparseops.testing.limits import Overdue
from sparseops.testing.oracle import describe
from sparseops.testing.run import Run, fingerprint
from sparseops.testing.sample import Sample
from sparseops.testing.slopes import Slopes, differentiable, slopes_of
from sparseops.testing.structure import is_native, only_operators

_THREADS = 4
_CALLS = 15
_PACKAGE = str(Path(__file__).parents[1])
_OPS = str(Path(_PACKAGE) / "ops")


@law(
    "I10",
    "what is inferred without data comes out",
    "the describing function and the kernel disagree, or it looks at values",
    applies=only_operators,
)
def inferred_without_data(run: Run) -> Any:
    """Whether `op.infer` on specs says what the results are."""
    if run.error is not None:
        return NotConcerned
    operator = run.subject.operator
    specs = [x.spec if isinstance(x, NDArray) else x for x in run.inputs]
    found = operator.infer(*specs, outputs=run.case.declared, **run.params)
    found = (found,) if isinstance(found, Spec) else found
    for name, spec, x in zip(operator.outputs, found, run.results, strict=True):
        if isinstance(x, NDArray) and spec != x.spec:
            return Breach(f"{name} is {x.spec}; inferred is {spec}", "spec")
    return None


def _keeps_nothing(subject: Any) -> str:
    if subject.operator is None:
        return "a plain function declares no dependencies"
    return differentiable(subject)


@law(
    "G9",
    "nothing is kept but what gradient rules name",
    "the kernel keeps its inputs in a closure, a cache or a global, beside the tape",
    GRADIENT,
    _keeps_nothing,
    turn=(0, 3),
)
def keeps_what_is_named(run: Run) -> Any:
    """Whether inputs that no rule names are freed, and other calls do not disturb a gradient."""
    if not is_native(run) or run.case.declared is not None:
        return NotConcerned
    breach = _retained(run)
    return breach or _disturbed(run)


def _retained(run: Run) -> Breach | None:
    inputs = run.new_inputs()
    with Tape(persistent=True) as tape:
        results, _ = run.subject.call(inputs, run.params)
    if not tape.calls:
        return None
    kept = tape.calls[0].inputs or (None,) * len(inputs)
    arrays = {
        sample.name: weakref.ref(x.storage.data)
        for sample, x, keeps in zip(run.case.samples, inputs, kept, strict=True)
        if keeps is None and isinstance(x, NDArray)
    }
    del inputs, results, kept
    # A call frees what it does not keep at once; only cycles wait for the collector.
    if any(find() is not None for find in arrays.values()):
        gc.collect()
    alive = [name for name, find in arrays.items() if find() is not None]
    if alive:
        return Breach(f"{alive[0]} is kept after the call, though no rule names it", "kept")
    return None


def _disturbed(run: Run) -> Breach | None:
    """Whether a call between forward and backward changes the gradient."""
    slopes = slopes_of(run)
    if isinstance(slopes, BaseException) or not slopes.slots:
        return None
    fresh = Slopes(run)
    other = Run(run.subject, run.case.with_samples(_other_values), run.oracle)
    if other.error is None:
        other_slopes = slopes_of(other)
        if isinstance(other_slopes, BaseException):
            return None
    for slot, gradient in fresh.gradients.items():
        before = slopes.gradients[slot]
        if fingerprint(gradient) != fingerprint(before):
            name = run.case.samples[slot].name
            text = (
                f"{densify(before).tolist()}, and {densify(gradient).tolist()} after another call"
            )
            return Breach(f"the gradient by {name} is {text}", "disturbed")
    return None


def _other_values(sample: Sample) -> Sample:
    """The same structure with other floating values."""
    if sample.dtype.kind not in "fc":
        return sample
    values = sample.values * 2 + (1 if not sample.sparse else 0)
    return sample.having(values=values.astype(sample.dtype))


def _has_states(subject: Any) -> str:
    mutates = subject.operator is not None and subject.operator.mutates
    return "" if mutates else "the operator declares no states"


@law(
    "S1",
    "states change once a call, and nothing else does",
    "a state is written to in place, beside the new storage that the kernel returns",
    applies=_has_states,
)
def states_change_once(run: Run) -> Any:
    """Whether each state has a new version, by one, and its old memory is as it was."""
    if run.error is not None:
        return NotConcerned
    operator = run.subject.operator
    inputs = run.new_inputs()
    states = {n: inputs[operator.inputs.index(n)] for n in operator.mutates}
    old = {name: (x.storage, fingerprint(x)) for name, x in states.items()}
    versions = {name: x.version for name, x in states.items()}
    run.again(inputs)
    for name, x in states.items():
        storage, before = old[name]
        if x.version != versions[name] + 1:
            return Breach(f"{name} changed {x.version - versions[name]} times", "version")
        if fingerprint(NDArray(storage, x.backend)) != before:
            return Breach(f"the old memory of {name} is written to", "memory")
    return None


@law(
    "P1",
    "four threads at once give the same",
    "calls share a buffer, a cache or another global",
    WHOLE,
)
def threads_agree(engine: Any) -> Any:
    """Whether calls with different values, in several threads, give what each gives alone."""
    kept = engine.kept_by_storages.values()
    chosen = [run for run in kept if any(map(_size, run.results))][:3]
    if not chosen:
        return NotConcerned
    for run in chosen:
        breach = _raced(run)
        if breach:
            return breach
    return None


def _size(x: Any) -> bool:
    return bool(np.size(densify(x)))


def _raced(run: Run) -> Breach | None:
    runs = [Run(run.subject, _shifted(run, n), run.oracle) for n in range(_THREADS)]
    runs = [other for other in runs if other.error is None]
    wrong: list[Breach] = []
    start = threading.Barrier(len(runs), timeout=10)

    def work(mine: Run) -> None:
        wanted = [fingerprint(x) for x in mine.results]
        np.seterr(all="ignore")
        start.wait()
        sys.settrace(_giving_way)
        for _ in range(_CALLS):
            if wrong:
                return
            inputs = mine.new_inputs()
            try:
                found, _ = mine.subject.call(inputs, mine.params, mine.case.declared)
            except (Exception, Overdue) as error:
                wrong.append(_race(mine, f"raises {describe(error)}"))
                return
            if [fingerprint(x) for x in found] != wanted:
                text = f"gives {densify(found[0]).tolist()}; alone {mine.dense[0].tolist()}"
                wrong.append(_race(mine, text))

    def traced(mine: Run) -> None:
        try:
            work(mine)
        finally:
            sys.settrace(None)

    workers = [threading.Thread(target=traced, args=(other,), daemon=True) for other in runs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(10)
    return wrong[0] if wrong else None


def _giving_way(frame: Any, event: str, arg: Any) -> Any:
    """Lets the other threads run before each line of a kernel."""
    name = frame.f_code.co_filename
    if name.startswith(_PACKAGE) and not name.startswith(_OPS):
        return None
    if event == "line":
        time.sleep(0)
    return _giving_way


def _race(run: Run, text: str) -> Breach:
    code = f"{run.case.code(run.subject.dialect)}\n{run.case.call(run.subject.name)}"
    return Breach(
        f"one of {_THREADS} threads {text}",
        ", ".join(run.case.stypes),
        example=f"{code}  # in several threads at once, with other values in the others",
    )


def _shifted(run: Run, number: int) -> Any:
    """The case with other values in the same structure."""

    def change(sample: Sample) -> Sample:
        if sample.dtype.kind not in "fc":
            return sample
        if run.subject.name_of(sample) not in run.subject.domain:
            return sample.having(values=(sample.values * (number + 1)).astype(sample.dtype))
        values, stored = sample.values.copy(), sample.stored if sample.sparse else ...
        values[stored] = np.roll(values[stored], number)
        return sample.having(values=values, hazards=())

    return run.case.with_samples(change)
