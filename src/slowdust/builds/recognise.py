"""Telling from the files of a directory which server it holds."""

from __future__ import annotations

import os
from pathlib import Path

from slowdust.builds.catalog import Catalog, ServerBinary, catalog_of, known_dbms
from slowdust.builds.fingerprint import fingerprint, printed_version
from slowdust.builds.model import Build, Unpacked
from slowdust.errors import SlowdustError, UsageError

DIRECTORY_SOURCE = "directory"


def from_directory(directory: Path) -> Build:
    """The build in a directory of the user's, used in place; its version is what it prints.

    Raises UsageError when the directory holds no server, or several.
    """
    directory = directory.absolute()
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory of binaries: there is no such directory")
    found = [
        (catalog, server)
        for catalog in map(catalog_of, known_dbms())
        if (server := find_server(directory, catalog.server))
    ]
    if not found:
        expected = sorted({catalog_of(dbms).server.paths[0] for dbms in known_dbms()})
        raise UsageError(
            f"{directory} is not a directory of binaries: it has no {' or '.join(expected)}"
        )
    if len(found) > 1:
        # MariaDB's server has MySQL's name too: what it prints decides.
        found = [
            (catalog, server) for catalog, server in found if _is_one(directory, catalog, server)
        ] or found
    if len(found) > 1:
        kinds = " and ".join(catalog.dbms for catalog, _ in found)
        raise UsageError(f"{directory} holds {kinds}: name a directory that holds one server")
    return _build(directory, *found[0])


def find_server(directory: Path, kind: ServerBinary) -> Path | None:
    """The server's binary below a directory; UsageError when there are several."""
    for pattern in kind.paths:
        found = sorted(
            path for path in directory.glob(pattern) if path.is_file() and os.access(path, os.X_OK)
        )
        if len(found) > 1:
            names = ", ".join(str(path.parent) for path in found)
            raise UsageError(f"{directory} holds several servers: name one of {names}")
        if found:
            return found[0]
    return None


def _is_one(directory: Path, catalog: Catalog, server: Path) -> bool:
    try:
        printed_version(server, catalog.server, Unpacked(directory, DIRECTORY_SOURCE))
    except SlowdustError:
        return False
    return True


def _build(directory: Path, catalog: Catalog, server: Path) -> Build:
    facts = fingerprint(server, catalog.server, Unpacked(directory, DIRECTORY_SOURCE))
    return Build(catalog.dbms, facts.version, directory, DIRECTORY_SOURCE, server, facts)
