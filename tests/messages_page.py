"""What the programs of `messages` get, and the page sparseops/README.md made of it.

``PYTHONPATH=. python tests/messages_page.py`` writes the page.
"""

import ast
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from unittest import mock

import numpy as np
from messages import PRELUDE, PROGRAMS

import sparseops as so
from sparseops import errors, native, policy
from sparseops.backend import Backend, _loaded, _loaders
from sparseops.registry import operators

PACKAGE = Path(so.__file__).parent
PAGE = PACKAGE / "README.md"

_MEANINGS = {
    TypeError: "A call or a declaration that is not of the right form, as Python's own calls say.",
    ValueError: "A number, a name or an option outside what it may be.",
    IndexError: "A key or an id beyond the array, as NumPy says.",
    KeyError: "A parameter that a dict lacks.",
    AttributeError: "A name that an object does not have, or one that is never set.",
    NotImplementedError: "A key that would store whole axes of a sparse array.",
}

_HEAD = """\
# Errors

Every message of the core, the operators and the optimizers, each under a program that gets it. What
is said is the fact, value before rule; the call it happened in follows as a note
(`error.__notes__`). Errors of sparseops itself are `so.SparseOpsError` and carry `operator`,
`slot`, `declared` and `available` where they apply. "..." stands for the words of another library.

Before each program stands:

```python
{prelude}```

and `gpu` is a backend beside the default one.
"""


class Message(NamedTuple):
    """What a program gets: the exception's class and text, and the place that raised it."""

    program: str
    kind: type[Exception]
    text: str
    file: str
    line: int


class Raise(NamedTuple):
    """A statement of the package that raises with a message."""

    file: str
    first: int
    last: int
    text: str


@cache
def messages() -> list[Message]:
    """What the programs get, in their order."""
    return [message(program) for programs in PROGRAMS.values() for program in programs]


def message(program: str) -> Message:
    """What `program` gets."""
    names = {"__name__": "program"}
    with _undone():
        exec(PRELUDE, names)
        try:
            exec(compile(program, "program.py", "exec"), names)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            text = str(error.args[0])
            if error.__cause__ is not None:
                text = text.replace(str(error.__cause__), "...")
            return Message(program, type(error), text, frame.filename, frame.lineno)
    raise AssertionError(f"this program gets no message: {program}")


@contextmanager
def _undone() -> Iterator[None]:
    """A block with a backend "gpu"; what it declares and sets is undone."""
    gpu = Backend("gpu", _Elsewhere("gpu"), "scipy.sparse", np.asarray)
    so.get_backend()
    cupy = sys.modules.get("cupy")
    # The default policy is read from the environment once; a program that sets it reads it anew.
    with (
        mock.patch.object(policy, "_default", []),
        mock.patch.object(native, "load", native.load),
        mock.patch.dict(_loaders, gpu=lambda: gpu),
        mock.patch.dict(_loaded),
        mock.patch.dict(operators),
        mock.patch.dict(os.environ),
    ):
        _loaded.pop("cupyx", None)
        try:
            yield
        finally:
            sys.modules.pop("cupy", None)
            if cupy is not None:
                sys.modules["cupy"] = cupy


class _Elsewhere(ModuleType):
    """NumPy under another name, as the library of a second backend."""

    __getattr__ = staticmethod(lambda name: getattr(np, name))


def raises() -> list[Raise]:
    """The statements with a message in the files that the table names."""
    found = []
    for name in PROGRAMS:
        path = PACKAGE / name
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and _has_message(node.exc):
                found.append(Raise(str(path), node.lineno, node.end_lineno, ast.unparse(node)))
    return found


def _has_message(raised: ast.expr | None) -> bool:
    """Whether an exception is made, rather than one that was caught raised again."""
    return isinstance(raised, ast.Call) or isinstance(raised, ast.Name) and raised.id == "error"


def page() -> str:
    """The page of all messages, by the classes of the exceptions."""
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    sections = [_section(kind) for kind in (*classes, *_MEANINGS)]
    return _HEAD.format(prelude=PRELUDE) + "".join(sections)


def _section(kind: type[Exception]) -> str:
    found = [m for m in messages() if m.kind is kind]
    if not found:
        return ""
    meaning = _MEANINGS.get(kind) or kind.__doc__.partition("\n")[0]
    lines = "\n\n".join(f"{m.program}\n{_comment(m.text)}" for m in found)
    return f"\n## {kind.__name__}\n\n{meaning}\n\n```python\n{lines}\n```\n"


def _comment(text: str) -> str:
    return "\n".join(f"# {line}".rstrip() for line in text.split("\n"))


if __name__ == "__main__":
    PAGE.write_text(page())
