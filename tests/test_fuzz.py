"""Hostile calls of the public names: only documented errors, no crash, no hang, nothing changed."""

from itertools import starmap

import numpy as np
import pytest
from fuzzer import absurd, attempt, call, fingerprint, fuzz
from hostile import broken_matrix, recursive

import sparseops as so


def problems(first, count):
    return [(number, problem) for number, problem, _ in fuzz(first, count) if problem]


@pytest.mark.parametrize("first", [501_890, 504_145])
def test_hostile_calls_end_in_documented_errors_and_change_nothing(first):
    ends = fuzz(first, 450)
    assert [(number, problem) for number, problem, _ in ends if problem] == []
    answers = sum(ended == "answer" for _, _, ended in ends)
    assert len(ends) == 450 and 80 < answers < 300


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200_000, 10_000))
def test_two_hundred_thousand_hostile_calls_end_in_documented_errors(first):
    assert problems(first, 10_000) == []


def test_a_call_is_remade_by_its_number():
    for number in range(50):
        (name, _, args, options, _), (again, _, others, _, _) = map(call, (number, number))
        assert (name, list(map(type, args))) == (again, list(map(type, others)))
        assert options.keys() == call(number)[3].keys()


def _raises(error):
    def function(*args):
        raise error

    return function


def _changes_input(x):
    x[0] = 5


def _broken(x):
    return so.NDArray(so.CSR(np.ones(1), np.array([7]), np.array([0, 1]), (1, 2)), x.backend)


def _family(function, *args):
    def family(rng):
        return function, tuple(arg() for arg in args), {}

    return [family]


def _vector():
    return np.zeros(3)


def test_what_the_fuzzer_looks_for_is_found():
    found = starmap(
        lambda function, *args: attempt(0, _family(function, *args))[0],
        [
            (_changes_input, _vector),
            (_broken, lambda: so.array([1.0])),
            (_raises(SystemError()),),
            (lambda x: so.array(x), lambda: [1.0]),
            (_raises(MemoryError()),),
            (_raises(MemoryError()), lambda: 2**40),
        ],
    )
    kinds = [problem and problem[0] for problem in found]
    assert kinds == ["changed", "result FormatError", "SystemError", None, "MemoryError", None]


def test_errors_of_the_package_alone_count():
    class Odd(so.NDArray.__base__):
        dtype = property(_raises(ZeroDivisionError()))
        stype, shape, storage = "dense", (1,), None

    assert attempt(0, _family(_raises(ZeroDivisionError())))[0] is None
    kind, place, _ = attempt(0, _family(lambda x: so.add.infer(x, x), Odd))[0]
    assert kind == "ZeroDivisionError" and place.startswith(("ops/", "inference.py"))


def test_fingerprints_see_values_strides_flags_and_structure():
    x = np.arange(4.0)
    before = fingerprint([x])
    x.setflags(write=False)
    assert fingerprint([x]) != before
    assert fingerprint(recursive()) == fingerprint(recursive())
    assert fingerprint(broken_matrix()) == fingerprint(broken_matrix())
    assert absurd([0, (2**40,)]) and not absurd([1, "a", None])
