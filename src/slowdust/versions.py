"""The order of versions, of every DBMS and wherever they are written."""

from __future__ import annotations

import re
import sys

_NUMBERS = re.compile(r"\d+(?:\.\d+)*")
_STAGE = re.compile(
    r"[-.~_ ]?(?P<stage>dmr|alpha|beta|m|rc|patches|devel)(?![a-z])[-.]?(?P<number>\d*)", re.I
)
_RELEASE, _DEVELOPMENT = "", "devel"
_STAGES = (_DEVELOPMENT, "dmr", "alpha", "m", "beta", "rc", _RELEASE, "patches")

_ALONE = re.compile(r"(?<![^-_.+~ ])\d+(?![^-_.+~ ])")
_DIGITS = re.compile(r"(\d+)")

VersionOrder = tuple[tuple[int, ...], int, int, tuple[int, ...], tuple[tuple[str, int], ...], str]


def version_order(version: str) -> VersionOrder:
    """What versions are sorted by: 9.6.24 < 10.2 < 17devel < 17beta1 < 17rc1 < 17 < 17.0 < 17.6.

    Postgres calls what will be 17 `17devel` until its first beta. A development version without a
    number is later than all; other words without a number come first. What stands behind a version
    (date, hash, count) is compared by its numbers: 8.0.32-ba9709c9-971 < 8.0.32-ba9709c9-1021.
    """
    if version.startswith(_DEVELOPMENT):
        return (sys.maxsize,), 0, 0, *_order_of_rest(version), version
    numbers = _NUMBERS.search(version)
    if numbers is None:
        return (), 0, 0, *_order_of_rest(version), version
    parts = tuple(map(int, numbers[0].split(".")))
    found = _STAGE.match(version, numbers.end())
    stage = found["stage"].lower() if found else _RELEASE
    number = int(found["number"] or 0) if found else 0
    rest = version[found.end() if found else numbers.end() :]
    return parts, _STAGES.index(stage), number, *_order_of_rest(rest), version


def _order_of_rest(rest: str) -> tuple[tuple[int, ...], tuple[tuple[str, int], ...]]:
    """First by the numbers that stand alone, which dates and counts are and hashes are not."""
    pieces = [*_DIGITS.split(rest), ""]
    return (
        tuple(map(int, _ALONE.findall(rest))),
        tuple(
            (text, int(digits or 0)) for text, digits in zip(pieces[::2], pieces[1::2], strict=True)
        ),
    )
