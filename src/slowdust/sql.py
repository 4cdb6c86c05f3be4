"""The interface of a DBMS for benchmarks and workloads: its SQL and its missing features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Protocol

ID, VECTOR, BUCKET = "id", "v", "bucket"
"""The columns of each table: a number from 1, the vector, and the column of filters."""
Encoding = Literal["text", "bytes"]
"""Vectors as strings, `[0.5,1]`, or as the bytes of their numbers."""
HNSW, IVFFLAT = "hnsw", "ivfflat"


@dataclass(frozen=True)
class IndexOptions:
    """Options of an index."""

    metric: str
    m: int
    ef_construction: int
    lists: int


class VectorIndexes(ABC):
    """The vector indexes of one DBMS."""

    before: tuple[str, ...] = ()
    """Statements to run before the tables are created."""
    encoding: Encoding
    """How vectors are sent to the server."""
    placeholder = "?"
    """The placeholder of a vector in a prepared statement."""
    cannot: ClassVar[Mapping[str, str]] = {}
    """Kind of index -> why the DBMS does not have it."""

    @abstractmethod
    def distance(self, metric: str, vector: str) -> str:
        """Return the expression for a row's distance from a vector."""

    @abstractmethod
    def create(self, kind: str, table: str, options: IndexOptions) -> str:
        """Return the statement that creates an index on a table's vectors."""

    @abstractmethod
    def drop(self, kind: str, table: str) -> str:
        """Return the statement that drops the index."""

    @abstractmethod
    def session(self, kind: str, effort: int) -> list[str]:
        """Return the statements that set the effort of a session's searches."""

    @abstractmethod
    def index_bytes(self, kind: str, table: str) -> str:
        """Return the query for the size of the index on disk, in bytes."""

    def query(self, table: str, vector: str, metric: str, k: int, buckets: int | None) -> str:
        """Return the search for the nearest vectors, optionally among the first `buckets` only."""
        where = "" if buckets is None else f" WHERE {BUCKET} < {buckets}"
        distance = self.distance(metric, vector)
        return f"SELECT {ID} FROM {table}{where} ORDER BY {distance} LIMIT {k}"

    @abstractmethod
    def refusal(
        self, version: str | None, root: Path | None, engine: str | None, metric: str
    ) -> str | None:
        """Return in a few words why a server has no index for a metric; None if it has one.

        `version`, `root` and `engine` are as in a `Candidate`.
        """


def index_name(kind: str, table: str) -> str:
    """Return the name of an index of a table."""
    return f"{table}_by_{kind}"


@dataclass(frozen=True)
class Sql:
    """The SQL of a DBMS."""

    grammar: str
    reserved: frozenset[str]
    """Words that need quotation marks to be names, in lower case."""
    like: str | None = None
    """The DBMS whose statements it uses if a workload has none for it."""
    quotation_mark: str = '"'
    has_numbered_parameters: bool = False
    """Whether parameters are written as $1 and get their types from the statement."""
    has_backslash_escapes: bool = False
    """Whether a backslash in a string escapes the next character."""
    has_hexadecimal_bytes: bool = False
    """Whether 0x4142 stands for bytes."""
    has_literal_paths: bool = False
    """Whether a path after -> is a literal part of the statement."""
    ignores_case_of_columns: bool = False
    reads_names_as_texts: bool = False
    """Whether a quoted name that is not a column is read as a string."""
    searches_in_tables: bool = False
    """Whether IN may be followed by a table."""
    shares_names_of_indexes: bool = True
    """Whether indexes and tables share one namespace."""
    primary_key_index: str | None = None
    """The name of the index of a primary key: '{table}_pkey'; None if it takes no name."""
    snapshot: str | None = None
    """The statement that makes a transaction use one snapshot."""
    vectors: VectorIndexes | None = None
    catalog: tuple[str, str, str] | None = None
    """Queries for the schema's columns, its indexes, and statistics of its columns.

    `experiment/workload/replay/catalog.py` reads them.
    """
    statement_statistics: str | None = None
    """Query for the statements that the server has executed."""


class Dbms(Protocol):
    """The interface of a DBMS for benchmarks."""

    @property
    def name(self) -> str:
        """The name: 'postgres'."""

    @property
    def sql(self) -> Sql | None:
        """The SQL of its servers; None if they have none."""

    def lacks(self, what: str, engine: str | None = None) -> str | None:
        """Return a sentence about why its servers lack a feature; None if they have it."""
