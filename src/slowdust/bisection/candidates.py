"""The candidates of a search: the releases of a catalog, or the commits of a repository."""

from __future__ import annotations

import msgspec


class Candidate(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """A version that may be the one at which a test changed."""

    contender: str
    """The contender, as in `slowdust compare`."""
    name: str
    """The version, or the beginning of the commit's hash."""
    commit: str | None = None
    """The whole hash; absent, as the next three, of a release."""
    author: str | None = None
    date: str | None = None
    """The author's date, ISO 8601."""
    subject: str | None = None

    @property
    def title(self) -> str:
        """The name, with the subject of a commit."""
        return f"{self.name} {self.subject}" if self.subject else self.name


class Candidates(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """The candidates in their order; the first is the one without the change."""

    listed: list[Candidate]
    folder: str | None = None
    """The directory of the repository; absent of releases."""
