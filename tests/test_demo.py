"""The demo tells its story to the end, in plain lines, and fails where something is not true."""

import doctest
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import sparseops as so
from sparseops import cli, demo
from sparseops.demo import laws, story
from sparseops.demo.layer import project
from sparseops.demo.screen import Plain, Rich
from sparseops.demo.story import DemoError, show_laws, show_training
from sparseops.demo.training import COLUMNS, Texts

ROOT = Path(__file__).parents[1]
MOST_MEMORY = 600_000  # kB

# A child with the network and every written file forbidden, that ends with its peak of memory.
# (The peak that getrusage tells includes that of the parent before exec.)
CHILD = r"""
import sys

def forbid(event, args):
    if event.startswith("socket.") or (event == "open" and args[1] and set(args[1]) & set("wax+")):
        raise RuntimeError(f"{event} {args}")

import sparseops.cli
sys.addaudithook(forbid)
status = sparseops.cli.main(sys.argv[1:])
with open("/proc/self/status") as lines:
    print(*[line for line in lines if line.startswith("VmHWM")], end="")
sys.exit(status)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads the peak of memory in /proc"
)
def test_the_demo_tells_its_story_into_a_pipe(tmp_path):
    child = subprocess.run(
        [sys.executable, "-c", CHILD, "demo", "--quick"],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        text=True,
    )
    assert (child.returncode, child.stderr) == (0, "")
    landmarks = [
        "1. The data",
        "bytes as dense            7.3 GiB",
        "2. An operator of your own",
        "@project.backward",
        "<operator project(x, w, *, stype=None)>",
        "3. Storage",
        "falls back to dense",
        "20.0 MiB",
        "4. Its laws",
        "csr, dense -> row_sparse  equals central differences",
        "5. Training",
        "epoch 1   loss",
        "6. The same steps, the dense way",
        "ratio",
        "7. What this was",
        "sparseops info",
    ]
    found = iter(child.stdout.splitlines())
    for landmark in landmarks:
        assert any(landmark in line for line in found), landmark
    assert "\x1b" not in child.stdout and "BROKEN" not in child.stdout
    assert max(map(len, child.stdout.splitlines())) < 100
    assert int(re.search(r"VmHWM:\s*(\d+) kB", child.stdout)[1]) < MOST_MEMORY
    assert list(tmp_path.iterdir()) == []


def test_the_laws_hold_for_the_demos_operator():
    found = list(laws.check(project))
    assert [law.signature for law in found] == [
        "dense, dense -> dense",
        "csr, dense -> dense",
        "dense, dense -> dense",
        "csr, dense -> row_sparse",
    ]
    assert all(law.holds for law in found)


@pytest.fixture
def wrong():
    """A product whose csr kernel, and whose gradient of a dense input, are off by a factor."""

    @so.operator
    def wrong(x, w):
        return (x.shape[0], w.shape[1]), np.result_type(x.dtype, w.dtype)

    @wrong.forward("dense, dense -> dense")
    def _dense(backend, x, w):
        return so.Dense(x.data @ w.data)

    @wrong.forward("csr, dense -> dense")
    def _csr(backend, x, w):
        return so.Dense(backend.matrix(x) @ w.data * 2)

    @wrong.backward("w", "dense, dense -> dense")
    def _dense_w(g, x):
        return so.dot(x, g, transpose_a=True) * 2

    yield wrong
    so.registry.operators.pop("wrong")


def test_a_wrong_kernel_and_a_wrong_gradient_are_found(wrong):
    assert [law.holds for law in laws.check(wrong)] == [True, False, False]


def test_a_broken_law_ends_the_demo(wrong, monkeypatch, capsys):
    monkeypatch.setattr(story, "project", wrong)
    with pytest.raises(DemoError, match="'csr, dense -> dense'"):
        show_laws(Plain())
    assert "BROKEN" in capsys.readouterr().out


def test_an_accuracy_below_the_baseline_ends_the_demo():
    def texts(label):
        x = so.csr_array((np.ones(8, np.float32), np.arange(8), np.arange(9)), (8, COLUMNS))
        return Texts(x, np.full(8, label))

    with pytest.raises(DemoError, match=r"0\.0% is not above the baseline of 100\.0%"):
        show_training(Plain(), texts(0), texts(1), ["zero", "one"], epochs=1)


def test_a_demo_that_fails_says_so_in_one_line_and_exits_with_one(monkeypatch, capsys):
    def fails(screen, *, epochs):
        raise DemoError("the sky is green")

    monkeypatch.setattr(demo, "tell", fails)
    assert demo.main([]) == cli.main(["demo"]) == 1
    assert capsys.readouterr().err == "sparseops demo: the sky is green\n" * 2


@pytest.mark.parametrize("x", ["dense", "csr", "row_sparse"])
@pytest.mark.parametrize("w", ["dense", "csr", "row_sparse"])
def test_what_is_said_to_fall_back_does(x, w):
    with so.fallback("allow") as records:
        project(so.array(np.eye(3), stype=x), so.array(np.eye(3), stype=w))
    said = story.how(so.infer_storage(project, x=x, w=w))
    assert said == ("falls back to dense" if records else "as declared")


@pytest.mark.parametrize("argv", [["--epochs", "0"], ["--epochs", "many"], ["now"]])
def test_wrong_options_are_refused(argv, capsys):
    with pytest.raises(SystemExit) as end:
        demo.main(argv)
    assert end.value.code == 2
    assert "usage: sparseops demo" in capsys.readouterr().err


def test_what_to_try_next_is_there():
    readme = (ROOT / "README.md").read_text()
    for command, what in story.NEXT:
        if command == "README.md":
            assert all(f"## {name}\n" in readme for name in re.findall("'(.+?)'", what))
            continue
        program, name, *_ = command.split()
        assert program == "sparseops" and name in cli.COMMANDS


def test_the_snippet_to_try_prints_what_is_shown():
    example = doctest.DocTestParser().get_doctest(story.SNIPPET, {}, "snippet", None, 0)
    assert doctest.DocTestRunner().run(example) == (0, 3)


@pytest.mark.skipif(not find_spec("rich"), reason="rich is not installed")
def test_a_terminal_shows_the_same_words_as_a_pipe(capsys):
    shown = []
    for screen in (Plain(), Rich()):
        screen.step("float32[3,4] csr")
        screen.say("A [bold]text[/bold] with :smile: and [4]")
        screen.code("x[0] = [1, 2]")
        screen.table(("[a]", "size"), ("[b]", "3 MiB"), ("c", "12 MiB"))
        assert list(screen.progress([1, 2], "counting")) == [1, 2]
        shown.append(re.findall(r"[\w\[\]:,/.]+", capsys.readouterr().out))
    assert shown[0] == shown[1]
