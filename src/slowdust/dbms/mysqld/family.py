"""The family of servers whose one process is mysqld, with a thread for each connection."""

from __future__ import annotations

import re
import signal
import socket
from abc import abstractmethod
from collections.abc import Mapping, Sequence

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.access import Access, Auth
from slowdust.dbms.family import Family, Row, Run, Shutdown, Site, Sizes, Stage, Statements
from slowdust.dbms.mysqld.acceptance import HELP, accepted_settings
from slowdust.dbms.mysqld.creation import (
    bootstrap,
    users_by_grants,
    users_if_not_there,
    write_statements,
)
from slowdust.dbms.mysqld.engines import ENGINES, Engine
from slowdust.dbms.mysqld.layout import find_plugin, version_of
from slowdust.dbms.mysqld.options import as_arguments, option_file
from slowdust.dbms.mysqld.own import (
    data_directory,
    data_options,
    own_directory,
    server_options,
    socket_of,
    user_file,
)
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.errors import SlowdustError, UsageError

ROCKSDB_PLUGIN = "ha_rocksdb.so"
_GREETING_BYTES = 5
_GREETING_TIMEOUT_S = 5.0
_PROTOCOL_VERSION = 10
_RUIN = {
    "HY001": "out of memory",
    "HY000/3": "error writing a file",
    "HY000/20": "disk full",
    "HY000/1021": "disk full",
    "HY000/1026": "error writing a file",
    "HY000/1030": "error of the storage engine",
    "HY000/1041": "out of memory",
    "HY000/1114": "a table, or the disk, is full",
    "HY000/1180": "error during COMMIT",
    "HY000/1290": "the server runs read-only",
    "HY000/1296": "error of the storage engine",
    "HY000/1598": "the binlog cannot be written",
    "HY000/1836": "the server runs read-only",
    "HY000/1874": "InnoDB runs read-only",
    "HY000/1878": "error writing a temporary file",
}
"""States, as the driver writes them; numbers below 1000 are those of the library mysys."""


