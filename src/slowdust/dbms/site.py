"""The facts about one server that its family needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.access import Access
from slowdust.dbms.settings import AcceptedSettings


class Served(Protocol):
    """The facts about a server that its family needs to ask it and to maintain its tables."""

    @property
    def version(self) -> str:
        """The version that the server reports: '17.6'."""

    @property
    def settings(self) -> AcceptedSettings:
        """The settings that it was given."""

    @property
    def engine(self) -> str | None:
        """The storage engine of its tables; None where the DBMS has only one."""

    @property
    def files(self) -> Path | None:
        """The directory of its data; None where others started it."""


@dataclass(frozen=True)
class Site:
    """The facts about one instance that its family needs; it is `Served`."""

    build: Build
    account: Account
    data_dir: Path
    """An existing directory of the account, empty before `create`."""
    config_file: Path
    """A file that the account can read; it holds `configuration` when the server starts."""
    socket_dir: Path
    port: int
    access: Access
    settings: AcceptedSettings
    engine: str | None = None
    """The storage engine of the instance's tables; None where the DBMS has only one."""

    @property
    def version(self) -> str:
        return self.build.facts.version

    @property
    def files(self) -> Path:
        """The directory of its data."""
        return self.data_dir

    @property
    def certificate(self) -> Path:
        """The file of the server's certificate, which exists if an access is encrypted."""
        return self.config_file.with_name("server.crt")

    @property
    def key(self) -> Path:
        """The file of the certificate's key."""
        return self.config_file.with_name("server.key")


class Run(Protocol):
    """A function that runs a program to its end as the server's user and returns its output."""

    def __call__(self, command: Sequence[str | Path], stdin: Path | None = None) -> str:
        """Run `command`, which begins with the dynamic loader where the build has one."""
