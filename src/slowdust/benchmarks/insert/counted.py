"""The work of the Insert Benchmark whose instructions are counted: the same steps in fewer rows."""

from __future__ import annotations

from dataclasses import dataclass

from slowdust.benchmarks.insert.steps import InsertStep, Kind
from slowdust.benchmarks.steps import CountedWork, StepWork
from slowdust.units import Second

_MOST_ROWS = 40_000
"""Rows of the table, at most: valgrind runs a server at a fiftieth of its speed."""
_WINDOWS_OF_TABLE = 40
"""Windows of inserts that the table's rows would fill."""
_QUERIES = 500
"""Queries of a window."""
_LONGEST: Second = 86_400.0
"""Time that ends a step with queries, whose windows have ended long before."""


def fewer_rows(timed: int) -> int | None:
    """Return the rows of the table in which instructions are counted; None if as many are timed."""
    return _MOST_ROWS if timed > _MOST_ROWS else None


@dataclass(frozen=True)
class ScaledTable:
    """The one table in which instructions are counted, for one client."""

    timed: int
    """Rows of the table that is timed."""
    windows: int
    """Windows of which a step that inserts consists, at least, for each role that is counted."""

    def work(
        self, step: InsertStep, timed: StepWork, rows_per_commit: dict[str, int]
    ) -> CountedWork:
        """Return the work of a step, in place of that which is timed.

        Rows that are replaced beside queries are replaced before them, so that queries meet as
        large a share of fresh rows, and the same ones on every server.
        """
        match step.kind:
            case Kind.INDEX:
                assert timed.operations is not None
                return CountedWork(timed, ("index",), timed.operations, None)
            case Kind.LOAD:
                return self._inserts(step.kind, ("insert",), rows_per_commit[step.plain_name])
            case Kind.REPLACE:
                return self._inserts(
                    step.kind, ("insert", "delete"), rows_per_commit[step.plain_name]
                )
            case Kind.RANGE_QUERY | Kind.POINT_QUERY:
                command = {**timed.command, "seconds": _LONGEST, "writes_per_second": 0.0}
                queries = StepWork(command, 0, 0, None)
                replaced = timed.inserted * self._rows // self.timed
                commits = -(-replaced // rows_per_commit["q"])
                before = _writes(Kind.REPLACE, commits, rows_per_commit["q"])
                return CountedWork(queries, ("query",), _QUERIES, _QUERIES, before)

    @property
    def _rows(self) -> int:
        return min(self.timed, _MOST_ROWS)

    def _inserts(self, kind: Kind, roles: tuple[str, ...], rows_per_commit: int) -> CountedWork:
        window = -(-self._rows // (_WINDOWS_OF_TABLE * rows_per_commit))
        commits = window * self.windows * len(roles)
        if kind is Kind.LOAD:
            commits = max(commits, self._rows // rows_per_commit)
        work = _writes(kind, commits, rows_per_commit)
        return CountedWork(work, roles, window, window * rows_per_commit)


def _writes(kind: Kind, commits: int, rows_per_commit: int) -> StepWork:
    """Return work that inserts rows, and deletes as many unless it loads them."""
    rows = commits * rows_per_commit
    command = {"kind": kind.value, "rows": rows, "rows_per_commit": rows_per_commit}
    return StepWork(command, rows, rows if kind is Kind.REPLACE else 0, commits)
