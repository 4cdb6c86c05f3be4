"""The family of servers whose one process is mysqld, with a thread for each connection."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.access import USER, Access
from slowdust.dbms.family import Commit, Facts, Family, Sizes
from slowdust.dbms.mysqld import waits
from slowdust.dbms.mysqld.engines import COUNTERS, ENGINES, Engine, read_counters
from slowdust.dbms.mysqld.layout import find_plugin, sql_file, version_of
from slowdust.dbms.mysqld.options import (
    as_arguments,
    data_directory,
    data_options,
    option_file,
    runtime_directory,
    server_options,
    socket_of,
    user_file,
)
from slowdust.dbms.mysqld.settings_check import (
    HELP,
    accepted_settings,
    known_settings,
    settings_in_force,
)
from slowdust.dbms.settings import AcceptedSettings, InForce, Settings
from slowdust.dbms.site import Run, Served, Site
from slowdust.dbms.stages import Query, Row, Stage, Statements, integer
from slowdust.dbms.waits import Waits
from slowdust.directories import connected
from slowdust.errors import SlowdustError, UsageError

ROCKSDB_PLUGIN = "ha_rocksdb.so"
_LOG_IS_SYNCED = "1"
"""The value, and the default, with which each commit is synced, of each engine's setting."""
_SQL_FILES = ("system_tables", "performance_tables", "system_tables_data")
_GREETING_BYTES = 5
_GREETING_TIMEOUT_S = 5.0
_PROTOCOL_VERSION = 10
_SIZES = (
    "SELECT COALESCE(SUM(data_length), 0), COALESCE(SUM(index_length), 0) "
    "FROM information_schema.tables WHERE table_schema = DATABASE()"
)
_FATAL_STATES = {
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
"""State as the driver writes it -> its meaning; numbers below 1000 are of the library mysys."""


class MysqldFamily(Family):
    """MySQL or MariaDB."""

    database = "slowdust"
    # Valgrind runs one thread at a time: whoever spins until another one has done something spends
    # instructions until its turn is over.
    # Only a session's own thread is counted: so it makes indexes without the help of others.
    options_when_counted: tuple[str, ...] = (
        "--loose-innodb-sync-spin-loops=0",
        "--loose-innodb-spin-wait-delay=0",
        "--loose-innodb-log-wait-for-flush-spin-hwm=0",
        "--loose-innodb-log-spin-cpu-pct-hwm=0",
        "--loose-innodb-ddl-threads=1",
        "--loose-innodb-parallel-read-threads=1",
    )
    engines = tuple(ENGINES)
    volatile_engines = frozenset({"memory"})
    connections_setting = "max_connections"
    background_settings = ("log_bin",)

    creates_users_since: tuple[int, ...]
    """The first version with CREATE USER IF NOT EXISTS."""

    def lacks(self, what: str, engine: str | None = None) -> str | None:
        if what == "partitions" and engine == "memory":
            return "tables of MEMORY have no partitions since MySQL 8.0"
        return super().lacks(what, engine)

    def validation(self, build: Build) -> Sequence[str]:
        """Return the arguments with which a server checks values of settings without starting."""
        return HELP

    def table_of_users(self, site: Site) -> str:
        return "mysql.user"

    def identified(self, site: Site, access: Access) -> str:
        """Return the IDENTIFIED clause of the user of an access for CREATE USER and GRANT."""
        password = access.password
        return f"IDENTIFIED BY '{password.reveal() if password else ''}'"

    def bytes_per_row(self, engine: str | None) -> int:
        assert engine is not None
        return ENGINES[engine].bytes_per_row

    def commit(self, settings: Mapping[str, str], engine: str | None) -> Commit | None:
        """Return whether a commit waits until the engine's log is on disk."""
        name = ENGINES[engine or self.engines[0]].log_at_commit
        if name is None:
            return None
        value = settings.get(name, _LOG_IS_SYNCED)
        return Commit(waits_for_disk=value == _LOG_IS_SYNCED, setting=f"{name}={value}")

    def render_bytes(self, size: int) -> str:
        return f"{max(1, size >> 20)}M"

    def pool_settings(self, size: int, engine: str | None) -> Mapping[str, str]:
        setting = ENGINES[engine or self.engines[0]].buffer_pool
        if setting is None:
            raise UsageError(f"the engine {engine} has no page cache: its rows are in memory")
        return {setting: self.render_bytes(size)}

    def missing_for_engine(self, build: Build, engine: str) -> str | None:
        """Look for the plugin of MyRocks, which most builds lack."""
        if engine != "rocksdb" or find_plugin(build, ROCKSDB_PLUGIN) is not None:
            return None
        return (
            f"{self.name} {build.version} comes without {ROCKSDB_PLUGIN}, so it has no engine "
            "rocksdb: choose a MariaDB build from Debian, which has it"
        )

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """Ask the server, which lists its settings and checks values without starting."""
        return accepted_settings(build, account, settings, self.validation(build))

    def configuration(self, site: Site) -> str:
        return option_file(site.build, site.settings.values)

    def server_command(self, site: Site) -> list[str]:
        """Return the command of a server that creates its user before it accepts connections."""
        return self._command(site, server_options(site))

    def without_tls(self, build: Build, account: Account) -> str | None:
        """Look for the setting that chooses versions of TLS.

        Servers that lack it may know none that is still in use.
        """
        if "tls_version" in known_settings(build, account):
            return None
        return "its server has no setting tls_version, so that TLS 1.2 is not certain"

    def create(self, site: Site, run: Run) -> None:
        """Create the system tables from the SQL files of the build."""
        self.prepare(site)
        _bootstrap(site, run, self.command_on_data(site, "--bootstrap"))

    def prepare(self, site: Site) -> None:
        """Make the directories and the file of statements that create the user."""
        for directory in (data_directory(site.data_dir), runtime_directory(site)):
            site.account.make_directory(directory)
        statements = "".join(f"{line};\n" for line in self.start_statements(site))
        site.account.make_file(user_file(site), statements.encode())

    def command_on_data(self, site: Site, mode: str) -> list[str]:
        """Return the command of a run on a site's data without clients: '--bootstrap'."""
        return self._command(site, data_options(site), mode)

    def start_statements(self, site: Site) -> list[str]:
        """Return the statements of each start, which create the only user and the database.

        It has a password where clients by TCP or by the socket need one.

        New data directories have a root without a password, and older ones a user without a name.
        """
        accesses = {"localhost": site.access, "127.0.0.1": site.access.by_tcp or site.access}
        identified = {
            f"'{USER}'@'{host}'": self.identified(site, access) for host, access in accesses.items()
        }
        if version_of(site.version) < self.creates_users_since:
            users = [
                f"GRANT ALL ON *.* TO {user} {clause} WITH GRANT OPTION"
                for user, clause in identified.items()
            ]
        else:
            users = [
                statement
                for user, clause in identified.items()
                for statement in (
                    f"CREATE USER IF NOT EXISTS {user} {clause}",
                    f"GRANT ALL ON *.* TO {user} WITH GRANT OPTION",
                )
            ]
        return [
            *users,
            f"CREATE DATABASE IF NOT EXISTS {self.database}",
            f"DELETE FROM {self.table_of_users(site)} WHERE User IN ('', 'root')",
            "FLUSH PRIVILEGES",
        ]

    def is_ready(self, site: Site, pid: int) -> bool:
        """Wait for the server's greeting; a socket left by an earlier server accepts nobody."""
        try:
            with connected(socket_of(site), site.account, _GREETING_TIMEOUT_S) as client:
                greeting = client.recv(_GREETING_BYTES, socket.MSG_WAITALL)
        except OSError:
            return False
        return len(greeting) == _GREETING_BYTES and greeting[-1] == _PROTOCOL_VERSION

    def error_line(self, log: Sequence[str]) -> str | None:
        """Return the first error, since the later ones follow from it."""
        pattern = re.compile(r"\[ERROR\]\s*(?:\[[^]]*\]\s*)*(.*)")
        errors = (match.group(1) for line in log if (match := pattern.search(line)))
        return next((error for error in errors if error and error != "Aborting"), None)

    def fatal_error(self, state: str) -> str | None:
        return _FATAL_STATES.get(state)

    def after_load(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Collect statistics and write the dirty pages of the load."""
        return self.after_writes(site, tables)

    def after_writes(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Finish the engine's deferred work, and collect statistics of what it leaves."""
        engine = _engine_of(site)
        return [*engine.settle(site), _analyze(tables), *engine.write_out(site)]

    def write_out(self, site: Served) -> list[Stage]:
        """Finish the engine's deferred work, and write its pages."""
        engine = _engine_of(site)
        return [*engine.settle(site), *engine.write_out(site)]

    def data_files(self, site: Served) -> list[Path]:
        return [] if site.files is None else _engine_of(site).data_files(site, site.files)

    def page_size(self, site: Served) -> Query[int | None] | None:
        statement = _engine_of(site).page_size_statement(site)
        return None if statement is None else Query((statement,), integer)

    def sizes(self, site: Served, tables: Sequence[str]) -> Query[Sizes]:
        """Run ANALYZE, since the server reports the sizes that it found last."""
        engine = _engine_of(site)

        def read(answers: Sequence[Sequence[Row]]) -> Sizes:
            """Read the row of bytes; without files, tables and indexes are all data."""
            (((table, index),),) = answers
            if table is None or index is None:
                raise SlowdustError(f"{self.name} does not report its sizes: the answer has NULL")
            in_files = engine.data_bytes(site)
            in_memory = int(table) + int(index)
            return Sizes(in_memory if in_files is None else in_files, int(table), int(index))

        return Query((_SIZES,), read, (*engine.before_sizes(), _analyze(tables)))

    def facts(self, site: Served) -> Query[Facts] | None:
        return _engine_of(site).facts(site)

    def counters(self, site: Served) -> Query[dict[str, float]]:
        return Query((COUNTERS,), read_counters)

    def options_when_observed(self, site: Served) -> Sequence[str]:
        """Return options that switch the Performance Schema on, in versions that know them."""
        return waits.OPTIONS if version_of(site.version) >= waits.SINCE else ()

    def waits(self, site: Served) -> Sequence[Waits]:
        """Return the statements for the Performance Schema, whose older versions differ."""
        of_server = [waits.WAITS] if version_of(site.version) >= waits.SINCE else []
        return [*_engine_of(site).waits(), *of_server]

    def settings_in_force(self, site: Served) -> Query[dict[str, InForce]]:
        """Ask for all variables, and compare values in whatever form they are written."""
        return settings_in_force(site.settings.values)

    def buffer_pool(self, site: Served) -> Query[int | None] | None:
        """Ask for the size of InnoDB's buffer pool or MyRocks' block cache."""
        setting = _engine_of(site).buffer_pool
        return None if setting is None else Query((f"SELECT @@GLOBAL.{setting}",), integer)

    def _command(self, site: Site, options: Mapping[str, str], *modes: str) -> list[str]:
        program = site.build.command(site.build.server)
        config = f"--defaults-file={site.config_file}"
        return [*program, config, *modes, *as_arguments(options)]


def _analyze(tables: Sequence[str]) -> Statements:
    return Statements(tuple(f"ANALYZE TABLE {table}" for table in tables))


def _engine_of(site: Served) -> Engine:
    assert site.engine is not None
    return ENGINES[site.engine]


def _bootstrap(site: Site, run: Run, command: list[str]) -> None:
    """Create the system tables from the SQL files of the build, as mysql_install_db does."""
    parts = [path.read_bytes() for name in _SQL_FILES if (path := sql_file(site.build, name))]
    if len(parts) < 2:
        raise SlowdustError(f"{site.build.root} lacks the SQL files that create a data directory")
    script = site.config_file.with_name("bootstrap.sql")
    script.write_bytes(b"CREATE DATABASE mysql;\nUSE mysql;\n" + b"\n".join(parts))
    try:
        run(command, script)
    finally:
        script.unlink()
