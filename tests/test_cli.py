"""The command line: what it prints where, and its exit statuses."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import sparseops as so
from sparseops import cli

PATH = os.path.dirname(os.path.dirname(so.__file__))


def run(*argv, **options):
    """`python -m sparseops.cli argv`, finished."""
    return subprocess.run(
        [sys.executable, "-m", "sparseops.cli", *argv],
        env=os.environ | {"PYTHONPATH": PATH} | options.pop("environment", {}),
        **({"capture_output": True, "text": True} | options),
    )


@pytest.fixture
def command(monkeypatch):
    """Makes `function(argv)` the command "given"."""

    def make(function):
        monkeypatch.setattr(cli, "given", function, raising=False)
        monkeypatch.setitem(cli.COMMANDS, "given", cli.Command("sparseops.cli:given", "a test"))

    return make


def test_help_names_every_command_and_what_it_does(capsys):
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    for name, entry in cli.COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(entry.summary)}$", text, re.MULTILINE)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_a_help_of_its_own(name, capsys):
    assert cli.main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: sparseops {name}")


def test_the_version_is_one_line(capsys):
    assert cli.main(["--version"]) == 0
    assert re.fullmatch(r"sparseops (\d\S*|not installed)\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    "argv", [[], ["nonsense"], ["--nonsense"], ["info", "one", "two"], ["info", "-x"]]
)
def test_misuse_is_status_two_and_goes_to_stderr(argv, capsys):
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: sparseops")
    assert "error:" in err


def test_info_tells_versions_backends_and_settings(capsys, monkeypatch):
    monkeypatch.setenv("SPARSEOPS_FALLBACK", "error")
    monkeypatch.delenv("SPARSEOPS_FALLBACK_LIMIT", raising=False)
    assert cli.main(["info"]) == 0
    out, err = capsys.readouterr()
    facts = {line[:26].strip(): line[26:] for line in out.splitlines()}
    assert err == ""
    assert facts["numpy"] == np.__version__
    assert facts["Python"].startswith("{}.{}.{}".format(*sys.version_info))
    assert facts["backend scipy"] == "usable"
    assert facts["backend cupyx"] == "usable" or facts["backend cupyx"].startswith("not usable: ")
    assert facts["SPARSEOPS_FALLBACK"] == "error"
    assert facts["SPARSEOPS_FALLBACK_LIMIT"] == "not set"
    assert int(facts["cores"]) >= 1
    assert {f"optional {name}" for name in cli.OPTIONAL} <= set(facts)


def test_what_is_piped_is_plain():
    for argv in (["info"], ["--help"], ["--version"]):
        done = run(*argv, environment={"FORCE_COLOR": "", "TERM": "xterm-256color"})
        assert (done.returncode, done.stderr) == (0, "")
        assert re.fullmatch(r"[ -~\n]+", done.stdout)


def test_the_status_reaches_the_shell():
    assert run("info").returncode == 0
    assert run("nonsense").returncode == 2


def test_a_reader_that_stops_early_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    done = run("info", stdout=writer, stderr=subprocess.PIPE, capture_output=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (cli.BROKEN_PIPE, "")


def test_a_closed_output_is_no_error():
    shell = f"{sys.executable} -m sparseops.cli info >&-"
    done = subprocess.run(
        ["sh", "-c", shell], env=os.environ | {"PYTHONPATH": PATH}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("status, expected", [(None, 0), (0, 0), (1, 1), (7, 7)])
def test_a_command_decides_its_status_and_gets_its_arguments(status, expected, command):
    seen = []
    command(lambda argv: seen.append(argv) or status)
    assert cli.main(["given", "a", "--b", "-c"]) == expected
    assert seen == [["a", "--b", "-c"]]


def raises(error):
    def function(argv):
        raise error

    return function


@pytest.mark.parametrize(
    "error, text",
    [
        (so.ShapeError("a fact"), "a fact"),
        (so.BackendError("a fact"), "BackendError: a fact"),
        (FileNotFoundError(2, "No such file", "x.txt"), "No such file: 'x.txt'"),
    ],
)
def test_errors_of_users_are_a_line_and_status_one(error, text, command, capsys):
    command(raises(error))
    assert cli.main(["given"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("sparseops: ")
    assert err.endswith(text + "\n")
    assert err.count("\n") == 1


def test_notes_of_an_error_are_shown(command, capsys):
    error = so.ShapeError("a fact")
    error.add_note("in dot(a, b)")
    command(raises(error))
    assert cli.main(["given"]) == 1
    assert capsys.readouterr().err.endswith("a fact\nin dot(a, b)\n")


def test_errors_of_the_program_are_not_hidden(command):
    command(raises(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        cli.main(["given"])


def test_an_interrupt_ends_without_a_trace(command, capsys):
    command(raises(KeyboardInterrupt()))
    assert cli.main(["given"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_command_that_needs_rich_says_how_to_get_it(command, capsys):
    command(raises(ModuleNotFoundError("No module named 'rich'", name="rich")))
    assert cli.main(["given"]) == 1
    assert capsys.readouterr().err == (
        "sparseops: this command needs rich: pip install 'sparseops[cli]'\n"
    )
    command(raises(ModuleNotFoundError("No module named 'other'", name="other")))
    with pytest.raises(ModuleNotFoundError):
        cli.main(["given"])


def test_a_submodule_of_rich_that_is_absent_is_rich_that_is_absent():
    code = (
        "import sys; sys.modules['rich'] = None\n"
        "from sparseops import cli; sys.exit(cli.main(['demo', '--help']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": PATH},
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1)
