"""The builds that names and patterns stand for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import NamedTuple

from slowdust.builds import cache, directories, resolve
from slowdust.builds.catalog import catalog_of, known_dbms
from slowdust.builds.compiling.flags import with_flags
from slowdust.builds.model import Build, Progress
from slowdust.errors import SlowdustError, UsageError
from slowdust.versions import version_order


class Choice(NamedTuple):
    """A build that a pattern stands for."""

    dbms: str
    version: str
    at_hand: bool
    """Whether it is fetched, compiled or a directory."""
    folder: Path | None = None
    """The folder of a compiled build in the cache."""

    @property
    def name(self) -> str:
        """The name: postgres@17.6."""
        return f"{self.dbms}@{self.version}"

    def build(self, progress: Progress) -> Build:
        """Return the build, fetched if it is not at hand.

        Raises:
            SlowdustError: it cannot be had, or does not run here.
        """
        if self.folder is None:
            return resolve(self.dbms, self.version, progress)
        build = cache.load_folder(self.folder)
        if build is None:
            raise SlowdustError(f"it is no longer in the cache {self.folder}")
        return dataclasses.replace(build, version=self.version)


def chosen_builds(patterns: Sequence[str]) -> list[Choice]:
    """Return the builds that any of the patterns names, by DBMS, then in the order of versions.

    Compiled builds follow those of the catalog, in the order in which they were made. A pattern
    is a name in which `*`, `?` and `[...]` stand for letters, as in 'mysql@8.*'.

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
        compiled = sorted(cache.compiled_records(dbms).items(), key=lambda item: item[1].fetched)
        for folder, record in compiled:
            label = with_flags(record.version, record.facts)
            yield Choice(dbms, label, at_hand=True, folder=folder)
