"""What Slowdust must know of a family of servers; everything else of an instance is common.

A family is a module of this package with the name of the DBMS and a `FAMILY` in it, and a
directory of configurations `configs/DBMS/`.
"""

from __future__ import annotations

import enum
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.access import Access, Target
from slowdust.dbms.settings import (
    AcceptedSettings,
    Settings,
    host_memory_bytes,
    load_config,
    override,
    size_config,
)

Row = Sequence[str | None]
"""One row of a result, as text."""

Stage = tuple[str, ...]
"""Statements that may run at the same time; stages run one after the other."""


class Shutdown(enum.Enum):
    """How a server is stopped."""

    ORDERLY = "orderly"
    """It keeps its data for the next start."""
    AT_ONCE = "at once"
    """Its data will be thrown away."""


@dataclass(frozen=True)
class Sizes:
    """How much an instance stores, in bytes."""

    data_bytes: int
    table_bytes: int
    index_bytes: int


@dataclass(frozen=True)
class Site:
    """All that a family needs to know of one instance."""

    build: Build
    account: Account
    data_dir: Path
    """Exists, is empty before `create`, and belongs to the account."""
    config_file: Path
    """Has the text of `configuration` when the server starts; the account can read it."""
    socket_dir: Path
    port: int
    access: Access
    settings: AcceptedSettings


Run = Callable[[Sequence[str | Path]], str]
"""Runs a program as the server's user to its end; returns what it printed."""


class Family(ABC):
    """One family of servers: postgres, mysql, ..."""

    name: str
    """The DBMS."""
    stop_signals: Mapping[Shutdown, tuple[signal.Signals, ...]]
    """What is sent, in this order, to a server that has to stop."""

    def settings(
        self,
        config: str,
        overrides: Mapping[str, str],
        side_by_side: int,
        memory_bytes: int | None = None,
    ) -> Settings:
        """A configuration, by name or path, for one of `side_by_side` instances on this machine.

        `memory_bytes` stands for the memory of the host. Raises UsageError.
        """
        memory = host_memory_bytes() if memory_bytes is None else memory_bytes
        file = load_config(self.name, config)
        sized = size_config(config, file, memory // side_by_side, self.render_bytes)
        return override(sized, {self.setting_name(key): v for key, v in overrides.items()})

    @abstractmethod
    def room_for(self, clients: int) -> dict[str, str]:
        """The settings without which so many clients could not connect; none where they can."""

    @abstractmethod
    def render_bytes(self, size: int) -> str:
        """A size in the way in which this family's settings are written."""

    @abstractmethod
    def setting_name(self, text: str) -> str:
        """The one spelling of a setting's name."""

    @abstractmethod
    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """What the server of this build takes of the settings, as it says itself.

        Raises UsageError for a setting it does not know or a value it refuses.
        """

    @abstractmethod
    def create(self, site: Site, run: Run) -> None:
        """Fill the data directory."""

    @abstractmethod
    def configuration(self, site: Site) -> str:
        """The text of the configuration file."""

    @abstractmethod
    def server_command(self, site: Site) -> list[str]:
        """The command that is the server, in the foreground."""

    @abstractmethod
    def is_ready(self, site: Site, pid: int) -> bool:
        """Whether the server with this process id accepts connections."""

    @abstractmethod
    def target(self, site: Site) -> Target:
        """How the driver reaches it."""

    @abstractmethod
    def telling_line(self, log: Sequence[str]) -> str | None:
        """The line of a log that says why the server gave up; None when there is none."""

    @abstractmethod
    def after_load(self, build: Build, tables: Sequence[str]) -> list[Stage]:
        """Maintenance after tables were loaded, before anything is measured."""

    @abstractmethod
    def after_writes(self, build: Build, tables: Sequence[str]) -> list[Stage]:
        """Post-write maintenance: the debt of the writes is paid before reads are measured."""

    @abstractmethod
    def sizes_statement(self) -> str:
        """The statement whose rows `read_sizes` understands."""

    @abstractmethod
    def read_sizes(self, rows: Sequence[Row]) -> Sizes:
        """The sizes from the rows of `sizes_statement`."""

    @abstractmethod
    def settings_statement(self) -> str:
        """The statement whose rows are (name, value) of the settings that are in force."""
