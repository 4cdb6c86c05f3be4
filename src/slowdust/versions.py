"""Numbers and order of versions of every DBMS."""

from __future__ import annotations

import re
import sys

from slowdust.errors import SlowdustError

_NUMBERS = re.compile(r"\d+(?:\.\d+)*")
_STAGE = re.compile(
    r"[-.~_ ]?(?P<stage>dmr|alpha|beta|m|rc|patches|devel)(?![a-z])[-.]?(?P<number>\d*)", re.I
)
_RELEASE, _DEVELOPMENT = "", "devel"
_STAGES = (_DEVELOPMENT, "dmr", "alpha", "m", "beta", "rc", _RELEASE, "patches")

_ALONE = re.compile(r"(?<![^-_.+~ ])\d+(?![^-_.+~ ])")
_DIGITS = re.compile(r"(\d+)")

VersionOrder = tuple[tuple[int, ...], int, int, tuple[int, ...], tuple[tuple[str, int], ...], str]


def version_numbers(version: str) -> tuple[int, ...]:
    """Return (10, 11, 18) for '10.11.18-MariaDB', and (17,) for '17beta1'."""
    numbers = _NUMBERS.match(version)
    if numbers is None:
        raise SlowdustError(f"the version '{version}' does not begin with a number")
    return tuple(map(int, numbers[0].split(".")))


def version_order(version: str) -> VersionOrder:
    """Return a sort key: 9.6.24 < 10.2 < 17devel < 17beta1 < 17rc1 < 17 < 17.0 < 17.6.

    Postgres calls version 17 `17devel` until its first beta. A development version without a number
    comes after all others; other words without a number come first. Suffixes (date, hash, count)
    are compared by their numbers: 8.0.32-ba9709c9-971 < 8.0.32-ba9709c9-1021.
    """
    if version.startswith(_DEVELOPMENT):
        return (sys.maxsize,), 0, 0, *_order_of_rest(version), version
    numbers = _NUMBERS.search(version)
    if numbers is None:
        return (), 0, 0, *_order_of_rest(version), version
    parts = tuple(map(int, numbers[0].split(".")))
    match = _STAGE.match(version, numbers.end())
    stage = match["stage"].lower() if match else _RELEASE
    number = int(match["number"] or 0) if match else 0
    rest = version[match.end() if match else numbers.end() :]
    return parts, _STAGES.index(stage), number, *_order_of_rest(rest), version


def _order_of_rest(rest: str) -> tuple[tuple[int, ...], tuple[tuple[str, int], ...]]:
    """Return a sort key: first the separate numbers (dates and counts, not hashes), then all."""
    parts = [*_DIGITS.split(rest), ""]
    return (
        tuple(map(int, _ALONE.findall(rest))),
        tuple(
            (text, int(digits or 0)) for text, digits in zip(parts[::2], parts[1::2], strict=True)
        ),
    )
