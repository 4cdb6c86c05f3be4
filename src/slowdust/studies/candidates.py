"""The candidates of a study: the releases of a catalog, or the commits of a repository."""

from __future__ import annotations

import re

import msgspec

from slowdust.builds.catalog import find_catalog, version_parts
from slowdust.builds.model import Progress
from slowdust.builds.revisions import Commit, commits_between
from slowdust.errors import UsageError
from slowdust.experiment.spec.contenders import parse_contender

_RANGE = re.compile(
    r"(?P<dbms>[a-z]+)(?:@(?P<first>[0-9][0-9A-Za-z.]*?)\.\.(?P<last>[0-9][0-9A-Za-z.]*))?"
    r"(?P<rest>(?:[/:+].*)?)"
)
_HASH = 12
"""Digits of a commit's hash that its name has."""


class Candidate(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """A version that may have changed a test."""

    contender: str
    """The contender, as in `slowdust compare`."""
    name: str
    """The version, or the beginning of the commit's hash."""
    commit: str | None = None
    """The full hash; absent for a release, like the next three."""
    author: str | None = None
    date: str | None = None
    """The author's date, ISO 8601."""
    subject: str | None = None

    @property
    def title(self) -> str:
        """The name, with the subject of a commit."""
        return f"{self.name} {self.subject}" if self.subject else self.name


class Candidates(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """The candidates in their order; the first one is before the change."""

    listed: list[Candidate]
    folder: str | None = None
    """The directory of the repository; absent for releases."""


def released(range_: str) -> Candidates:
    """Return the releases that `DBMS@FIRST..LAST[/ENGINE][:CONFIG][+ENV...]` names.

    The beginning of a version stands for all its releases: `postgres@10..18` ends with the newest
    18. Builds with an extension are excluded.

    Raises:
        UsageError: it is not a range, or has fewer than two releases.
    """
    match = parse_range(range_)
    dbms, first, last = match["dbms"], match["first"], match["last"]
    if first is None:
        raise UsageError(
            f"'{range_}' is not a range: write {dbms}@FIRST..LAST for releases, or give --repo, "
            "--good and --bad for commits"
        )
    lowest, highest = (_parts(range_, version) for version in (first, last))
    versions = [
        entry.version
        for entry in find_catalog(dbms).entries
        if (parts := version_parts(entry.version))
        and parts[: len(lowest)] >= lowest
        and parts[: len(highest)] <= highest
    ]
    if len(versions) < 2:
        found = f"only {versions[0]}" if versions else "no release"
        raise UsageError(
            f"'{range_}' has {found} of {dbms}: `slowdust builds list` shows all releases"
        )
    return Candidates(
        listed=[
            _candidate(f"{dbms}@{version}{match['rest']}", name=version) for version in versions
        ]
    )


def committed(what: str, repository: str, good: str, bad: str, progress: Progress) -> Candidates:
    """Return the commits from `good` to `bad` as builds of `DBMS[/ENGINE][:CONFIG][+ENV...]`.

    Raises:
        UsageError: there is no such repository, or it has no such commits.
    """
    match = parse_range(what)
    if match["first"] is not None:
        raise UsageError(
            f"'{what}' is a range of releases: with --good and --bad write {match['dbms']} only"
        )
    folder, commits = commits_between(repository, good, bad, progress)
    return Candidates(
        listed=[at_commit(match, each) for each in commits],
        folder=str(folder),
    )


def parse_range(text: str) -> re.Match[str]:
    """Parse a range into the groups `dbms`, `first`, `last` and `rest`.

    Raises:
        UsageError: it is malformed.
    """
    match = _RANGE.fullmatch(text)
    if match is None:
        raise UsageError(
            f"'{text}' is not a range: write DBMS@FIRST..LAST[/ENGINE][:CONFIG][+ENV...], such as "
            "postgres@10..18"
        )
    return match


def _parts(range_: str, version: str) -> tuple[int, ...]:
    parts = version_parts(version)
    if not parts:
        raise UsageError(f"'{range_}': {version} is not a numeric version")
    return parts


def _candidate(contender: str, *, name: str) -> Candidate:
    parse_contender(contender)  # fails if the part after the version is wrong
    return Candidate(contender=contender, name=name)


def at_commit(match: re.Match[str], commit: Commit) -> Candidate:
    """Return a commit as a candidate, with the DBMS and the rest of a parsed range."""
    plain = _candidate(
        f"{match['dbms']}@git:{commit.commit}{match['rest']}", name=commit.commit[:_HASH]
    )
    return msgspec.structs.replace(
        plain,
        commit=commit.commit,
        author=commit.author,
        date=commit.date,
        subject=commit.subject,
    )
