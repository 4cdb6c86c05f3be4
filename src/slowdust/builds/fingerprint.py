"""The server in a set of binaries: its path, hash, sizes and version."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.accounts import Account, Finished, server_account
from slowdust.builds.catalog import Catalog, ServerBinary, find_catalog, known_dbms
from slowdust.builds.model import Build, Runtime, Unpacked
from slowdust.driver_program import runnable_driver
from slowdust.errors import SlowdustError, UsageError
from slowdust.formats.elf import read_sizes
from slowdust.store.manifest import BuildFacts

_PROGRAM_BEGINNINGS = (b"\x7fELF", b"#!")


def fingerprint(server: Path, kind: ServerBinary, unpacked: Unpacked) -> BuildFacts:
    """Return the facts of a server's binary; raise SlowdustError if it does not run here."""
    return BuildFacts(
        source=unpacked.source,
        version=printed_version(server, kind, unpacked.runtime),
        sha256=hash_file(server),
        binary_bytes=server.stat().st_size,
        stripped_bytes=_stripped_bytes(server),
        compiled=unpacked.compiled,
    )


def printed_version(server: Path, kind: ServerBinary, runtime: Runtime) -> str:
    """Return the version that a server prints, run by the servers' account."""
    account = server_account()
    try:
        done = account.run([*runtime.command(server), *kind.version_arguments])
    except PermissionError:
        raise SlowdustError(
            f"the user {account.name}, who runs the servers, cannot execute {server}: "
            "give that user access, or move the directory"
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlowdustError(f"{server} does not run on this machine: {error}") from error
    version = re.search(kind.version_pattern, done.stdout)
    if done.returncode != 0 or not version:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise SlowdustError(
            f"{server} does not print its version, but: {lines[-1] if lines else 'nothing'}"
        )
    return version.group(1)


def query_server(
    build: Build,
    account: Account,
    arguments: Sequence[str],
    text: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Run the server with arguments that make it print something and exit."""
    try:
        command = [*build.command(build.server), *arguments]
        return account.run(command, text=text, environment=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlowdustError(f"cannot read the settings of {build.server}: {error}") from error


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def programs_in(folder: Path) -> list[Path]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return [path for path in files if _is_program(path)]


def _is_program(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4).startswith(_PROGRAM_BEGINNINGS)


def _stripped_bytes(binary: Path) -> int | None:
    """Return the size of a binary without symbols; None if it is not a 64-bit ELF file."""
    try:
        return read_sizes(binary)[0].stripped_bytes
    except ValueError:
        return None


DIRECTORY_SOURCE = "directory"


def from_directory(directory: Path) -> Build:
    """Return the build in a user's directory, used in place. Its version is the printed one.

    Raises UsageError if the directory contains no server, or several.
    """
    directory = directory.absolute()
    if not directory.is_dir():
        raise UsageError(f"the directory {directory} does not exist")
    candidates = [
        (catalog, server)
        for catalog in map(find_catalog, known_dbms())
        if (server := find_server(directory, catalog.server))
    ]
    if not candidates:
        expected = sorted({find_catalog(dbms).server.paths[0] for dbms in known_dbms()})
        raise UsageError(
            f"{directory} is not a directory of binaries: it has no {' or '.join(expected)}"
        )
    # Servers of two DBMS may have the same file name: the printed version decides.
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
        raise UsageError(f"{directory} contains {kinds}: choose a directory with one server")
    return builds[0]


def find_server(directory: Path, kind: ServerBinary) -> Path | None:
    """Find the server's binary in a directory; raise UsageError if there are several."""
    for pattern in kind.paths:
        servers = sorted(
            path for path in directory.glob(pattern) if path.is_file() and os.access(path, os.X_OK)
        )
        if len(servers) > 1:
            names = ", ".join(str(path.parent) for path in servers)
            raise UsageError(f"{directory} contains several servers: choose one of {names}")
        if servers:
            return servers[0]
    return None


def hosted(kind: ServerBinary, runtime: Runtime) -> Runtime:
    """Add the driver to the runtime of a library; return other runtimes unchanged."""
    return dataclasses.replace(runtime, host=runnable_driver()) if kind.is_library else runtime


def _build(directory: Path, catalog: Catalog, server: Path) -> Build:
    runtime = hosted(catalog.server, Runtime())
    facts = fingerprint(server, catalog.server, Unpacked(directory, DIRECTORY_SOURCE, runtime))
    return Build(catalog.dbms, facts.version, directory, DIRECTORY_SOURCE, server, facts, runtime)
