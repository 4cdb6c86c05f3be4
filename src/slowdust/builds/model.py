"""What a build is, once it lies on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slowdust.store.manifest import BuildFacts

Progress = Callable[[str], None]
"""Takes one line that says what is being done."""


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

    def program(self, name: str) -> Path:
        """A program that lies beside the server's binary."""
        return self.server.parent / name
