"""A hundred draws of strategies: ours, which draw hazards as well, beside hypothesis's own."""

from sparseops.bench import Case, grid

draws = Case(
    "100 drawn matrices", sizes=grid(strategy=("csr_arrays", "dense_arrays", "scipy_arrays"))
)


def drawing(strategy):
    """A function that draws a hundred values."""
    from hypothesis import HealthCheck, given, settings

    quiet = settings(
        max_examples=100, database=None, deadline=None, suppress_health_check=HealthCheck
    )

    @quiet
    @given(strategy)
    def run(x):
        pass

    return run


@draws.by("sparseops")
def _(so, strategy):
    return drawing(getattr(so.testing, strategy)())


@draws.by("hypothesis", label="to csr")
def _(hypothesis, strategy):
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as extra
    from scipy.sparse import csr_array

    shapes = st.tuples(st.integers(0, 4), st.integers(0, 4))
    return drawing(extra.arrays(float, shapes, elements=st.floats(-8, 8, width=16)).map(csr_array))
