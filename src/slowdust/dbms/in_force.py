"""Settings in force, as a server reports them, beside those that it was given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_NUMBER = re.compile(r"([+-]?(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+))\s*([a-zA-Z]*)")
_TRUE = frozenset({"on", "true", "yes", "1"})
_FALSE = frozenset({"off", "false", "no", "0"})


@dataclass(frozen=True)
class InForce:
    """The value of a setting in a running server."""

    text: str
    """The value as the server writes it."""
    as_given: bool
    """Whether it is the value that the server was given, however either is written."""


def number(text: str, units: Mapping[str, float], plain: float = 1.0) -> float | None:
    """Return the number that a value stands for; None for a value that is none.

    `units` is unit -> factor; a number without a unit is multiplied by `plain`.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None or (match.group(2) and match.group(2) not in units):
        return None
    digits = match.group(1)
    value = float(int(digits, 16) if "x" in digits.lower() else float(digits))
    return value * (units[match.group(2)] if match.group(2) else plain)


def truth(text: str) -> bool | None:
    """Return what a word, or 0 or 1, says; None for any other value."""
    word = text.strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def same_number(value: float, other: float) -> bool:
    """Return whether two numbers are the same but for how many digits were written."""
    return abs(value - other) <= 1e-6 * max(abs(value), abs(other))
