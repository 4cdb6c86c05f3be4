"""The model of a benchmark: named tests in order, their groups and phases, suites.

The statements themselves are the driver's; a benchmark knows what a test is, not its SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from fnmatch import fnmatchcase

from slowdust.benchmarks.options import Option, Table
from slowdust.wording import nearest, no_such

DEFAULT_SUITE = "default"
DEFAULT_CONFIG = "default"
"""The configuration of most benchmarks for contenders that name none."""
FEWEST_ROWS = 100
"""The least rows that a test's table has."""


class Group(StrEnum):
    """The part of a server that a test exercises; a row of the report's tl;dr."""

    POINT = "point"
    RANGE = "range"
    AGGREGATION = "range with aggregation"
    WRITE = "write"
    INDEX = "index creation"
    LOAD = "load and warm-up"
    PRE = "before the writes"
    """Tests of archived runs that come again once the writes have aged the data."""


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
class Test:
    """One test; `name` is its id within the benchmark."""

    benchmark: str
    name: str
    group: Group
    phase: Phase
    least_rows: int = FEWEST_ROWS
    """Rows of a table below which its ranges do not fit."""
    consumes: bool = False
    """Whether each operation uses up a row, so that it has to end when none is left."""

    @property
    def driver_test(self) -> str:
        """The test's name in the driver: without `.pre`, since only the data are younger."""
        return self.name.removesuffix(f".{Phase.PRE}")

    def matches(self, pattern: str) -> bool:
        """Return whether a pattern of names means this test."""
        return fnmatchcase(self.name, pattern)

    @property
    def writes(self) -> bool:
        """Whether the test changes the data, so that contenders have to age alike."""
        return self.group is Group.WRITE


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
    """The configuration of contenders that name none."""
    driver_benchmark: str = "sbtest"
    """The driver's benchmark that has its tables, and its steps."""
    table: str = "sbtest"
    """The name of its tables, before their numbers."""
    connections: int = 1
    """Connections that each client holds at once, at most."""
    options_type: type[Table] | None = None
    """The benchmark's own table of the experiment file, which is called like the benchmark."""
    options: tuple[Option, ...] = ()
    """Options of `slowdust compare` that set keys of that table."""
    unused_keys: Mapping[str, str] = field(default_factory=dict)
    """Keys of the experiment file that mean nothing to it -> why."""
    guide: str = ""
    """The paragraphs about it in the help of `slowdust compare`, in click's markup."""

    def configured(self, table: Table) -> Benchmark:
        """Return the benchmark as its own table of an experiment file describes it."""
        del table
        return self

    def sequence(self, tests: Sequence[Test], levels: Sequence[int]) -> list[tuple[Test, int]]:
        """Return each test at each number of clients, in the order of one incarnation."""
        return [(test, clients) for test in tests for clients in levels]

    def test(self, name: str) -> Test | None:
        """Return the test of that name; None where there is none."""
        return next((test for test in self.tests if test.name == name), None)

    def suite(self, name: str) -> list[Test]:
        """Return a suite's tests in the order in which they run.

        Raises:
            ValueError: there is no such suite; says which there are.
        """
        if name not in self.suites:
            raise ValueError(no_such("suite", name, tuple(self.suites)))
        return self._in_order(self.suites[name])

    def matching(self, patterns: Iterable[str]) -> list[Test]:
        """Return the tests that match any of `patterns`, in the order in which they run.

        Only patterns that name `.pre` mean tests on younger data.

        Raises:
            ValueError: a pattern matches none.
        """
        chosen: set[str] = set()
        for pattern in patterns:
            matches = [test for test in self.tests if test.matches(pattern)]
            if str(Phase.PRE) not in pattern:
                matches = [test for test in matches if test.name == test.driver_test]
            if not matches:
                guess = nearest(pattern, [test.name for test in self.tests])
                hint = f"did you mean {guess}? " if guess else ""
                raise ValueError(
                    f"no test is called '{pattern}' in {self.name}: {hint}"
                    f"`slowdust tests --benchmark {self.name}` lists them"
                )
            chosen.update(test.name for test in matches)
        return self._in_order(chosen)

    def _in_order(self, names: Iterable[str]) -> list[Test]:
        wanted = set(names)
        return [test for test in self.tests if test.name in wanted]


def rows_of_range(name: str) -> int:
    """Return the rows that a test called `NAME.ROWS` reads at once; `FEWEST_ROWS` by default."""
    suffix = name.removesuffix(f".{Phase.PRE}").rpartition(".")[2]
    return int(suffix) if suffix.isdecimal() else FEWEST_ROWS
