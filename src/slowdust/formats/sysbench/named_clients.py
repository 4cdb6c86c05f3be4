"""The number of clients, where only a name tells it: `dop40`, and of whole sets `40u` (users).

Others look like it and are not: `c48` are CPUs, `10m` rows in millions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from slowdust.formats.text import beginning, readable
from slowdust.wording import counted

NOT_KNOWN = (
    "the number of clients is not known (sb.met has it, or names: dop40, 40u): give --clients"
)
_CLIENTS = re.compile(r"(?<![^._-])(?:dop(?P<dop>[1-9]\d*)|(?P<users>[1-9]\d*)u)(?![^._-])")
_MOST_LISTED = 3


@dataclass(frozen=True)
class NamedClients:
    """How many there were, and what tells it: 'the directory dop8'."""

    count: int
    source: str


def of_directories(directories: Iterable[Path]) -> NamedClients | None:
    """By the name of the first that has a number."""
    for one in directories:
        if (count := in_name(one.name)) is not None:
            return NamedClients(count, f"the directory {readable(one.name)}")
    return None


def of_table(path: Path) -> NamedClients | None:
    """By its file's name."""
    count = in_name(path.name)
    return None if count is None else NamedClients(count, readable(path.name))


def notes(found: set[NamedClients]) -> list[str]:
    """A line for each number, on what it was taken from."""
    lines = []
    for count in sorted({one.count for one in found}):
        sources = sorted(one.source for one in found if one.count == count)
        told = beginning(sources, _MOST_LISTED)
        lines.append(f"{counted(count, 'client')}, by the name of {told} (--clients overrides it)")
    return lines


def most_common(numbers: Mapping[int, int]) -> int:
    """Of numbers of clients, counted, that of most; the largest of these."""
    return max(numbers, key=lambda count: (numbers[count], count))


def in_name(name: str) -> int | None:
    """The number that a name has."""
    found = _CLIENTS.search(name)
    return int(found["dop"] or found["users"]) if found else None
