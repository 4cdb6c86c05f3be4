"""Changes over numbers of clients and over versions."""

from __future__ import annotations

from typing import Literal

import msgspec

from slowdust.units import Second

CourseKind = Literal[
    "always faster",
    "always slower",
    "overtakes",
    "falls behind",
    "sometimes faster",
    "sometimes slower",
    "changes more than once",
    "never differs",
]


class Course(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A contender beside the base from the fewest clients to the most, in one test."""

    contender: str
    kind: CourseKind
    """`overtakes` and `falls behind`: from slower to faster, or the reverse, once. `sometimes`:
    at some levels, and at the others neither faster nor slower."""
    at: int | None = None
    """Number of clients from which it has overtaken, or fallen behind."""
    words: str
    """'overtakes at 16 clients: slower up to 8 clients and faster from 16 clients on'."""


class TestConcurrency(msgspec.Struct, kw_only=True):
    """A test that was measured at several numbers of clients."""

    benchmark: str
    test: str
    courses: list[Course]


class ChangeCounts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Counts of the tests of a group that two versions, or contenders, have, by their change."""

    before: str
    after: str
    tests: int
    """Sum of the five counts below."""
    big_improvements: int
    small_improvements: int
    no_changes: int
    small_regressions: int
    big_regressions: int
    same: int | None = None
    """Tests whose verdict is `same`; like the next, absent if none is."""
    unsure: int | None = None
    """Tests whose verdict is unsure, whatever their change is."""
    median: float
    """Median of the tests' throughput of `after` / that of `before`."""


class GroupChanges(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Changes of a group of tests over the versions of a line."""

    line: str | None = None
    """DBMS, engine, configuration and environment that its versions share; absent if contenders
    are described beside the base."""
    group: str
    clients: int | None = None
    """The number of clients; absent if there is only one."""
    hold_s: Second | None = None
    """The time for which a transaction was held open beside the tests; absent if none was."""
    steps: list[ChangeCounts]
    """Changes from each version to the next newer one."""
    overall: ChangeCounts | None = None
    """Change from the first version to the last; absent if they have no test in common."""
    title: str
    """'Point queries (9 tests)', with the line or the clients if there are several."""
    clauses: list[str]
    """'from 5.6 to 5.7 there are big regressions for all tests', ..."""
    unsure_clauses: list[str] | None = None
    """The clauses of which all tests are unsure; absent if there are none."""

    @property
    def sentence(self) -> str:
        return f"{self.title}: {'; '.join(self.clauses)}."
