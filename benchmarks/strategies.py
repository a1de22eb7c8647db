"""How many arrays a second strategies draw: ours beside hypothesis's own, turned into csr.

Run `python benchmarks/strategies.py`. All draw matrices of up to 4 rows and columns, in turns in
one process; the figure of each is the median. Ours draw hazards as well.
"""

import argparse
from statistics import median
from time import perf_counter

import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as extra

import sparseops as so

SHAPES = st.tuples(st.integers(0, 4), st.integers(0, 4))
PLAIN = extra.arrays(float, SHAPES, elements=st.floats(-8, 8, width=16))

STRATEGIES = {
    "hypothesis.extra.numpy.arrays, to csr": PLAIN.map(sp.csr_array),
    "so.testing.csr_arrays": so.testing.csr_arrays(),
    "so.testing.row_sparse_arrays": so.testing.row_sparse_arrays(),
    "so.testing.dense_arrays": so.testing.dense_arrays(),
    "so.testing.scipy_arrays": so.testing.scipy_arrays(),
}


def rate(strategy, count):
    """Draws a second."""

    @settings(
        max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def run(x):
        pass

    start = perf_counter()
    run()
    return count / (perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=300, help="draws a turn")
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    for strategy in STRATEGIES.values():
        rate(strategy, 20)
    found = {name: [] for name in STRATEGIES}
    for _ in range(given.turns):
        for name, strategy in STRATEGIES.items():
            found[name].append(rate(strategy, given.count))
    (_, first), *_ = found.items()
    for name, rates in found.items():
        print(
            f"{name:40} {median(rates):7.0f} a second   {median(rates) / median(first):5.2f} times"
        )


if __name__ == "__main__":
    main()
