"""What an author says of an operator, checked before anything is tried."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sparseops.operators import Operator
from sparseops.parameters import REQUIRED
from sparseops.testing.axes import Axes
from sparseops.testing.domain import Domain
from sparseops.testing.misuse import Misuse
from sparseops.testing.subject import Subject
from sparseops.testing.traits import TRAITS

_POLICIES = ("skip_unstored", "ieee")
_ARRAYS = ("scipy", "sparseops")
_FORMATS = ("dense", "csr", "row_sparse", "scalar")


def subject_of(
    op: Any,
    shapes: str | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    params: Any = None,
    domain: Mapping[str, Any] | None = None,
    traits: Iterable[str] = (),
    nan_policy: str = "skip_unstored",
    seed: int = 0,
    rtol: float = 0.0,
    arrays: str | None = None,
    storages: str | Sequence[str] | None = None,
    compare_with: Callable[..., Any] | None = None,
) -> Subject:
    """The subject that these arguments of `check_operator` describe; Misuse if they do not."""
    if not callable(op):
        raise Misuse(f"{op!r} is no operator, and no function")
    operator = op if isinstance(op, Operator) else None
    name = getattr(op, "__name__", type(op).__name__)
    shapes = shapes or getattr(operator, "shapes", None)
    if shapes is None:
        raise Misuse(f"{name} says nothing of its axes: give shapes='(m,n),(m)->(m,n)', or such")
    axes = Axes.parse(shapes)
    _one_of("nan_policy", nan_policy, _POLICIES)
    _one_of("arrays", arrays, (None, *_ARRAYS))
    for given, what in ((reference, "reference"), (compare_with, "compare_with")):
        if given is not None and not callable(given):
            raise Misuse(f"{what}={given!r} is no function")
    subject = Subject(
        function=op,
        axes=axes,
        reference=reference or getattr(operator, "reference", None),
        params=_params(params),
        traits=_traits(traits),
        nan_policy=nan_policy,
        rtol=rtol,
        dialect="sparseops" if operator is not None else arrays or "scipy",
        storages=_storages(storages, len(axes.inputs)),
        compare_with=compare_with,
    )
    if operator is not None:
        _check_operator(operator, subject)
    for key, values in (domain or {}).items():
        if key not in subject.inputs:
            raise Misuse(f"domain names {key!r}; the inputs are {', '.join(subject.inputs)}")
        subject.domain[key] = Domain(key, values, seed)
    return subject


def _check_operator(operator: Operator, subject: Subject) -> None:
    name, axes = operator.__name__, subject.axes
    if not operator.variadic and (axes.repeated or len(axes.inputs) != len(operator.inputs)):
        raise Misuse(
            f"shapes='{axes}' has {len(axes.inputs)} inputs{' and ...' * axes.repeated}; {name} "
            f"has {len(operator.inputs)}: {', '.join(operator.inputs)}"
        )
    if axes.outputs and len(axes.outputs) != len(operator.outputs):
        raise Misuse(
            f"shapes='{axes}' has {len(axes.outputs)} results; {name} has {len(operator.outputs)}"
        )
    for given in subject.params:
        unknown = [key for key in given if key not in (*operator.defaults, "stype")]
        if unknown:
            known = ", ".join(operator.defaults) or "none"
            raise Misuse(f"params names {unknown[0]!r}; {name} has {known}")
        needed = [k for k, v in operator.defaults.items() if v is REQUIRED and k not in given]
        if needed:
            raise Misuse(f"{name} needs {needed[0]}=: give params={{{needed[0]!r}: ...}}")


def _params(given: Any) -> list[Mapping[str, Any]]:
    if given is None:
        return [{}]
    if isinstance(given, Mapping):
        return [given]
    listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else []
    if not listed or not all(isinstance(item, Mapping) for item in listed):
        raise Misuse(f"params={given!r} is neither a mapping nor a list of mappings")
    return listed


def _traits(given: Iterable[str]) -> tuple[str, ...]:
    found = (given,) if isinstance(given, str) else tuple(given)
    for trait in found:
        _one_of("traits", trait, TRAITS)
    return found


def _storages(given: str | Sequence[str] | None, count: int) -> tuple[tuple[str, ...], ...]:
    found = []
    for text in (given,) if isinstance(given, str) else given or ():
        names = tuple(name.strip() for name in text.partition("->")[0].split(","))
        for name in names:
            _one_of("storages", name, _FORMATS)
        if len(names) != count:
            raise Misuse(f"storages={text!r} names {len(names)} inputs; the axes have {count}")
        found.append(names)
    return tuple(found)


def _one_of(name: str, given: Any, known: tuple) -> None:
    if given not in known:
        listed = ", ".join(repr(item) for item in known if item is not None)
        raise Misuse(f"{name}={given!r} is none of {listed}")
