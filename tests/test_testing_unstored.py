"""What the laws of values excuse: zeros that are not stored beside NaN, and rounding."""

import numpy as np
import pytest
from planted import broken
from user_operators import restore_registry

import sparseops as so
from sparseops.testing import check_operator

registry = pytest.fixture(autouse=True)(restore_registry)


def products(a, b):
    # Not np.dot, which takes 0 * NaN for 0 where it multiplies by a single number.
    return np.add.reduce(a[:, :, None] * b[None], axis=1, dtype=np.result_type(a, b))


def real_products(a, b):
    if "c" in a.dtype.kind + b.dtype.kind:
        raise TypeError("real numbers only")
    return products(a, b)


def product(name, kernel):
    """A matrix product of real numbers with this kernel for csr."""

    def describe(a, b):
        if "c" in a.dtype.kind + b.dtype.kind:
            raise so.DTypeError("real numbers only")
        return (a.shape[0], b.shape[1]), np.result_type(a.dtype, b.dtype)

    describe.__name__ = describe.__qualname__ = name
    op = so.operator(describe)
    op.forward("dense, dense -> dense")(lambda b, x, y: so.Dense(products(x.data, y.data)))

    @op.forward("csr, dense -> dense")
    def _csr(backend, a, b):
        out = np.zeros((a.shape[0], b.shape[1]), np.result_type(a.dtype, b.dtype))
        np.add.at(out, backend.row_ids(a), kernel(a.data[:, None], b.data[a.indices]))
        return so.Dense(out)

    return op


def laws_broken(op, reference, values, **options):
    report = check_operator(
        op,
        "(m,n),(n,k)->(m,k)",
        reference=reference,
        domain={"b": values},
        laws="V*",
        on_fail="report",
        **options,
    )
    return {law: failures[0].example for law, failures in broken(report).items()}


@pytest.mark.parametrize("seed", [0, 1])
def test_nan_that_meets_what_is_not_stored_accuses_nobody(seed):
    assert laws_broken(so.dot, products, [1.0, np.nan, 2.0], seed=seed) == {}


@pytest.mark.parametrize("seed", [0, 1])
def test_infinities_that_would_cancel_accuse_nobody(seed):
    op = product("sound", np.multiply)
    values = [1.0, np.inf, -np.inf, np.nan]
    assert laws_broken(op, real_products, values, seed=seed) == {}


def finite_alone(a, b):
    return np.multiply(a, b, where=np.isfinite(b), out=np.zeros(np.broadcast(a, b).shape, b.dtype))


def not_by_zero(a, b):
    return np.where(a == 0, 0, a * b)


def infinity_of_one_sign(a, b):
    return np.where(np.isinf(b), np.inf, a * b)


@pytest.mark.parametrize("kernel", [finite_alone, not_by_zero, infinity_of_one_sign])
def test_what_stored_values_make_of_nan_and_infinity_is_not_excused(kernel):
    op = product(kernel.__name__, kernel)
    values = [1.0, np.inf, -np.inf, np.nan]
    assert laws_broken(op, real_products, values).keys() & {"V1", "V4", "V10"}


def squashed(x, w):
    return so.sum(so.tanh(so.dot(x, w)))


def squash(x, w):
    return np.tanh(x @ w).sum()


@pytest.mark.parametrize("seed", range(4))
def test_large_terms_that_cancel_accuse_nobody(seed):
    domain = dict.fromkeys("xw", [1.0, -1.0, 1 + 2.0**-30, 2.0**31 + 1])
    report = check_operator(
        squashed,
        "(m,n),(n,k)->()",
        reference=squash,
        domain=domain,
        arrays="sparseops",
        laws="V*",
        seed=seed,
        on_fail="report",
    )
    assert broken(report) == {}
