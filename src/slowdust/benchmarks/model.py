"""The model of a benchmark: named tests in order, their groups and phases, suites.

The statements themselves are the driver's; a benchmark knows what a test is, not its SQL.
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
    """The part of a server that a test exercises; a row of the report's tl;dr."""

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
    """Tests of imported runs that come again once the writes have aged the data."""


class Phase(StrEnum):
    """The time at which a test runs: the data ages from one phase to the next."""

    PRE = "pre"
    WRITE = "write"
    AGED = "aged"
    LAST = "last"


class Headline(Enum):
    """The number that a report shows of a benchmark beside the verdict on the rate."""

    RATE = "rate"
    RESPONSE_TIME = "response time"


class Measuring(Enum):
    """The way in which a benchmark's tests are measured."""

    SLICES = "slices"
    """Short slices, contender by contender, as often as it takes."""
    STEPS = "steps"
    """Long steps, each run once in every incarnation, from beginning to end."""


@dataclass(frozen=True)
class Beside:
    """The work of other clients that runs beside a test, in every other of its slices."""

    test: str
    clients: int | None
    """Number of its clients; None: as many as the test has."""
    rate: float | None
    """Operations per second of all of them; None: a closed loop."""
    writes: bool
    paired: bool = False
    """Whether its slices of a pair begin with the same operation, too."""

    def clients_beside(self, clients: int) -> int:
        return clients if self.clients is None else self.clients


@dataclass(frozen=True)
class Test:
    """One test; `name` is its id within the benchmark."""

    benchmark: str
    name: str
    group: Group
    phase: Phase
    least_rows: int = FEWEST_ROWS
    """Rows of a table below which its ranges do not fit."""

    def lack(self, dbms: Dbms, engine: str | None) -> str | None:
        """Say why a DBMS has no such test, as the beginning of a sentence; None where it has it."""
        return None

    @property
    def row_bytes(self) -> int | None:
        """Bytes of the values of the row that an operation reads or changes.

        None of a test whose data the servers' page caches may hold.
        """
        return None

    @property
    def consumes(self) -> bool:
        """Whether each operation uses up a row, so that it has to end when none is left."""
        return False

    @property
    def beside(self) -> Beside | None:
        """The work beside it; in the slices between the test runs alone."""
        return None

    @property
    def hold(self) -> Second | None:
        """The time for which a transaction is held open beside it before it is begun anew."""
        return None

    @property
    def paired(self) -> bool:
        """Whether operations are so unlike that slices of a pair begin with the same one."""
        return False

    @property
    def curve(self) -> str | None:
        """The tests beside which it shows more recall for more effort.

        None where answers are exact.
        """
        return None

    @property
    def effort(self) -> int | None:
        """How hard it searches, in the units of its curve."""
        return None

    @property
    def builds_index(self) -> str | None:
        """The kind of index that each operation builds and drops."""
        return None

    @property
    def most_clients(self) -> int | None:
        """The most clients that it has; None: any number."""
        return None

    @property
    def countable(self) -> bool:
        """Whether its work can be counted: not where an operation takes minutes under valgrind."""
        return True

    @property
    def reconnects(self) -> bool:
        """Whether each operation has a connection of its own.

        What follows a session from one operation to the next cannot observe it: counts, profiles,
        waits.
        """
        return False

    @property
    def encrypted(self) -> bool:
        """Whether its connections are encrypted, which not every build or URL is for."""
        return False

    @property
    def driver_test(self) -> str:
        """The test's name in the driver: without `.pre`, since only the data are younger."""
        return self.name.removesuffix(f".{Phase.PRE}")

    def matches(self, pattern: str) -> bool:
        return fnmatchcase(self.name, pattern)

    @property
    def writes(self) -> bool:
        """Whether the test changes the data, so that contenders have to age alike."""
        return self.group is Group.WRITE

    @property
    def changes_data(self) -> bool:
        """Whether the test, or what runs beside it, changes the data."""
        return self.writes or (self.beside is not None and self.beside.writes)

    @property
    def tidied(self) -> bool:
        """Whether maintenance follows the test before the next one of the same incarnation."""
        return False

    @property
    def beyond_pool(self) -> bool:
        """Whether the test is one of data beyond the servers' page cache."""
        return self.row_bytes is not None


@dataclass(frozen=True)
class Candidate:
    """What is known of a contender before its server has been started."""

    dbms: Dbms
    version: str | None = None
    """The version that its server prints, before it has been asked that of its build's name; None
    where neither is known."""
    root: Path | None = None
    """The directory of its binaries; None for a server that runs already, or is not there yet."""
    engine: str | None = None
    """The storage engine of its tables; None where the DBMS has only one."""


