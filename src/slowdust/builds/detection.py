"""Detection of the server in a directory of binaries."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from slowdust.builds.catalog import Catalog, ServerBinary, catalog_of, known_dbms
from slowdust.builds.fingerprint import fingerprint
from slowdust.builds.model import Build, Runtime, Unpacked
from slowdust.driver_program import runnable_driver
from slowdust.errors import SlowdustError, UsageError

DIRECTORY_SOURCE = "directory"


def from_directory(directory: Path) -> Build:
    """Return the build in a user's directory, used in place; its version is what it prints.

    Raises UsageError when the directory holds no server, or several.
    """
    directory = directory.absolute()
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory of binaries: it does not exist")
    candidates = [
        (catalog, server)
        for catalog in map(catalog_of, known_dbms())
        if (server := find_server(directory, catalog.server))
    ]
    if not candidates:
        expected = sorted({catalog_of(dbms).server.paths[0] for dbms in known_dbms()})
        raise UsageError(
            f"{directory} is not a directory of binaries: it has no {' or '.join(expected)}"
        )
    # Servers of two DBMS may have the same name: the version that they print decides.
    builds, refusals = [], []
    for catalog, server in candidates:
        try:
            builds.append(_build(directory, catalog, server))
        except SlowdustError as refusal:
            refusals.append(refusal)
    if not builds:
        raise refusals[0]
    if len(builds) > 1:
        kinds = " and ".join(build.dbms for build in builds)
        raise UsageError(f"{directory} contains {kinds}: name a directory with only one server")
    return builds[0]


def find_server(directory: Path, kind: ServerBinary) -> Path | None:
    """Find the server's binary below a directory; raise UsageError when there are several."""
    for pattern in kind.paths:
        servers = sorted(
            path for path in directory.glob(pattern) if path.is_file() and os.access(path, os.X_OK)
        )
        if len(servers) > 1:
            names = ", ".join(str(path.parent) for path in servers)
            raise UsageError(f"{directory} contains several servers: name one of {names}")
        if servers:
            return servers[0]
    return None


def hosted(kind: ServerBinary, runtime: Runtime) -> Runtime:
    """Complete the runtime of a library by the program that loads it; return others as they are."""
    return dataclasses.replace(runtime, host=runnable_driver()) if kind.is_library else runtime


def _build(directory: Path, catalog: Catalog, server: Path) -> Build:
    runtime = hosted(catalog.server, Runtime())
    facts = fingerprint(server, catalog.server, Unpacked(directory, DIRECTORY_SOURCE, runtime))
    return Build(catalog.dbms, facts.version, directory, DIRECTORY_SOURCE, server, facts, runtime)
