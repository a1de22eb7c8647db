"""Damaged files end in a FormatError that names the file, or are arrays after all."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("file_fuzzer.py")


def run(first, count):
    """What the reader of damaged files prints, in a process with little memory."""
    found = subprocess.run(
        [sys.executable, str(SCRIPT), str(first), str(count)], capture_output=True, text=True
    )
    assert found.returncode == 0, (found.stdout + found.stderr)[-3000:]
    return found.stdout


def test_damaged_files_are_refused_with_their_name_or_read():
    (*_, last) = run(0, 3000).splitlines()
    readable = int(last.split()[-4])
    assert 100 < readable < 2000, last


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200_000, 20_000))
def test_two_hundred_thousand_damaged_files_are_refused_or_read(first):
    run(first, 20_000)
