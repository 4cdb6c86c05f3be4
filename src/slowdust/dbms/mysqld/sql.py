"""The SQL of MySQL and of MariaDB."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import ClassVar

from slowdust.dbms import reserved
from slowdust.sql import Sql
from slowdust.vector_indexes import (
    IVFFLAT,
    VECTOR,
    Encoding,
    IndexOptions,
    VectorIndexes,
    index_name,
)
from slowdust.versions import version_order

_CATALOG = (
    # Postgres has a bit and a point of its own, whose values are others.
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


class VectorsOfMariadb(VectorIndexes):
    """MariaDB, whose tables have VECTOR INDEX since 11.7."""

    encoding: Encoding = "bytes"
    cannot: ClassVar = {IVFFLAT: "MariaDB has no IVFFlat"}
    _FUNCTIONS: ClassVar = {"l2": "VEC_DISTANCE_EUCLIDEAN", "cosine": "VEC_DISTANCE_COSINE"}
    _DISTANCES: ClassVar = {"l2": "euclidean", "cosine": "cosine"}
    _SINCE = "11.7"

    def distance(self, metric: str, vector: str) -> str:
        """Return the function that the index knows by its name."""
        return f"{self._FUNCTIONS[metric]}({VECTOR}, {vector})"

    def create(self, kind: str, table: str, options: IndexOptions) -> str:
        """Return CREATE VECTOR INDEX; the candidates while it is built are the server's affair."""
        name = index_name(kind, table)
        distance = self._DISTANCES[options.metric]
        return f"CREATE VECTOR INDEX {name} ON {table} ({VECTOR}) M={options.m} DISTANCE={distance}"

    def drop(self, kind: str, table: str) -> str:
        return f"DROP INDEX {index_name(kind, table)} ON {table}"

    def session(self, kind: str, effort: int) -> list[str]:
        return [f"SET SESSION mhnsw_ef_search = {effort}"]

    def index_bytes(self, kind: str, table: str) -> str:
        """Return the size of the file of the hidden table that is the index."""
        return (
            "SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES "
            f"WHERE NAME LIKE CONCAT(DATABASE(), '/{table}#i#%')"
        )

    def refusal(
        self, version: str | None, root: Path | None, engine: str | None, metric: str
    ) -> str | None:
        """Refuse versions before vector indexes, other engines, and inner products."""
        if version and version_order(version) < version_order(self._SINCE):
            return f"MariaDB {version} has no vector indexes: they came with {self._SINCE}"
        if engine not in (None, "innodb"):
            return f"vector indexes of MariaDB need InnoDB, not {engine}"
        if metric not in self._FUNCTIONS:
            return f"MariaDB has no vector index for the metric {metric}"
        return None


MYSQL = Sql(
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
MARIADB = dataclasses.replace(
    MYSQL, reserved=reserved.MARIADB, like="mysql", vectors=VectorsOfMariadb()
)
