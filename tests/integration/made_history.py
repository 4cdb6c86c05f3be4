"""Commits on top of a repository; some change how far a server counts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.unit.builds.source_projects import commit

SIZES = (400, 500, -300)
"""Iterations that each change adds to the count."""
NEWS = "NEWS"
"""A file that no build reads, for commits that change nothing."""


def turns_of(commits: int) -> list[int]:
    """Return how far the server counts at each commit: it changes at one to three places."""
    changes = max(1, min(len(SIZES), commits // 6))
    places = sorted(random.Random(commits).sample(range(commits), changes))
    level, turns = 0, []
    for number in range(commits):
        if number in places:
            level += SIZES[places.index(number)]
        turns.append(level)
    return turns


def subject_of(turns: int) -> str:
    """Return the subject of a commit that changes the count."""
    return f"Count to {turns} before every statement"


def add_commits(
    repository: Path, file: str, text_of: Callable[[int], str], turns: Sequence[int]
) -> None:
    """Add commits tagged `c1`, `c2`, ..., at which the server counts to `turns`.

    The first one may change the count from 0. A commit that does not change it changes `NEWS`.
    """
    before = 0
    for number, count in enumerate(turns, start=1):
        (repository / NEWS).write_text(f"{number}\n")
        subject = f"Mention change {number}"
        if count != before:
            (repository / file).write_text(text_of(count))
            subject = subject_of(count)
        commit(repository, subject, f"c{number}")
        before = count
