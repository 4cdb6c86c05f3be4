"""The interface of a family of servers: everything that differs from DBMS to DBMS.

A family is a module of this package with the name of the DBMS and a `FAMILY` in it, and a
directory of configurations `configs/DBMS/`.
"""

from __future__ import annotations

import dataclasses
import enum
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.access import USER, Access, Auth, Listen, Target, Tls, Verify
from slowdust.dbms.by_url import ByUrl
from slowdust.dbms.settings import (
    AcceptedSettings,
    InForce,
    Settings,
    host_memory_bytes,
    load_config,
    override,
    setting_name,
    size_config,
)
from slowdust.dbms.stages import Query, Stage, Waits
from slowdust.errors import UsageError
from slowdust.secret import Secret
from slowdust.sql import Sql
from slowdust.units import Second
from slowdust.wording import guess


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

    @property
    def version(self) -> str:
        return self.build.facts.version

    @property
    def files(self) -> Path:
        return self.data_dir

    @property
    def certificate(self) -> Path:
        """The file of the server's certificate, which exists if an access is encrypted."""
        return self.config_file.with_name("server.crt")

    @property
    def key(self) -> Path:
        return self.config_file.with_name("server.key")


class Run(Protocol):
    """A function that runs a program to its end as the server's user and returns its output."""

    def __call__(self, command: Sequence[str | Path], stdin: Path | None = None) -> str:
        """Run `command`, which begins with the dynamic loader where the build has one."""


_CONNECTIONS_BY_DEFAULT = 100
"""The smallest default of the servers for their `connections_setting`."""
_SPARE_CONNECTIONS = 20

Facts = dict[str, dict[str, float]]
"""Physical facts: table, index or `SERVER` -> quantity -> value."""


class Shutdown(enum.Enum):
    """The ways to stop a server."""

    ORDERLY = "orderly"
    """The server keeps its data for the next start."""
    AT_ONCE = "at once"
    """The server's data is not needed any more."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of what an instance stores, in bytes."""

    data_bytes: int
    table_bytes: int
    index_bytes: int


@dataclass(frozen=True)
class Commit:
    """What a commit does before it returns."""

    waits_for_disk: bool
    setting: str
    """The setting that decides it, as it would be given: 'synchronous_commit=off'."""


