"""The words and the rows of the mixed load, which Markdown and the page share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.analysis.model import BesideResult, FrontierPoint, Report, Result
from slowdust.wording import counted

INTRODUCTION = (
    "Relative: the rate of the test with the work beside it / without it, in slices next to each "
    "other on the same contender, with the 95% interval. Freshness: the start of the last query "
    "of an operation less the commit of the first transaction that it does not see; 0 where it "
    "sees all."
)
FRONTIER = (
    "Rates of both sides on each contender, by the clients of each. Points were measured at "
    "different moments: contenders can be compared at one point, points of a contender only as far "
    "as the machine was as fast."
)


@dataclass(frozen=True)
class BesideRow:
    """A test with others beside it, on one contender."""

    result: Result
    beside: BesideResult

    @property
    def work(self) -> str:
        """The work beside it: 'transactions, 2 clients, at 100/s'."""
        beside = self.beside
        at_rate = "" if beside.rate is None else f", at {beside.rate:g}/s"
        return f"{beside.test}, {counted(beside.clients, 'client')}{at_rate}"


def rows_of(report: Report) -> list[BesideRow]:
    return [
        BesideRow(result, result.beside) for result in report.results if result.beside is not None
    ]


def envelope(points: Sequence[FrontierPoint], contender: str) -> list[FrontierPoint]:
    own = [point for point in points if point.contender == contender and point.on_frontier]
    return sorted(own, key=lambda point: (point.transactions_per_s, -point.queries_per_s))
