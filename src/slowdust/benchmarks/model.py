"""The model of a benchmark: named tests in order, their groups and phases, suites.

Most benchmarks contain no SQL: the driver has the statements of their tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from fnmatch import fnmatchcase
from pathlib import Path

from slowdust.benchmarks.described import Described
from slowdust.benchmarks.options import Option, Table
from slowdust.places import named_path
from slowdust.sql import Dbms
from slowdust.units import Second
from slowdust.wording import nearest, no_such

DEFAULT_SUITE = "default"
DEFAULT_CONFIG = "default"
FEWEST_ROWS = 100


class Group(StrEnum):
    """The part of a server that a test exercises; reports summarize by group."""

    POINT = "point"
    RANGE = "range"
    AGGREGATION = "range with aggregation"
    WRITE = "write"
    CONNECTING = "connecting"
    PLANNING = "planning"
    NEAREST = "nearest neighbours"
    FILTERED = "nearest neighbours of some rows"
    INDEX = "index creation"
    LOAD = "load and warm-up"
    PRE = "before the writes"
    """Tests of imported runs that are repeated after writes have aged the data."""


class Phase(StrEnum):
    """The time of a test in an experiment: the data ages from one phase to the next."""

    PRE = "pre"
    WRITE = "write"
    AGED = "aged"
    LAST = "last"


class Headline(Enum):
    """The number that a report shows for a benchmark in addition to the verdict on the rate."""

    RATE = "rate"
    RESPONSE_TIME = "response time"


class Measuring(Enum):
    """How a benchmark's tests are measured."""

    SLICES = "slices"
    """Short slices of alternating contenders, repeated until the budget is used."""
    STEPS = "steps"
    """Long steps, each run once per start of the servers."""


@dataclass(frozen=True)
class Beside:
    """The background load of a test: other clients, which run in every second slice."""

    test: str
    clients: int | None
    """Number of its clients; None for as many as the test has."""
    rate: float | None
    """Operations per second of all its clients; None for a closed loop."""
    writes: bool
    paired: bool = False
    """Whether both slices of a pair begin with the same operation."""

    def clients_beside(self, clients: int) -> int:
        return clients if self.clients is None else self.clients


@dataclass(frozen=True)
class Test:
    """One test; `name` is unique in the benchmark."""

    benchmark: str
    name: str
    group: Group
    phase: Phase
    least_rows: int = FEWEST_ROWS
    """The fewest rows of a table for its ranges."""

    def lack(self, dbms: Dbms, engine: str | None) -> str | None:
        """Say why a DBMS lacks the test, as a clause; None if it has it."""
        return None

    @property
    def row_bytes(self) -> int | None:
        """Bytes of the values of the row that an operation reads or changes.

        None for tests whose data may fit into the servers' page caches.
        """
        return None

    @property
    def consumes(self) -> bool:
        """Whether each operation deletes rows, so that the test must stop when no row is left."""
        return False

    @property
    def beside(self) -> Beside | None:
        """The background load; the test runs alone in every second slice."""
        return None

    @property
    def hold(self) -> Second | None:
        """The time that a background transaction is held open before the next one begins."""
        return None

    @property
    def paired(self) -> bool:
        """Whether slices of a pair begin with the same operation, because operations differ."""
        return False

    @property
    def curve(self) -> str | None:
        """The curve of recall against effort that it belongs to; None if its answers are exact."""
        return None

    @property
    def effort(self) -> int | None:
        """The search effort, in the units of the curve."""
        return None

    @property
    def builds_index(self) -> str | None:
        """The kind of index that each operation builds and drops."""
        return None

    @property
    def most_clients(self) -> int | None:
        """The largest number of clients; None for no limit."""
        return None

    @property
    def countable(self) -> bool:
        """Whether its work can be counted: not if an operation takes minutes under valgrind."""
        return True

    @property
    def reconnects(self) -> bool:
        """Whether each operation has its own connection.

        Counts, profiles and waits follow a session over several operations and cannot observe it.
        """
        return False

    @property
    def encrypted(self) -> bool:
        """Whether its connections are encrypted, which some builds and URLs do not support."""
        return False

    @property
    def driver_test(self) -> str:
        """The test's name in the driver: without `.pre`, which only means younger data."""
        return self.name.removesuffix(f".{Phase.PRE}")

    def matches(self, pattern: str) -> bool:
        return fnmatchcase(self.name, pattern)

    @property
    def writes(self) -> bool:
        """Whether the test changes the data, so that contenders must age alike."""
        return self.group is Group.WRITE

    @property
    def changes_data(self) -> bool:
        """Whether the test or its background load changes the data."""
        return self.writes or (self.beside is not None and self.beside.writes)

    @property
    def tidied(self) -> bool:
        """Whether maintenance follows the test before the next one of the same start."""
        return False

    @property
    def beyond_pool(self) -> bool:
        """Whether its data are larger than the servers' page cache."""
        return self.row_bytes is not None


@dataclass(frozen=True)
class Candidate:
    """The known facts of a contender before its server starts."""

    dbms: Dbms
    version: str | None = None
    """The version that its server prints or, if it was not run yet, the version in its build's
    name; None if neither is known."""
    root: Path | None = None
    """The directory of its binaries; None for a running server, or if it is not fetched yet."""
    engine: str | None = None
    """The storage engine of its tables; None if the DBMS has only one."""


