"""What a fallback to dense does: allowed, warned about once, refused before it allocates."""

import inspect
import tracemalloc
import warnings

import numpy as np
import pytest
from user_operators import dense_only, describing, doubling, restore_registry

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


def line():
    """The file and line of the caller."""
    frame = inspect.currentframe().f_back
    return frame.f_code.co_filename, frame.f_lineno


# Actions


def test_allow_says_nothing_and_records(op, x):
    with warnings.catch_warnings(), so.fallback("allow") as records:
        warnings.simplefilter("error")
        _, here = op(x), line()
    (record,) = records
    assert (record.operator, record.stypes) == ("dense_only", ("csr", "dense"))
    assert record.where == here
    assert (record.bytes_sparse, record.bytes_dense) == (x.nbytes, DENSE)
    assert "x is csr" in record.reason and "'dense -> dense'" in record.reason
    for part in ("dense_only(csr, dense)", "x is csr", "15.6 KiB"):
        assert part in str(record)


def test_error_refuses_with_the_way_out(op, x):
    with so.fallback("error") as records, pytest.raises(so.DensifyError) as caught:
        op(x)
    error = caught.value
    assert isinstance(error, so.StorageError) and isinstance(error, TypeError)
    assert (error.operator, error.declared) == ("dense_only", ("csr", "dense"))
    for part in ("dense_only(csr, dense)", "x.tostype('dense')", "so.fallback('allow')"):
        assert part in str(error)
    assert records == [], "what is refused is not recorded"


def test_explicit_conversions_are_no_fallbacks(op, x):
    with so.fallback("error", limit=0) as records:
        op(x.tostype("dense"))
        x.asnumpy()
        so.cast_storage(x, stype="dense")
        so.cast_storage(so.array(x.asnumpy()), stype="row_sparse")
        doubling()(x, stype="row_sparse")
    assert records == []


def test_a_result_declared_sparse_and_computed_dense_is_a_fallback(op, x):
    dense = so.zeros(SHAPE)
    with so.fallback("allow") as records:
        assert op(dense, stype="csr").stype == "csr"
        op(x, stype="row_sparse")
    assert [r.stypes for r in records] == [("dense", "csr"), ("csr", "row_sparse")]
    assert [r.bytes_dense for r in records] == [DENSE, 2 * DENSE]
    assert "out is csr" in records[0].reason and "x is csr and out" in records[1].reason


def test_an_unknown_action_is_refused():
    for wrong in ("raise", "", None, "ALLOW"):
        with pytest.raises(ValueError, match="allow, warn, error"), so.fallback(wrong):
            pass


# Warnings


def test_each_line_of_the_program_is_warned_about_once(op, x):
    with so.fallback("warn") as records, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            _, first = op(x), line()
            op(x)
            second = line()
    assert [(w.filename, w.lineno) for w in caught] == [first, (second[0], second[1] - 1)]
    assert all(w.category is so.FallbackWarning for w in caught)
    assert str(caught[0].message) == str(records[0])
    assert len(records) == 6


