"""Hostile arguments end in an error that says so, or in a sound array; nothing given changes."""

import pickle
import random

import numpy as np
import pytest
import scipy.sparse as sp
from fuzzer import ALLOWED, absurd, fingerprint
from hostile import Arrayless, Attributeless, Refusal
from hostile_calls import constructors

import sparseops as so


def attack(seed, calls):
    """How many of `calls` random calls give an array; the others raise what they may."""
    rng, given = random.Random(seed), 0
    for _ in range(calls):
        function, args, options = constructors(rng)
        before = fingerprint(args)
        try:
            with np.errstate(all="ignore"):
                found = function(*args, **options)
        except (*ALLOWED, Refusal):
            continue
        except MemoryError:
            assert absurd(args)
            continue
        finally:
            assert fingerprint(args) == before
        given += 1
        found.storage.validate()
        assert repr(found).startswith(f"<{found.spec}")
        assert found.dtype.isnative
        again = pickle.loads(pickle.dumps(found)) if found.nbytes < 10**6 else found
        assert again.spec == found.spec
    return given


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore")
def test_hostile_calls_end_in_an_error_of_a_known_kind_or_in_a_sound_array(seed):
    assert 50 < attack(seed, 500) < 400


@pytest.mark.parametrize("obj", [Arrayless(), Attributeless()], ids=["array", "attributes"])
def test_what_a_hostile_object_raises_reaches_the_user(obj):
    for build in (so.array, so.csr_array, lambda x: so.csr_array((x, [0], [0, 1]))):
        with pytest.raises(Refusal):
            build(obj)


@pytest.mark.parametrize("stype", ["dense", "csr", "row_sparse"])
def test_what_no_memory_holds_is_refused_at_once(stype):
    with pytest.raises(so.ShapeError, match="there is no memory for"):
        so.zeros((2**62, 2**62), stype=stype)
    for lengths in ((2**62, 2**62), (2**50, 8)):
        with pytest.raises(so.ShapeError, match="there is no memory for|at most 2.*can be drawn"):
            so.random(lengths, stype=stype, density=0.5)


def test_rows_that_no_memory_holds_are_refused_and_columns_are_not():
    with pytest.raises(
        so.ShapeError, match="there is no memory for indptr of 1125899906842624 rows"
    ):
        so.csr_array(([1.0], ([0], [0])), shape=(2**50, 2))
    with pytest.raises(so.ShapeError, match="there is no memory"):
        so.csr_array(([1.0], ([2**62], [0])))
    with pytest.raises(so.ShapeError, match="there is no memory for 1 rows"):
        so.array(sp.coo_array(([1.0], ([0], [1], [2])), shape=(2, 2**30, 2**30)))
    x = so.csr_array(([1.0], ([0], [2**62 - 1])), shape=(1, 2**62))
    assert (x.nnz, x.indices.tolist()) == (1, [2**62 - 1])
    y = so.row_sparse_array(([[1.0]], [2**62]))
    assert y.shape == (2**62 + 1, 1)
    assert repr(x) and repr(y)
