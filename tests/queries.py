"""Queries of families, with answers from a test or a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from slowdust.dbms.stages import Query, Row, T


def read(query: Query[T] | None, *answers: Sequence[Row]) -> T:
    """Read the rows that each statement would return."""
    assert query is not None
    return query.read(answers)


def answered(query: Query[T] | None, ask: Callable[[str], Any]) -> T:
    """Ask a server by a function: statement -> rows."""
    assert query is not None
    return query.read([ask(statement) for statement in query.statements])
