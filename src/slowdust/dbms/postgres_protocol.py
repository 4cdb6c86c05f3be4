"""Servers that speak Postgres' protocol and SQL, with any storage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from slowdust.dbms import reserved
from slowdust.dbms.access import USER, Verify
from slowdust.dbms.by_url import ByUrl, sql_dialect
from slowdust.dbms.family import Family, Served, Site
from slowdust.dbms.settings import InForce, number, same_number, truth
from slowdust.dbms.stages import Query, Row, Stage, Statements
from slowdust.directories import connected
from slowdust.sql import (
    HNSW,
    IVFFLAT,
    VECTOR,
    Encoding,
    IndexOptions,
    Sql,
    VectorIndexes,
    index_name,
)
from slowdust.units import Second

_CATALOG = (
    "SELECT c.relname, a.attname, CASE y.typtype WHEN 'e' THEN 'text' "
    "WHEN 'd' THEN format_type(y.typbasetype, y.typtypmod) "
    "ELSE format_type(a.atttypid, a.atttypmod) END, c.reltuples::bigint, (NOT a.attnotnull)::int "
    "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
    "JOIN pg_type y ON y.oid = a.atttypid "
    "WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace "
    "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum",
    "SELECT t.relname, i.indisprimary::int, i.indisunique::int, "
    "(SELECT string_agg(a.attname, ',' ORDER BY k.place) "
    "FROM unnest(i.indkey) WITH ORDINALITY AS k(number, place) "
    "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number), "
    "quote_ident(x.relname), pg_get_indexdef(i.indexrelid) "
    "FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid "
    "WHERE t.relnamespace = current_schema()::regnamespace "
    "ORDER BY t.relname, x.relname",
    "SELECT tablename, attname, avg_width, to_json(most_common_vals::text::text[])::text, "
    "to_json(most_common_freqs)::text, to_json(histogram_bounds::text::text[])::text, n_distinct "
    "FROM pg_stats WHERE schemaname = current_schema()",
)


class Pgvector(VectorIndexes):
    """Postgres with pgvector."""

    before = ("CREATE EXTENSION IF NOT EXISTS vector",)
    encoding: Encoding = "text"
    _OPERATORS: ClassVar = {"l2": "<->", "cosine": "<=>", "ip": "<#>"}
    _SETTINGS: ClassVar = {HNSW: "hnsw.ef_search", IVFFLAT: "ivfflat.probes"}

    def distance(self, metric: str, vector: str) -> str:
        return f"{VECTOR} {self._OPERATORS[metric]} {vector}"

    def create(self, kind: str, table: str, options: IndexOptions) -> str:
        storage = f"lists = {options.lists}"
        if kind == HNSW:
            storage = f"m = {options.m}, ef_construction = {options.ef_construction}"
        operators = f"vector_{options.metric}_ops"
        name = index_name(kind, table)
        return (
            f"CREATE INDEX {name} ON {table} USING {kind} ({VECTOR} {operators}) WITH ({storage})"
        )

    def drop(self, kind: str, table: str) -> str:
        return f"DROP INDEX {index_name(kind, table)}"

    def session(self, kind: str, effort: int) -> list[str]:
        """Return the effort setting of the index kind, and one that disables sequential scans.

        Otherwise the planner prefers a scan from some effort on, and the index is not measured.
        """
        return [f"SET {self._SETTINGS[kind]} = {effort}", "SET enable_seqscan = off"]

    def index_bytes(self, kind: str, table: str) -> str:
        return f"SELECT pg_relation_size('{index_name(kind, table)}')"

    def refusal(
        self, version: str | None, root: Path | None, engine: str | None, metric: str
    ) -> str | None:
        if root is not None:
            has_it = any(root.rglob("extension/vector.control"))
        else:
            has_it = version is None or "pgvector" in version
        if has_it:
            return None
        return (
            "it has no pgvector: choose a build with it, such as postgres@18.4-pgvector0.8.5 "
            "(`slowdust builds list` shows all)"
        )


SQL = Sql(
    grammar="postgres",
    reserved=reserved.POSTGRES,
    has_numbered_parameters=True,
    primary_key_index="{table}_pkey",
    snapshot="SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    vectors=Pgvector(),
    catalog=_CATALOG,
    statement_statistics=(
        "SELECT query, sum(calls) AS calls FROM pg_stat_statements "
        "WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) "
        "GROUP BY query"
    ),
)

_FATAL_STATES = {
    "53": "insufficient resources",
    "57P": "operator intervention",
    "58": "system error",
    "XX": "internal error",
}
"""Prefix of a state -> its meaning, as worded in the PostgreSQL manual, appendix A."""
_VERSION = 3 << 16
_AUTHENTICATION = b"R"
"""The kind of a server's first reply if it accepts sessions."""
_ANSWER_TIMEOUT: Second = 5.0
_BYTES = {"B": 1.0, "kB": 2.0**10, "MB": 2.0**20, "GB": 2.0**30, "TB": 2.0**40}
_MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6, "d": 8.64e7}
_UNITS = _BYTES | _MILLISECONDS