def test_two_operators_on_one_line_are_both_warned_about(op, x):
    other = dense_only("another")
    with so.fallback("warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            op(x), other(x)
    assert [str(w.message).partition("(")[0] for w in caught] == ["dense_only", "another"]


def test_a_warning_points_at_the_line_that_calls_the_package(op, x):
    def inner():
        return op(x)

    with so.fallback("warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        inner()
        so.value_and_grad(lambda v: summed(op(v)))(x)
    lines, start = inspect.getsourcelines(inner)
    assert (caught[0].filename, caught[0].lineno) == (__file__, start + 1)
    assert all(w.filename == __file__ for w in caught)


def summed(v):
    """The sum, as an operator of this test."""
    op = so.operator(summing)
    op.forward("dense -> dense")(lambda backend, v: so.Dense(v.data.sum()))
    op.backward("v", "dense -> dense")(lambda v_spec: so.array(np.ones(v_spec.shape)))
    return op(v)


def summing(v):
    return (), v.dtype


def test_a_filter_can_make_the_warning_an_error_and_the_call_can_be_repeated(op, x):
    with warnings.catch_warnings(), so.fallback("warn"):
        warnings.simplefilter("error", so.FallbackWarning)
        with pytest.raises(so.FallbackWarning, match="dense_only"):
            op(x)


# Limit


@pytest.mark.parametrize("action", ("allow", "warn", "error"))
@pytest.mark.parametrize("limit", (0, DENSE - 1, "15.6 KB", "1 B", " 15 kib ", "0.01MB", 15e3))
def test_above_the_limit_every_action_refuses(op, x, action, limit):
    with so.fallback(action, limit=limit) as records, pytest.raises(so.DensifyError) as caught:
        op(x)
    assert records == []
    assert "limit" in str(caught.value) and "15.6 KiB" in str(caught.value)


@pytest.mark.parametrize(
    "limit", (DENSE, "16000", "16 kB", "16KB", "1 GiB", "1 TiB", "2 TB", None, 10**30, 1e6, 1e16)
)
def test_up_to_the_limit_nothing_is_refused(op, x, limit):
    with so.fallback("allow", limit=limit) as records:
        op(x)
    assert len(records) == 1


@pytest.mark.parametrize("limit", (-1, "-1", "1 XB", "much", "", "1 GiB 2", (), "1e3 KB KB"))
def test_a_limit_that_is_no_number_of_bytes_is_refused(limit):
    with pytest.raises(ValueError, match="bytes"), so.fallback("allow", limit=limit):
        pass


@pytest.mark.parametrize("options", ({"action": "error"}, {"action": "allow", "limit": "1 MiB"}))
def test_a_refused_fallback_has_allocated_nothing(op, options):
    x = so.random((2000, 1000), density=1e-5, rng=0)
    two = so.operator(describing("ab", name="two"))
    two.forward("dense, dense -> dense")(lambda backend, a, b: a)
    y = so.zeros(x.shape)
    for call in (
        lambda: op(x),
        lambda: op(x, stype="row_sparse"),
        lambda: op(y, stype="csr"),
        lambda: two(x, x),
    ):
        with so.fallback(**options):
            tracemalloc.start()
            try:
                with pytest.raises(so.DensifyError):
                    call()
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
        assert peak < 200_000, "a dense copy takes 16 MB"


def test_a_gradient_that_falls_back_is_recorded_and_refused_before_it_allocates(x):
    """`x` stays csr, but its rule takes g dense."""
    op = so.operator(describing_same)
    op.forward("csr -> csr", "dense -> dense")(lambda backend, v: v)

    @op.backward("v", "dense; csr -> csr")
    def rule(g, v):
        return so.sparse_mask(g, v)

    with so.Tape(persistent=True) as tape:
        y = op(x)
    with so.fallback("allow") as records:
        g, here = tape.gradient(y, x, output_gradients=x), line()
    assert g.stype == "csr"
    assert [(r.operator, r.bytes_dense, r.where) for r in records] == [
        ("gradient of describing_same", DENSE, here)
    ]
    with so.fallback("error"), pytest.raises(so.DensifyError):
        tape.gradient(y, x, output_gradients=x)
    with so.fallback("allow", limit=10), pytest.raises(so.DensifyError):
        tape.gradient(y, x, output_gradients=x)


def describing_same(v):
    return v.shape, v.dtype


def test_a_fallback_in_the_forward_pass_is_dense_in_the_gradient_too(op, x):
    with so.fallback("allow") as forward, so.Tape() as tape:
        y = op(x)
    with so.fallback("error") as backward:
        g = tape.gradient(y, x, output_gradients=np.ones(SHAPE))
    assert (len(forward), len(backward)) == (1, 0)
    assert g.stype == "csr"
    np.testing.assert_array_equal(g.asnumpy(), (x.asnumpy() != 0) * 2)


def test_a_gradient_computed_dense_and_asked_sparse_is_recorded(op):
    w = so.array(np.ones(SHAPE))
    with so.Tape() as tape:
        y = op(w)
    with so.fallback("allow") as records:
        g = tape.gradient(y, w, output_gradients=np.ones(SHAPE), stypes="row_sparse")
    assert g.stype == "row_sparse" and [r.bytes_dense for r in records] == [DENSE]


@pytest.mark.parametrize("action, limit", [("error", "1 GiB"), ("warn", "1 KiB")])
def test_the_last_line_of_a_refusal_is_a_change_that_works_when_pasted(action, limit):
    x = so.csr_array(([1.0], [3], [0, 1]), shape=(1, 1000))
    with so.fallback(action, limit=limit), pytest.raises(so.DensifyError) as caught:
        so.exp(x)
    change = str(caught.value).splitlines()[-1]
    if change.startswith("in exp("):
        change = str(caught.value).splitlines()[-2]
    scope = {"so": so, "x": x}
    exec(change.replace("...", "y = so.exp(x)"), scope)
    assert scope["y"].stype == "dense"
