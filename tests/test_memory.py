"""What gradients and training steps allocate, by the peak resident size of a child process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sparseops as so

MEBIBYTE = 2**20

PRELUDE = """
import numpy as np
import sparseops as so

def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))

def forget_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")

def product_gradients(n):
    rng = np.random.default_rng(0)
    places = rng.integers(0, n, (2, n))
    x = so.csr_array((rng.random(n), (places[0], places[1])), shape=(n, n))
    w = so.array(rng.random((n, 1)))
    with so.fallback("error"), so.Tape() as tape:
        loss = so.sum(so.dot(x, w))
    return tape.gradient(loss, [x, w])

def training_step(rows, columns, touched):
    rng = np.random.default_rng(0)
    w = so.array(rng.random((rows, columns), np.float32))
    optimizer = so.optim.adagrad(0.1)
    state = optimizer.init(w)
    for x in state.values():
        if isinstance(x, so.NDArray):
            with x.writing() as data:
                data[...] = 0  # so that its pages exist before anything is measured
    def step():
        ids = rng.choice(rows, touched, replace=False)
        with so.fallback("error"), so.Tape() as tape:
            loss = so.sum(so.square(so.take(w, ids)))
        optimizer.update(tape.gradient(loss, w), state, w)
    return step
"""


def added_bytes(setup, work):
    """How much `work` raises the peak of a process in which `setup` has run."""
    measured = (
        f"forget_peak()\nbefore = resident('VmRSS')\n{work}\nprint(resident('VmHWM') - before)"
    )
    program = f"{PRELUDE}\n{setup}\n{measured}"
    path = str(Path(so.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


needs_proc = pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux's /proc to reset the peak"
)


@needs_proc
def test_the_gradients_of_a_sparse_product_take_no_dense_memory():
    # A dense 12 000 x 12 000 gradient would take 1.15 GB; the small call loads what is lazy.
    added = added_bytes("product_gradients(3)", "product_gradients(12_000)")
    assert added < 60 * MEBIBYTE


@needs_proc
def test_a_training_step_allocates_nothing_of_the_size_of_the_table():
    # The table takes 64 MB, the 20 000 rows touched 1.28 MB; the first step loads what is lazy.
    setup = (
        "step = training_step(1_000_000, 16, 20_000)\nsmall = training_step(100, 16, 3)\nsmall()"
    )
    assert added_bytes(setup, "step(); step()") < 16 * MEBIBYTE


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_zeros_of_any_size_take_memory_by_rows_at_most(stype):
    rows = 1000
    assert so.zeros((rows, 2**40), stype=stype).nbytes <= 8 * (rows + 1)
