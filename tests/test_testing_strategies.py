"""Strategies draw everything that can be unusual, shrink to next to nothing, and print code."""

import re
from collections import Counter

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from oracle import densify

import sparseops as so
from sparseops.testing import (
    HAZARDS,
    arrays,
    as_code,
    csr_arrays,
    dense_arrays,
    dtypes,
    graphs,
    hazards_of,
    operator_inputs,
    row_sparse_arrays,
    scipy_arrays,
    specs,
    storage_types,
)

STRUCTURAL = ("unsorted", "duplicates", "zeros", "int64", "nothing stored", "empty rows")
ANYWHERE = ("strided", "offset", "read_only", "big_endian", "special", "no length", "one row")
once = settings(max_examples=1, database=None, deadline=None)


def drawn(strategy, count):
    """What a strategy gives, in a run of hypothesis with all health checks."""
    found = []

    @settings(max_examples=count, database=None, deadline=None)
    @given(strategy)
    def run(x):
        found.append(x)

    run()
    return found


@pytest.mark.parametrize(
    "strategy, hazards",
    [
        (csr_arrays(), (*STRUCTURAL, *ANYWHERE)),
        (row_sparse_arrays(), (*STRUCTURAL, *ANYWHERE)),
        (dense_arrays(), ANYWHERE),
        (scipy_arrays(), (*STRUCTURAL, *set(ANYWHERE) - {"big_endian"})),
        (scipy_arrays(format="csc"), (*STRUCTURAL, *set(ANYWHERE) - {"big_endian", "one row"})),
    ],
    ids=["csr", "row_sparse", "dense", "scipy csr", "scipy csc"],
)
def test_every_hazard_is_in_at_least_one_of_twenty_draws(strategy, hazards):
    counts, total = Counter(), 0

    @settings(max_examples=600, database=None, deadline=None)
    @given(strategy)
    def run(x):
        nonlocal total
        total += 1
        counts.update(set(hazards_of(x)))

    run()
    rare = {name: counts[name] / total for name in hazards if counts[name] < 0.05 * total}
    assert rare == {}


@given(arrays())
def test_arrays_are_well_formed_and_print_as_code_that_makes_them_again(x):
    x.storage.validate()
    again = eval(as_code(x), {"np": np, "so": so})
    assert again.spec == x.spec
    np.testing.assert_array_equal(densify(again), densify(x))


@given(scipy_arrays())
def test_arrays_of_scipy_print_as_code_too(x):
    again = eval(as_code(x), {"np": np, "so": so, "scipy": scipy})
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(again, name), getattr(x, name))
        assert getattr(again, name).dtype == getattr(x, name).dtype.newbyteorder("=")


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_formats_of_scipy_are_as_asked(format):
    for x in drawn(scipy_arrays(format=format), 20):
        assert x.format == format


def test_an_array_shrinks_to_one_entry():
    x = find(csr_arrays(), lambda x: x.nnz > 0, settings=settings(database=None))
    assert x.spec == so.Spec((1, 1), float, "csr") and x.data.tolist() == [1.0]
    x = find(row_sparse_arrays(), lambda x: x.nnz > 0, settings=settings(database=None))
    assert x.shape[0] == 1 and x.data.ravel().tolist() == [1.0]
    x = find(csr_arrays(), lambda x: bool((x.data < 0).any()), settings=settings(database=None))
    assert x.nnz == 1 and not set(hazards_of(x)) & {"strided", "offset", "big_endian", "int64"}


def test_hazards_can_be_chosen():
    for x in drawn(csr_arrays(hazards=()), 60):
        assert not set(hazards_of(x)) - {"one row", "nothing stored", "empty rows"}
    for x in drawn(csr_arrays(hazards=["int64"]), 60):
        assert "special" not in hazards_of(x)
    with pytest.raises(ValueError, match="no_such"):
        csr_arrays(hazards=["no_such"])
    assert "unsorted" in HAZARDS


def test_shapes_dtypes_and_elements_are_values_or_strategies():
    for x in drawn(csr_arrays((3, 2), st.sampled_from([np.float32, np.int64])), 40):
        assert x.shape == (3, 2) and x.dtype in (np.float32, np.int64)
    for x in drawn(csr_arrays(elements=st.just(7.0), hazards=()), 40):
        assert set(x.data.tolist()) <= {7.0}
    for x in drawn(csr_arrays(max_nnz=2, hazards=()), 40):
        assert x.nnz <= 2
    assert {x.stype for x in drawn(arrays(), 60)} == {"dense", "row_sparse", "csr"}
    assert {x.stype for x in drawn(arrays(stype="row_sparse"), 10)} == {"row_sparse"}
    assert len({x.ndim for x in drawn(row_sparse_arrays(), 100)}) == 3


def test_inputs_of_operators_share_lengths():
    for a, b in drawn(operator_inputs("(m,n),(n,k)->(m,k)", stypes=["csr", "dense"]), 60):
        assert a.shape[1] == b.shape[0] and (a.stype, b.stype) == ("csr", "dense")
    with pytest.raises(ValueError, match="stypes has 1 storages"):
        operator_inputs("(m,n),(n,k)", stypes=["csr"])


def test_specs_storages_dtypes_and_programs():
    assert set(drawn(storage_types(), 40)) == {"dense", "row_sparse", "csr"}
    assert {dtype.kind for dtype in drawn(dtypes(), 200)} == set("fiubc")
    assert all(dtype.kind == "f" for dtype in drawn(dtypes("f"), 20))
    for spec in drawn(specs(), 60):
        assert spec.stype != "csr" or spec.ndim == 2
    for program in drawn(graphs(max_nodes=4), 40):
        graph = so.trace(program)(*[so.Spec((2, 3), float) for _ in program.inputs])
        assert 1 <= len(graph.calls) <= 4
        eval(repr(program), {"so": so})


def test_a_property_that_fails_says_so_in_code():
    @settings(max_examples=200, database=None, report_multiple_bugs=False)
    @given(x=csr_arrays())
    def holds(x):
        assert not (x.data < 0).any()

    with pytest.raises(AssertionError) as caught:
        holds()
    notes = "\n".join(getattr(caught.value, "__notes__", ()))
    assert re.search(r"so\.csr_array\(\(\[-\d\.\d\], \[0\], \[0, 1\]\), shape=\(1, 1\)\)", notes)


def test_hypothesis_finds_the_strategies_healthy():
    with pytest.raises(AssertionError):

        @settings(max_examples=50, database=None, suppress_health_check=())
        @given(csr_arrays(), row_sparse_arrays())
        def run(x, y):
            assert HealthCheck and x.nnz < 0

        run()
