"""The command line: `sparseops COMMAND`, one entry of `COMMANDS` for each command."""

import argparse
import os
import platform
import sys
import traceback
from collections.abc import Iterator, Sequence
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import NamedTuple

from sparseops.backend import get_backend
from sparseops.errors import BackendError, SparseOpsError

BACKENDS = ("scipy", "cupyx")
OPTIONAL = ("rich", "hypothesis", "matplotlib", "cupy", "torch")
VARIABLES = ("SPARSEOPS_FALLBACK", "SPARSEOPS_FALLBACK_LIMIT")

OK, FAILURE, USAGE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141


class Command(NamedTuple):
    """A function `main(argv) -> exit status`, by its import path, and what it does in a line."""

    function: str
    summary: str


COMMANDS = {
    "convert": Command(
        "sparseops.io.commands:convert", "convert a file of arrays: npz, mtx, libsvm"
    ),
    "info": Command(
        "sparseops.cli:info", "show versions, backends and settings, or a file's arrays"
    ),
    "spy": Command("sparseops.io.commands:spy", "draw where a file's arrays store values"),
    "explain": Command("sparseops.explanation:main", "say where a function would densify, and why"),
    "check": Command("sparseops.testing.command:main", "try to break operators in every way"),
    "bench": Command("sparseops.bench.command:main", "time operators beside other libraries"),
    "demo": Command("sparseops.demo:main", "train a text classifier with a custom sparse operator"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status of the command line `argv`: 0 done, 1 failed, 2 misused."""
    try:
        status = _status(sys.argv[1:] if argv is None else argv)
        print(end="", flush=True)  # unlike sys.stdout.flush(), also where stdout is closed
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes stdout once more at exit and would complain about the same pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return status


def info(argv: Sequence[str]) -> int:
    """Versions, backends and settings, one a line; or what is known of the arrays in a file."""
    parser = argparse.ArgumentParser("sparseops info", description=COMMANDS["info"].summary)
    parser.add_argument("file", nargs="?", metavar="FILE", help="an npz, mtx or libsvm file")
    commands = import_module("sparseops.io.commands")
    commands.add_base(parser)
    arguments = parser.parse_args(argv)
    if arguments.file is not None:
        commands.describe(arguments.file, arguments.base)
        return OK
    for name, value in _facts():
        print(f"{name:<26}{value}")
    return OK


def _status(argv: Sequence[str]) -> int:
    try:
        arguments = _parser().parse_args(argv)
        module, function = COMMANDS[arguments.command].function.split(":")
        return getattr(import_module(module), function)(arguments.arguments) or OK
    except SystemExit as end:  # argparse ends so, after an error and after --help
        return end.code or OK
    except ModuleNotFoundError as error:
        if error.name != "rich":
            raise
        return _fail("this command needs rich: pip install 'sparseops[cli]'")
    except (SparseOpsError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        return _fail("".join(traceback.format_exception_only(error)).rstrip())


def _fail(message: str) -> int:
    print(f"sparseops: {message}", file=sys.stderr)
    return FAILURE


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    table = "\n".join(f"  {name:<{width}}  {entry.summary}" for name, entry in COMMANDS.items())
    parser = argparse.ArgumentParser(
        "sparseops",
        description="Sparse-aware tensors: storage inference and custom sparse operators.",
        epilog=f"commands:\n{table}\n\n`sparseops COMMAND --help` says more about one of them.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sparseops {_version('sparseops')}")
    parser.add_argument("command", metavar="COMMAND", choices=COMMANDS, help="one of those below")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def _facts() -> Iterator[tuple[str, object]]:
    yield "sparseops", _version("sparseops")
    yield "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield "numpy", _version("numpy")
    yield "scipy", _version("scipy")
    yield "cores", _cores()
    for name in BACKENDS:
        yield f"backend {name}", _usable(name)
    for name in VARIABLES:
        yield name, os.environ.get(name, "not set")
    for name in OPTIONAL:
        yield f"optional {name}", _version(name) if find_spec(name) else "absent"


def _version(module: str) -> str:
    """The version of the distribution that holds `module`; CuPy's are named after CUDA's."""
    try:
        return metadata.version(module)
    except metadata.PackageNotFoundError:
        distributions = metadata.packages_distributions().get(module)
    return metadata.version(distributions[0]) if distributions else "not installed"


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # fewer than the machine's in a container
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _usable(backend: str) -> str:
    try:
        get_backend(backend)
    except BackendError as error:
        return f"not usable: {error}"
    return "usable"


if __name__ == "__main__":
    sys.exit(main())
