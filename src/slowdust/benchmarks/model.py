"""What a benchmark is to the rest of Slowdust: named tests in order, groups, phases, suites.

The statements themselves are the driver's; a benchmark knows what a test is, not its SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from fnmatch import fnmatchcase

DEFAULT_SUITE = "default"
DEFAULT_CONFIG = "default"
"""What most benchmarks run contenders with that name no configuration."""
FEWEST_ROWS = 100
"""What every test's table has at least."""


class Group(StrEnum):
    """What a test exercises; the rows of the report's tl;dr."""

    POINT = "point"
    RANGE = "range"
    AGGREGATION = "range with aggregation"
    WRITE = "write"
    INDEX = "index creation"
    LOAD = "load and warm-up"


class Phase(StrEnum):
    """When a test runs: the data ages from one phase to the next."""

    PRE = "pre"
    WRITE = "write"
    AGED = "aged"
    LAST = "last"


class Headline(Enum):
    """What a benchmark's results are told in, beside the verdict on the rate."""

    RATE = "rate"
    RESPONSE_TIME = "response time"


class Measuring(Enum):
    """How a benchmark's tests are measured."""

    SLICES = "slices"
    """Short ones, contender by contender, as often as it takes."""
    STEPS = "steps"
    """Each once in every incarnation, from beginning to end."""


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
        """What the driver calls it: the id without `.pre`, the same operations on younger data."""
        return self.name.removesuffix(f".{Phase.PRE}")

    @property
    def writes(self) -> bool:
        """Whether it changes the data, so that contenders have to age alike."""
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

    def test(self, name: str) -> Test | None:
        """The test of that name, if there is one."""
        return next((test for test in self.tests if test.name == name), None)

    def suite(self, name: str) -> list[Test]:
        """A suite's tests in the order in which they run.

        Raises:
            ValueError: there is no such suite; says which there are.
        """
        if name not in self.suites:
            raise ValueError(f"unknown suite '{name}': there are {', '.join(self.suites)}")
        return self._in_order(self.suites[name])

    def matching(self, patterns: Iterable[str]) -> list[Test]:
        """The tests that match any of `patterns`, in the order in which they run.

        Tests on younger data are meant only by patterns that name `.pre`.

        Raises:
            ValueError: a pattern matches none.
        """
        chosen: set[str] = set()
        for pattern in patterns:
            matches = [test for test in self.tests if fnmatchcase(test.name, pattern)]
            if str(Phase.PRE) not in pattern:
                matches = [test for test in matches if test.name == test.driver_test]
            if not matches:
                raise ValueError(
                    f"no test is called '{pattern}' in {self.name}: see "
                    f"`slowdust tests --benchmark {self.name}` for their names"
                )
            chosen.update(test.name for test in matches)
        return self._in_order(chosen)

    def _in_order(self, names: Iterable[str]) -> list[Test]:
        wanted = set(names)
        return [test for test in self.tests if test.name in wanted]


def rows_of_range(name: str) -> int:
    """The rows that a test called `NAME.ROWS` reads at once; `FEWEST_ROWS` where it says none."""
    suffix = name.removesuffix(f".{Phase.PRE}").rpartition(".")[2]
    return int(suffix) if suffix.isdecimal() else FEWEST_ROWS
