"""Plans as servers print them, read as trees of operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from slowdust.formats.plans import mongodb, mysql, postgres, sqlite
from slowdust.formats.plans.node import PlanNode

__all__ = ["PlanNode", "parse_plan"]

_READERS: dict[str, Callable[[str], PlanNode]] = {
    "mysql": mysql.parse,
    "mariadb": mysql.parse,
    "sqlite": sqlite.parse,
    "ferretdb": sqlite.parse,
    "mongodb": mongodb.parse,
}
_MOST_KEPT = 4096
"""Plans of an experiment are compared by its report, its reasons and its explanations."""


@lru_cache(_MOST_KEPT)
def parse_plan(text: str, dbms: str) -> PlanNode:
    """Return the tree of a plan that the driver has read.

    Postgres' plans are JSON documents or, of earlier experiments, EXPLAIN's text; MySQL's and
    MariaDB's a line for each table; SQLite's and FerretDB's a line for each step, indented or, of
    earlier experiments and versions, flat; MongoDB's a line for each stage. A line in none of these
    forms is an operator of its own.
    """
    return _READERS.get(dbms, postgres.parse)(text)
