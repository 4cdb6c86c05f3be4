"""The interface of a family of servers: everything that differs between DBMS.

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
    """The facts that a family needs about a server to query it and to maintain its tables."""

    @property
    def version(self) -> str:
        """The version that the server reports: '17.6'."""

    @property
    def settings(self) -> AcceptedSettings:
        """The settings that it was started with."""

    @property
    def engine(self) -> str | None:
        """The storage engine of its tables; None if the DBMS has only one."""

    @property
    def files(self) -> Path | None:
        """The directory of its data; None if Slowdust did not start it."""


@dataclass(frozen=True)
class Site:
    """The facts that a family needs about one instance; it is `Served`."""

    build: Build
    account: Account
    data_dir: Path
    """An existing directory of the account, empty before `create`."""
    config_file: Path
    """A file that the account can read; it contains `configuration` when the server starts."""
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
        """The file of the server's certificate; it exists if an access is encrypted."""
        return self.config_file.with_name("server.crt")

    @property
    def key(self) -> Path:
        return self.config_file.with_name("server.key")


class Run(Protocol):
    """A function that runs a program as the server's user, waits for it and returns its output."""

    def __call__(self, command: Sequence[str | Path], stdin: Path | None = None) -> str:
        """Run `command`, which begins with the dynamic loader if the build has one."""


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
    """The server's data is no longer needed."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of an instance's data, in bytes."""

    data_bytes: int
    table_bytes: int
    index_bytes: int


@dataclass(frozen=True)
class Commit:
    """Whether a commit waits for the disk, and the setting that decides it."""

    waits_for_disk: bool
    setting: str
    """The setting as a user writes it: 'synchronous_commit=off'."""


