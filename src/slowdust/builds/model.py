"""A build on this machine, and how its programs are run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slowdust.store.manifest import BuildFacts, Compiled

SYSTEM_LOADER = Path("/lib64/ld-linux-x86-64.so.2")
"""The dynamic loader of this machine's C library; the ABI of x86-64 fixes its path."""

Progress = Callable[[str], None]
"""A function that shows one line about the work in progress."""


@dataclass(frozen=True)
class Runtime:
    """The loader and the libraries that came with binaries; empty for those of the machine."""

    loader: Path | None = None
    """The dynamic loader, where the binaries bring their own C library."""
    libraries: tuple[Path, ...] = ()
    host: Path | None = None
    """The program of Slowdust that loads a library which has no program of its own."""

    def command(self, program: Path) -> list[str]:
        """Return the command that runs a program through the loader that finds its libraries.

        For a library it is that of its host.
        """
        if self.host is not None:
            return [str(self.host), "--library", str(program)]
        if not self.libraries:
            return [str(program)]
        directories = ":".join(map(str, self.libraries))
        return [str(self.loader or SYSTEM_LOADER), "--library-path", directories, str(program)]


@dataclass(frozen=True)
class Unpacked:
    """The unpacked binaries of a build, as a source leaves them."""

    binaries: Path
    source: str
    runtime: Runtime = Runtime()
    compiled: Compiled | None = None
    """How they were compiled with a named set of flags, if they were."""


@dataclass(frozen=True)
class Build:
    """One set of binaries of a database server."""

    dbms: str
    version: str
    """The catalog's version ('17.6'), a registered directory's name, or what the server prints."""
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