class MysqldFamily(Family):
    """See `Family`."""

    stop_signals: Mapping[Shutdown, tuple[signal.Signals, ...]] = {
        Shutdown.ORDERLY: (signal.SIGTERM, signal.SIGKILL),
        Shutdown.AT_ONCE: (signal.SIGKILL,),
    }
    database = "slowdust"
    engines = tuple(ENGINES)
    volatile_engines = frozenset({"memory"})

    creates_users_since: tuple[int, ...]
    """The first version with CREATE USER IF NOT EXISTS."""

    @abstractmethod
    def auths(self, build: Build) -> frozenset[Auth]:
        """The ways in which servers of this build know their clients."""

    def validation(self, build: Build) -> Sequence[str]:
        """The arguments with which a server checks the values of settings without starting."""
        del build
        return HELP

    def identified(self, site: Site) -> str:
        """How CREATE USER and GRANT say by what the only user is known."""
        return f"IDENTIFIED BY '{site.access.password or ''}'"

    def bytes_per_purchase(self, engine: str | None) -> int:
        """As the engine stores it."""
        assert engine is not None
        return ENGINES[engine].bytes_per_purchase

    def render_bytes(self, size: int) -> str:
        """In whole megabytes; at least one."""
        return f"{max(1, size >> 20)}M"

    def lack_of_engine(self, build: Build, engine: str) -> str | None:
        """MyRocks is a plugin that most builds come without."""
        if engine != "rocksdb" or find_plugin(build, ROCKSDB_PLUGIN) is not None:
            return None
        return (
            f"{self.name} {build.version} comes without {ROCKSDB_PLUGIN}, so it has no engine "
            "rocksdb: the MariaDB builds from Debian have it"
        )

    def check_access(self, build: Build, access: Access) -> None:
        """What has no password needs no plugin."""
        if access.auth is not Auth.TRUST and access.auth not in self.auths(build):
            raise UsageError(
                f"{self.name} {build.facts.version} does not know authentication by "
                f"{access.auth.value}"
            )

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """Asks the server, which lists its settings and checks values without starting."""
        return accepted_settings(build, account, settings, self.validation(build))

    def configuration(self, site: Site) -> str:
        """An option file."""
        return option_file(site.build, site.settings.values)

    def server_command(self, site: Site) -> list[str]:
        """The server, which makes its user as it starts, before it accepts connections."""
        return self._command(site, server_options(site))

    def create(self, site: Site, run: Run) -> None:
        """By the SQL files that came with it."""
        self.prepare(site)
        bootstrap(site, run, self.command_on_data(site, "--bootstrap"))

    def prepare(self, site: Site) -> None:
        """Make the directories and the file that tells the server of its user."""
        for directory in (data_directory(site), own_directory(site)):
            directory.mkdir(mode=0o700)
            site.account.hand_over(directory)
        write_statements(site, self.start_statements(site), user_file(site))

    def command_on_data(self, site: Site, mode: str) -> list[str]:
        """The command of a run on the data of a site that nobody connects to: '--bootstrap'."""
        return self._command(site, data_options(site), mode)

    def start_statements(self, site: Site) -> list[str]:
        """What a server executes at each start: the only user and the database are there then."""
        creates_users = version_of(site.build) >= self.creates_users_since
        users = users_if_not_there if creates_users else users_by_grants
        return [*users(self.identified(site)), f"CREATE DATABASE IF NOT EXISTS {self.database}"]

    def is_ready(self, site: Site, pid: int) -> bool:
        """A server greets its clients; a socket that an earlier one left takes no connection."""
        del pid
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(_GREETING_TIMEOUT_S)
            try:
                client.connect(str(socket_of(site)))
                greeting = client.recv(_GREETING_BYTES, socket.MSG_WAITALL)
            except OSError:
                return False
        return len(greeting) == _GREETING_BYTES and greeting[-1] == _PROTOCOL_VERSION

    def telling_line(self, log: Sequence[str]) -> str | None:
        """The first error: those behind it follow from it."""
        pattern = re.compile(r"\[ERROR\]\s*(?:\[[^]]*\]\s*)*(.*)")
        errors = (found.group(1) for line in log if (found := pattern.search(line)))
        return next((error for error in errors if error and error != "Aborting"), None)

    def ruin(self, state: str) -> str | None:
        """By the whole state."""
        return _RUIN.get(state)

    def after_load(self, site: Site, tables: Sequence[str]) -> list[Stage]:
        """Statistics, and no dirty pages left from the load."""
        return self.after_writes(site, tables)

    def after_writes(self, site: Site, tables: Sequence[str]) -> list[Stage]:
        """Statistics, then what the engine owes."""
        return [_analyze(tables), *_engine_of(site).settle(site)]

    def in_turn(self, site: Site, tables: Sequence[str]) -> list[Stage]:
        """Purge, flushing and compaction begin while the writes go on."""
        del site, tables
        return []

    def before_sizes(self, site: Site, tables: Sequence[str]) -> list[Stage]:
        """The server tells the sizes that ANALYZE found last."""
        return [*_engine_of(site).before_sizes(), _analyze(tables)]

    def sizes_statement(self, site: Site) -> str:
        """One row of bytes: tables, indexes."""
        return (
            "SELECT COALESCE(SUM(data_length), 0), COALESCE(SUM(index_length), 0) "
            f"FROM information_schema.tables WHERE table_schema = '{self.database}'"
        )

    def read_sizes(self, site: Site, rows: Sequence[Row]) -> Sizes:
        """See `sizes_statement`; what has no files is as large as its tables and indexes."""
        ((table, index),) = rows
        if table is None or index is None:
            raise SlowdustError(f"{self.name} tells no sizes: the answer has NULL")
        in_files = _engine_of(site).data_bytes(site)
        in_memory = int(table) + int(index)
        return Sizes(in_memory if in_files is None else in_files, int(table), int(index))

    def buffer_pool_statement(self, site: Site) -> str | None:
        """The buffer pool of InnoDB, the block cache of MyRocks."""
        setting = _engine_of(site).buffer_pool
        return None if setting is None else f"SELECT @@GLOBAL.{setting}"

    def _command(self, site: Site, options: Mapping[str, str], *modes: str) -> list[str]:
        program = site.build.command(site.build.server)
        config = f"--defaults-file={site.config_file}"
        return [*program, config, *modes, *as_arguments(options)]


def _analyze(tables: Sequence[str]) -> Statements:
    return Statements(tuple(f"ANALYZE TABLE {table}" for table in tables))


def _engine_of(site: Site) -> Engine:
    assert site.engine is not None
    return ENGINES[site.engine]
