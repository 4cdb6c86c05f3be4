"""The microbenchmarks (METHOD.md, section 3): names, groups, order and suites.

The statements themselves are the driver's; this module knows what a test is, not its SQL.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

BENCHMARK = "micro"


class Group(StrEnum):
    """What a test exercises; the rows of the report's tl;dr."""

    POINT = "point"
    RANGE = "range"
    AGGREGATION = "range with aggregation"
    WRITE = "write"


class Phase(StrEnum):
    """When a test runs: the data ages from one phase to the next."""

    PRE = "pre"
    WRITE = "write"
    AGED = "aged"
    LAST = "last"


@dataclass(frozen=True)
class Test:
    """One microbenchmark: `name` is its id, `driver_test` what the driver calls it."""

    name: str
    group: Group
    phase: Phase

    @property
    def driver_test(self) -> str:
        """The id without `.pre`: the same operations on younger data."""
        return self.name.removesuffix(".pre")

    @property
    def least_rows(self) -> int:
        """Rows of a table below which its ranges do not fit."""
        suffix = self.driver_test.rpartition(".")[2]
        if suffix.isdecimal():
            return int(suffix)
        return 1000 if self.driver_test.startswith("read-only-") else 100

    @property
    def consumes(self) -> bool:
        """Whether each operation uses up a row, so that it has to end when none is left."""
        return self.driver_test == "delete"

    @property
    def writes(self) -> bool:
        """Whether it changes the data, so that contenders have to age alike."""
        return self.group is Group.WRITE


_READS: tuple[tuple[str, Group], ...] = (
    ("point-query", Group.POINT),
    ("random-points.10", Group.POINT),
    ("random-points.100", Group.POINT),
    ("random-points.1000", Group.POINT),
    ("hot-points", Group.POINT),
    ("points-covered-pk", Group.POINT),
    ("points-covered-si", Group.POINT),
    ("points-notcovered-pk", Group.POINT),
    ("points-notcovered-si", Group.POINT),
    ("range-covered-pk", Group.RANGE),
    ("range-covered-si", Group.RANGE),
    ("range-notcovered-pk", Group.RANGE),
    ("range-notcovered-si", Group.RANGE),
    ("read-only.10", Group.AGGREGATION),
    ("read-only.100", Group.AGGREGATION),
    ("read-only.10000", Group.AGGREGATION),
    ("read-only-simple", Group.AGGREGATION),
    ("read-only-sum", Group.AGGREGATION),
    ("read-only-order", Group.AGGREGATION),
    ("read-only-distinct", Group.AGGREGATION),
    ("read-only-count", Group.AGGREGATION),
)
_WRITES = (
    "update-inlist",
    "update-index",
    "update-nonindex",
    "update-one",
    "update-zipf",
    "write-only",
    "read-write.10",
    "read-write.100",
)

TESTS: tuple[Test, ...] = (
    *(Test(f"{name}.pre", group, Phase.PRE) for name, group in _READS),
    *(Test(name, Group.WRITE, Phase.WRITE) for name in _WRITES),
    Test("scan", Group.RANGE, Phase.AGED),
    *(Test(name, group, Phase.AGED) for name, group in _READS),
    Test("delete", Group.WRITE, Phase.LAST),
    Test("insert", Group.WRITE, Phase.LAST),
)
"""All tests in the order in which they run."""

BY_NAME = {test.name: test for test in TESTS}

SUITES: dict[str, tuple[str, ...]] = {
    "full": tuple(test.name for test in TESTS),
    "default": tuple(test.name for test in TESTS if test.phase is not Phase.PRE),
    "quick": (
        "update-index",
        "write-only",
        "point-query",
        "random-points.100",
        "range-covered-pk",
        "range-notcovered-si",
        "read-only.100",
        "insert",
    ),
}


def in_order(names: Iterable[str]) -> list[str]:
    """The given tests in the order in which they run."""
    wanted = set(names)
    return [test.name for test in TESTS if test.name in wanted]
