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
from typing import Protocol

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
from slowdust.errors import UsageError
from slowdust.store.records import Second

_CLIENTS_WITH_ROOM = 80
_OWN_CONNECTIONS = 20

Row = Sequence[str | None]
"""One row of a result, as text."""


@dataclass(frozen=True)
class Statements:
    """A stage of maintenance: statements that may run at the same time."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Until:
    """A stage of maintenance: the server is left to its work until it says that it is done."""

    what: str
    """What is waited for, in words: 'the dirty pages are written'."""
    statement: str
    is_done: Callable[[Sequence[Row]], bool]
    """Of the rows of the statement."""
    limit: Second
    """After this the maintenance goes on."""


Stage = Statements | Until
"""Stages run one after the other."""


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
    engine: str | None = None
    """The storage engine of its tables; None where the DBMS has only one."""


class Run(Protocol):
    """Runs a program as the server's user to its end; returns what it printed."""

    def __call__(self, command: Sequence[str | Path], stdin: Path | None = None) -> str:
        """`command` is complete, with the loader where the build has one."""
        ...


class Family(ABC):
    """One family of servers: postgres, mysql, ..."""

    name: str
    """The DBMS."""
    stop_signals: Mapping[Shutdown, tuple[signal.Signals, ...]]
    """What is sent, in this order, to a server that has to stop."""
    ruinous_states: tuple[str, ...]
    """Beginnings of the states (SQLSTATE, `HY000/NUMBER`) after which a server is not worth
    measuring: out of resources, shut down, failing."""
    engines: tuple[str, ...] = ()
    """The storage engines to choose from, the default first."""
    volatile_engines: frozenset[str] = frozenset()
    """Engines whose tables are empty after a restart."""

    def settings(
        self,
        config: str,
        overrides: Mapping[str, str],
        side_by_side: int,
        *,
        engine: str | None = None,
        memory_bytes: int | None = None,
    ) -> Settings:
        """A configuration, by name or path, for one of `side_by_side` instances on this machine.

        `memory_bytes` stands for the memory of the host. Raises UsageError.
        """
        memory = host_memory_bytes() if memory_bytes is None else memory_bytes
        file = load_config(self.name, config, self.setting_name)
        part = file.part_of(engine)
        sized = size_config(config, part, file.create, memory // side_by_side, self.render_bytes)
        return override(sized, {self.setting_name(key): v for key, v in overrides.items()})

    def choose_engine(self, build: Build, wanted: str | None) -> str | None:
        """The storage engine of a contender: as written or the default; None where there are none.

        Raises UsageError for an engine that the DBMS, or this build of it, does not have.
        """
        if wanted is None:
            return self.engines[0] if self.engines else None
        if not self.engines:
            raise UsageError(f"{self.name} has no engines to choose")
        if wanted not in self.engines:
            raise UsageError(
                f"{self.name} has no engine {wanted!r}: choose {', '.join(self.engines)}"
            )
        lack = self.lack_of_engine(build, wanted)
        if lack is not None:
            raise UsageError(lack)
        return wanted

    def lack_of_engine(self, build: Build, engine: str) -> str | None:
        """What this build lacks for the engine, and who has it; None when it lacks nothing."""
        del build, engine
        return None

    def keeps_tables(self, site: Site) -> bool:
        """Whether the tables still have their rows after a restart of the server."""
        return site.engine not in self.volatile_engines

    def room_for(self, clients: int) -> dict[str, str]:
        """The settings without which so many clients could not connect; none where they can.

        Every shipped config has room for `_CLIENTS_WITH_ROOM` and for our own connections.
        """
        if clients <= _CLIENTS_WITH_ROOM:
            return {}
        return {"max_connections": str(clients + _OWN_CONNECTIONS)}

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
    def check_access(self, build: Build, access: Access) -> None:
        """UsageError for a kind of access that servers of this build do not have."""

    @abstractmethod
    def create(self, site: Site, run: Run) -> None:
        """Fill the data directory; the configuration file is there."""

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
    def after_load(self, site: Site, tables: Sequence[str]) -> list[Stage]:
        """Maintenance after tables were loaded, before anything is measured."""

    @abstractmethod
    def after_writes(self, site: Site, tables: Sequence[str]) -> list[Stage]:
        """Post-write maintenance: the debt of the writes is paid before reads are measured."""

    @abstractmethod
    def sizes_statement(self, site: Site) -> str:
        """The statement whose rows `read_sizes` understands."""

    @abstractmethod
    def read_sizes(self, site: Site, rows: Sequence[Row]) -> Sizes:
        """The sizes from the rows of `sizes_statement`, and from the data directory."""

    @abstractmethod
    def buffer_pool_statement(self, site: Site) -> str | None:
        """The statement whose one value is the size of the server's own page cache, in bytes.

        None where the engine has no such cache.
        """

    @abstractmethod
    def settings_statement(self) -> str:
        """The statement whose rows are (name, value) of the settings that are in force."""
