"""The command `sparseops explain`: a function and the specs of its inputs, explained."""

import argparse
import inspect
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from sparseops.errors import FormatError, SparseOpsError, TraceError
from sparseops.listing import as_text
from sparseops.report import Report, explain
from sparseops.spec import Spec
from sparseops.traced import last_user_line

_FORM = "NAME: DTYPE[LENGTHS] [STORAGE] [nnz=COUNT or nnz=COUNT/row]"
_SPEC = re.compile(
    r"\s*(?P<name>[\w.]+)\s*:\s*(?P<dtype>\w+)\s*\[(?P<shape>[^\]]*)\]\s*(?P<stype>[a-z_]*)\s*"
    r"(?:nnz=(?P<nnz>[\d_]+)(?P<each>/row)?)?\s*"
)


class Given(NamedTuple):
    """One input of the command line."""

    name: str
    spec: Spec
    nnz: int | None


def main(argv: Sequence[str]) -> int:
    """The exit status: 0, or 1 with ``--fail-on-fallback`` where a call densifies."""
    arguments = _parser().parse_args(argv)
    given = [parse_spec(text) for text in arguments.spec]
    found = _explained(arguments.function, given, arguments.wrt)
    if arguments.svg:
        Path(arguments.svg).write_text(found.to_svg(), encoding="utf-8")
    print(found.to_json() if arguments.json else as_text(found, color=sys.stdout.isatty()))
    return int(bool(arguments.fail_on_fallback and found.fallbacks))


def parse_spec(text: str) -> Given:
    """The input that `text` describes.

    Examples
    --------
    >>> parse_spec("x: float32[8192,1000000] csr nnz=40/row")
    Given(name='x', spec=Spec((8192, 1000000), 'float32', 'csr'), nnz=327680)
    """
    found = _SPEC.fullmatch(text)
    if not found:
        raise FormatError(f"--spec {text!r} is not of the form {_FORM}")
    lengths = [part.strip() for part in found["shape"].split(",") if part.strip()]
    for part in lengths:
        if not re.fullmatch(r"\d[\d_]*", part):
            raise FormatError(f"--spec {text!r}: length {part!r} is not known; give a number")
    spec = Spec([int(part) for part in lengths], found["dtype"], found["stype"] or "dense")
    if not found["nnz"]:
        return Given(found["name"], spec, None)
    count = int(found["nnz"]) * (spec.shape[0] if found["each"] else 1)
    return Given(found["name"], spec, count)


def _explained(path: str, given: Sequence[Given], wrt: Sequence[str]) -> Report:
    """The report; what the function raises is told by its line."""
    function = _function(path)
    given = _in_order(function, given)
    nnz = {x.name: x.nnz for x in given if x.nnz is not None}
    try:
        return explain(function, *[x.spec for x in given], wrt=wrt, nnz=nnz)
    except SparseOpsError:
        raise
    except Exception as error:
        file, line = last_user_line(error)
        at = f"{file}:{line}: " if line and file != __file__ else ""
        raise TraceError(f"{at}{type(error).__name__}: {error}") from error


def _in_order(function: Any, given: Sequence[Given]) -> list[Given]:
    """The inputs in the order of the function's parameters, where they are named so."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return list(given)
    if not all(x.name in names for x in given):
        return list(given)
    return sorted(given, key=lambda x: names.index(x.name))


def _function(path: str) -> Any:
    module, colon, name = path.partition(":")
    if module.endswith(".py"):
        raise FormatError(f"{path!r} names a file; the module is {module.removesuffix('.py')!r}")
    if not colon:
        raise FormatError(f"{path!r} is not of the form module:function")
    # Programs are explained where they lie, as with `python -m`.
    sys.path.insert(0, "")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ModuleNotFoundError, AttributeError) as error:
        raise FormatError(f"{path!r}: {error}") from error
    finally:
        sys.path.remove("")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "sparseops explain",
        description="Say what a function does to storage: of every value and gradient, without "
        "running it.",
    )
    parser.add_argument("function", metavar="MODULE:FUNCTION", help="written with operators")
    parser.add_argument(
        "--spec", action="append", default=[], help=f"an input, in order: {_FORM}", metavar="SPEC"
    )
    parser.add_argument("--wrt", action="append", default=[], help="an input to differentiate by")
    parser.add_argument("--svg", metavar="FILE", help="also draw it into FILE")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--fail-on-fallback", action="store_true", help="exit with 1 if a call densifies"
    )
    return parser
