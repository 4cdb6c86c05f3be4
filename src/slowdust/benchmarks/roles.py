"""The roles in long steps: what each of them counts, and the words of reports about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Role:
    """A role of the driver's connections; the defaults suit one that writes rows."""

    name: str
    unit: str | None
    """The unit of its rate; None: the step's own."""
    statements: str
    """The statements that its response times are of."""
    counts: Literal["rows", "statements"] = "rows"
    """The work that its rate counts."""
    by_second: bool = True
    """Whether it finishes enough for a rate by the second: an index takes minutes."""
    paced: bool = False
    """Whether it is a writer that keeps to the target of a step with queries."""


INSERTER = Role("insert", "inserts/s", "commits of inserts", paced=True)
DELETER = Role("delete", "deletes/s", "commits of deletes", paced=True)
_TABLE = (
    Role("query", None, "queries", "statements"),
    INSERTER,
    DELETER,
    Role("index", "indexed rows/s", "CREATE INDEX", by_second=False),
    Role("transaction", "transactions/s", "long transactions", "statements", by_second=False),
)
"""The roles in the order in which a report shows them."""


def in_order(names: Iterable[str]) -> list[Role]:
    """Return each role once, in the order of reports.

    First are those that are not in the table, which are taken for writers of rows.
    """
    present = {*names}
    known = [role for role in _TABLE if role.name in present]
    others = sorted(present.difference(role.name for role in known))
    return [*(Role(each, f"{each} rows/s", f"statements of {each}") for each in others), *known]
