"""Each case at a small size, by every library that is installed here: they agree."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from sparseops.bench import arrays
from sparseops.bench.case import chosen, load
from sparseops.bench.data import DATA
from sparseops.bench.peers import PEERS

SCALE = 1 / 256
SUITES = [
    path for path in sorted(Path(__file__).parent.glob("*.py")) if not path.name.startswith("test_")
]
CASES = [(path.stem, case) for path in SUITES for case in load(str(path))]
HERE = {name for name, peer in PEERS.items() if find_spec(peer.module.partition(".")[0])}


def ids(found):
    return [f"{suite}: {case.name}" for suite, case in found]


@pytest.mark.parametrize("suite, case", CASES, ids=ids(CASES))
def test_libraries_agree(suite, case):
    rng = np.random.default_rng(0)
    point = next(case.points())
    given = DATA[point.data](rng, SCALE) if point.data else SCALE
    inputs = case.make(rng, given, **point.size)
    expected = None
    for variant in sorted(case.variants, key=lambda one: one.name != "sparseops"):
        sums = sums_of(variant, inputs, point.size) if variant.peer in HERE else []
        expected = expected or sums
        if sums:
            assert arrays.difference(sums, expected) == ""
    assert case.count is None or case.count(**inputs, **point.size) > 0


def sums_of(variant, inputs, size):
    """The sums of what a variant gives; none where its library cannot do the case."""
    try:
        peer = PEERS[variant.peer]()
    except ImportError:
        return []
    taken = {name: peer.take(copied(value)) for name, value in inputs.items()}
    try:
        run = variant.prepare(peer.library, **chosen(variant.prepare, taken | size))
    except NotImplementedError:
        return []
    result = run()
    return [] if result is None else arrays.marginals(peer.give(result))


def copied(value):
    """Inputs of a variant's own: it may change them."""
    if isinstance(value, tuple):
        return value._make(part.copy() if hasattr(part, "copy") else part for part in value)
    return value.copy()
