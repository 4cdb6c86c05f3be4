"""What the page shows, arranged: rows of the results table, one section per test, contenders.

Pure arrangement of a `Report` and its slices; templates print it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.model import ContenderInfo, Report
from slowdust.analysis.results.contenders import unknown_settings
from slowdust.analysis.story.bands import has_no_interval, untold
from slowdust.analysis.story.group_changes import GroupChanges
from slowdust.analysis.summary import Summary, summary_tables
from slowdust.report.html.charts.forest import ForestGroup, ForestPoint, ForestRow, forest
from slowdust.report.html.charts.marks import Looks, Mark, marks_of
from slowdust.report.html.concurrency import ConcurrencyView, concurrency_views
from slowdust.report.html.rows import Row, TableGroup, rows_of, table_groups, usual_clients
from slowdust.report.html.sections import Section, sections_of
from slowdust.report.html.steps.failures import Failure, failed_contenders, failures_of
from slowdust.report.html.steps.sla import sla_failure
from slowdust.report.tldr import Passage, passages
from slowdust.store.slice import Slice
from slowdust.wording import LONGEST_UNBROKEN, matrix_labels, short_names

MOST_IN_ONE_FOREST = 4
"""With more contenders than this, each gets a forest plot of its own."""

MOST_IN_OVERVIEW = 10
"""Tests that are columns beside each other, where the contenders are lines."""

HOST_FACTS_IN_LINE = 4


@dataclass(frozen=True)
class Tally:
    """How many steps ended with each verdict, for one contender."""

    contender: str
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Forest:
    """A forest plot, and the contender it is of where each has its own."""

    contender: str | None
    chart: Markup


@dataclass(frozen=True)
class Page:
    """The whole page."""

    report: Report
    others: tuple[str, ...]
    compared: tuple[str, ...]
    """Those of the others that have a relative rate somewhere."""
    marks: Mapping[str, Mark]
    groups: tuple[TableGroup, ...]
    overview: tuple[Row, ...]
    """Columns of a table with a line for each contender: empty with few of them or many tests."""
    sections: tuple[Section, ...]
    tldr: tuple[Passage, ...]
    group_changes: tuple[GroupChanges, ...]
    """Empty where they are the tl;dr already."""
    forests: tuple[Forest, ...]
    tallies: tuple[Tally, ...]
    failed: tuple[ContenderInfo, ...]
    several_clients: bool
    usual_clients: int | None
    """Of the tests that do not say theirs."""
    single_runs: bool
    """Whether no comparison has an interval."""
    counted: bool
    """Whether hardware counters are shown."""
    concurrency: tuple[ConcurrencyView, ...]
    response_times: bool
    """Whether any result is told in response times."""
    summaries: tuple[Summary, ...]
    """Of long steps: the classic tables, by number of clients."""
    failures: tuple[Failure, ...]
    failed_in: Mapping[str, Mapping[str, int]]
    """Anchor of a row -> contender -> incarnations in which it did not finish the step."""
    rate_heading: str
    """Unit of the base's column; 'rate' where each row has its own."""
    short: Mapping[str, str]
    """Contender -> its name where there is little room."""
    shown: Mapping[str, str]
    """Contender -> its name, without what a matrix leaves the same for all."""
    heads: Mapping[str, str]
    """Contender -> its name at the head of a column: the short one where one would be too long."""
    particulars: Mapping[str, Mapping[str, str | None]]
    """Engine, environment and allocator, those that any contender has: title -> by contender."""
    host_line: str
    differing_settings: tuple[str, ...]
    all_settings: tuple[str, ...]
    unknown_settings: tuple[str, ...]
    """Sentences: which version does not know which optional settings."""

    def column(self, items: Iterable[object], field: str) -> bool:
        """Whether a table of `items` has a column for a field of theirs.

        What was not measured is seen to be missing; but archives lack so much that only what
        some of them have is shown.
        """
        return self.report.imported is None or any(getattr(one, field) is not None for one in items)

    def row_of(self, test: str, clients: int) -> Row:
        """The row of a long step, which has a result."""
        return next(
            section.row
            for section in self.sections
            if section.row.long
            and (section.row.step.test, section.row.step.clients) == (test, clients)
        )

    def anchor_of(self, test: str, clients: int) -> str:
        """Of the section of a long step."""
        return self.row_of(test, clients).anchor

    def sla_failure_of(self, test: str, clients: int, contender: str) -> str:
        """Of a long step: 'SLA failed: 612 of 1,000 inserts/s'."""
        results = self.row_of(test, clients).results
        return next(sla_failure(one.writers) for one in results if one.contender == contender)


