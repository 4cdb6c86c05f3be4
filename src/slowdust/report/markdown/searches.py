"""Searches as Markdown: recall beside QPS, contenders at equal recall, and the indexes."""

from __future__ import annotations

from slowdust.analysis.model import AtRecall, IndexResult, Report, SearchComparison
from slowdust.ratios import interval, ratio
from slowdust.report.markdown.table import ABSENT, or_absent, pale, rate, table
from slowdust.wording import clients

_ABOUT = (
    "QPS of one effort are of other answers where contenders find other shares. At equal recall",
    "they are interpolated between the efforts, and compared where all starts of the servers reach",
    "it.",
)


def searches(report: Report) -> list[str]:
    """Return each curve as a table of efforts and one of contenders at equal recall."""
    if not report.searches:
        return []
    lines = ["## Recall and QPS", "", *_ABOUT]
    for comparison in report.searches:
        level = clients(comparison.clients)
        lines += ["", f"### {comparison.curve}, {level}", "", *_efforts(comparison), ""]
        lines += _at_equal_recall(comparison)
    return lines


def indexes(report: Report) -> list[str]:
    """Return the time to build each index, and its size."""
    if not report.indexes:
        return []
    header = ["index", "contender", "build s", "relative", "verdict", "MB", "relative"]
    return ["## Indexes", "", *table(header, [_index(each) for each in report.indexes], left=2)]


def _efforts(comparison: SearchComparison) -> list[str]:
    points = {
        (curve.contender, point.test): point
        for curve in comparison.contenders
        for point in curve.points
    }
    tests = dict.fromkeys(point.test for curve in comparison.contenders for point in curve.points)
    names = [curve.contender for curve in comparison.contenders]
    header = ["test", *(f"{what} of {name}" for name in names for what in ("recall", "QPS"))]
    rows = []
    for test in tests:
        row = [test]
        for name in names:
            point = points.get((name, test))
            row += [ABSENT] * 2 if point is None else [f"{point.recall:.3f}", rate(point.qps)]
        rows.append(row)
    return table(header, rows, left=1)


def _at_equal_recall(comparison: SearchComparison) -> list[str]:
    rows = [
        [
            f"{at.recall:.2f}",
            curve.contender,
            f"{at.reached} of {at.starts}" if at.starts is not None else ABSENT,
            or_absent(at.qps, rate),
            _ratio(at),
            _verdict(at),
        ]
        for place in range(len(comparison.contenders[0].at))
        for curve in comparison.contenders
        for at in [curve.at[place]]
    ]
    header = ["recall", "contender", "starts that reach it", "QPS", "rqps", "verdict"]
    return table(header, rows, left=2)


def _ratio(at: AtRecall) -> str:
    if at.rqps is None:
        return ABSENT
    cell = ratio(at.rqps) + interval(at.low, at.high)
    return pale(cell) if at.verdict == "unsure" else cell


def _verdict(at: AtRecall) -> str:
    return at.verdict or at.reason or ""


def _index(result: IndexResult) -> list[str]:
    relative = or_absent(result.relative, ratio)
    if result.relative is not None:
        relative += interval(result.low, result.high)
    return [
        result.index,
        result.contender,
        or_absent(result.build_s, "{:.3g}".format),
        pale(relative) if result.verdict == "unsure" else relative,
        result.verdict or "",
        or_absent(None if result.bytes is None else result.bytes / 1e6, "{:.1f}".format),
        or_absent(result.bytes_relative, ratio),
    ]
