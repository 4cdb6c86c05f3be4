"""The interface of benchmarks that are measured in long steps.

Each step continues with the tables of the previous one: a step is one slice, and each start of the
servers runs all steps. The loop over steps gets all facts about a benchmark from this interface.
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
"""Names of steps contain holds in milliseconds."""
_LONGEST_HOLD: Second = 86_400.0

Hold = Annotated[
    Second,
    Field(ge=0, le=_LONGEST_HOLD),
    BeforeValidator(lambda value: parse_span(value) if isinstance(value, str) else value),
]
"""A number of seconds, or a duration; with 0 no transaction is held open."""


class Counted(Enum):
    """The unit of a step's rate."""

    ROWS = "rows that the main role wrote, over the whole step"
    STATEMENTS = "statements of the main role, up to its last one"
    TABLE_ROWS = "rows of all tables: each statement is about a whole table"


class Maintenance(Enum):
    """The maintenance after a step, by the names in `Family`."""

    AFTER_LOAD = "after load"
    AFTER_WRITES = "after writes"
    """Maintenance after the last such step of a sequence; earlier ones have `AFTER_STEP`."""
    AFTER_STEP = "after step"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class LongStep(Test):
    """A step of such a benchmark."""

    main_role: str
    """The role of the driver's connections that determines the step's rate."""
    counted: Counted
    unit: str
    maintenance: Maintenance = Maintenance.NONE
    makes_tables: bool = False
    """Whether later steps need the tables or indexes that this one creates."""
    rate: int | None = None
    """Rows per second that each client writes in the background; None if it writes none."""
    hold: Second = 0.0
    """The time that transactions are held open in the step's sequence; 0 for none."""

    @property
    def held(self) -> Second | None:
        """The time that transactions are held open during this step; None for no such transaction.

        Steps that create the tables have none: a load leaves no old row versions, and MySQL's
        CREATE INDEX waits for every transaction that has read the table.
        """
        return None if self.makes_tables or not self.hold else self.hold

    @property
    def plain_name(self) -> str:
        """The step's name without the hold of its sequence."""
        return split_hold(self.name)[0]

    def matches(self, pattern: str) -> bool:
        """Return whether a pattern matches the step's name, with or without its hold."""
        return super().matches(pattern) or fnmatchcase(self.plain_name, pattern)


@dataclass(frozen=True)
class StepWork:
    """The work of each client in one step of one experiment."""

    command: Mapping[str, object]
    """The work as a driver's command (driver/schema.json)."""
    inserted: int
    """Rows that the client inserts, if it keeps up."""
    deleted: int
    operations: int | None
    """Commits of its inserts, or indexes that it creates; None if the step ends by time."""


@dataclass(frozen=True)
class CountedWork:
    """The work of one client in a step for counting instructions in exact windows."""

    work: StepWork
    roles: tuple[str, ...]
    """The roles whose sessions are counted, each in its own windows."""
    window: int
    """Operations of a window: commits, queries, or all indexes of the step."""
    amount: int | None
    """Units of the step's rate in a window; None for the rows of the tables."""
    before: StepWork | None = None
    """Work to do first, not counted."""

    @property
    def whole(self) -> bool:
        """Whether the only window is the whole step."""
        return self.window == self.work.operations


@dataclass(frozen=True)
class Server:
    """The properties of a contender's server that determine the size of a workload."""

    bytes_per_row: int
    """Size of a row in its table and indexes."""
    buffer_pool_bytes: int | None
    """Size of the server's own page cache; None if it has none."""
    is_remote: bool = False
    """Whether Slowdust did not start it: its disk is unknown."""


class StepTable(Table):
    """The common keys of the tables of such benchmarks."""

    table: Literal["per-client", "shared"] = "per-client"
    partitions: Annotated[int, AsCount] = Field(default=0, ge=0, le=1000)
    """Partitions of each table, by ranges of the primary key; 0 for no partitions."""
    hold: Annotated[
        list[Hold], BeforeValidator(lambda value: value if isinstance(value, list) else [value])
    ] = Field(default=[0.0], min_length=1)
    """The times that a background transaction is held open before the next one begins. Each has its
    own sequence of all steps; 0 is the sequence without such a transaction."""
    statements: Literal["prepared", "text"] = "prepared"
    turns: Literal["chunks", "whole-steps"] = "chunks"
    """The part of a step that a contender runs before the next contender's turn."""

    @field_validator("partitions")
    @classmethod
    def _more_than_one(cls, value: int) -> int:
        if value == 1:
            raise ValueError("one partition has no effect: write 2 or more, or remove it")
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
            raise ValueError("write 0, or at least 1ms")
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
    """A benchmark of long steps, sized for the contenders of one experiment."""

    settings: StepTable
    incarnations: int
    """The default number of starts of the servers."""
    seconds: Second
    chunk: Second

    @abstractmethod
    def work(self, step: str, clients: int) -> StepWork:
        """Return the work of one client in a step, with this number of clients."""

    def counted_rows(self, levels: Sequence[int]) -> int | None:
        """Return the rows of the table for counting instructions.

        None, the default, for as many as are timed with these numbers of clients.
        """
        return None

    def counted(self, step: str, windows: int) -> CountedWork | None:
        """Return the work of a step for counting instructions, possibly with fewer rows.

        A step that ends after a number of operations has `windows` windows for each counted role.
        With None, the default, neither this step nor later ones are counted.
        """
        return None

    @abstractmethod
    def check_room(self, levels: Sequence[int], free_bytes: int) -> None:
        """Check that the data of contenders on this machine fit on the disk.

        Raises:
            UsageError: the message has the needed and the free space.
        """

    @abstractmethod
    def add_to(self, method: Method, levels: Sequence[int]) -> None:
        """Add the workload's facts to the manifest, for the numbers of clients."""


@dataclass(frozen=True)
class StepBenchmark(Benchmark, ABC):
    """A benchmark that is measured in long steps."""

    measuring: Measuring = Measuring.STEPS
    title: str = "the benchmark"
    """The name of the benchmark in sentences. The next three are texts of the page, too."""
    counted_briefly: str = ""
    """The meaning of its steps' rates; empty if the units are sufficient."""
    counted_by_step: str = ""
    about_steps: str = ""
    """A sentence under the heading of the summary."""

    @abstractmethod
    def workload(self, servers: Sequence[Server]) -> Workload:
        """Return the workload for these servers: all get the same number of rows."""

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
    """A role of the driver's connections; the defaults are for roles that write rows."""

    name: str
    unit: str | None
    statements: str
    """The statements of its response times."""
    counts: Literal["rows", "statements"] = "rows"
    """The work that its rate counts."""
    by_second: bool = True
    """Whether rates per second are meaningful; not for indexes, which take minutes."""
    paced: bool = False
    """Whether it is a background writer at the target rate of a step with queries."""


INSERTER = Role("insert", "inserts/s", "commits of inserts", paced=True)
DELETER = Role("delete", "deletes/s", "commits of deletes", paced=True)
_TABLE = (
    Role("query", None, "queries", "statements"),
    INSERTER,
    DELETER,
    Role("index", "indexed rows/s", "CREATE INDEX", by_second=False),
    Role("transaction", "transactions/s", "long transactions", "statements", by_second=False),
)
"""The roles in the order of reports."""


def in_order(names: Iterable[str]) -> list[Role]:
    """Return each role once, in the order of reports.

    Unknown roles come first and count as writers of rows.
    """
    present = {*names}
    known = [role for role in _TABLE if role.name in present]
    others = sorted(present.difference(role.name for role in known))
    return [*(Role(each, f"{each} rows/s", f"statements of {each}") for each in others), *known]
