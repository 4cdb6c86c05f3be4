"""Units of time, durations as people write them, and optional values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

Second = float
Microsecond = float

_UNITS: dict[str, Second] = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


T = TypeVar("T")


def known(values: Iterable[T | None]) -> list[T]:
    """Return the values that are not None."""
    return [value for value in values if value is not None]


def present(**values: float | None) -> dict[str, float]:
    """Return the values that are not None, by name."""
    return {name: value for name, value in values.items() if value is not None}


def parse_duration(text: str) -> Second:
    """Return the seconds of a duration such as `90s` or `1h30m`.

    Raises:
        ValueError: the text is not a duration, or the duration is zero.
    """
    parts = _PART.findall(text.strip())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise ValueError(f"'{text}' is not a duration: write 250ms, 30s, 10m or 1h30m")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if seconds <= 0:
        raise ValueError(f"'{text}' is zero: write a duration above zero")
    return seconds


def format_duration(seconds: Second) -> str:
    """Write a duration with the precision a reader needs: `0.25s`, `42s`, `3m05s`, `1h02m`."""
    if seconds < 10:
        return f"{round(seconds, 3):.3g}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"
