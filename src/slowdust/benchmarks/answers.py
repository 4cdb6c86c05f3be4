"""Data of which the right answers are known: what to ask a server, and how to judge its answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowdust.benchmarks.described import Described
from slowdust.sql import Dbms


@dataclass(frozen=True)
class Questions:
    """Statements that are asked in one session, and the recall of their answers."""

    session: list[str]
    """Statements before them."""
    statements: list[str]
    k: int
    """Rows that each asks for."""
    recall: Callable[[Sequence[Sequence[int]]], float]
    """Function of the numbers that each statement returned, in their order: the share of the right
    ones that they have."""


class Answered(Described):
    """Tables and tests with known answers."""

    @abstractmethod
    def questions(self, test: str, dbms: Dbms) -> Questions | None:
        """Return what a test has to be asked; None for one whose answers are exact."""

    @abstractmethod
    def index_of(self, test: str) -> str | None:
        """Return the kind of index that a test searches in; None for one that has none."""

    @abstractmethod
    def index_bytes(self, kind: str, dbms: Dbms) -> str:
        """Return the statement with the size of an index in bytes: one row with one value."""
