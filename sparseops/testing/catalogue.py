"""All laws: importing this module declares them."""

from sparseops.testing import (
    far,
    gradients,
    memory,
    protocol,
    structure,
    table_laws,
    traits,
    values,
)
from sparseops.testing.law import Law, all_laws

MODULES = (table_laws, values, structure, traits, gradients, protocol, memory, far)


def catalogue() -> list[Law]:
    """Every law, in the order of reports."""
    return all_laws()
