"""Where a fallback policy holds: blocks, threads, tasks, and the environment."""

import asyncio
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

import pytest
from user_operators import dense_only, restore_registry

import sparseops as so

registry = pytest.fixture(autouse=True)(restore_registry)

SHAPE = (50, 40)
DENSE = 50 * 40 * 8


@pytest.fixture
def x():
    return so.random(SHAPE, density=0.01, rng=0)


@pytest.fixture
def op():
    return dense_only()


def test_an_outer_block_sees_the_records_of_an_inner_one(op, x):
    with so.fallback("error") as outer:
        with so.fallback("allow") as inner:
            op(x)
        with pytest.raises(so.DensifyError):
            op(x)
    assert len(inner) == len(outer) == 1
    with so.fallback("allow") as outer, so.fallback("error"), pytest.raises(so.DensifyError):
        op(x)
    assert outer == []


def test_the_policy_is_restored_behind_an_exception(op, x):
    with so.fallback("allow") as records:
        with pytest.raises(KeyError), so.fallback("error"):
            raise KeyError
        op(x)
    assert len(records) == 1


def test_threads_have_policies_of_their_own(op, x):
    barrier = threading.Barrier(2, timeout=10)

    def run(action):
        with so.fallback(action) as records:
            barrier.wait()
            try:
                op(x)
            except so.DensifyError:
                records.append("refused")
            barrier.wait()
            return records

    with so.fallback("error") as mine, ThreadPoolExecutor(2) as pool:
        allowed, refused = pool.map(run, ("allow", "error"))
    assert mine == [] and refused == ["refused"]
    assert [r.operator for r in allowed] == ["dense_only"]


def test_a_copied_context_carries_the_policy_into_a_thread(op, x):
    with so.fallback("allow") as records, ThreadPoolExecutor(1) as pool:
        pool.submit(copy_context().run, op, x).result()
    assert len(records) == 1


def test_tasks_have_policies_of_their_own(op, x):
    async def run(action):
        with so.fallback(action) as records:
            await asyncio.sleep(0)
            try:
                op(x)
            except so.DensifyError:
                return "refused"
            await asyncio.sleep(0)
            return len(records)

    async def both():
        return await asyncio.gather(run("allow"), run("error"), run("allow"))

    assert asyncio.run(both()) == [1, "refused", 1]


PROGRAM = """
import warnings
import numpy as np
import sparseops as so

@so.operator
def dense_only(x):
    return x.shape, x.dtype

@dense_only.forward("dense -> dense")
def _double(backend, x):
    return x

x = so.csr_array(([1.0], ([2], [1])), shape=(50, 40))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        try:
            dense_only(x)
            print("ran", len(caught))
        except Exception as error:
            print(type(error).__name__, str(error).splitlines()[0])
with so.fallback("allow") as records:
    dense_only(x)
print("records", len(records))
"""


def run(**environment):
    """What the program prints with these environment variables."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SPARSEOPS")}
    kept["PYTHONPATH"] = str(Path(so.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM],
        env=kept | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "environment, expected",
    [
        ({}, "ran 1"),
        ({"SPARSEOPS_FALLBACK": "warn"}, "ran 1"),
        ({"SPARSEOPS_FALLBACK": "allow"}, "ran 0"),
        ({"SPARSEOPS_FALLBACK": "error"}, "DensifyError"),
        ({"SPARSEOPS_FALLBACK_LIMIT": "1 KiB"}, "DensifyError"),
        ({"SPARSEOPS_FALLBACK": "allow", "SPARSEOPS_FALLBACK_LIMIT": "none"}, "ran 0"),
        ({"SPARSEOPS_FALLBACK": "never"}, "ValueError.*SPARSEOPS_FALLBACK"),
        ({"SPARSEOPS_FALLBACK_LIMIT": "lots"}, "ValueError.*SPARSEOPS_FALLBACK_LIMIT"),
    ],
)
def test_the_environment_sets_the_default_and_blocks_override_it(environment, expected):

    *calls, records = run(**environment)
    assert len(calls) == 2 and all(re.match(expected, printed) for printed in calls)
    assert records == "records 1"
