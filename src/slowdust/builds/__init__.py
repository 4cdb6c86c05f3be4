"""Sets of server binaries: where they come from, and a cache of them."""

from __future__ import annotations

import dataclasses

from slowdust.builds import cache, named
from slowdust.builds.catalog import catalog_of
from slowdust.builds.model import Build, Progress
from slowdust.builds.recognise import from_directory

__all__ = ["Build", "Progress", "from_directory", "resolve"]


def resolve(dbms: str, version: str, progress: Progress) -> Build:
    """The build of `DBMS@VERSION`, fetched into the cache if it is not there yet.

    `version` is a version of the catalog ('17.6'), the beginning of one ('17': the newest of
    them), or a name given to a directory. A cached build needs no registry.
    Raises UsageError for what the catalog does not have, SlowdustError when no source gives it.
    """
    catalog = catalog_of(dbms)
    directory = named.names_of(dbms).get(version)
    if directory is not None:
        return dataclasses.replace(from_directory(directory), version=version)
    return cache.obtain(catalog, catalog.find(version), progress)
