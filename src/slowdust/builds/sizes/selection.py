"""The builds that names and patterns stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from statistics import median
from typing import NamedTuple

from slowdust.builds import cache, directories
from slowdust.builds.catalog import catalog_of, known_dbms
from slowdust.errors import UsageError
from slowdust.versions import version_order


class Choice(NamedTuple):
    """A build that a pattern stands for."""

    dbms: str
    version: str
    at_hand: bool
    """Whether it is fetched or a directory."""

    @property
    def name(self) -> str:
        """The name: postgres@17.6."""
        return f"{self.dbms}@{self.version}"


def chosen_builds(patterns: Sequence[str]) -> list[Choice]:
    """Return the builds that any of the patterns names, by DBMS, then in the order of versions.

    A pattern is a name in which `*`, `?` and `[...]` stand for letters, as in 'mysql@8.*'.

    Raises:
        UsageError: a pattern that names no build.
    """
    known = list(_all_builds())
    unmatched = [
        pattern
        for pattern in patterns
        if not any(fnmatchcase(build.name, pattern) for build in known)
    ]
    if unmatched:
        raise UsageError(
            f"no build is called {unmatched[0]}: `slowdust builds list` shows all; write a pattern "
            "in quotes, for example 'mysql@8.*'"
        )
    return [b for b in known if any(fnmatchcase(b.name, pattern) for pattern in patterns)]


def expected_bytes(missing: Sequence[Choice]) -> int | None:
    """Return how much disk fetching takes, by the median of builds at hand of the same DBMS.

    None where there are none of one of them.
    """
    total = 0.0
    for build in missing:
        sizes = [
            record.disk_bytes
            for version in cache.versions(build.dbms)
            if (record := cache.cached(build.dbms, version))
        ]
        if not sizes:
            return None
        total += median(sizes)
    return round(total)


def _all_builds() -> Iterator[Choice]:
    for dbms in known_dbms():
        fetched = set(cache.versions(dbms))
        known = {entry.version for entry in catalog_of(dbms).entries}
        for version in sorted(known | fetched, key=version_order):
            yield Choice(dbms, version, version in fetched)
        for name in sorted(directories.registered(dbms)):
            yield Choice(dbms, name, at_hand=True)
