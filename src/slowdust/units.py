"""Amounts as users write them: durations, counts, sizes, percentages; and optional values.

Only this module parses them, so that options, experiment files and configurations accept the same
spellings. All parsers raise ValueError with a sentence that has examples.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import TypeVar

Second = float
Microsecond = float

_SECONDS: dict[str, Second] = {
    **{"ms": 0.001, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0},
    "": 1.0,
}
_MULTIPLES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_DIGITS = r"\d+(?:_\d+)*(?:\.\d+)?(?:[eE]\+?\d+)?"
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|sec|s|min|m|h|d)")
_NUMBER = re.compile(rf"({_DIGITS})\s*([kKMG]?)")
_SIZE = re.compile(rf"({_DIGITS})\s*(?:([kKMGTmgt]?)(?:i?[bB])?)")
_PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)")


T = TypeVar("T")
K = TypeVar("K")


def known(values: Iterable[T | None]) -> list[T]:
    return [value for value in values if value is not None]


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return key -> its items; both in the order of `items`."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def present(**values: float | None) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}


def parse_span(text: str) -> Second:
    """Return the seconds of a duration that may be zero: `0`, `5` (seconds), `5m`, `5min`, `1h30m`.

    Raises ValueError if the text is not a duration.
    """
    written = text.strip()
    if plain := re.fullmatch(_DIGITS, written):
        return float(plain[0])
    parts = _PART.findall(written)
    if not parts or _PART.sub("", written).strip():
        raise ValueError(f"'{text}' is not a duration: write 250ms, 30s, 5m, 5min or 1h30m")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def parse_duration(text: str) -> Second:
    """Return the seconds of a duration: `5` (seconds), `90s`, `5m`, `5min`, `1h30m`.

    Raises ValueError if the text is not a duration, or the duration is zero.
    """
    seconds = parse_span(text)
    if seconds <= 0:
        raise ValueError(f"'{text}' is zero: write a duration above zero, such as 30s or 5m")
    return seconds


def parse_number(text: str) -> float:
    """Return a number that may have a decimal unit: `0.5`, `1e6`, `1_000`, `20k`, `1M`, `2G`.

    Raises ValueError if the text is not such a number, negative, or too large.
    """
    match = _NUMBER.fullmatch(text.strip())
    value = float(match[1].replace("_", "")) * _MULTIPLES[match[2]] if match else math.inf
    if not math.isfinite(value):
        raise ValueError(f"'{text}' is not a number: write 5000, 20k, 1M or 1e6")
    return value


def parse_count(text: str) -> int:
    """Return a whole number that may have a decimal unit: `100000`, `100k`, `1M`, `1e6`.

    Raises ValueError if the text is not a whole number.
    """
    whole = re.fullmatch(r"\d+", text.strip())
    try:
        value = int(whole[0]) if whole else parse_number(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a whole number: write 5000, 20k, 1M or 1e6") from None
    if value != int(value):
        raise ValueError(f"'{text}' is not a whole number: write 5000, 20k, 1M or 1e6")
    return int(value)


def parse_size(text: str) -> int:
    """Return a size in bytes: `16MB`, `1.5GB`, `512k`, `1GiB`; units are powers of 1024.

    Raises ValueError if the text is not a size in whole bytes.
    """
    match = _SIZE.fullmatch(text.strip())
    size = float(match[1].replace("_", "")) * _BYTES[(match[2] or "").upper()] if match else -1.0
    if not math.isfinite(size) or size < 0 or size != int(size):
        raise ValueError(f"'{text}' is not a size: write 64kB, 256MB, 2GB or 1TB")
    return int(size)


def parse_percentage(text: str) -> float:
    """Return a percentage as a fraction: `3%` and `3` are 0.03.

    A number below 1 needs the percent sign, because 0.03 may be meant as a share. Raises ValueError
    if the text is not a percentage, or is ambiguous.
    """
    match = _PERCENTAGE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is not a percentage: write 3% or 0.5%")
    value = float(match[1])
    if not match[2] and 0 < value < 1:
        raise ValueError(f"'{text}' is ambiguous: write {value:g}% or {value * 100:g}%")
    return value / 100


def format_duration(seconds: Second) -> str:
    """Return a duration with the precision a reader needs: `0.25s`, `42s`, `3m05s`, `1h02m`."""
    if seconds < 10:
        return f"{round(seconds, 3):.3g}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"
