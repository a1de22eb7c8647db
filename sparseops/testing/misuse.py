"""What the person who asks for a check got wrong."""


class Misuse(ValueError):
    """A check that cannot be done as it is asked for."""