def page_of(report: Report, slices: Sequence[Slice]) -> Page:
    """The page of `report`, its charts drawn from `slices`."""
    rows = rows_of(report)
    marks = marks_of(report.contenders, report.base)
    groups = table_groups(rows)
    others = tuple(name for name in report.contenders if name != report.base)
    shown = matrix_labels(report.contenders) or {name: name for name in report.contenders}
    short = short_names(report.contenders)
    failures = failures_of(report.failed_steps, rows)
    rated = {one.contender for one in report.results if one.rqps is not None}
    return Page(
        report=report,
        others=others,
        compared=tuple(name for name in others if name in rated),
        marks=marks,
        groups=groups,
        overview=_overview(rows, others),
        sections=sections_of(report, rows, slices, Looks(marks, shown), failures),
        tldr=tuple(passages(report)),
        group_changes=tuple(untold(report)),
        forests=_forests(report, groups, others, marks),
        tallies=tuple(_tally(name, rows) for name in others),
        failed=tuple(info for info in report.contender_info if info.failed),
        usual_clients=usual_clients([row.step for row in rows]),
        several_clients=len({row.step.clients for row in rows}) > 1,
        single_runs=has_no_interval(report.results),
        counted=any(one.counters_relative for one in report.results),
        concurrency=concurrency_views(report, rows, marks),
        response_times=any(one.response_time for one in report.results),
        summaries=tuple(summary_tables(report)),
        failures=failures,
        failed_in={row.anchor: failed_contenders(failures, row) for row in rows},
        rate_heading=(
            "rate" if report.imported or any(row.long for row in rows) else "operations/s"
        ),
        short=short,
        shown=shown,
        heads=short if max(map(len, shown.values())) > LONGEST_UNBROKEN else shown,
        particulars=_particulars(report.contender_info),
        host_line=_host_line(report.host),
        differing_settings=_names(info.differing for info in report.contender_info),
        all_settings=_names(info.settings for info in report.contender_info),
        unknown_settings=tuple(unknown_settings(report.contender_info)),
    )


def _host_line(host: Mapping[str, str]) -> str:
    told = [f"{value} CPUs" if label == "CPUs" else value for label, value in host.items()]
    return " · ".join(told[:HOST_FACTS_IN_LINE])


def _particulars(infos: Sequence[ContenderInfo]) -> dict[str, dict[str, str | None]]:
    named: dict[str, dict[str, str | None]] = {
        "Engine": {info.name: info.engine for info in infos},
        "Environment": {info.name: ", ".join(info.environment) or None for info in infos},
        "Allocator": {info.name: info.allocator for info in infos},
    }
    return {title: values for title, values in named.items() if any(values.values())}


def _names(settings: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """Names of settings, each once, sorted."""
    return tuple(sorted({name for some in settings for name in some}))


def _overview(rows: Sequence[Row], others: Sequence[str]) -> tuple[Row, ...]:
    """Contenders by tests: the view of a matrix, whose contenders are more than its tests."""
    many = len(others) > MOST_IN_ONE_FOREST
    return tuple(rows) if many and len(rows) <= MOST_IN_OVERVIEW else ()


def _tally(contender: str, rows: Sequence[Row]) -> Tally:
    verdicts = [
        cell.verdict
        for row in rows
        for cell in row.cells
        if cell is not None and cell.contender == contender and cell.verdict
    ]
    order = ("slower", "faster", "same", "unsure")
    return Tally(contender, {word: verdicts.count(word) for word in order if word in verdicts})


def _forests(
    report: Report,
    groups: Sequence[TableGroup],
    others: Sequence[str],
    marks: Mapping[str, Mark],
) -> tuple[Forest, ...]:
    together = len(others) <= MOST_IN_ONE_FOREST
    panels: list[tuple[str | None, Sequence[str]]] = (
        [(None, others)] if together else [(name, [name]) for name in others]
    )
    drawn = []
    for contender, names in panels:
        title = f"Rate of {contender or 'each contender'} relative to {report.base}, by test"
        rows = [
            ForestGroup(group.title, tuple(_forest_rows(group, names, marks))) for group in groups
        ]
        chart = forest([group for group in rows if group.rows], report.margin, title)
        if chart:
            drawn.append(Forest(contender, chart))
    return tuple(drawn)


def _forest_rows(
    group: TableGroup, names: Sequence[str], marks: Mapping[str, Mark]
) -> list[ForestRow]:
    rows = []
    for row in group.rows:
        points = tuple(
            ForestPoint(
                cell.contender,
                marks[cell.contender],
                cell.rqps,
                cell.low,
                cell.high,
                cell.verdict or "not judged",
            )
            for cell in row.cells
            if cell is not None and cell.rqps and cell.contender in names
        )
        if points:
            rows.append(ForestRow(row.label, row.anchor, points))
    return rows