@dataclass(frozen=True)
class Benchmark:
    """A set of tests, in the order of execution."""

    name: str
    tests: tuple[Test, ...]
    suites: Mapping[str, tuple[str, ...]]
    """Name -> tests; one is `DEFAULT_SUITE`."""
    headline: Headline = Headline.RATE
    measuring: Measuring = Measuring.SLICES
    config: str = DEFAULT_CONFIG
    driver_benchmark: str = "sbtest"
    """The driver's benchmark with its tables and steps."""
    table: str = "sbtest"
    """The prefix of its tables' names, before their numbers."""
    most_clients: int | None = None
    """The largest number of clients of its tests; None for no limit."""
    connections: int = 1
    """The most connections that each client holds at the same time."""
    options_type: type[Table] | None = None
    """The benchmark's own table of the experiment file, named like the benchmark."""
    options: tuple[Option, ...] = ()
    """Options of `slowdust compare` that set keys of that table."""
    unused_keys: Mapping[str, str] = field(default_factory=dict)
    """Keys of the experiment file that do not apply to it -> why."""
    incarnations_of_a_load: int = 2
    """Starts of the servers per load, if tables do not change. The layout of rows is random, so
    tables are loaded again."""
    most_rows: int | None = None
    """The most rows of a table; None for no limit."""

    @property
    def option(self) -> str:
        """The option of `slowdust tests` that selects it."""
        return f"--benchmark {self.name}"

    def has(self, option: Option) -> bool:
        return any(own.name == option.name for own in self.options)

    def configured(self, table: Table) -> Benchmark:
        """Return the benchmark with the settings of its table."""
        return self

    def with_files_in(self, folder: Path, table: Mapping[str, object]) -> dict[str, object]:
        """Return its own table with relative paths of files resolved in a folder.

        `table` is as the user wrote it, not validated yet.
        """
        files = {option.parameter for option in self.options if option.metavar == "FILE"}
        return {
            key: str(folder / named_path(value))
            if key in files and isinstance(value, str)
            else value
            for key, value in table.items()
        }

    def usual_rows(self, table: object) -> int | None:
        """Return the default number of rows; None for the common default.

        `table` is the benchmark's own table as the user wrote it, not validated yet.
        """
        return None

    def suits(self, dbms: Dbms) -> bool:
        """Return whether it supports a DBMS."""
        return True

    def refusal(self, server: Candidate) -> str | None:
        """Say why a server cannot run the benchmark; None if it can."""
        suits = self.suits(server.dbms)
        return None if suits else f"it does not support {server.dbms.name}"

    def choosing(self, tests: Sequence[Test]) -> Benchmark:
        """Return the benchmark with the tables of these tests only."""
        return self

    def further_tables(self) -> Mapping[str, Test]:
        """Return the tables in addition to the numbered ones: name -> its test.

        A contender that lacks the test does not have the table.
        """
        return {}

    def described(self, rows: int, tables: int, seed: int) -> Described | None:
        """Return the tables and tests as data; None if the driver has them built in.

        `rows`, `tables` and `seed` are the experiment's.
        """
        return None

    def loaded(self, rows: int) -> str | None:
        """Describe the loaded data; None if the numbers of tables and rows describe it."""
        return None

    def sequence(self, tests: Sequence[Test], levels: Sequence[int]) -> list[tuple[Test, int]]:
        """Return each test at each number of clients, in the order of one start."""
        return [
            (test, clients)
            for test in tests
            for clients in levels
            if test.most_clients is None or clients <= test.most_clients
        ]

    def test(self, name: str) -> Test | None:
        """Return the test with this name, if any."""
        return next((test for test in self.tests if test.name == name), None)

    def suite(self, name: str) -> list[Test]:
        """Return a suite's tests in the order of execution.

        Raises ValueError for an unknown suite; the message lists the known ones.
        """
        if name not in self.suites:
            raise ValueError(no_such("suite", name, tuple(self.suites)))
        return self._in_order(self.suites[name])

    def matching(self, patterns: Iterable[str]) -> list[Test]:
        """Return the tests that match any of `patterns`, in the order of execution.

        Only patterns that contain `.pre` match tests on younger data. Raises ValueError for a
        pattern without a match.
        """
        chosen: set[str] = set()
        for pattern in patterns:
            matches = [test for test in self.tests if test.matches(pattern)]
            if str(Phase.PRE) not in pattern:
                matches = [test for test in matches if not test.name.endswith(f".{Phase.PRE}")]
            if not matches:
                guess = nearest(pattern, [test.name for test in self.tests])
                hint = f"did you mean {guess}? " if guess else ""
                raise ValueError(
                    f"{self.name} has no test '{pattern}': {hint}"
                    f"`slowdust tests {self.option}` lists them"
                )
            chosen.update(test.name for test in matches)
        return self._in_order(chosen)

    def _in_order(self, names: Iterable[str]) -> list[Test]:
        wanted = set(names)
        return [test for test in self.tests if test.name in wanted]


def leaves_rows(group: str) -> bool:
    """Return whether tests of a group do not change rows; False for unknown groups."""
    return group in {each.value for each in Group} and group != Group.WRITE.value


def rows_of_range(name: str) -> int:
    """Return the rows that a test `NAME.ROWS` reads at once; `FEWEST_ROWS` without a suffix."""
    suffix = name.removesuffix(f".{Phase.PRE}").rpartition(".")[2]
    return int(suffix) if suffix.isdecimal() else FEWEST_ROWS
