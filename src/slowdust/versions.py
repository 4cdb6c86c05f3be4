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

VersionOrder = tuple[tuple[int, ...], int, int, str]


def version_order(version: str) -> VersionOrder:
    """What versions are sorted by: 9.6.24 < 10.2 < 17devel < 17beta1 < 17rc1 < 17 < 17.0 < 17.6.

    Postgres calls what will be 17 `17devel` until its first beta. A development version without a
    number is later than all; other words without a number come first.
    """
    if version.startswith(_DEVELOPMENT):
        return (sys.maxsize,), 0, 0, version
    numbers = _NUMBERS.search(version)
    if numbers is None:
        return (), 0, 0, version
    parts = tuple(map(int, numbers[0].split(".")))
    found = _STAGE.match(version, numbers.end())
    stage = found["stage"].lower() if found else _RELEASE
    number = int(found["number"] or 0) if found else 0
    return parts, _STAGES.index(stage), number, version
