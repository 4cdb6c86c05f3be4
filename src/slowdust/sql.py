"""What benchmarks and workloads ask of a DBMS: its SQL, and what its servers lack."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Protocol

ID, VECTOR, BUCKET = "id", "v", "bucket"
"""The columns of each table: a number from 1, the vector, and what queries filter by."""
Encoding = Literal["text", "bytes"]
"""Vectors as texts, `[0.5,1]`, or as the bytes of their numbers."""
HNSW, IVFFLAT = "hnsw", "ivfflat"


@dataclass(frozen=True)
class IndexOptions:
    """How indexes are built."""

    metric: str
    m: int
    ef_construction: int
    lists: int


class VectorIndexes(ABC):
    """The vector indexes of one DBMS."""

    before: tuple[str, ...] = ()
    """Statements before the tables are made."""
    encoding: Encoding
    """The form in which the server gets vectors."""
    placeholder = "?"
    """A vector in a prepared statement."""
    cannot: ClassVar[Mapping[str, str]] = {}
    """Kind of index -> why the DBMS has none."""

    @abstractmethod
    def distance(self, metric: str, vector: str) -> str:
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
    def index_bytes(self, kind: str, table: str) -> str:
        """Return the statement with one row: the size of the index on disk, in bytes."""

    def query(self, table: str, vector: str, metric: str, k: int, buckets: int | None) -> str:
        """Return the search for the nearest vectors, among those of so many buckets."""
        where = "" if buckets is None else f" WHERE {BUCKET} < {buckets}"
        distance = self.distance(metric, vector)
        return f"SELECT {ID} FROM {table}{where} ORDER BY {distance} LIMIT {k}"

    @abstractmethod
    def refusal(
        self, version: str | None, root: Path | None, engine: str | None, metric: str
    ) -> str | None:
        """Say why a server has no index for a metric, in few words; None where it has.

        `version`, `root` and `engine` are those of a `Candidate`.
        """


def index_name(kind: str, table: str) -> str:
    """Return the name of a table's index."""
    return f"{table}_by_{kind}"


@dataclass(frozen=True)
class Sql:
    """The SQL of a DBMS."""

    grammar: str
    reserved: frozenset[str]
    """Words that are names only in quotation marks, in small letters."""
    like: str | None = None
    """The DBMS whose texts it takes where a workload has none for it."""
    quotation_mark: str = '"'
    has_numbered_parameters: bool = False
    """Whether parameters are written $1, and get their types from the statement."""
    has_backslash_escapes: bool = False
    """Whether a backslash in a text escapes what follows."""
    has_hexadecimal_bytes: bool = False
    """Whether 0x4142 stands for bytes."""
    has_literal_paths: bool = False
    """Whether a path behind -> is part of the statement."""
    ignores_case_of_columns: bool = False
    reads_names_as_texts: bool = False
    """Whether a name in quotation marks that no column has is a text."""
    searches_in_tables: bool = False
    """Whether a table may stand behind IN."""
    shares_names_of_indexes: bool = True
    """Whether indexes share one set of names with each other and with the tables."""
    primary_key_index: str | None = None
    """The name of the index of a primary key: '{table}_pkey'. None: no table may have it."""
    snapshot: str | None = None
    """The statement after which all of a transaction sees one snapshot."""
    vectors: VectorIndexes | None = None
    catalog: tuple[str, str, str] | None = None
    """Statements whose rows are the schema's columns, its indexes, and statistics of its columns.

    `experiment/workload/replay/catalog.py` reads them.
    """
    statement_statistics: str | None = None
    """The statement whose rows are the statements that the server has executed."""


class Dbms(Protocol):
    """A DBMS, as benchmarks know it."""

    @property
    def name(self) -> str:
        """The name: 'postgres'."""

    @property
    def sql(self) -> Sql | None:
        """The SQL of its servers; None where they have none."""

    def lacks(self, what: str, engine: str | None = None) -> str | None:
        """Say why its servers lack something, as a sentence; None where they have it."""
