"""The operators by name."""

from typing import Any

#: What is declared so far; an operator enters when it is declared.
operators: dict[str, Any] = {}
