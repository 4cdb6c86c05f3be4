"""How long it usually takes to get a build, before anything is fetched: rough, by its source."""

from __future__ import annotations

from pathlib import Path

from slowdust.builds import cache, directories, pushed
from slowdust.builds.catalog import catalog_of, version_parts
from slowdust.builds.compiling.compile import Choices, is_compiled
from slowdust.builds.revisions.revision import GIT, is_source
from slowdust.builds.sources import amalgamation
from slowdust.units import Second

_FETCHING: Second = 25.0
"""Fetching and unpacking some 30 MB."""
_AMALGAMATION: Second = 20.0
"""Fetching SQLite's one file, and compiling it."""
_COMPILING: dict[str, Second] = {"postgres": 240.0}
_COMPILING_OTHERS: Second = 3600.0
"""Compiling a server on two cores; MySQL and MariaDB have some thousand files of C++."""


def usual_time(dbms: str, version: str, choices: Choices) -> Second:
    """Return how long it usually takes to get the build of `DBMS@VERSION`; 0 where it is here.

    Raises:
        UsageError: an unknown version.
        SlowdustError: its sources, or a compiler, cannot be had.
    """
    if pushed.find(dbms, version, choices.flags) or version in directories.registered(dbms):
        return 0.0
    if is_source(version):
        here = _is_compiled(dbms, version, choices)
        return 0.0 if here else _COMPILING.get(dbms, _COMPILING_OTHERS)
    if choices.flags is None and version_parts(version) and cache.cached(dbms, version):
        return 0.0
    entry = catalog_of(dbms).find(version)
    if amalgamation.is_compiled(dbms):
        return _AMALGAMATION
    return 0.0 if cache.cached(dbms, entry.version) else _FETCHING


def _is_compiled(dbms: str, version: str, choices: Choices) -> bool:
    """Return whether the cache has a build of sources; not known of a repository elsewhere."""
    repository = choices.repository
    if version.startswith(GIT) and not (repository and Path(repository).is_dir()):
        return False
    return is_compiled(dbms, version, choices)
