"""The Insert Benchmark: load, index, replace rows, and query with background writes at a rate.

The table `[insert]` of an experiment file chooses the steps and the size of the data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator

from slowdust.benchmarks.model import DEFAULT_SUITE, Group, Phase, Test
from slowdust.benchmarks.options import AsCount, Duration, Table, own_options, unused_keys
from slowdust.benchmarks.steps import (
    Counted,
    CountedWork,
    LongStep,
    Maintenance,
    Server,
    StepBenchmark,
    StepTable,
    StepWork,
    Workload,
)
from slowdust.errors import UsageError
from slowdust.store.manifest import Method, StepsMethod
from slowdust.store.step import name_with_hold, split_hold
from slowdust.units import Second
from slowdust.wording import no_such

NAME = "insert"
_QUERY_STEP = re.compile(r"q(?P<kind>[rp])(?P<rate>[1-9]\d*)")
_OLD_QUERY_STEP = re.compile(r"q(?P<rate>[1-9]\d*)\.\d+")
"""Names of steps in archived runs before there were point queries: rate and number."""


class Kind(Enum):
    """The kind of work in a step."""

    LOAD = "load"
    INDEX = "index"
    REPLACE = "replace"
    RANGE_QUERY = "range queries"
    POINT_QUERY = "point queries"


_QUERIES = {"r": Kind.RANGE_QUERY, "p": Kind.POINT_QUERY}
_INSERTS: dict[str, Any] = {
    "group": Group.WRITE,
    "main_role": "insert",
    "counted": Counted.ROWS,
    "unit": "inserts/s",
}
_QUERY: dict[str, Any] = {"main_role": "query", "counted": Counted.STATEMENTS}
_TRAITS: dict[Kind, dict[str, Any]] = {
    Kind.LOAD: {**_INSERTS, "maintenance": Maintenance.AFTER_STEP, "makes_tables": True},
    Kind.INDEX: {
        "group": Group.INDEX,
        "main_role": "index",
        "counted": Counted.TABLE_ROWS,
        "unit": "indexed rows/s",
        "maintenance": Maintenance.AFTER_LOAD,
        "makes_tables": True,
    },
    Kind.REPLACE: {**_INSERTS, "maintenance": Maintenance.AFTER_WRITES},
    Kind.RANGE_QUERY: {**_QUERY, "group": Group.RANGE, "unit": "range queries/s"},
    Kind.POINT_QUERY: {**_QUERY, "group": Group.POINT, "unit": "point queries/s"},
}


@dataclass(frozen=True, kw_only=True)
class InsertStep(LongStep):
    """One step of the Insert Benchmark."""

    kind: Kind


def _step(name: str, kind: Kind, rate: int | None = None) -> InsertStep:
    return InsertStep(
        benchmark=NAME, name=name, phase=Phase.WRITE, kind=kind, rate=rate, **_TRAITS[kind]
    )


WRITE_STEPS = (
    _step("l.i0", Kind.LOAD),
    _step("l.x", Kind.INDEX),
    _step("l.i1", Kind.REPLACE),
    _step("l.i2", Kind.REPLACE),
)


def steps_at_rates(rates: Sequence[int], holds: Sequence[Second]) -> tuple[InsertStep, ...]:
    """Return all steps in their order, with range and point queries at each rate.

    The sequence is repeated for each hold.
    """
    queries = (
        _step(f"q{letter}{rate}", _QUERIES[letter], rate) for rate in rates for letter in "rp"
    )
    sequence = (*WRITE_STEPS, *queries)
    return tuple(_with_hold(step, hold) for hold in holds for step in sequence)


def _with_hold(step: InsertStep, hold: Second) -> InsertStep:
    return replace(step, name=name_with_hold(step.name, hold), hold=hold)


def step_called(name: str) -> InsertStep | None:
    """Return the step with this name, with any rate and hold; None if the name is unknown."""
    plain, hold = split_hold(name)
    if match := _QUERY_STEP.fullmatch(plain):
        step = _step(plain, _QUERIES[match["kind"]], int(match["rate"]))
    elif match := _OLD_QUERY_STEP.fullmatch(plain):
        step = _step(plain, Kind.RANGE_QUERY, int(match["rate"]))
    elif plain in {each.name for each in WRITE_STEPS}:
        step = next(each for each in WRITE_STEPS if each.name == plain)
    else:
        return None
    return _with_hold(step, hold)


WORKLOADS = ("quick", "cached", "less-io-bound", "more-io-bound")
"""Sizes of the data; the first is the default."""
RATES = (100, 500, 1000)
"""Rows per second that each client inserts, and deletes, in the background of queries."""
_FEWEST_ROWS = 100
"""The fewest rows for queries, which look for ten."""

Positive = Annotated[int, Field(ge=1), AsCount]
WritesPerSecond = Annotated[int, Field(ge=1, le=10_000_000), AsCount]
RowsPerCommit = Annotated[int, Field(ge=1, le=1000), AsCount]
"""A number of rows that fits into one statement of every DBMS."""


def _as_list(value: object) -> object:
    return [value] if isinstance(value, int | str) and not isinstance(value, bool) else value


class InsertTable(StepTable):
    """The table `[insert]` of an experiment file; defaults come from the workload."""

    workload: str = WORKLOADS[0]
    rows: Annotated[list[Positive], BeforeValidator(_as_list)] | None = Field(
        default=None, min_length=1, max_length=3
    )
    """Rows that each client inserts in l.i0, l.i1 and l.i2; missing ones follow from l.i0's."""
    seconds: Duration | None = None
    rates: list[WritesPerSecond] = Field(default=list(RATES), min_length=1)
    rows_per_commit: list[RowsPerCommit] = Field(
        default=[100, 50, 5, 50], min_length=4, max_length=4
    )
    """Rows per commit of l.i0, l.i1, l.i2 and the steps with queries."""

    @field_validator("workload")
    @classmethod
    def _known_workload(cls, value: str) -> str:
        if value not in WORKLOADS:
            raise ValueError(no_such("workload", value, WORKLOADS))
        return value

    @field_validator("rows")
    @classmethod
    def _enough_to_query(cls, value: list[int] | None) -> list[int] | None:
        if value is not None and value[0] < _FEWEST_ROWS:
            raise ValueError(f"l.i0 needs at least {_FEWEST_ROWS} rows")
        return value

    @field_validator("rates")
    @classmethod
    def _distinct_rates(cls, value: list[int]) -> list[int]:
        if len(set(value)) < len(value):
            raise ValueError("the same rate is given twice")
        return sorted(value)


