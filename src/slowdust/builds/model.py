"""A build on this machine, and how to run its programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slowdust.store.manifest import BuildFacts, Compiled

SYSTEM_LOADER = Path("/lib64/ld-linux-x86-64.so.2")
"""The dynamic loader of this machine's C library, at the path that the x86-64 ABI defines."""

Progress = Callable[[str], None]
"""A function that shows one line about the work in progress."""


@dataclass(frozen=True)
class Runtime:
    """The loader and the libraries that came with binaries; empty if they use the machine's."""

    loader: Path | None = None
    """The dynamic loader, if the binaries have their own C library."""
    libraries: tuple[Path, ...] = ()
    host: Path | None = None
    """The driver, if the build is a library that it loads."""

    def command(self, program: Path) -> list[str]:
        """Return the command that runs a program with its loader and libraries.

        For a library it runs the host.
        """
        if self.host is not None:
            return [str(self.host), "--library", str(program)]
        if not self.libraries:
            return [str(program)]
        directories = ":".join(map(str, self.libraries))
        return [str(self.loader or SYSTEM_LOADER), "--library-path", directories, str(program)]


@dataclass(frozen=True)
class Unpacked:
    """The unpacked binaries of a build, from a source."""

    binaries: Path
    source: str
    runtime: Runtime = Runtime()
    compiled: Compiled | None = None
    """How they were compiled, if with a named flag set."""


@dataclass(frozen=True)
class Build:
    """One set of binaries of a database server."""

    dbms: str
    version: str
    """The catalog's version ('17.6'), a registered directory's name, or the printed version."""
    root: Path
    source: str
    """The origin of the binaries, as in `BuildFacts.source`."""
    server: Path
    """The server's binary; for an embedded DBMS its library."""
    facts: BuildFacts
    runtime: Runtime = Runtime()

    def command(self, program: Path) -> list[str]:
        return self.runtime.command(program)

    def program(self, name: str) -> Path:
        return self.server.parent / name
