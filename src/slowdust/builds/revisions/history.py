"""The commits of a repository between two of its names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slowdust.builds.model import Progress
from slowdust.builds.revisions.repository import Depth, located
from slowdust.builds.revisions.revision import git
from slowdust.errors import UsageError

_FORMAT = "%H%x00%an%x00%aI%x00%s%x00"
_FIELDS = 4
_MOST_FILES = 30
"""Files of a commit that are listed."""


@dataclass(frozen=True)
class Commit:
    """What a repository says of a commit."""

    commit: str
    author: str
    date: str
    """The author's date, ISO 8601."""
    subject: str


def commits_between(
    repository: str, good: str, bad: str, progress: Progress
) -> tuple[Path, list[Commit]]:
    """Return the repository's directory and the commits from `good` to `bad`, the oldest first.

    Of a merge only the first parent counts, so that each commit follows from the one before it.

    Raises:
        UsageError: it has no such commits, or `good` is not among the first parents that led to
            `bad`.
    """
    folder, first = located(repository, good, Depth.HISTORY, progress)
    _, last = located(repository, bad, Depth.HISTORY, progress)
    if first == last:
        raise UsageError(f"{good} and {bad} are the same commit, {first[:12]}")
    listed = _logged(folder, "--reverse", f"{first}..{last}")
    if not listed:
        raise UsageError(f"{bad} ({last[:12]}) does not come after {good} ({first[:12]})")
    begin = git(folder, "rev-parse", f"{listed[0].commit}^").strip()
    if begin != first:
        raise UsageError(
            f"{good} ({first[:12]}) is not among the first parents that lead to {bad} "
            f"({last[:12]}): they leave its history at {_fork(folder, first, last)}, which can be "
            "the good one"
        )
    return folder, [*_logged(folder, "-1", first), *listed]


def newest_commit(repository: str, ref: str, progress: Progress) -> Commit:
    """Return the commit that a name of a repository leads to now.

    Raises:
        UsageError: it has no such commit.
    """
    folder, commit = located(repository, ref, Depth.HISTORY, progress)
    return _logged(folder, "-1", commit)[0]


def _logged(folder: Path, *arguments: str) -> list[Commit]:
    """Return commits as git lists them; of a merge only the first parent counts."""
    options = ("--first-parent", "--no-show-signature", f"--format={_FORMAT}")
    # Subjects may have characters that end lines elsewhere.
    fields = git(folder, "log", *options, *arguments).split("\0")[:-1]
    rows = zip(*[iter(fields)] * _FIELDS, strict=True)
    return [Commit(commit.lstrip("\n"), *rest) for commit, *rest in rows]


def _fork(folder: Path, first: str, last: str) -> str:
    """Return the last commit of the first parents of `last` that `first` has, too."""
    theirs = set(git(folder, "rev-list", first).split())
    ours = git(folder, "rev-list", "--first-parent", last).split()
    return next((commit[:12] for commit in ours if commit in theirs), "no commit")


def diff_stat(folder: Path, commit: str) -> str:
    """Return the files that a commit changed, with the numbers of lines, as git prints them."""
    stat = ("--stat=100", f"--stat-count={_MOST_FILES}", "--no-color", "--no-show-signature")
    return git(folder, "show", *stat, "--format=", "--first-parent", "-m", commit).strip("\n")