@dataclass(frozen=True)
class Benchmark:
    """Tests that belong together; `tests` is the order in which they run."""

    name: str
    tests: tuple[Test, ...]
    suites: Mapping[str, tuple[str, ...]]
    """Name -> tests; one is called `DEFAULT_SUITE`."""
    headline: Headline = Headline.RATE
    measuring: Measuring = Measuring.SLICES
    config: str = DEFAULT_CONFIG
    driver_benchmark: str = "sbtest"
    """The driver's benchmark that has its tables, and its steps."""
    table: str = "sbtest"
    """The name of its tables, before their numbers."""
    most_clients: int | None = None
    """The most clients that its tests have; None: any number."""
    connections: int = 1
    """Connections that each client holds at once, at most."""
    options_type: type[Table] | None = None
    """The benchmark's own table of the experiment file, which is called like the benchmark."""
    options: tuple[Option, ...] = ()
    """Options of `slowdust compare` that set keys of that table."""
    unused_keys: Mapping[str, str] = field(default_factory=dict)
    """Keys of the experiment file that mean nothing to it -> why."""
    incarnations_of_a_load: int = 2
    """Incarnations that unchanged tables serve: where rows lie is chance, which is drawn again."""
    most_rows: int | None = None
    """Rows that a table can have; None where there is no limit."""

    @property
    def option(self) -> str:
        """The option of `slowdust tests` that means it."""
        return f"--benchmark {self.name}"

    def has(self, option: Option) -> bool:
        return any(own.name == option.name for own in self.options)

    def configured(self, table: Table) -> Benchmark:
        """Return the benchmark as its own table of an experiment file describes it."""
        return self

    def with_files_in(self, folder: Path, table: Mapping[str, object]) -> dict[str, object]:
        """Return its own table with the paths of files from a folder on, unless they are absolute.

        `table` is as it was written, and not checked yet.
        """
        files = {option.parameter for option in self.options if option.metavar == "FILE"}
        return {
            key: str(folder / named_path(value))
            if key in files and isinstance(value, str)
            else value
            for key, value in table.items()
        }

    def usual_rows(self, table: object) -> int | None:
        """Return the rows where none are given; None for as many as most benchmarks have.

        `table` is the benchmark's own table as it was written, and not checked yet.
        """
        return None

    def suits(self, dbms: Dbms) -> bool:
        """Return whether its statements are written for a DBMS."""
        return True

    def refusal(self, server: Candidate) -> str | None:
        """Say why a server cannot run the benchmark, in few words; None where it can."""
        suits = self.suits(server.dbms)
        return None if suits else f"it is not written for {server.dbms.name}"

    def choosing(self, tests: Sequence[Test]) -> Benchmark:
        """Return the benchmark without what only other tests need."""
        return self

    def further_tables(self) -> Mapping[str, Test]:
        """Return the tables that are loaded beside the numbered ones: name -> the test of each.

        A contender that lacks the test has no such table.
        """
        return {}

    def described(self, rows: int, tables: int, seed: int) -> Described | None:
        """Return the tables and tests where the driver does not know them; None where it does.

        `rows`, `tables` and `seed` are those of the experiment.
        """
        return None

    def loaded(self, rows: int) -> str | None:
        """Return what is loaded, in words; None where the numbers of tables and rows say it."""
        return None

    def sequence(self, tests: Sequence[Test], levels: Sequence[int]) -> list[tuple[Test, int]]:
        """Return each test at each number of clients, in the order of one incarnation."""
        return [
            (test, clients)
            for test in tests
            for clients in levels
            if test.most_clients is None or clients <= test.most_clients
        ]

    def test(self, name: str) -> Test | None:
        """Return the test of that name; None where there is none."""
        return next((test for test in self.tests if test.name == name), None)

    def suite(self, name: str) -> list[Test]:
        """Return a suite's tests in the order in which they run.

        Raises ValueError if there is no such suite; says which there are.
        """
        if name not in self.suites:
            raise ValueError(no_such("suite", name, tuple(self.suites)))
        return self._in_order(self.suites[name])

    def matching(self, patterns: Iterable[str]) -> list[Test]:
        """Return the tests that match any of `patterns`, in the order in which they run.

        Only patterns that name `.pre` mean tests on younger data. Raises ValueError if a pattern
        matches none.
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
                    f"no test is called '{pattern}' in {self.name}: {hint}"
                    f"`slowdust tests {self.option}` lists them"
                )
            chosen.update(test.name for test in matches)
        return self._in_order(chosen)

    def _in_order(self, names: Iterable[str]) -> list[Test]:
        wanted = set(names)
        return [test for test in self.tests if test.name in wanted]


def leaves_rows(group: str) -> bool:
    """Return whether tests of a group leave the rows as they are; one of an unknown may not."""
    return group in {each.value for each in Group} and group != Group.WRITE.value


def rows_of_range(name: str) -> int:
    """Return the rows that a test called `NAME.ROWS` reads at once; `FEWEST_ROWS` by default."""
    suffix = name.removesuffix(f".{Phase.PRE}").rpartition(".")[2]
    return int(suffix) if suffix.isdecimal() else FEWEST_ROWS
