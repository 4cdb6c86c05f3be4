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
from slowdust.dbms.access import USER, Access, Listen, Target
from slowdust.dbms.settings import (
    AcceptedSettings,
    Settings,
    host_memory_bytes,
    load_config,
    override,
    setting_name,
    size_config,
)
from slowdust.errors import UsageError
from slowdust.units import Second

_MAX_CONNECTIONS = "max_connections"
_CONNECTIONS_BY_DEFAULT = 100
"""So many take all servers where nothing is set."""
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


@dataclass(frozen=True)
class Temporarily:
    """A stage of maintenance: other stages, while settings of the server have other values.

    What was in force before is read from the server, and is in force again afterwards.
    """

    values: Mapping[str, str]
    """By setting; they are written in this order, and what they were in the reverse order."""
    read: Callable[[str], str]
    """The statement whose one value is that of a setting."""
    write: Callable[[str, str], str]
    """The statement that gives a setting a value as the server writes it."""
    stages: tuple[Stage, ...]


Stage = Statements | Until | Temporarily
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
    database: str
    """Where the tables are made."""
    stop_signals: Mapping[Shutdown, tuple[signal.Signals, ...]]
    """What is sent, in this order, to a server that has to stop."""
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
        clients: int = 1,
        memory_bytes: int | None = None,
    ) -> Settings:
        """A configuration, by name or path, for one of `side_by_side` instances on this machine.

        It has room for so many `clients`, unless the overrides say otherwise. `memory_bytes`
        stands for the memory of the host. Raises UsageError.
        """
        memory = host_memory_bytes() if memory_bytes is None else memory_bytes
        file = load_config(self.name, config)
        part = file.part_of(engine)
        sized = size_config(config, part, file.create, memory // side_by_side, self.render_bytes)
        roomy = override(sized, _room_for(clients, sized))
        return override(roomy, {setting_name(key): v for key, v in overrides.items()})

    @abstractmethod
    def bytes_per_purchase(self, engine: str | None) -> int:
        """What a row of the Insert Benchmark takes, with its share of the three indexes.

        Measured after l.i1, when the indexes are no longer as dense as they were made.
        """

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

    @abstractmethod
    def render_bytes(self, size: int) -> str:
        """A size in the way in which this family's settings are written."""

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

    def target(self, site: Site) -> Target:
        """How the driver reaches it: by the socket, or by 127.0.0.1 when TCP is asked for."""
        loopback = site.access.listen is Listen.LOOPBACK
        return Target(
            dbms=self.name,
            host="127.0.0.1" if loopback else None,
            socket=None if loopback else str(site.socket_dir),
            port=site.port,
            user=USER,
            password=site.access.password,
            database=self.database,
            engine=site.engine,
        )

    @abstractmethod
    def telling_line(self, log: Sequence[str]) -> str | None:
        """The line of a log that says why the server gave up; None when there is none."""

    @abstractmethod
    def ruin(self, state: str) -> str | None:
        """What an error with this state (SQLSTATE, or `HY000/NUMBER`) says of the server.

        None where the server is still worth measuring: it is not out of resources, shut down or
        failing.
        """

    @abstractmethod
    def after_load(self, site: Site, tables: Sequence[str]) -> list[Stage]:
        """Maintenance after tables were loaded, before anything is measured."""

    @abstractmethod
    def after_writes(self, site: Site, tables: Sequence[str]) -> list[Stage]:
        """Post-write maintenance: the debt of the writes is paid before reads are measured."""

    @abstractmethod
    def in_turn(self, site: Site, tables: Sequence[str]) -> list[Stage]:
        """What the server would soon do of its own accord about what was just written.

        Done at once, it is not done while another server is measured. Empty where the server does
        it meanwhile, or not at all.
        """

    @abstractmethod
    def before_sizes(self, site: Site, tables: Sequence[str]) -> list[Stage]:
        """What makes the server's own numbers of its sizes those of now; empty where they are."""

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


def _room_for(clients: int, settings: Settings) -> dict[str, str]:
    """The setting without which so many clients could not connect; none where they can."""
    given = {**settings.optional, **settings.required}.get(
        _MAX_CONNECTIONS, str(_CONNECTIONS_BY_DEFAULT)
    )
    needed = clients + _OWN_CONNECTIONS
    # What is no number is the server's to refuse.
    has_room = not given.isdigit() or int(given) >= needed
    return {} if has_room else {_MAX_CONNECTIONS: str(needed)}
