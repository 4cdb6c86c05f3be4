"""What benchmarks and workloads ask of a DBMS: its SQL, and what its servers lack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from slowdust.vector_indexes import VectorIndexes


@dataclass(frozen=True)
class Sql:
    """The SQL of a DBMS."""

    grammar: str
    """The name that sqlglot has for its grammar."""
    reserved: frozenset[str]
    """Words that are names only in quotation marks, in small letters."""
    like: str | None = None
    """The DBMS whose texts it takes where a workload has none for it."""
    quotation_mark: str = '"'
    """The mark around names."""
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
    """The vector indexes of its servers; None where they have none."""
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
