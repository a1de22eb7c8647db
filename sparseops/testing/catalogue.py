"""All laws: importing this module declares them."""

from sparseops.testing import gradients, inference, memory, protocol, structure, traits, values
from sparseops.testing.law import Law, all_laws

MODULES = (inference, values, structure, traits, gradients, protocol, memory)


def catalogue() -> list[Law]:
    """Every law, in the order of reports."""
    return all_laws()