__all__ = ["INSERT", "InsertStep", "Kind"]

_ALWAYS_RUN = {step.name for step in WRITE_STEPS if step.makes_tables}

INDEXES = 3
"""Secondary indexes of a table, each created by its own statement."""
_INSERTING_STEPS = ("l.i0", "l.i1", "l.i2")
_TEMPORARY = 1.0
"""The size of sort files for indexes and of deleted rows, relative to the tables."""
_LOG = 2.0
"""The size of the logs of changes, relative to the tables, up to `_MOST_LOG`."""
_MOST_LOG = 10 << 30
_GB = 1 << 30
_MOST_ROWS = 40_000
"""The most rows of the table: valgrind runs a server at a fiftieth of its speed."""
_WINDOWS_OF_TABLE = 40
"""Windows of inserts that fill the table."""
_QUERIES_OF_WINDOW = 500
_LONGEST: Second = 86_400.0
"""The time limit of a step with queries; its windows take much less."""


@dataclass(frozen=True)
class Preset:
    """A workload: rows of l.i0 over all clients; `first` and `second` are l.i1 and l.i2 / l.i0."""

    size_by_pool: float | None
    """Size of the tables with their indexes / buffer pool; None to use `rows`."""
    rows: int
    first: float
    second: float
    seconds: Second
    chunk: Second
    incarnations: int


# Chunks are short compared with the machine's slow and fast phases, which last seconds, and long
# compared with a change of turns, which takes milliseconds. If pages are written all the time, the
# kernel keeps writing for a moment after a server is suspended; chunks are long compared with
# that.
# The rows of l.i1 and l.i2 relative to l.i0, and the seconds, are from the published runs:
# cached 20M, 40M, 10M; less IO-bound 64M, 4M, 1M; more IO-bound 200M, 4M, 1M.
PRESETS = {
    "quick": Preset(None, 400_000, 3 / 8, 1 / 10, 4.0, 0.1, 3),
    "cached": Preset(0.5, 0, 2.0, 0.5, 1800.0, 0.5, 2),
    "less-io-bound": Preset(3.0, 0, 1 / 16, 1 / 64, 1800.0, 2.0, 2),
    "more-io-bound": Preset(10.0, 0, 1 / 50, 1 / 200, 1800.0, 2.0, 2),
}


_USUAL_LOAD: Second = 31.0
"""One contender's l.i0, l.x, l.i1 and l.i2 of the workload `quick`, on two virtual cores."""