_SHOWN_SETTINGS = """
autovacuum checkpoint_timeout effective_cache_size fsync full_page_writes huge_pages io_method jit
max_connections max_wal_size random_page_cost shared_buffers shared_preload_libraries
synchronous_commit synchronous_standby_names wal_compression wal_level work_mem
"""
BY_URL = ByUrl(
    schemes=("postgres", "postgresql"),
    port=5432,
    database="postgres",
    password_variable="PGPASSWORD",
    password_file="~/.pgpass",
    password_states=frozenset({"28P01", "28000"}),
    socket_option="host",
    tls_option="sslmode",
    tls_words={
        "disable": None,
        "require": Verify.NOTHING,
        "verify-ca": Verify.AUTHORITY,
        "verify-full": Verify.IDENTITY,
    },
    file_options=("sslrootcert", "sslcert", "sslkey"),
    settings=tuple(_SHOWN_SETTINGS.split()),
    dialect=sql_dialect(
        identity="SELECT current_setting('server_version'), 'PostgreSQL'",
        foreign_tables=(
            "SELECT n.nspname || '.' || c.relname FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relkind IN ('r', 'p', 'm', 'f') AND n.nspname <> 'information_schema' "
            "AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname NOT LIKE 'slowdust\\_%' "
            "AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e') "
            "ORDER BY 1"
        ),
        schema_is_database=False,
    ),
)


class PostgresProtocol(Family):
    """A server that speaks Postgres' protocol and SQL.

    Families of other DBMS replace `sql` by a dialect that is `like` Postgres.
    """

    protocol = "postgres"
    database = "postgres"
    sql = SQL

    def render_bytes(self, size: int) -> str:
        return f"{max(1, size >> 20)}MB"

    def is_ready(self, site: Site, pid: int) -> bool:
        """Begin a session; a server that is starting or stopping does not authenticate it."""
        fields = f"user\0{USER}\0database\0{self.database}\0\0".encode()
        message = _VERSION.to_bytes(4, "big") + fields
        try:
            with connected(socket_path(site), site.account, _ANSWER_TIMEOUT) as client:
                client.sendall((4 + len(message)).to_bytes(4, "big") + message)
                return client.recv(1) == _AUTHENTICATION
        except OSError:
            return False

    def fatal_error(self, state: str) -> str | None:
        classes = (what for start, what in _FATAL_STATES.items() if state.startswith(start))
        return next(classes, None)

    def after_load(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        return [Statements(tuple(f"ANALYZE {table}" for table in tables))]

    def settings_in_force(self, site: Served) -> Query[dict[str, InForce]]:
        return query_of_settings(site.settings.values)


def socket_path(site: Site) -> Path:
    return site.socket_dir / f".s.PGSQL.{site.port}"


def query_of_settings(given: Mapping[str, str]) -> Query[dict[str, InForce]]:
    """Return the query for the settings that were given; unknown names have no row."""
    listed = ", ".join(f"'{name}'" for name in given)
    statement = (
        "SELECT lower(name), current_setting(name), setting, unit, vartype FROM pg_settings "
        f"WHERE lower(name) IN ({listed or 'NULL'})"
    )

    def read(answers: Sequence[Sequence[Row]]) -> dict[str, InForce]:
        return {
            given_name: InForce(
                str(text), _is_same(given[given_name], str(setting), unit, str(kind))
            )
            for name, text, setting, unit, kind in answers[0]
            if (given_name := str(name)) in given
        }

    return Query((statement,), read)


def _is_same(given: str, setting: str, unit: str | None, kind: str) -> bool:
    if kind == "bool":
        return _boolean(given) == truth(setting)
    if kind in ("integer", "real"):
        factor = 1.0 if not unit else number(unit, _UNITS) or _UNITS.get(unit, 1.0)
        wanted, has = number(given, _UNITS, factor), number(setting, _UNITS, factor)
        return wanted is not None and has is not None and same_number(wanted, has)
    if given.strip().lower() == setting.strip().lower():
        return True
    return kind == "enum" and truth(given) is not None and truth(given) == truth(setting)


def _boolean(given: str) -> bool | None:
    """Return the value of a word; the server accepts every unambiguous prefix."""
    word = given.strip().lower()
    if word and word != "o":
        for words, value in (
            (("on", "true", "yes", "1"), True),
            (("off", "false", "no", "0"), False),
        ):
            if any(whole.startswith(word) for whole in words):
                return value
    return None
