"""Which releases of a range are measured, and which of them side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import TypeVar

from slowdust.bisection.candidates import Candidate
from slowdust.builds.catalog import version_parts
from slowdust.dbms import family
from slowdust.errors import UsageError

MAJOR = "major"
_EVERY = re.compile(r"(?P<number>\d*)(?P<major>major)?")
_PER_SERVER = 1_500_000_000
"""Bytes of memory for a server under valgrind, with a small page cache."""

_Item = TypeVar("_Item")


def check_every(text: str) -> None:
    """Raise UsageError unless a text says which releases: 'major', '2major', '3'."""
    match = _EVERY.fullmatch(text)
    if not text or match is None or match["number"].strip("0") == "" != match["number"]:
        raise UsageError(
            f"--every {text}: write major for the newest of each major release, 2major for every "
            "second major one, or a number: 1 for all, 3 for every third"
        )


def chosen_releases(listed: Sequence[Candidate], every: str) -> list[list[Candidate]]:
    """Return the releases to measure, each with those that may stand in for it, the best first.

    `every` is as in `check_every`. The last release of the range is always one of them, and so is
    the first, or the first major one.
    """
    match = _EVERY.fullmatch(every)
    assert match is not None, "it was checked"
    number = int(match["number"] or 1)
    if not match["major"]:
        return [[each] for each in _spread(listed, number)]
    majors = [[*group][::-1] for _, group in groupby(listed, major_of)]
    return _spread(majors, number)


def _spread(items: Sequence[_Item], number: int) -> list[_Item]:
    """Return every so many of the items, from the first on, and the last."""
    chosen = [*items[::number]]
    return chosen if (len(items) - 1) % number == 0 else [*chosen, items[-1]]


def major_of(release: Candidate) -> tuple[int, ...]:
    """Return the numbers of the major release that one belongs to."""
    dbms = release.contender.partition("@")[0]
    return family(dbms).major(version_parts(release.name))


def side_by_side(available: int) -> int:
    """Return how many servers `available` bytes of memory are enough for, at least two."""
    return max(2, int(available // _PER_SERVER))


def windows(count: int, together: int) -> Iterator[range]:
    """Yield the places of the releases of each experiment; neighbours share one release.

    There are as few as possible, of about the same size.
    """
    steps = count - 1
    experiments = -(-steps // (together - 1))
    begins = [round(steps * number / experiments) for number in range(experiments + 1)]
    for first, last in pairwise(begins):
        yield range(first, last + 1)
