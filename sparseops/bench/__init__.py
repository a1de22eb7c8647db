"""Benchmarks: cases written as small functions, run beside other libraries, each in a process.

A suite is a Python file of `Case` objects. Peers that are not sparseops read suites in interpreters
of their own, which need NumPy alone; so what a suite imports at its top is NumPy and this module.
"""

from sparseops.bench.case import Case, grid, grown
from sparseops.bench.data import Matrix, Rows, power_law, zipf

__all__ = ["Case", "Matrix", "Rows", "grid", "grown", "power_law", "zipf"]
