"""The published rate of a test: queries/s, and for scan thousands of rows/s, of two kinds.

Until mid 2025 a scan's rate was of all threads, afterwards of one thread on one table. The unit
goes with the number, and rates in different units are never compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from slowdust.formats.sysbench.output import Output

SCAN = "scan"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = "|".join(_MONTHS)
_MONTH_AND_YEAR = re.compile(rf"(?:^|[^a-z])(?:({_MONTH})(\d\d)|(\d\d)({_MONTH}))(?:[^a-z0-9]|$)")
_FIRST_OF_ONE_THREAD = (2025, 7)
"""Year and month, between verified eras, from which scan's rate is assumed of one thread."""


class Unit(Enum):
    """The unit of a published rate."""

    QUERIES = "queries/s"
    ROWS = "rows/s"
    THOUSAND_ROWS = "thousand rows/s"
    THOUSAND_ROWS_OF_ONE_THREAD = "thousand rows/s of one thread"
    UNKNOWN = "unknown units"
    """The unit of a rate of scan that neither of the two rules gives: these round to integers."""


_RELATIVE = "relative to "


def relative_to(run: str) -> str:
    """Return the unit of rates that are only known relative to those of `run`."""
    return f"{_RELATIVE}{run}"


def is_relative(unit: str) -> bool:
    """Return whether a unit is that of relative rates."""
    return unit.startswith(_RELATIVE)


def doubted(unit: str) -> str:
    """Return the unit of a rate that cannot be in `unit`, as was assumed."""
    return f"{unit}, {Unit.UNKNOWN.value}" if is_relative(unit) else Unit.UNKNOWN.value


class ScanRule(Enum):
    """The formula of a rate of scan."""

    ALL_THREADS = "all threads"
    ONE_THREAD = "one thread"

    @property
    def unit(self) -> Unit:
        """The unit of the rates that it makes."""
        return (
            Unit.THOUSAND_ROWS if self is ScanRule.ALL_THREADS else Unit.THOUSAND_ROWS_OF_ONE_THREAD
        )


def unit_of(test: str, rate: str, scan: ScanRule) -> Unit:
    """Return the unit of a published rate of a test, which is a `FileName.test`."""
    if test != SCAN:
        return Unit.QUERIES
    return scan.unit if float(rate).is_integer() else Unit.UNKNOWN


@dataclass(frozen=True)
class Rate:
    """A rate as it was published: the text is the divisor of later formulas."""

    text: str
    unit: Unit

    @property
    def value(self) -> float:
        """The number, in `unit`."""
        return float(self.text)

    @property
    def whole(self) -> str:
        """The rate as tables have it: an integer, unless its unit is not known."""
        return self.text if self.unit is Unit.UNKNOWN else f"{self.value:.0f}"


def published_rate(test: str, output: Output, scan: ScanRule) -> Rate | None:
    """Return the divisor of the published numbers per operation; None if it is not known."""
    if test != SCAN:
        return Rate(output.queries, Unit.QUERIES)
    if output.table_size is None:
        return None
    if scan is ScanRule.ALL_THREADS:
        thousands = output.table_size * float(output.queries) / 1000
        return Rate(f"{thousands:.0f}", scan.unit)
    if output.average_ms is None or float(output.average_ms) == 0:
        return None
    thousands = (output.table_size / 1000) / (float(output.average_ms) / 1000)
    return Rate(f"{thousands:.0f}", scan.unit)


def clean_scan_rate(output: Output) -> float | None:
    """Return thousands of rows/s by all threads, whatever was published; None if unknown.

    A scan takes long: its queries per second, of two decimals, are known to 0.1% only. Their
    number and the time elapsed are exact.
    """
    if output.table_size is None:
        return None
    exact = output.count / output.elapsed if output.elapsed else float(output.queries)
    return output.table_size * exact / 1000


def rule_that_reproduces(scans: Iterable[tuple[Output, str]]) -> ScanRule | None:
    """Return the rule by which most published rates of scans come out of sysbench's output.

    One may have been edited. None where neither rule gives more than the other.
    """
    reproduced = dict.fromkeys(ScanRule, 0)
    for output, published in scans:
        for rule in ScanRule:
            rate = published_rate(SCAN, output, rule)
            reproduced[rule] += rate is not None and rate.text == published
    most = max(reproduced.values())
    best = [rule for rule, count in reproduced.items() if count == most]
    return best[0] if len(best) == 1 else None


def rule_of_day(day: str) -> ScanRule:
    """Return the rule of the time of a day (ISO 8601)."""
    return _rule_of(int(day[:4]), int(day[5:7]))


def rule_in_name(name: str) -> ScanRule | None:
    """Return the rule of the month in a name: `mar25.pg.workmem`, `25apr.c48`; None without one."""
    if match := _MONTH_AND_YEAR.search(name.lower()):
        month, year = match[1] or match[4], match[2] or match[3]
        return _rule_of(2000 + int(year), _MONTHS.index(month) + 1)
    return None


def _rule_of(year: int, month: int) -> ScanRule:
    return ScanRule.ONE_THREAD if (year, month) >= _FIRST_OF_ONE_THREAD else ScanRule.ALL_THREADS
