"""Vector indexes: the words with which a DBMS makes them, and searches in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

ID, VECTOR, BUCKET = "id", "v", "bucket"
"""The columns of each table: a number from 1, the vector, and what queries filter by."""
Encoding = Literal["text", "bytes"]
"""Vectors as texts, `[0.5,1]`, or as the bytes of their numbers."""
HNSW, IVFFLAT = "hnsw", "ivfflat"


@dataclass(frozen=True)
class IndexOptions:
    """How indexes are built."""

    metric: str
    """`l2`, `cosine` or `ip`."""
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
