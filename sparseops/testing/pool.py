"""Examples of a strategy of hypothesis, drawn once, where an engine of its own needs them."""

import sys
from typing import Any

from sparseops.testing.misuse import Misuse

_DRAWN = 60


def strategy_of(given: Any) -> bool:
    """Whether `given` is a strategy; hypothesis is not imported for that."""
    known = sys.modules.get("hypothesis.strategies")
    return known is not None and isinstance(given, known.SearchStrategy)


def pool(strategy: Any, seed: int) -> list[Any]:
    """Values that `strategy` draws, the same ones for the same `seed`."""
    import hypothesis
    from hypothesis import errors

    drawn: list[Any] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=_DRAWN,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    @hypothesis.given(strategy)
    def collect(value: Any) -> None:
        drawn.append(value)

    try:
        collect()
    except (errors.HypothesisException, ValueError, TypeError) as error:
        first = str(error).strip().partition("\n")[0]
        raise Misuse(f"the strategy {strategy!r} draws nothing: {first}") from None
    return drawn
