"""The mixed load in Markdown: each side relative to running alone, and the frontier."""

from __future__ import annotations

from textwrap import wrap

from slowdust.analysis.model import FrontierPoint, Report
from slowdust.ratios import interval, ratio
from slowdust.report.beside import FRONTIER, INTRODUCTION, BesideRow, rows_of
from slowdust.report.markdown.table import ABSENT, or_absent, rate, table

_WIDTH = 100
"""Characters of a line of sentences."""
_HEADER = [
    *("test", "clients", "contender", "with", "alone/s", "beside/s", "relative"),
    *("beside it/s", "p50 us", "p95 us", "errors", "fresh p50 us", "fresh max us", "stale"),
]


def mixed_load(report: Report) -> list[str]:
    """Return a table of the tests beside which others were at work."""
    rows = rows_of(report)
    if not rows:
        return []
    introduction = wrap(INTRODUCTION, _WIDTH)
    return [
        "## Mixed load",
        "",
        *introduction,
        "",
        *table(_HEADER, [_row(row) for row in rows], left=4),
    ]


def _row(row: BesideRow) -> list[str]:
    result, beside = row.result, row.beside
    relative = ABSENT
    if beside.relative is not None:
        relative = f"{ratio(beside.relative)}{interval(beside.low, beside.high)}"
    stale = ABSENT
    if beside.freshness_queries is not None:
        stale = f"{beside.stale_queries or 0:,} of {beside.freshness_queries:,}"
    return [
        result.test,
        str(result.clients),
        result.contender,
        row.work,
        or_absent(beside.alone_qps, rate),
        rate(result.qps),
        relative,
        rate(beside.qps),
        or_absent(beside.p50_us, rate),
        or_absent(beside.p95_us, rate),
        f"{beside.errors:,}",
        or_absent(beside.freshness_p50_us, rate),
        or_absent(beside.freshness_max_us, rate),
        stale,
    ]


def frontier(report: Report) -> list[str]:
    """Return a table of the frontier's points."""
    if not report.frontier:
        return []
    header = ["contender", "clients", "transactions/s", "queries/s", "fresh max us", "frontier"]
    rows = [_point(point) for point in report.frontier]
    return ["## Frontier", "", *wrap(FRONTIER, _WIDTH), "", *table(header, rows, left=2)]


def _point(point: FrontierPoint) -> list[str]:
    return [
        point.contender,
        f"t{point.transaction_clients} q{point.query_clients}",
        rate(point.transactions_per_s),
        rate(point.queries_per_s),
        or_absent(point.freshness_max_us, rate),
        "yes" if point.on_frontier else "",
    ]
