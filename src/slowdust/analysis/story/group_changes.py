"""Shapes of `bands.py`: how many tests of a group changed from one version to another."""

from __future__ import annotations

import msgspec


class ChangeCounts(msgspec.Struct, kw_only=True):
    """Two versions, or contenders, and the tests of a group that both have."""

    before: str
    after: str
    tests: int
    """The five counts below add up to it."""
    big_improvements: int
    small_improvements: int
    no_changes: int
    small_regressions: int
    big_regressions: int
    median: float
    """Of the tests' throughput of `after` / that of `before`."""


class GroupChanges(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A group of tests over the versions of a line."""

    line: str | None = None
    """DBMS, engine, configuration and environment that its versions share; absent where
    contenders are told beside the base."""
    group: str
    clients: int | None = None
    """Absent where there is but one number of clients."""
    steps: list[ChangeCounts]
    """From each version to the next one that is newer."""
    overall: ChangeCounts | None = None
    """From the first version to the last; absent where they have no test in common."""
    title: str
    """'Point queries (9 tests)', with the line or the clients where there are several."""
    clauses: list[str]
    """'from 5.6 to 5.7 there are big regressions for all tests', ..."""

    @property
    def sentence(self) -> str:
        """Title and clauses."""
        return f"{self.title}: {'; '.join(self.clauses)}."
