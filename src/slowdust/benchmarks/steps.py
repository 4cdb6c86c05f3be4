"""The interface of benchmarks that are measured in long steps.

Each step needs what those before it left in the tables: a step is one slice, and an incarnation
runs all of them. The loop of the steps knows no benchmark; what it has to know is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from slowdust.benchmarks.model import Benchmark, Measuring, Test
from slowdust.benchmarks.options import AsCount, Table
from slowdust.store.manifest import Method
from slowdust.store.step import split_hold
from slowdust.units import Second, parse_span

_SHORTEST_HOLD: Second = 0.001
"""The names of steps have holds to the millisecond."""
_LONGEST_HOLD: Second = 86_400.0

Hold = Annotated[
    Second,
    Field(ge=0, le=_LONGEST_HOLD),
    BeforeValidator(lambda value: parse_span(value) if isinstance(value, str) else value),
]
"""A number of seconds, or a duration; 0 means that no transaction is held open."""


class Counted(Enum):
    """The things that the rate of a step counts."""

    ROWS = "rows that the main role wrote, over the whole step"
    STATEMENTS = "statements of the main role, up to its last one"
    TABLE_ROWS = "rows of all tables: each statement is about a whole table"


class Maintenance(Enum):
    """The maintenance that follows a step, as the families of servers name it."""

    AFTER_LOAD = "after load"
    AFTER_WRITES = "after writes"
    """Maintenance behind the last such step of a sequence; those before it have `AFTER_STEP`."""
    AFTER_STEP = "after step"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class LongStep(Test):
    """A step of such a benchmark."""

    main_role: str
    """The role of the driver's connections that the step's rate is about."""
    counted: Counted
    unit: str
    maintenance: Maintenance = Maintenance.NONE
    makes_tables: bool = False
    """Whether no later step can run without what this one makes."""
    rate: int | None = None
    """Rows per second of each client that are written beside the main role; None where none are."""
    hold: Second = 0.0
    """The time for which transactions are held open in the step's sequence; 0: none are."""

    @property
    def held(self) -> Second | None:
        """The time for which transactions are held open beside this step; None: none are.

        Those that make the tables have none: a load leaves no old versions of rows, and MySQL's
        CREATE INDEX waits for every transaction that has read the table.
        """
        return None if self.makes_tables or not self.hold else self.hold

    @property
    def plain_name(self) -> str:
        """The step's name without the hold of its sequence."""
        return split_hold(self.name)[0]

    def matches(self, pattern: str) -> bool:
        """Return whether a pattern means this step by its name, or by that without the hold."""
        return super().matches(pattern) or fnmatchcase(self.plain_name, pattern)


@dataclass(frozen=True)
class StepWork:
    """The work of each client in one step of one experiment."""

    command: Mapping[str, object]
    """The work in the driver's words (driver/schema.json)."""
    inserted: int
    """Rows that the client inserts, if it keeps pace."""
    deleted: int
    operations: int | None
    """Commits of its inserts, or indexes that it creates; None where time ends the step."""


@dataclass(frozen=True)
class CountedWork:
    """The work of one client in a step whose instructions are counted in exact windows."""

    work: StepWork
    roles: tuple[str, ...]
    """The roles whose sessions are counted, each in windows of its own."""
    window: int
    """Operations of a window: commits, queries, or all indexes of a step that has no other one."""
    amount: int | None
    """The number of what the step's rate counts, in a window; None: the rows of the tables."""
    before: StepWork | None = None
    """Work that is carried out before, and not counted."""

    @property
    def whole(self) -> bool:
        """Whether the only window is the whole step."""
        return self.window == self.work.operations


@dataclass(frozen=True)
class Server:
    """The properties of a contender's server on which the size of a workload depends."""

    bytes_per_row: int
    """Size of a row in its table and in its indexes."""
    buffer_pool_bytes: int | None
    """Size of the server's own page cache; None where it has none."""
    is_remote: bool = False
    """Whether others started it: its data is on a disk of which nothing is known."""


