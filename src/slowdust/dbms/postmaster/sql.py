"""The SQL of Postgres, and of what is like it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from slowdust.dbms import reserved
from slowdust.sql import Sql
from slowdust.vector_indexes import (
    HNSW,
    IVFFLAT,
    VECTOR,
    Encoding,
    IndexOptions,
    VectorIndexes,
    index_name,
)

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
        """Return CREATE INDEX with the class of operators of the metric."""
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
        """Return the setting of the kind of index, and one that leaves the planner no other plan.

        It is the index that is measured, not from which effort on a scan seems cheaper.
        """
        return [f"SET {self._SETTINGS[kind]} = {effort}", "SET enable_seqscan = off"]

    def index_bytes(self, kind: str, table: str) -> str:
        return f"SELECT pg_relation_size('{index_name(kind, table)}')"

    def refusal(
        self, version: str | None, root: Path | None, engine: str | None, metric: str
    ) -> str | None:
        """Refuse a build that comes without the extension."""
        if root is not None:
            has_it = any(root.rglob("extension/vector.control"))
        else:
            has_it = version is None or "pgvector" in version
        if has_it:
            return None
        return (
            "it has no pgvector: choose a build that has, like postgres@18.4-pgvector0.8.5 "
            "(`slowdust builds list` has them all)"
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