class Family(ABC):
    """A family of servers: postgres, mysql, ..."""

    name: str
    protocol: str | None = None
    """The DBMS whose protocol and SQL its servers have for the driver; None for its own."""
    database: str
    stop_signals: Mapping[Shutdown, tuple[signal.Signals, ...]] = {
        Shutdown.ORDERLY: (signal.SIGTERM, signal.SIGKILL),
        Shutdown.AT_ONCE: (signal.SIGKILL,),
    }
    sql: Sql | None = None
    """The SQL of its servers; None where they have none."""
    without: Mapping[str, str] = {}
    """What its servers lack -> why. It is a key of the table of a benchmark of long steps, or one
    of `partitions`, `encryption` and `look-ups` (of rows by their key)."""
    unreported: str | None = None
    """What its servers do not report and others do, as a sentence; None where they report all."""
    not_counted: str | None = None
    """Why valgrind cannot count the work of its servers, as a sentence; None where it can."""
    options_when_counted: tuple[str, ...] = ()
    """Options at the end of the server's command while valgrind runs it."""
    sessions_are_processes: bool = False
    """Whether a process of its own serves each session, else a thread."""
    engines: tuple[str, ...] = ()
    volatile_engines: frozenset[str] = frozenset()
    """Engines whose tables are empty after a restart."""
    by_url: ByUrl | None = None
    """How servers that run already are reached; None where they cannot be."""
    round_trip = "SELECT 1"
    """What the driver asks a server for that asks for nothing, as users know it."""
    connections_setting: str | None = None
    """The setting that limits the connections; None where none has to be raised."""
    background_settings: tuple[str, ...] = ()
    """Settings of work beside the statements that a reader of results has to know."""
    usual_start: Second = 7.0
    """A start of a server with the loading of 100,000 rows, about, on two cores."""
    usual_count: Second = 45.0
    """The counting of the work of one test at one number of clients, about."""

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
        """Return a configuration's settings for one of `side_by_side` instances on this machine.

        `config` is a name or a path. The settings allow `clients` connections unless the overrides
        do not; `memory_bytes` replaces the memory of the host. Raises UsageError.
        """
        memory = host_memory_bytes() if memory_bytes is None else memory_bytes
        file = load_config(self.name, config)
        part = file.part_of(engine)
        sized = size_config(config, part, file.create, memory // side_by_side, self.render_bytes)
        roomy = override(sized, self._room_for(clients, sized))
        return override(roomy, {setting_name(key): v for key, v in overrides.items()})

    def major(self, version: tuple[int, ...]) -> tuple[int, ...]:
        """Return the numbers of the major release of a version: 8.0 of 8.0.40."""
        return version[:2]

    @abstractmethod
    def bytes_per_row(self, engine: str | None) -> int:
        """Return the bytes of a row of seven columns with its share of three secondary indexes.

        Measured after rows were replaced, when indexes are less dense than after their creation.
        """

    def lacks(self, what: str, engine: str | None = None) -> str | None:
        """Say why servers of the family lack something, as a sentence; None where they have it."""
        return self.without.get(what)

    def choose_engine(self, build: Build, wanted: str | None) -> str | None:
        """Return the engine of a contender: `wanted` or the default; None without a choice.

        Raises UsageError for an engine that the DBMS, or this build of it, does not have.
        """
        if wanted is None:
            return self.engines[0] if self.engines else None
        if not self.engines:
            raise UsageError(f"{self.name} has only one engine: leave out '/{wanted}'")
        if wanted not in self.engines:
            raise UsageError(
                f"{self.name} has no engine {wanted!r}: choose {', '.join(self.engines)}"
                f"{guess(wanted, self.engines)}"
            )
        missing = self.missing_for_engine(build, wanted)
        if missing is not None:
            raise UsageError(missing)
        return wanted

    def beneath(self, settings: Settings) -> tuple[str, str] | None:
        """Return DBMS and version of a server that one with such settings runs on; None without."""
        return None

    def missing_for_engine(self, build: Build, engine: str) -> str | None:
        """Say what this build lacks for an engine, and which has it; None when it lacks nothing."""
        return None

    def keeps_tables(self, site: Served) -> bool:
        """Return whether the tables keep their rows across a restart of the server."""
        return site.engine not in self.volatile_engines

    @abstractmethod
    def commit(self, settings: Mapping[str, str], engine: str | None) -> Commit | None:
        """Return what a commit does under these settings; None where there is no disk to wait for.

        A setting that is not given has the server's default.
        """

    @abstractmethod
    def render_bytes(self, size: int) -> str:
        """Write a size as this family's settings have it."""

    @abstractmethod
    def pool_settings(self, size: int, engine: str | None) -> Mapping[str, str]:
        """Return the settings that make the page cache so large, in bytes: whole megabytes.

        Where sessions share none it is that of each. Raises UsageError for an engine that has none,
        or none of this size.
        """

    @abstractmethod
    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """Return the settings that the server of this build accepts, as it reports itself.

        Raises UsageError for a setting that it does not know or a value that it refuses.
        """

    def auths(self, build: Build) -> Sequence[Auth]:
        """Return the methods by which servers of this build ask for a password, the best first.

        Empty where they ask for none.
        """
        return ()

    def check_access(self, build: Build, access: Access) -> None:
        """Raise UsageError for a kind of access that servers of this build do not have."""
        if access.auth is not Auth.TRUST and access.auth not in self.auths(build):
            version = build.facts.version
            raise UsageError(f"{self.name} {version} has no authentication by {access.auth.value}")

    def access_by(self, listen: Listen, build: Build) -> Access:
        """Return an access to a server that listens there, with a new password on TCP.

        Every user of this machine can reach the loopback address, so a build that cannot ask for a
        password stays on its private socket.
        """
        auths = self.auths(build)
        if listen is Listen.SOCKET or not auths:
            return Access()
        return Access.make(listen, auths[0])

    def without_tls(self, build: Build, account: Account) -> str | None:
        """Say why servers of this build encrypt no connections; None where they do."""
        return f"connections to {self.name} are not encrypted"

    def with_encryption(self, access: Access, build: Build) -> Access:
        """Return the access with one by encrypted TCP, which asks for a password, beside it."""
        by_tcp = access.by_tcp or self.access_by(Listen.LOOPBACK, build)
        return dataclasses.replace(access, encrypted=by_tcp)

    @abstractmethod
    def create(self, site: Site, run: Run) -> None:
        """Fill the data directory; the configuration file exists already."""

    @abstractmethod
    def configuration(self, site: Site) -> str:
        """Return the text of the configuration file."""

    @abstractmethod
    def server_command(self, site: Site) -> list[str]:
        """Return the command that runs the server in the foreground.

        All users of this machine can read it: it holds no password.
        """

    def secret_variables(self, site: Site) -> Mapping[str, Secret]:
        """Return secrets for the server's environment, which only its account can read."""
        return {}

    def programs(self, site: Site) -> Sequence[Path]:
        """Return the programs of the server, which may outlive it when it is killed."""
        return (Path(self.server_command(site)[0]),)

    @abstractmethod
    def is_ready(self, site: Site, pid: int) -> bool:
        """Return whether the server with this process id accepts connections."""

    def target(self, site: Site) -> Target:
        """Return the address for the driver: the socket, or 127.0.0.1 where TCP is asked for."""
        loopback = site.access.listen is Listen.LOOPBACK
        return Target(
            dbms=self.name,
            protocol=self.protocol,
            host="127.0.0.1" if loopback else None,
            socket=None if loopback else str(site.socket_dir),
            port=site.port,
            user=USER,
            password=site.access.password,
            database=self.database,
            engine=site.engine,
        )

    def encrypted_target(self, site: Site) -> Target:
        """Return the address of its encrypted access for the driver.

        The certificate was made for this server alone, by nobody whom the client could ask.
        """
        assert site.access.encrypted is not None
        return msgspec.structs.replace(
            self.target(site),
            host="127.0.0.1",
            socket=None,
            password=site.access.encrypted.password,
            tls=Tls(verify=Verify.NOTHING),
        )

    @abstractmethod
    def error_line(self, log: Sequence[str]) -> str | None:
        """Return the line of a log that says why the server ended; None when there is none."""

    @abstractmethod
    def fatal_error(self, state: str) -> str | None:
        """Return what an error with this state (SQLSTATE, or `HY000/NUMBER`) says about the server.

        None where it is neither out of resources nor shut down nor failing.
        """

    @abstractmethod
    def after_load(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Return the maintenance of loaded tables, before anything is measured."""

    def after_writes(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Return the maintenance that finishes the work of writes before reads are measured."""
        return self.after_load(site, tables)

    def after_step(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Return the maintenance that the server would soon start by itself after a step's writes.

        Done now, it is not done while another server is measured. Empty where the server does it
        during the writes, or not at all.
        """
        return []

    def write_out(self, site: Served) -> list[Stage]:
        """Return the stages that write what is only in memory, so that all writes can be counted.

        Empty where no statement does it.
        """
        return []

    def data_files(self, site: Served) -> list[Path]:
        """Return the files with pages of tables and indexes; empty where they cannot be seen."""
        return []

    @abstractmethod
    def sizes(self, site: Served, tables: Sequence[str]) -> Query[Sizes]:
        """Return the query for the sizes of what the server stores, in `tables` and elsewhere."""

    def page_size(self, site: Served) -> Query[int | None] | None:
        """Return the query for the bytes of a page of the data files.

        None where pages have no one size, or the server does not tell it.
        """
        return None

    def facts(self, site: Served) -> Query[Facts] | None:
        """Return the query for physical facts of maintained tables; None where it tells none.

        The quantities are those of `analysis/preparation.py`.
        """
        return None

    def counters(self, site: Served) -> Query[dict[str, float]] | None:
        """Return the query for the totals of the server's work: quantity -> number.

        Only their differences count. None where the server does not count its work.
        """
        return None

    def settings_in_force(self, site: Served) -> Query[dict[str, InForce]] | None:
        """Return the query for the settings that were given, where the server has them.

        None where the server does not tell its settings.
        """
        return None

    def buffer_pool(self, site: Served) -> Query[int | None] | None:
        """Return the query for the bytes of the server's page cache.

        None where the engine has no page cache that its sessions share.
        """
        return None

    def options_when_observed(self, site: Served) -> Sequence[str]:
        """Return options at the end of the command of a server that tells its sessions' waits."""
        return ()

    def waits(self, site: Served) -> Sequence[Waits]:
        """Return how a server with `options_when_observed` tells what its sessions wait for.

        Empty where it cannot.
        """
        return ()

    def _room_for(self, clients: int, settings: Settings) -> dict[str, str]:
        """Return the setting that lets so many clients connect; empty where they can anyway."""
        if self.connections_setting is None:
            return {}
        given = {**settings.optional, **settings.required}.get(
            self.connections_setting, str(_CONNECTIONS_BY_DEFAULT)
        )
        needed = clients + _SPARE_CONNECTIONS
        # A value that is not a number is for the server to refuse.
        has_room = not given.isdigit() or int(given) >= needed
        return {} if has_room else {self.connections_setting: str(needed)}