class StepTable(Table):
    """The keys that the tables of all such benchmarks have."""

    table: Literal["per-client", "shared"] = "per-client"
    partitions: Annotated[int, AsCount] = Field(default=0, ge=0, le=1000)
    """Partitions of each table, by ranges of the primary key; 0: not partitioned."""
    hold: Annotated[
        list[Hold], BeforeValidator(lambda value: value if isinstance(value, list) else [value])
    ] = Field(default=[0.0], min_length=1)
    """The times for which a transaction is held open beside the work before it is begun anew; each
    has a sequence of all steps, 0 the one without such a transaction."""
    statements: Literal["prepared", "text"] = "prepared"
    turns: Literal["chunks", "whole-steps"] = "chunks"
    """What a contender does of a step before the next one's turn."""

    @field_validator("partitions")
    @classmethod
    def _more_than_one(cls, value: int) -> int:
        if value == 1:
            raise ValueError("one partition leaves a table whole: write 2 or more, or leave it out")
        return value

    @model_validator(mode="before")
    @classmethod
    def _long_transaction_of_earlier_files(cls, data: object) -> object:
        if not isinstance(data, dict) or "long_transaction" not in data or "hold" in data:
            return data
        others = {key: value for key, value in data.items() if key != "long_transaction"}
        return others | {"hold": [data["long_transaction"]]}

    @field_validator("hold")
    @classmethod
    def _distinct_holds(cls, value: list[Second]) -> list[Second]:
        if any(0 < hold < _SHORTEST_HOLD for hold in value):
            raise ValueError("a hold is 0, or at least a millisecond")
        holds = sorted(round(hold, 3) for hold in value)
        if len(set(holds)) < len(holds):
            raise ValueError("the same time is given twice")
        return holds

    @property
    def shares_table(self) -> bool:
        return self.table == "shared"

    def tables(self, clients: int) -> int:
        return 1 if self.shares_table else clients


@dataclass(frozen=True)
class Workload(ABC):
    """A benchmark of long steps in the size that suits the contenders of one experiment."""

    settings: StepTable
    incarnations: int
    """Restarts of the servers that are planned where the user does not say how many."""
    seconds: Second
    chunk: Second

    @abstractmethod
    def work(self, step: str, clients: int) -> StepWork:
        """Return the work of one of so many clients in the step of that name."""

    def counted_rows(self, levels: Sequence[int]) -> int | None:
        """Return the rows of the table in which instructions are counted.

        None, the default: as many as are timed with these numbers of clients.
        """
        return None

    def counted(self, step: str, windows: int) -> CountedWork | None:
        """Return the work of a step whose instructions are counted, which may be in fewer rows.

        A step that ends with a number of operations has so many `windows` for each counted role.
        None, the default, ends the sequence: neither this step nor one behind it is counted.
        """
        return None

    @abstractmethod
    def check_room(self, levels: Sequence[int], free_bytes: int) -> None:
        """Refuse what would fill the disk on which contenders have their data that are not remote.

        Raises:
            UsageError: says what is needed, and what is there.
        """

    @abstractmethod
    def add_to(self, method: Method, levels: Sequence[int]) -> None:
        """Write what the manifest says of the workload, for the numbers of clients."""


@dataclass(frozen=True)
class StepBenchmark(Benchmark, ABC):
    """A benchmark that is measured in long steps."""

    measuring: Measuring = Measuring.STEPS
    title: str = "the benchmark"
    """The title of the benchmark in the sentences of the page; those below are such words, too."""
    counted_briefly: str = ""
    """The things that the rates of its steps count; empty: their units say it."""
    counted_by_step: str = ""
    about_steps: str = ""
    """A sentence below the heading of the summary."""

    @abstractmethod
    def workload(self, servers: Sequence[Server]) -> Workload:
        """Return the workload that suits all of the servers: each gets as many rows."""

    @property
    @abstractmethod
    def seconds(self) -> Second:
        """Length of a step that ends by time."""

    @property
    @abstractmethod
    def planned_starts(self) -> int:
        """Starts of the servers where the user does not say how many."""

    @abstractmethod
    def usual_length(self, tests: Sequence[Test], levels: Sequence[int]) -> Second:
        """Return the usual time of one contender's steps in one start.

        The time for rows whose number depends on the servers is not included.
        """

    def sequence(self, tests: Sequence[Test], levels: Sequence[int]) -> list[tuple[Test, int]]:
        return [(test, clients) for clients in levels for test in tests]


@dataclass(frozen=True)
class Role:
    """A role of the driver's connections; the defaults suit one that writes rows."""

    name: str
    unit: str | None
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