@dataclass(frozen=True)
class InsertWorkload(Workload):
    """The Insert Benchmark of one experiment, in rows."""

    settings: InsertTable
    servers: Sequence[Server]
    preset: Preset

    def rows(self, clients: int) -> dict[str, int]:
        """Return step -> rows that each client inserts, with this number of clients.

        Raises UsageError if the workload is relative to buffer pools and no contender has one.
        """
        given = self.settings.rows or [max(100, self._rows_of_preset() // clients)]
        loaded = given[0]
        usual = [loaded, round(loaded * self.preset.first), round(loaded * self.preset.second)]
        rows = [*given, *(max(1, number) for number in usual[len(given) :])]
        return dict(zip(_INSERTING_STEPS, rows, strict=True))

    def work(self, step: str, clients: int) -> StepWork:
        known = step_called(step)
        assert known is not None
        rows = self._inserted(known, clients)
        match known.kind:
            case Kind.INDEX:
                return StepWork({"kind": "index"}, 0, 0, operations=INDEXES)
            case Kind.LOAD | Kind.REPLACE:
                rows_per_commit = self._rows_per_commit[known.plain_name]
                command = {"rows": rows, "rows_per_commit": rows_per_commit}
                deleted = rows if known.kind is Kind.REPLACE else 0
                commits = -(-rows // rows_per_commit)
                return StepWork({"kind": known.kind.value, **command}, rows, deleted, commits)
            case Kind.RANGE_QUERY | Kind.POINT_QUERY:
                query = {
                    "kind": "query",
                    "query": "range" if known.kind is Kind.RANGE_QUERY else "point",
                    "seconds": self.seconds,
                    "writes_per_second": float(known.rate or 0),
                    "rows_per_commit": self._rows_per_commit["q"],
                }
                return StepWork(query, rows, rows, operations=None)

    def counted_rows(self, levels: Sequence[int]) -> int | None:
        timed = max(self.rows(clients)["l.i0"] for clients in levels)
        return _MOST_ROWS if timed > _MOST_ROWS else None

    def counted(self, step: str, windows: int) -> CountedWork:
        known = step_called(step)
        assert known is not None
        table = ScaledTable(self.rows(1)["l.i0"], windows)
        return table.work(known, self.work(step, 1), self._rows_per_commit)

    def add_to(self, method: Method, levels: Sequence[int]) -> None:
        method.steps = StepsMethod(
            workload=self.settings.workload,
            rows={
                f"{step}@{clients}": rows
                for clients in levels
                for step, rows in self.rows(clients).items()
            },
            rows_per_commit=self._rows_per_commit,
            seconds=self.seconds,
            shared_table=self.settings.shares_table,
            partitions=self.settings.partitions,
            holds_s=[] if self.settings.hold == [0.0] else list(self.settings.hold),
            statements=self.settings.statements,
            turns=self.settings.turns,
        )
        method.tables = self.settings.tables(max(levels))
        method.rows = max(method.steps.rows.values())

    def check_room(self, levels: Sequence[int], free_bytes: int) -> None:
        """Raise UsageError if the data would fill the disk, by an estimate without a margin.

        The estimate includes the logs of changes, up to 10 GB for each server. It excludes larger
        binlogs, error logs, results, writes of other programs, and remote servers.
        """
        rows = max(self._most_rows(clients) * clients for clients in levels)
        here = [server for server in self.servers if not server.is_remote]
        needed = sum(_bytes_of_server(rows * server.bytes_per_row) for server in here)
        if needed > free_bytes:
            raise UsageError(
                f"{rows:,} rows take about {needed / _GB:,.1f} GB with indexes, logs and deleted "
                f"rows, for {len(here)} contender(s), but {free_bytes / _GB:,.1f} GB are free: "
                f"choose fewer --rows, a smaller --workload or buffer pool, or another disk "
                f"(SLOWDUST_DATA)"
            )

    def _most_rows(self, clients: int) -> int:
        """Return the most rows of a client that are stored at the same time.

        While a transaction is held open, deleted rows are not purged until the step's end.
        """
        rows = self.rows(clients)
        kept = max(rows["l.i1"], rows["l.i2"]) if any(self.settings.hold) else 0
        return rows["l.i0"] + kept

    @property
    def _rows_per_commit(self) -> dict[str, int]:
        names = (*_INSERTING_STEPS, "q")
        return dict(zip(names, self.settings.rows_per_commit, strict=True))

    def _inserted(self, step: InsertStep, clients: int) -> int:
        """Return the rows that each client should insert; at a rate, in whole commits."""
        if step.rate is not None:
            rows = self._rows_per_commit["q"]
            return math.ceil(step.rate * self.seconds / rows) * rows
        return 0 if step.kind is Kind.INDEX else self.rows(clients)[step.plain_name]

    def _rows_of_preset(self) -> int:
        if self.preset.size_by_pool is None:
            return self.preset.rows
        pools = [pool for server in self.servers if (pool := server.buffer_pool_bytes) is not None]
        if not pools:
            raise UsageError(
                f"the workload {self.settings.workload} is relative to the servers' buffer pools, "
                f"and these contenders have none: add --rows"
            )
        largest_row = max(server.bytes_per_row for server in self.servers)
        return round(self.preset.size_by_pool * min(pools) / largest_row)


def _bytes_of_server(tables: int) -> float:
    return tables * (1 + _TEMPORARY) + min(tables * _LOG, _MOST_LOG)


@dataclass(frozen=True)
class ScaledTable:
    """The table for counting instructions, with one client."""

    timed: int
    windows: int
    """The fewest windows of an inserting step for each counted role."""

    def work(
        self, step: InsertStep, timed: StepWork, rows_per_commit: dict[str, int]
    ) -> CountedWork:
        """Return the work of a step for counting, in place of the timed work.

        Background writes run before the queries, so that queries find the same share of new rows,
        and the same rows on every server.
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
                return CountedWork(
                    queries, ("query",), _QUERIES_OF_WINDOW, _QUERIES_OF_WINDOW, before
                )

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
    """Return work that inserts rows and, unless it is a load, deletes as many."""
    rows = commits * rows_per_commit
    command = {"kind": kind.value, "rows": rows, "rows_per_commit": rows_per_commit}
    return StepWork(command, rows, rows if kind is Kind.REPLACE else 0, commits)


@dataclass(frozen=True)
class InsertBenchmark(StepBenchmark):
    """The Insert Benchmark, with the steps and the size of its table."""

    settings: InsertTable = field(default_factory=InsertTable)

    def configured(self, table: Table) -> InsertBenchmark:
        assert isinstance(table, InsertTable)
        steps = steps_at_rates(table.rates, table.hold)
        suites = {DEFAULT_SUITE: tuple(step.name for step in steps)}
        return replace(self, tests=steps, suites=suites, settings=table)

    @property
    def preset(self) -> Preset:
        return PRESETS[self.settings.workload]

    @property
    def seconds(self) -> Second:
        return self.settings.seconds or self.preset.seconds

    @property
    def planned_starts(self) -> int:
        return self.preset.incarnations

    def usual_length(self, tests: Sequence[Test], levels: Sequence[int]) -> Second:
        timed = [test for test in tests if isinstance(test, InsertStep) and test.rate is not None]
        holds = {test.hold for test in tests if isinstance(test, InsertStep)}
        rows = self.preset.rows if self.settings.rows is None else self.settings.rows[0]
        loading = len(holds) * rows * _USUAL_LOAD / PRESETS["quick"].rows
        return len(levels) * (len(timed) * self.seconds + loading)

    def workload(self, servers: Sequence[Server]) -> InsertWorkload:
        return InsertWorkload(
            settings=self.settings,
            incarnations=self.planned_starts,
            seconds=self.seconds,
            chunk=self.preset.chunk,
            servers=servers,
            preset=self.preset,
        )

    def test(self, name: str) -> InsertStep | None:
        return step_called(name)

    def matching(self, patterns: Iterable[str]) -> list[Test]:
        """Return the matching steps, and the steps of the same hold that create their tables."""
        matching = super().matching(patterns)
        holds = {test.hold for test in matching if isinstance(test, InsertStep)}
        needed = {name_with_hold(name, hold) for name in _ALWAYS_RUN for hold in holds}
        return self._in_order({test.name for test in matching} | needed)


INSERT = InsertBenchmark(
    name=NAME,
    tests=(),
    suites={},
    config=NAME,
    driver_benchmark=NAME,
    table="purchases",
    connections=4,  # inserts, deletes, queries, and a long transaction
    options_type=InsertTable,
    options=own_options(NAME),
    unused_keys=unused_keys(NAME),
    title="the Insert Benchmark",
    counted_briefly="rows inserted, rows indexed, or queries, per second",
    counted_by_step="rows inserted (l.i0, l.i1, l.i2), rows in the tables / seconds to index them "
    "(l.x), queries (qr, qp)",
    about_steps="Steps with queries (qr, qp: range and point queries) have background writers for "
    "each client, at the rate in the step's name.",
).configured(InsertTable())
