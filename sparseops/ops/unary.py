"""To be written."""

__all__ = []
