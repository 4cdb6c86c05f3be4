"""What a family knows of servers that it did not start, which are contenders by their URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowdust.dbms.access import Verify


@dataclass(frozen=True)
class ByUrl:
    """The words of a DBMS's URLs, and the statements by which its servers are set up."""

    schemes: tuple[str, ...]
    port: int
    database: str
    """The database to connect to where a URL names none; every server has it."""
    password_variable: str
    """The environment variable that its own programs read a password from."""
    socket_option: str
    """The option of a URL that names the directory or file of a Unix socket."""
    tls_option: str
    """The option of a URL that says how the connection is encrypted: 'sslmode'."""
    tls_words: Mapping[str, Verify | None]
    """The values of that option; None is for no encryption."""
    file_options: tuple[str, str, str]
    """The options that name the authorities, the client's certificate and its key."""
    identity: str
    """The statement whose row is the version, and the name of the product."""
    foreign_tables: str
    """The statement that lists the tables of the URL's database that are not of Slowdust."""
    settings: tuple[str, ...]
    """The settings that tell most of how a server works; those that it has are in the report."""
    is_database: bool
    """Whether a schema is a database of its own; else it lies within the URL's."""

    def create(self, schema: str) -> list[str]:
        """Return the statements that make an empty schema."""
        return [*self.drop(schema), f"CREATE SCHEMA {schema}"]

    def drop(self, schema: str) -> list[str]:
        """Return the statements that drop a schema with all that it has."""
        return [f"DROP SCHEMA IF EXISTS {schema}{'' if self.is_database else ' CASCADE'}"]


PREFIX = "slowdust_"
"""The beginning of the names of Slowdust's own schemas."""

POSTGRES = ByUrl(
    schemes=("postgres", "postgresql"),
    port=5432,
    database="postgres",
    password_variable="PGPASSWORD",
    socket_option="host",
    tls_option="sslmode",
    tls_words={
        "disable": None,
        "require": Verify.NOTHING,
        "verify-ca": Verify.AUTHORITY,
        "verify-full": Verify.IDENTITY,
    },
    file_options=("sslrootcert", "sslcert", "sslkey"),
    identity="SELECT current_setting('server_version'), 'PostgreSQL'",
    foreign_tables=(
        "SELECT n.nspname || '.' || c.relname FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.relkind IN ('r', 'p', 'm', 'f') AND n.nspname <> 'information_schema' "
        "AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname NOT LIKE 'slowdust\\_%' "
        "AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e') "
        "ORDER BY 1"
    ),
    settings=(
        "autovacuum",
        "checkpoint_timeout",
        "effective_cache_size",
        "fsync",
        "full_page_writes",
        "huge_pages",
        "io_method",
        "jit",
        "max_connections",
        "max_wal_size",
        "random_page_cost",
        "shared_buffers",
        "shared_preload_libraries",
        "synchronous_commit",
        "synchronous_standby_names",
        "wal_compression",
        "wal_level",
        "work_mem",
    ),
    is_database=False,
)


def _mysqld(scheme: str) -> ByUrl:
    return ByUrl(
        schemes=(scheme,),
        port=3306,
        database="information_schema",
        password_variable="MYSQL_PWD",
        socket_option="socket",
        tls_option="ssl-mode",
        tls_words={
            "DISABLED": None,
            "REQUIRED": Verify.NOTHING,
            "VERIFY_CA": Verify.AUTHORITY,
            "VERIFY_IDENTITY": Verify.IDENTITY,
        },
        file_options=("ssl-ca", "ssl-cert", "ssl-key"),
        identity="SELECT VERSION(), @@version_comment",
        foreign_tables=(
            "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables "
            "WHERE table_schema = DATABASE() AND table_schema NOT IN ('information_schema', "
            "'mysql', 'performance_schema', 'sys') AND table_schema NOT LIKE 'slowdust\\_%' "
            "ORDER BY 1"
        ),
        settings=(
            "binlog_format",
            "binlog_row_image",
            "innodb_adaptive_hash_index",
            "innodb_buffer_pool_size",
            "innodb_change_buffering",
            "innodb_doublewrite",
            "innodb_flush_log_at_trx_commit",
            "innodb_flush_method",
            "innodb_io_capacity",
            "innodb_log_file_size",
            "innodb_page_size",
            "innodb_redo_log_capacity",
            "log_bin",
            "max_connections",
            "performance_schema",
            "query_cache_type",
            "sync_binlog",
            "table_open_cache",
            "thread_handling",
            "transaction_isolation",
        ),
        is_database=True,
    )


MYSQL = _mysqld("mysql")
MARIADB = _mysqld("mariadb")
