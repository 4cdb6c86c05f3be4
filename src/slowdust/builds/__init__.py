"""Builds: sets of server binaries, their sources, and the cache."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from slowdust.builds import cache, directories, pushed
from slowdust.builds.catalog import Entry, find_catalog, version_parts
from slowdust.builds.compile import Choices, compiled, is_compiled
from slowdust.builds.fingerprint import from_directory
from slowdust.builds.model import Build, Progress
from slowdust.builds.recipe import DEFAULT_FLAGS, flag_set
from slowdust.builds.revisions import GIT, is_source
from slowdust.builds.sources import amalgamation, archive
from slowdust.errors import UsageError
from slowdust.units import Second

__all__ = [
    "Build",
    "Choices",
    "Progress",
    "from_directory",
    "resolve",
    "resolve_archive",
    "usual_time",
]


def resolve(dbms: str, version: str, progress: Progress, choices: Choices | None = None) -> Build:
    """Return the build of `DBMS@VERSION`, fetched into the cache if necessary.

    `version` is a version of the catalog ('17.6'), a prefix ('17': the newest 17.x), a cached
    version, the name of a registered directory, or sources to compile (`git:REF`, `source:PATH`).
    `choices` apply to compiled versions, which include amalgamations of the catalog. A cached build
    needs no network. A pushed build with this name takes precedence. Raises UsageError for an
    unknown version, or flags for a build that is not compiled; SlowdustError if no source has it.
    """
    given = pushed.find(dbms, version, choices.flags if choices else None)
    if given is not None:
        return given
    catalog = find_catalog(dbms)
    if is_source(version):
        return compiled(dbms, version, choices or Choices(), progress)
    directory = directories.registered(dbms).get(version)
    if choices is not None and choices.flags is not None:
        if directory is not None:
            raise _not_compiled(f"{dbms}@{version}", choices.flags)
        return cache.obtain(catalog, _with_flags(catalog.find(version), choices.flags), progress)
    if directory is not None:
        return dataclasses.replace(from_directory(directory), version=version)
    # A user's own archives are in the cache, but not in the catalog.
    own = cache.load(dbms, version) if version_parts(version) else None
    return own or cache.obtain(catalog, catalog.find(version), progress)


def resolve_archive(
    dbms: str, version: str, location: str | None, sha256: str | None, progress: Progress
) -> Build:
    """Return the build of `DBMS@VERSION` from an archive, fetched into the cache.

    `location` is a user's file or URL, None for the archives of the catalog; `sha256` is the hash
    that the user trusts. Raises UsageError if the version is cached already, invalid, or has no
    archive in the catalog; SlowdustError like `resolve`.
    """
    catalog = find_catalog(dbms)
    entry = (
        _with_checksum(catalog.find(version), sha256)
        if location is None
        else Entry(dbms, version, (archive.user_archive(location, version, sha256),))
    )
    name = f"{dbms}@{entry.version}"
    if not version_parts(entry.version):
        raise UsageError(f"{name} is not a version: write the archive's, for example {dbms}@8.0.40")
    if cache.cached(dbms, entry.version):
        raise UsageError(f"{name} is already cached: run 'slowdust builds remove {name}' first")
    return cache.obtain(catalog, entry, progress)


def _with_flags(entry: Entry, name: str) -> Entry:
    flags = flag_set(name)
    origins = [origin for origin in entry.origins if origin.kind == amalgamation.KIND]
    if not origins:
        raise _not_compiled(entry.name, name)
    varied = tuple(amalgamation.with_flags(origin, flags) for origin in origins)
    if name == DEFAULT_FLAGS:
        return entry
    return dataclasses.replace(entry, origins=varied, flags=name)


def _not_compiled(build: str, flags: str) -> UsageError:
    return UsageError(f"{build} is not compiled here: remove the flags {flags}")


def _with_checksum(entry: Entry, sha256: str | None) -> Entry:
    origins = [origin for origin in entry.origins if origin.kind == archive.KIND]
    if not origins:
        raise UsageError(
            f"--sha256 needs an archive, and {entry.dbms}@{entry.version} has none in the catalog: "
            "add --from FILE, or remove --sha256"
        )
    if sha256 is not None:
        origins = [archive.with_checksum(origin, sha256) for origin in origins]
    return dataclasses.replace(entry, origins=tuple(origins))


_FETCHING: Second = 25.0
_AMALGAMATION: Second = 20.0
_COMPILING: dict[str, Second] = {"postgres": 240.0}
_COMPILING_OTHERS: Second = 3600.0
"""The time to compile a server on two cores; MySQL and MariaDB have thousands of C++ files."""


def usual_time(dbms: str, version: str, choices: Choices) -> Second:
    """Return the usual time to get the build of `DBMS@VERSION`; 0 if it is available already.

    Raises UsageError for an unknown version, SlowdustError without its sources or a compiler.
    """
    if pushed.find(dbms, version, choices.flags) or version in directories.registered(dbms):
        return 0.0
    if is_source(version):
        here = _is_compiled(dbms, version, choices)
        return 0.0 if here else _COMPILING.get(dbms, _COMPILING_OTHERS)
    if choices.flags is None and version_parts(version) and cache.cached(dbms, version):
        return 0.0
    entry = find_catalog(dbms).find(version)
    if amalgamation.is_compiled(dbms):
        return _AMALGAMATION
    return 0.0 if cache.cached(dbms, entry.version) else _FETCHING


def _is_compiled(dbms: str, version: str, choices: Choices) -> bool:
    repository = choices.repository
    if version.startswith(GIT) and not (repository and Path(repository).is_dir()):
        return False
    return is_compiled(dbms, version, choices)
