"""MySQL 5.5 and newer, and the common part of MySQL and MariaDB.

A server is one process, mysqld, with a thread for each connection.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms import reserved
from slowdust.dbms.access import USER, Access, Auth, Verify
from slowdust.dbms.by_url import ByUrl, sql_dialect
from slowdust.dbms.family import Commit, Facts, Family, Run, Served, Site, Sizes
from slowdust.dbms.mysqld import waits
from slowdust.dbms.mysqld.engines import COUNTERS, ENGINES, Engine, read_counters
from slowdust.dbms.mysqld.settings import (
    HELP,
    accepted_settings,
    as_arguments,
    data_directory,
    data_options,
    default_value,
    find_library,
    option_file,
    runtime_directory,
    server_options,
    settings_in_force,
    socket_path,
    sql_file,
    user_file,
)
from slowdust.dbms.settings import AcceptedSettings, InForce, Settings
from slowdust.dbms.stages import Query, Row, Stage, Statements, Waits, integer
from slowdust.directories import connected
from slowdust.errors import SlowdustError, UsageError
from slowdust.sql import Sql
from slowdust.versions import version_numbers

ROCKSDB_PLUGIN = "ha_rocksdb.so"
_LOG_IS_SYNCED = "1"
"""The value of `log_at_commit`, and its default, that syncs each commit."""
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
"""State as the driver writes it -> its meaning; numbers below 1000 are mysys errors."""

_CATALOG = (
    # bit and point are different types in Postgres.
    "SELECT c.TABLE_NAME, c.COLUMN_NAME, CASE c.DATA_TYPE WHEN 'bit' THEN 'bigint' "
    "WHEN 'point' THEN 'geometry' ELSE c.COLUMN_TYPE END, "
    "t.TABLE_ROWS, c.IS_NULLABLE = 'YES' "
    "FROM information_schema.COLUMNS c JOIN information_schema.TABLES t "
    "ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME "
    "WHERE c.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE' "
    "ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION",
    "SELECT TABLE_NAME, INDEX_NAME = 'PRIMARY', MAX(NON_UNIQUE = 0), "
    "GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX), CONCAT('`', INDEX_NAME, '`'), "
    "IF(COUNT(*) > COUNT(COLUMN_NAME), NULL, CONCAT(MAX(INDEX_TYPE), ':', "
    "GROUP_CONCAT(CONCAT(COLUMN_NAME, IF(SUB_PART IS NULL, '', CONCAT('(', SUB_PART, ')')), "
    "IF(COLLATION = 'D', ' DESC', '')) ORDER BY SEQ_IN_INDEX SEPARATOR ', '))) "
    "FROM information_schema.STATISTICS "
    "WHERE TABLE_SCHEMA = DATABASE() GROUP BY TABLE_NAME, INDEX_NAME ORDER BY TABLE_NAME",
    "SELECT TABLE_NAME, COLUMN_NAME, NULL, NULL, NULL, NULL, MAX(CARDINALITY) "
    "FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND SEQ_IN_INDEX = 1 "
    "GROUP BY TABLE_NAME, COLUMN_NAME",
)

SQL = Sql(
    grammar="mysql",
    reserved=reserved.MYSQL,
    quotation_mark="`",
    has_backslash_escapes=True,
    has_hexadecimal_bytes=True,
    has_literal_paths=True,
    ignores_case_of_columns=True,
    shares_names_of_indexes=False,
    snapshot="SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    catalog=_CATALOG,
    statement_statistics=(
        "SELECT * FROM performance_schema.events_statements_summary_by_digest "
        "WHERE SCHEMA_NAME = DATABASE()"
    ),
)

_SHOWN_SETTINGS = """
binlog_format binlog_row_image innodb_adaptive_hash_index innodb_buffer_pool_size
innodb_change_buffering innodb_doublewrite innodb_flush_log_at_trx_commit innodb_flush_method
innodb_io_capacity innodb_log_file_size innodb_page_size innodb_redo_log_capacity log_bin
max_connections performance_schema query_cache_type sync_binlog table_open_cache thread_handling
transaction_isolation
"""


def mysqld_by_url(scheme: str) -> ByUrl:
    return ByUrl(
        schemes=(scheme,),
        port=3306,
        database="information_schema",
        password_variable="MYSQL_PWD",
        password_file="~/.my.cnf",
        password_states=frozenset({"28000", "HY000/1045"}),
        socket_option="socket",
        tls_option="ssl-mode",
        tls_words={
            "DISABLED": None,
            "REQUIRED": Verify.NOTHING,
            "VERIFY_CA": Verify.AUTHORITY,
            "VERIFY_IDENTITY": Verify.IDENTITY,
        },
        file_options=("ssl-ca", "ssl-cert", "ssl-key"),
        settings=tuple(_SHOWN_SETTINGS.split()),
        dialect=sql_dialect(
            identity="SELECT VERSION(), @@version_comment",
            foreign_tables=(
                "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables "
                "WHERE table_schema = DATABASE() AND table_schema NOT IN ('information_schema', "
                "'mysql', 'performance_schema', 'sys') AND table_schema NOT LIKE 'slowdust\\_%' "
                "ORDER BY 1"
            ),
            schema_is_database=True,
        ),
    )


class MysqldFamily(Family):
    """MySQL or MariaDB."""

    database = "slowdust"
    # Valgrind runs one thread at a time: a thread that spins waiting for another one spends
    # instructions until its time slice is over.
    # Only a session's own thread is counted, so it must build indexes without helper threads.
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
            return "MEMORY tables have no partitions since MySQL 8.0"
        return super().lacks(what, engine)

    def validation(self, build: Build) -> Sequence[str]:
        return HELP

    def table_of_users(self, site: Site) -> str:
        return "mysql.user"

    def identified(self, site: Site, access: Access) -> str:
        """Return the IDENTIFIED clause of the access's user for CREATE USER and GRANT."""
        password = access.password
        return f"IDENTIFIED BY '{password.reveal() if password else ''}'"

    def bytes_per_row(self, engine: str | None) -> int:
        assert engine is not None
        return ENGINES[engine].bytes_per_row

    def commit(self, settings: Mapping[str, str], engine: str | None) -> Commit | None:
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
        if engine != "rocksdb" or find_library(build, ROCKSDB_PLUGIN) is not None:
            return None
        return (
            f"{self.name} {build.version} has no engine rocksdb, because {ROCKSDB_PLUGIN} is "
            "missing: choose a MariaDB build from Debian"
        )

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        return accepted_settings(build, account, settings, self.validation(build))

    def configuration(self, site: Site) -> str:
        return option_file(site.build, site.settings.values)

    def server_command(self, site: Site) -> list[str]:
        """Return the command of a server that creates its user before it accepts connections."""
        return self._command(site, server_options(site))

    def without_tls(self, build: Build, account: Account) -> str | None:
        """Read the setting for TLS versions, and look for OpenSSL 1.0 in the build.

        Servers with OpenSSL 1.0 have no ECDHE cipher suites, and the driver has no others.
        """
        versions = default_value(build, account, "tls_version")
        if versions is None:
            return "its server has no setting tls_version and may not support TLS 1.2"
        if "TLSv1.2" not in versions:
            return f"its server supports only {versions}, and the driver needs TLS 1.2"
        if find_library(build, "libssl.so.1.0*") is not None:
            return "its OpenSSL 1.0 has no cipher suite that the driver supports"
        return None

    def create(self, site: Site, run: Run) -> None:
        self.prepare(site)
        command = self.command_on_data(site, "--bootstrap")
        parts = [path.read_bytes() for name in _SQL_FILES if (path := sql_file(site.build, name))]
        if len(parts) < 2:
            raise SlowdustError(
                f"{site.build.root} lacks the SQL files that create a data directory"
            )
        script = site.config_file.with_name("bootstrap.sql")
        script.write_bytes(b"CREATE DATABASE mysql;\nUSE mysql;\n" + b"\n".join(parts))
        try:
            run(command, script)
        finally:
            script.unlink()

    def prepare(self, site: Site) -> None:
        for directory in (data_directory(site.data_dir), runtime_directory(site)):
            site.account.make_directory(directory)
        statements = "".join(f"{line};\n" for line in self.start_statements(site))
        site.account.make_file(user_file(site), statements.encode())

    def command_on_data(self, site: Site, mode: str) -> list[str]:
        return self._command(site, data_options(site), mode)

    def start_statements(self, site: Site) -> list[str]:
        """Return the statements of each start, which create the only user and the database.

        The user has a password if its access needs one. They delete root, which has no password in
        a new data directory, and the anonymous user of older versions.
        """
        accesses = {"localhost": site.access, "127.0.0.1": site.access.by_tcp or site.access}
        identified = {
            f"'{USER}'@'{host}'": self.identified(site, access) for host, access in accesses.items()
        }
        if version_numbers(site.version) < self.creates_users_since:
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
        try:
            with connected(socket_path(site), site.account, _GREETING_TIMEOUT_S) as client:
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
        return self.after_writes(site, tables)

    def after_writes(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        engine = _engine_of(site)
        return [*engine.settle(site), _analyze(tables), *engine.write_out(site)]

    def write_out(self, site: Served) -> list[Stage]:
        engine = _engine_of(site)
        return [*engine.settle(site), *engine.write_out(site)]

    def data_files(self, site: Served) -> list[Path]:
        return [] if site.files is None else _engine_of(site).data_files(site, site.files)

    def page_size(self, site: Served) -> Query[int | None] | None:
        statement = _engine_of(site).page_size_statement(site)
        return None if statement is None else Query((statement,), integer)

    def sizes(self, site: Served, tables: Sequence[str]) -> Query[Sizes]:
        """Run ANALYZE first: the server reports sizes from its last one."""
        engine = _engine_of(site)

        def read(answers: Sequence[Sequence[Row]]) -> Sizes:
            """Read the row of bytes; without files, the data is tables plus indexes."""
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
        """Return options that enable the Performance Schema, in versions that know them."""
        return waits.OPTIONS if version_numbers(site.version) >= waits.SINCE else ()

    def waits(self, site: Served) -> Sequence[Waits]:
        """Return the statements for the Performance Schema, which versions before 5.6 lack."""
        of_server = [waits.WAITS] if version_numbers(site.version) >= waits.SINCE else []
        return [*_engine_of(site).waits(), *of_server]

    def settings_in_force(self, site: Served) -> Query[dict[str, InForce]]:
        return settings_in_force(site.settings.values)

    def buffer_pool(self, site: Served) -> Query[int | None] | None:
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


_INITIALIZES_SINCE = (5, 7, 6)
_HIDES_WARNINGS_SINCE = (8, 0)
_VALIDATES_SINCE = (8, 0, 16)
_PLUGINS = {Auth.NATIVE: "mysql_native_password", Auth.CACHING_SHA2: "caching_sha2_password"}
_SHA2_SINCE = (8, 0)
_NATIVE_UNTIL = (8, 4)
"""The first version that disables the native plugin by default; 9.0 removed it."""


class Mysql(MysqldFamily):
    """MySQL."""

    name = "mysql"
    sql = SQL
    by_url = mysqld_by_url("mysql")
    creates_users_since = (5, 7, 6)

    def auths(self, build: Build) -> Sequence[Auth]:
        """Return the methods: 8.0 added caching_sha2, 8.4 disabled native, 9.0 removed it."""
        version = version_numbers(build.facts.version)
        native = (Auth.NATIVE,) if version < _NATIVE_UNTIL else ()
        sha2 = (Auth.CACHING_SHA2,) if version >= _SHA2_SINCE else ()
        return (*sha2, *native)

    def validation(self, build: Build) -> Sequence[str]:
        """Return the validation mode of newer versions, with warnings, which 8.0 and newer hide."""
        version = version_numbers(build.facts.version)
        if version < _HIDES_WARNINGS_SINCE:
            return super().validation(build)
        mode = super().validation(build) if version < _VALIDATES_SINCE else ("--validate-config",)
        return (*mode, "--log-error-verbosity=2")

    def identified(self, site: Site, access: Access) -> str:
        """Name the access's plugin in versions with more than the native one."""
        plugin = _PLUGINS.get(access.auth)
        if plugin is None or version_numbers(site.version) < _SHA2_SINCE:
            return super().identified(site, access)
        assert access.password is not None, "only trust has no password"
        return f"IDENTIFIED WITH {plugin} BY '{access.password.reveal()}'"

    def create(self, site: Site, run: Run) -> None:
        """Initialize by the server itself; versions before 5.7 need SQL files."""
        if version_numbers(site.version) < _INITIALIZES_SINCE:
            super().create(site, run)
        else:
            self.prepare(site)
            run(self.command_on_data(site, "--initialize-insecure"))


FAMILY = Mysql()
