"""Damaged files for the readers; each is remade by its number alone.

``python tests/file_fuzzer.py FIRST COUNT`` reads them, and prints what ends in anything but an
array or a FormatError with the name of the file.
"""

import random
import resource
import signal
import sys
import tempfile
import warnings
import zipfile
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

import sparseops as so
from sparseops import io

SECONDS, MEMORY = 5, 3 << 30
NUMBERS = (
    *(b"0", b"-1", b"1", b"2", b"3", b"1.5", b"1e400", b"nan", b"-inf", b"99999999999"),
    *(b"9223372036854775808", b"-9223372036854775809", b"1" * 400, b"0x10", b"", b"1_000", b"\xd9"),
)
WORDS = (
    *(b"%", b"#", b":", b" ", b"\n", b"\r\n", b"\t", b"\x00", b"qid:", b"qid:1 ", b"real"),
    *(b"complex", b"pattern", b"symmetric", b"hermitian", b"skew-symmetric", b"array"),
    *(b"coordinate", b"integer"),
)


class Hang(BaseException):
    """A reader that took longer than `SECONDS`."""


@cache
def sound():
    """Files that can be read, by the end of their names."""
    x = so.csr_array(sp.random_array((6, 5), density=0.4, format="csr", rng=0))
    found = {"svm": [], "mtx": [], "npz": []}
    for y in ([1, -1, 1, 1, -1, -1], [0.5, 2, 3, 1e-3, 0, 7]):
        file = BytesIO()
        io.write_libsvm(file, x, y, qid=[1, 1, 2, 2, 3, 3])
        found["svm"].append(file.getvalue())
    found["svm"].append(b"# head\n+1 1:0.5 3:2e-1 # note\n\n-1 2:7\n")
    matrix = x.asscipy()
    square = matrix[:5].tocoo()
    for value in (matrix, matrix.toarray(), square + square.T, (square * 1j).tocsr(), square > 0):
        file = BytesIO()
        scipy.io.mmwrite(file, value)
        found["mtx"].append(file.getvalue())
    file = BytesIO()
    io.save(file, {"a": [x, 3, None], "b": (x.tostype("row_sparse"), "text", np.float32(2))})
    found["npz"].append(file.getvalue())
    file = BytesIO()
    sp.save_npz(file, matrix)
    found["npz"].append(file.getvalue())
    return found


def damaged(rng):
    """The end of a name, and the content of a file with a few faults."""
    kind = rng.choice(["svm", "mtx", "npz"])
    content = rng.choice(sound()[kind])
    if kind == "npz" and rng.random() < 0.7:
        return kind, repacked(rng, content)
    return kind, changed(rng, content, kind != "npz")


def changed(rng, content, text):
    """The bytes `content` with one to three changes."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(content) + 1)
        to = min(at + rng.choice([1, 1, 2, 5, 40]), len(content))
        step = rng.randrange(7)
        if step == 0:
            content = content[:at]
        elif step == 1:
            content = content[:at] + content[to:]
        elif step == 2:
            content = content[:at] + content[at:to] * rng.choice([2, 2, 9]) + content[to:]
        elif step == 3:
            content = content[:at] + rng.randbytes(to - at) + content[to:]
        elif step == 4:
            content = content[:at] + rng.choice(WORDS) + content[at:]
        elif text:
            content = renumbered(rng, content)
        elif content and at < len(content):
            flipped = content[at] ^ 1 << rng.randrange(8)
            content = content[:at] + bytes([flipped]) + content[at + 1 :]
    return content


def renumbered(rng, content):
    """The text with another number, or no line, somewhere."""
    lines = content.split(b"\n")
    n = rng.randrange(len(lines))
    words = lines[n].replace(b":", b" : ").split(b" ")
    words[rng.randrange(len(words))] = rng.choice(NUMBERS)
    lines[n] = b" ".join(words).replace(b" : ", b":")
    if rng.random() < 0.2:
        rng.shuffle(lines)
    return b"\n".join(lines)


def repacked(rng, content):
    """An archive with a member changed, and right checksums."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(parts))
    step = rng.randrange(5)
    if step == 0:
        del parts[name]
    elif step == 1:
        parts[name + rng.choice(["", "x", "/../y.npy", ".npy"])] = rng.randbytes(9)
    elif step == 2:
        parts[name] = parts[rng.choice(sorted(parts))]
    else:
        parts[name] = changed(rng, parts[name], step == 3)
    file = BytesIO()
    how = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", how) as archive:
        warnings.simplefilter("ignore")
        for name, part in parts.items():
            archive.writestr(name, part)
    return file.getvalue()


READERS = {
    "svm": [
        lambda file: io.read_libsvm(file),
        lambda file: io.read_libsvm(file, base=1, num_columns=5, qid=True),
        lambda file: list(io.read_libsvm_batches(file, 2, base=1, num_columns=5)),
    ],
    "mtx": [io.read_mtx],
    "npz": [io.load],
}


def attempt(number, folder):
    """What is wrong with how a reader ends, or None; and whether it gave an answer."""
    rng = random.Random(f"file {number}")
    kind, content = damaged(rng)
    file = Path(folder) / f"damaged.{kind}"
    file.write_bytes(content)
    read = rng.choice(READERS[kind])
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        found = read(file)
        for x in arrays(found):
            x.storage.validate()
    except so.FormatError as error:
        return (None if str(file) in str(error) else f"no file in {error}"), False
    except (Exception, Hang) as error:
        return f"{type(error).__name__}: {error}"[:300], False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None, True


def arrays(value):
    """The arrays among nested values."""
    if isinstance(value, so.NDArray):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from arrays(item)


def overtime(*args):
    raise Hang


def problems(first, count):
    """What is wrong, by number; and how many files could be read after all."""
    found, answers = [], 0
    before = signal.signal(signal.SIGALRM, overtime)
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in range(first, first + count):
                problem, answered = attempt(number, folder)
                answers += answered
                if problem:
                    found.append((number, problem))
    finally:
        signal.signal(signal.SIGALRM, before)
    return found, answers


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    wrong, readable = problems(int(sys.argv[1]), int(sys.argv[2]))
    for number, problem in wrong:
        print(number, problem)
    print(f"{len(wrong)} of {sys.argv[2]} files end wrong; {readable} could be read")
    sys.exit(1 if wrong else 0)
