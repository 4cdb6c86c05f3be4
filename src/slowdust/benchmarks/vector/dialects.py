"""How each DBMS is told to make vector indexes and to search in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from slowdust.benchmarks.model import Candidate
from slowdust.benchmarks.vector.metric import Metric, Vectors
from slowdust.versions import version_order

ID, VECTOR, BUCKET = "id", "v", "bucket"
"""The columns of each table: a number from 1, the vector, and what queries filter by."""
Encoding = Literal["text", "bytes"]
"""Vectors as texts, `[0.5,1]`, or as the bytes of their numbers."""
HNSW, IVFFLAT = "hnsw", "ivfflat"


@dataclass(frozen=True)
class IndexOptions:
    """How indexes are built."""

    metric: Metric
    m: int
    ef_construction: int
    lists: int


class VectorDialect(ABC):
    """The words of one DBMS."""

    before: tuple[str, ...] = ()
    """Statements before the tables are made."""
    encoding: Encoding
    """The form in which the server gets vectors."""
    placeholder = "?"
    """A vector in a prepared statement."""
    cannot: ClassVar[Mapping[str, str]] = {}
    """Kind of index -> why the DBMS has none."""

    @abstractmethod
    def distance(self, metric: Metric, vector: str) -> str:
        """Return the expression of a row's distance from a vector."""

    @abstractmethod
    def create(self, kind: str, table: str, options: IndexOptions) -> str:
        """Return the statement that makes an index of a table's vectors."""

    @abstractmethod
    def drop(self, kind: str, table: str) -> str:
        """Return the statement that drops it."""

    @abstractmethod
    def session(self, kind: str, effort: int) -> list[str]:
        """Return the statements that make a session search so hard."""

    @abstractmethod
    def literal(self, vectors: Vectors) -> list[str]:
        """Return vectors as they are written in statements."""

    @abstractmethod
    def index_bytes(self, kind: str, table: str) -> str:
        """Return the statement with one row: the size of the index on disk, in bytes."""

    def query(self, table: str, vector: str, metric: Metric, k: int, buckets: int | None) -> str:
        """Return the search for the nearest vectors, among those of so many buckets."""
        where = "" if buckets is None else f" WHERE {BUCKET} < {buckets}"
        distance = self.distance(metric, vector)
        return f"SELECT {ID} FROM {table}{where} ORDER BY {distance} LIMIT {k}"

    @abstractmethod
    def refusal(self, server: Candidate, metric: Metric) -> str | None:
        """Say why a server has no index for a metric, in few words; None where it has."""


def index_name(kind: str, table: str) -> str:
    """Return the name of a table's index."""
    return f"{table}_by_{kind}"


class Pgvector(VectorDialect):
    """Postgres with pgvector."""

    before = ("CREATE EXTENSION IF NOT EXISTS vector",)
    encoding: Encoding = "text"
    _OPERATORS: ClassVar = {"l2": "<->", "cosine": "<=>", "ip": "<#>"}
    _SETTINGS: ClassVar = {HNSW: "hnsw.ef_search", IVFFLAT: "ivfflat.probes"}

    def distance(self, metric: Metric, vector: str) -> str:
        """Return the operator between the column and the vector."""
        return f"{VECTOR} {self._OPERATORS[metric.name]} {vector}"

    def create(self, kind: str, table: str, options: IndexOptions) -> str:
        """Return CREATE INDEX with the class of operators of the metric."""
        storage = f"lists = {options.lists}"
        if kind == HNSW:
            storage = f"m = {options.m}, ef_construction = {options.ef_construction}"
        operators = f"vector_{options.metric.name}_ops"
        name = index_name(kind, table)
        return (
            f"CREATE INDEX {name} ON {table} USING {kind} ({VECTOR} {operators}) WITH ({storage})"
        )

    def drop(self, kind: str, table: str) -> str:
        """Return DROP INDEX."""
        return f"DROP INDEX {index_name(kind, table)}"

    def session(self, kind: str, effort: int) -> list[str]:
        """Return the setting of the kind of index, and one that leaves the planner no other plan.

        It is the index that is measured, not from which effort on a scan seems cheaper.
        """
        return [f"SET {self._SETTINGS[kind]} = {effort}", "SET enable_seqscan = off"]

    def literal(self, vectors: Vectors) -> list[str]:
        """Return texts in brackets, with as many digits as the numbers have."""
        return [f"'[{','.join(map(str, vector))}]'" for vector in vectors.tolist()]

    def index_bytes(self, kind: str, table: str) -> str:
        """Return the size of the index's files."""
        return f"SELECT pg_relation_size('{index_name(kind, table)}')"

    def refusal(self, server: Candidate, metric: Metric) -> str | None:
        """Refuse a build that comes without the extension."""
        del metric
        if server.root is not None:
            has_it = any(server.root.rglob("extension/vector.control"))
        else:
            has_it = server.version is None or "pgvector" in server.version
        if has_it:
            return None
        return (
            "it has no pgvector: choose a build that has, like postgres@18.4-pgvector0.8.5 "
            "(`slowdust builds list` has them all)"
        )


class MariadbVector(VectorDialect):
    """MariaDB, whose tables have VECTOR INDEX since 11.7."""

    encoding: Encoding = "bytes"
    cannot: ClassVar = {IVFFLAT: "MariaDB has no IVFFlat"}
    _FUNCTIONS: ClassVar = {"l2": "VEC_DISTANCE_EUCLIDEAN", "cosine": "VEC_DISTANCE_COSINE"}
    _SINCE = "11.7"

    def distance(self, metric: Metric, vector: str) -> str:
        """Return the function that the index knows by its name."""
        return f"{self._FUNCTIONS[metric.name]}({VECTOR}, {vector})"

    def create(self, kind: str, table: str, options: IndexOptions) -> str:
        """Return CREATE VECTOR INDEX; the candidates while it is built are the server's affair."""
        metric = options.metric.in_files if options.metric.name == "l2" else options.metric.name
        name = index_name(kind, table)
        return f"CREATE VECTOR INDEX {name} ON {table} ({VECTOR}) M={options.m} DISTANCE={metric}"

    def drop(self, kind: str, table: str) -> str:
        """Return DROP INDEX."""
        return f"DROP INDEX {index_name(kind, table)} ON {table}"

    def session(self, kind: str, effort: int) -> list[str]:
        """Return the setting of the only kind."""
        del kind
        return [f"SET SESSION mhnsw_ef_search = {effort}"]

    def literal(self, vectors: Vectors) -> list[str]:
        """Return the bytes in hexadecimal."""
        return [f"x'{vector.astype('<f4').tobytes().hex()}'" for vector in vectors]

    def index_bytes(self, kind: str, table: str) -> str:
        """Return the size of the file of the hidden table that is the index."""
        del kind
        return (
            "SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES "
            f"WHERE NAME LIKE CONCAT(DATABASE(), '/{table}#i#%')"
        )

    def refusal(self, server: Candidate, metric: Metric) -> str | None:
        """Refuse versions before vector indexes, other engines, and inner products."""
        if server.version and version_order(server.version) < version_order(self._SINCE):
            return f"MariaDB {server.version} has no vector indexes: they came with {self._SINCE}"
        if server.engine not in (None, "innodb"):
            return f"vector indexes of MariaDB need InnoDB, not {server.engine}"
        if metric.name not in self._FUNCTIONS:
            return f"MariaDB has no vector index for the metric {metric.name}"
        return None


DIALECTS: Mapping[str, VectorDialect] = {"postgres": Pgvector(), "mariadb": MariadbVector()}
"""DBMS -> its dialect; the others have no vector indexes."""
