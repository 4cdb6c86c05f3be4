"""What a build is, once it lies on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slowdust.store.manifest import BuildFacts

SYSTEM_LOADER = Path("/lib64/ld-linux-x86-64.so.2")
"""Of this machine's own C library, by the ABI of x86-64."""

Progress = Callable[[str], None]
"""Takes one line that says what is being done."""


@dataclass(frozen=True)
class Runtime:
    """What came with binaries to run them: nothing, where the machine's own serves."""

    loader: Path | None = None
    """The dynamic loader, where they bring their C library too."""
    libraries: tuple[Path, ...] = ()
    """Directories of shared libraries."""

    def command(self, program: Path) -> list[str]:
        """How a program among them is run: through the loader that finds its libraries."""
        if not self.libraries:
            return [str(program)]
        directories = ":".join(map(str, self.libraries))
        return [str(self.loader or SYSTEM_LOADER), "--library-path", directories, str(program)]


@dataclass(frozen=True)
class Unpacked:
    """What a source left of a build."""

    binaries: Path
    """The directory of the binaries."""
    source: str
    """Where they came from, as in `BuildFacts.source`."""
    runtime: Runtime = Runtime()


@dataclass(frozen=True)
class Build:
    """One set of binaries of a database server."""

    dbms: str
    version: str
    """As in the catalog ('17.6'), the name of a registered directory, or what the server prints."""
    root: Path
    """The directory of the binaries."""
    source: str
    """Where they came from, as in `BuildFacts.source`."""
    server: Path
    """The server's binary."""
    facts: BuildFacts
    runtime: Runtime = Runtime()

    def command(self, program: Path) -> list[str]:
        """How a program of this build is run."""
        return self.runtime.command(program)

    def program(self, name: str) -> Path:
        """A program that lies beside the server's binary."""
        return self.server.parent / name
