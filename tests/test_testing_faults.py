"""The laws find what is wrong, with a small example, and accuse nobody else."""

import numpy as np
import pytest
from everyday_faults import MISTAKES
from faulty_operators import FAULTS
from planted import MOST_ENTRIES, broken, checked, smallest
from sound_operators import SOUND
from user_operators import restore_registry

import sparseops as so
from sparseops.testing.catalogue import catalogue

registry = pytest.fixture(autouse=True)(restore_registry)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_breaks_its_law_in_a_small_example(fault):
    for profile in ("quick", "ci"):  # a busy machine tries few cases in the time of the first
        found = broken(checked(fault.make, profile=profile))
        caught = found.keys() & set(fault.laws.split())
        if caught:
            break
    assert caught, f"{fault.name} broke {list(found)}"
    for law in caught:
        assert smallest(found[law]) <= MOST_ENTRIES


@pytest.mark.parametrize("make", MISTAKES, ids=lambda make: make.__name__)
def test_everyday_mistakes_are_found_in_a_small_example(make):
    found = broken(checked(make)) or broken(checked(make, profile="ci"))
    assert found
    assert min(map(smallest, found.values())) <= MOST_ENTRIES


@pytest.mark.parametrize("make", SOUND.values(), ids=SOUND)
def test_sound_operators_are_not_accused(make):
    report = checked(make)
    assert not broken(report), str(report)


@pytest.mark.slow
@pytest.mark.parametrize("make", SOUND.values(), ids=SOUND)
def test_sound_operators_are_not_accused_over_a_hundred_seeds(make):
    accused = {
        seed: list(found) for seed in range(100) if (found := broken(checked(make, seed=seed)))
    }
    assert accused == {}


def test_each_law_has_a_fault_that_it_finds():
    covered = {law for fault in FAULTS for law in fault.laws.split()}
    missing = {law.id for law in catalogue()} - covered
    assert missing == set()


@pytest.mark.parametrize("name", ["the_last_entry_is_lost", "gradient_of_half", "nan_is_dropped"])
def test_the_example_of_a_failure_runs_as_it_stands(name):
    (fault,) = [fault for fault in FAULTS if fault.name == name]
    op, given = fault.make()
    report = so.testing.check_operator(op, on_fail="report", **given)
    (first, *_), *_ = broken(report).values()
    scope = {"np": np, "so": so, op.__name__: op}
    exec(first.example, scope)
