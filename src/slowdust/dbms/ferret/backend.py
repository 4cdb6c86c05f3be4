"""The interface of a back end: what FerretDB needs to keep its documents in another DBMS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.family import Commit
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.dbms.site import Run, Site


class Backend(Protocol):
    """Answers what depends on where documents are kept."""

    bytes_per_row: int
    """The bytes of a document of seven fields with its share of three secondary indexes."""

    def commit(self, settings: Mapping[str, str]) -> Commit | None:
        """Return what a command that writes does before it returns."""

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """Return the settings that this build takes. Raises UsageError."""

    def create(self, site: Site, run: Run) -> None:
        """Fill the data directory."""

    def configuration(self, site: Site) -> str:
        """Return the text of the configuration file."""

    def options(self, site: Site) -> list[str]:
        """Return the options with which FerretDB finds the back end."""

    def command(self, site: Site, ferretdb: Sequence[str]) -> list[str]:
        """Return the command that runs FerretDB with what it needs beneath."""

    def programs(self, site: Site) -> Sequence[Path]:
        """Return the programs beneath FerretDB."""
