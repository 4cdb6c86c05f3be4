"""What the rate of a test is: queries/s, and for scan thousands of rows/s, of which there are two.

Until mid 2025 a scan's rate was of all threads, afterwards of one thread on one table. The unit
goes with the number, and rates in different units are never compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from slowdust.archive.sysbench import Output

SCAN = "scan"


class Unit(Enum):
    """What a published rate counts."""

    QUERIES = "queries/s"
    THOUSAND_ROWS = "thousand rows/s"
    THOUSAND_ROWS_OF_ONE_THREAD = "thousand rows/s of one thread"


class ScanRule(Enum):
    """How the rate of scan was made."""

    ALL_THREADS = "all threads"
    ONE_THREAD = "one thread"


@dataclass(frozen=True)
class Rate:
    """As it was published: the text is what later formulas divide by."""

    text: str
    unit: Unit

    @property
    def value(self) -> float:
        """In `unit`."""
        return float(self.text)


def published_rate(test: str, output: Output, scan: ScanRule) -> Rate | None:
    """The rate by which the published numbers per operation were divided; None if it cannot be."""
    if test != SCAN:
        return Rate(output.queries, Unit.QUERIES)
    if output.table_size is None:
        return None
    if scan is ScanRule.ALL_THREADS:
        thousands = output.table_size * float(output.queries) / 1000
        return Rate(f"{thousands:.0f}", Unit.THOUSAND_ROWS)
    if output.average_ms is None or float(output.average_ms) == 0:
        return None
    thousands = (output.table_size / 1000) / (float(output.average_ms) / 1000)
    return Rate(f"{thousands:.0f}", Unit.THOUSAND_ROWS_OF_ONE_THREAD)


def rows_per_second(output: Output) -> float | None:
    """Rows/s of a scan by all threads, from counts that were not rounded; None if unknown."""
    if output.table_size is None:
        return None
    return output.table_size * float(output.queries)