class Family(ABC):
    """A family of servers: postgres, mysql, ..."""

    name: str
    protocol: str | None = None
    """The DBMS whose protocol and SQL its servers speak; None if it is this one."""
    database: str
    stop_signals: Mapping[Shutdown, tuple[signal.Signals, ...]] = {
        Shutdown.ORDERLY: (signal.SIGTERM, signal.SIGKILL),
        Shutdown.AT_ONCE: (signal.SIGKILL,),
    }
    sql: Sql | None = None
    """The SQL of its servers; None if they have none."""
    without: Mapping[str, str] = {}
    """Missing feature -> why. A feature is a key of the table of a benchmark of long steps, or
    `partitions`, `encryption` or `look-ups` (of rows by their key)."""
    unreported: str | None = None
    """A sentence about facts that only other DBMS report; None if its servers report all."""
    not_counted: str | None = None
    """A sentence: why valgrind cannot count the work of its servers; None if it can."""
    options_when_counted: tuple[str, ...] = ()
    """Options at the end of the server's command when valgrind runs it."""
    sessions_are_processes: bool = False
    """Whether each session has its own process; else it has a thread."""
    engines: tuple[str, ...] = ()
    volatile_engines: frozenset[str] = frozenset()
    """Engines whose tables are empty after a restart."""
    by_url: ByUrl | None = None
    """How running servers are reached; None if they cannot be."""
    round_trip = "SELECT 1"
    """The driver's no-op request, as users know it."""
    connections_setting: str | None = None
    """The setting that limits the connections; None if no limit has to be raised."""
    background_settings: tuple[str, ...] = ()
    """Settings of background work that readers of results have to know."""
    usual_start: Second = 7.0
    """The usual time to start a server and load 100,000 rows, on two cores."""
    usual_count: Second = 45.0
    """The usual time to count the work of one step."""

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

        `config` is a name or a path. The settings allow `clients` connections, unless the overrides
        set that limit; `memory_bytes` replaces the memory of the host. Raises UsageError.
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
        """Return a sentence: why servers of the family lack a feature; None if they have it."""
        return self.without.get(what)

    def choose_engine(self, build: Build, wanted: str | None) -> str | None:
        """Return the engine of a contender: `wanted` or the default; None if there is only one.

        Raises UsageError for an engine that the DBMS or this build does not have.
        """
        if wanted is None:
            return self.engines[0] if self.engines else None
        if not self.engines:
            raise UsageError(f"{self.name} has only one engine: remove '/{wanted}'")
        if wanted not in self.engines:
            raise UsageError(
                f"{self.name} has no engine {wanted!r}: choose {', '.join(self.engines)}"
                f"{guess(wanted, self.engines)}"
            )
        missing = self.missing_for_engine(build, wanted)
        if missing is not None:
            raise UsageError(missing)
        return wanted

    def backing_server(self, settings: Settings) -> tuple[str, str] | None:
        """Return DBMS and version of the server that stores the data; None if it is this one."""
        return None

    def missing_for_engine(self, build: Build, engine: str) -> str | None:
        """Say why this build lacks an engine, and which builds have it; None if it has it."""
        return None

    def keeps_tables(self, site: Served) -> bool:
        """Return whether the tables keep their rows across a restart of the server."""
        return site.engine not in self.volatile_engines

    @abstractmethod
    def commit(self, settings: Mapping[str, str], engine: str | None) -> Commit | None:
        """Return what a commit does under these settings; None if nothing is written to disk.

        A missing setting has the server's default.
        """

    @abstractmethod
    def render_bytes(self, size: int) -> str:
        """Write a size in the format of this family's settings."""

    @abstractmethod
    def pool_settings(self, size: int, engine: str | None) -> Mapping[str, str]:
        """Return the settings for a page cache of `size` bytes, which are whole megabytes.

        If each session has its own cache, `size` is the size of each. Raises UsageError for an
        engine without a page cache, or a size that it does not allow.
        """

    @abstractmethod
    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """Return the settings that the server of this build accepts, as reported by itself.

        Raises UsageError for a setting that it does not know or a value that it refuses.
        """

    def auths(self, build: Build) -> Sequence[Auth]:
        """Return the password methods of servers of this build, the best first.

        Empty if they have none.
        """
        return ()

    def check_access(self, build: Build, access: Access) -> None:
        """Raise UsageError for an access that servers of this build do not support."""
        if access.auth is not Auth.TRUST and access.auth not in self.auths(build):
            version = build.facts.version
            raise UsageError(f"{self.name} {version} does not support {access.auth.value} access")

    def access_by(self, listen: Listen, build: Build) -> Access:
        """Return an access to a server that listens on `listen`, with a new password for TCP.

        Every user of this machine can reach the loopback address, so a build without password
        authentication listens on its private socket only.
        """
        auths = self.auths(build)
        if listen is Listen.SOCKET or not auths:
            return Access()
        return Access.make(listen, auths[0])

    def without_tls(self, build: Build, account: Account) -> str | None:
        """Say why servers of this build do not encrypt connections; None if they do."""
        return f"connections to {self.name} are not encrypted"

    def with_encryption(self, access: Access, build: Build) -> Access:
        """Return the access with an additional one by encrypted TCP with a password."""
        by_tcp = access.by_tcp or self.access_by(Listen.LOOPBACK, build)
        return dataclasses.replace(access, encrypted=by_tcp)

    @abstractmethod
    def create(self, site: Site, run: Run) -> None:
        """Fill the data directory. The configuration file exists already."""

    @abstractmethod
    def configuration(self, site: Site) -> str:
        """Return the text of the configuration file."""

    @abstractmethod
    def server_command(self, site: Site) -> list[str]:
        """Return the command that runs the server in the foreground.

        All users of this machine can read it, so it contains no password.
        """

    def secret_variables(self, site: Site) -> Mapping[str, Secret]:
        """Return secrets for the server's environment, which only its account can read."""
        return {}

    def programs(self, site: Site) -> Sequence[Path]:
        """Return the server's programs, whose processes may survive a kill."""
        return (Path(self.server_command(site)[0]),)

    @abstractmethod
    def is_ready(self, site: Site, pid: int) -> bool:
        """Return whether the server with this process id accepts connections."""

    def target(self, site: Site) -> Target:
        """Return the address for the driver: the socket, or 127.0.0.1 for TCP."""
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
        """Return the address of the encrypted access for the driver.

        The certificate is self-signed, so the client does not verify it.
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
        """Return the line of a log that says why the server exited, if any."""

    @abstractmethod
    def fatal_error(self, state: str) -> str | None:
        """Return what an error state (SQLSTATE, or `HY000/NUMBER`) says about the server.

        None if it does not say that the server is out of resources, shutting down or failing.
        """

    @abstractmethod
    def after_load(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Return the maintenance of loaded tables before the first measurement."""

    def after_writes(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Return the maintenance that finishes deferred work of writes before reads."""
        return self.after_load(site, tables)

    def after_step(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Return the maintenance that the server would soon start itself after a step of writes.

        Slowdust runs it now, so that it does not run while another server is measured. Empty if
        the server does it during the writes, or not at all.
        """
        return []

    def write_out(self, site: Served) -> list[Stage]:
        """Return the stages that write dirty pages to disk, so that all writes are counted.

        Empty if no statement does it.
        """
        return []

    def data_files(self, site: Served) -> list[Path]:
        """Return the files with pages of tables and indexes; empty if they are not accessible."""
        return []

    @abstractmethod
    def sizes(self, site: Served, tables: Sequence[str]) -> Query[Sizes]:
        """Return the query for the sizes of the server's data, in `tables` and elsewhere."""

    def page_size(self, site: Served) -> Query[int | None] | None:
        """Return the query for the page size of the data files, in bytes.

        None if page sizes vary, or the server does not report them.
        """
        return None

    def facts(self, site: Served) -> Query[Facts] | None:
        """Return the query for physical facts of maintained tables; None if it reports none.

        `analysis/preparation.py` lists the quantities.
        """
        return None

    def counters(self, site: Served) -> Query[dict[str, float]] | None:
        """Return the query for the server's work counters: quantity -> total.

        Only differences of totals are used. None if the server does not count its work.
        """
        return None

    def settings_in_force(self, site: Served) -> Query[dict[str, InForce]] | None:
        """Return the query for the current values of the settings that were given.

        None if the server does not report its settings.
        """
        return None

    def buffer_pool(self, site: Served) -> Query[int | None] | None:
        """Return the query for the size of the server's page cache, in bytes.

        None if the engine has no page cache that sessions share.
        """
        return None

    def options_when_observed(self, site: Served) -> Sequence[str]:
        """Return options at the end of the server's command that make it report waits."""
        return ()

    def waits(self, site: Served) -> Sequence[Waits]:
        """Return how a server with `options_when_observed` reports the waits of its sessions.

        Empty if it cannot.
        """
        return ()

    def _room_for(self, clients: int, settings: Settings) -> dict[str, str]:
        """Return the setting that allows `clients` connections; empty if it is not needed."""
        if self.connections_setting is None:
            return {}
        given = {**settings.optional, **settings.required}.get(
            self.connections_setting, str(_CONNECTIONS_BY_DEFAULT)
        )
        needed = clients + _SPARE_CONNECTIONS
        # The server refuses a value that is not a number.
        has_room = not given.isdigit() or int(given) >= needed
        return {} if has_room else {self.connections_setting: str(needed)}
