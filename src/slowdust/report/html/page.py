"""The names, marks and rows that the head and the sections of the page share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from slowdust.analysis.comparison.verdict import DIFFERENT
from slowdust.analysis.metrics import PERCENTILES, Metric, shown_metrics
from slowdust.analysis.model import Amount, Report, Verdict
from slowdust.analysis.story.bands import has_no_interval
from slowdust.analysis.work import WORK_MARGIN, has_work
from slowdust.report.absent import Runs, runs_of
from slowdust.report.answer import Line, lines
from slowdust.report.html.charts.marks import Mark, marks_of
from slowdust.report.html.failures import Failure, failed_contenders, failures_of
from slowdust.report.html.metric_switch import OFFERED, MetricSwitch, metric_switch
from slowdust.report.html.numbers import percent
from slowdust.report.html.rows import Row, TableGroup, rows_of, table_groups, usual_clients
from slowdust.report.tldr import Passage, beginning, passages
from slowdust.wording import (
    LONGEST_UNBROKEN,
    beyond_margin,
    listing,
    matrix_labels,
    matrix_points,
    short_names,
)

MOST_IN_ONE_FOREST = 4
"""The number of contenders beyond which each gets a forest plot of its own."""

MOST_IN_OVERVIEW = 10
"""The number of tests that are columns beside each other, where the contenders are rows."""

MOST_CELLS = 200
"""The number of results beyond which details are drawn when they are unfolded."""

HOST_FACTS_IN_LINE = 4

_VERDICTS: tuple[Verdict, ...] = ("slower", "faster", "same", "unsure")
_AMOUNTS: tuple[Amount, ...] = ("more", "less", "same", "unsure")


@dataclass(frozen=True)
class Page:
    """A page: its report, and the arrangement of it that templates share."""

    report: Report
    runs: Runs
    rows: tuple[Row, ...]
    marks: Mapping[str, Mark]
    names: Mapping[str, str]
    """Contender -> its name, without what a matrix leaves the same for all."""
    short_names: Mapping[str, str]
    """Contender -> its name where there is little room."""
    failures: tuple[Failure, ...]

    @cached_property
    def others(self) -> tuple[str, ...]:
        """The contenders beside the base."""
        return tuple(name for name in self.report.contenders if name != self.report.base)

    @cached_property
    def compared(self) -> tuple[str, ...]:
        """The contenders beside the base that have a relative rate somewhere."""
        rated = {
            result.contender for result in self.report.results if result.judged_rqps is not None
        }
        return tuple(name for name in self.others if name in rated)

    @cached_property
    def heads(self) -> Mapping[str, str]:
        """Contender -> its name at the head of a column: the short one where one is too long."""
        return (
            self.short_names
            if max(map(len, self.names.values())) > LONGEST_UNBROKEN
            else self.names
        )

    @cached_property
    def axes(self) -> Mapping[str, Mapping[str, str]]:
        """Axis of a matrix -> contender, the base first -> its value; empty without a matrix."""
        points = matrix_points((self.report.base, *self.others))
        axes = points[self.report.base] if points else {}
        return {axis: {name: point[axis] for name, point in points.items()} for axis in axes}

    @cached_property
    def groups(self) -> tuple[TableGroup, ...]:
        """The rows under the headings of the results table."""
        return table_groups(self.rows)

    @cached_property
    def failed_in(self) -> Mapping[str, Mapping[str, int]]:
        """Anchor of a row -> contender -> incarnations in which it did not finish the step."""
        return {row.anchor: failed_contenders(self.failures, row) for row in self.rows}

    @cached_property
    def has_many_cells(self) -> bool:
        """Whether details are drawn when they are unfolded, since the page would be slow."""
        return len(self.rows) * len(self.report.contenders) > MOST_CELLS

    @cached_property
    def switch(self) -> MetricSwitch:
        """The metrics that the results table can show in place of the rate."""
        return metric_switch(self.rows)

    @cached_property
    def metrics(self) -> list[Metric]:
        """The metrics of hardware in the table that stands for the details without scripts."""
        per_op = [result.per_op for row in self.rows for result in row.results]
        shown = shown_metrics(per_op, self.runs.essential_metrics)
        return [metric for metric in shown if metric.key in OFFERED]

    @cached_property
    def latencies(self) -> tuple[str, ...]:
        """The percentiles of response times that any result has."""
        return self.runs.columns_of_latency([r for row in self.rows for r in row.results])

    @cached_property
    def several_clients(self) -> bool:
        """Whether there are several numbers of clients."""
        return len({row.step.clients for row in self.rows}) > 1

    @cached_property
    def usual_clients(self) -> int | None:
        """The number of clients of the tests that do not say theirs."""
        return usual_clients([row.step for row in self.rows])

    @cached_property
    def single_runs(self) -> bool:
        """Whether no comparison has an interval."""
        return has_no_interval(self.report.results)

    @property
    def heading_of_intervals(self) -> str:
        """The heading of the forest plots."""
        return "Relative rates" if self.single_runs else "Intervals"

    @cached_property
    def has_response_times(self) -> bool:
        """Whether any result is given in response times."""
        return any(result.response_time for result in self.report.results)

    @cached_property
    def has_work(self) -> bool:
        """Whether the work of any result was counted."""
        return has_work(self.report.results)

    @property
    def work_margin(self) -> float:
        """The largest change of instructions per operation that counts as the same work."""
        return WORK_MARGIN

    @cached_property
    def has_counters(self) -> bool:
        """Whether hardware counters are shown."""
        return any(result.counters_relative for result in self.report.results)

    @cached_property
    def percentile_margins(self) -> str:
        """The margins of the percentiles: '10% for p50, p75 and p95, 25% for p99'."""
        fields: dict[float, list[str]] = {}
        for percentile in PERCENTILES:
            fields.setdefault(percentile.margin, []).append(percentile.field)
        return ", ".join(f"{percent(margin)} for {listing(f)}" for margin, f in fields.items())

    @property
    def answer(self) -> list[Line]:
        """The lines of the answer."""
        return lines(self.report)

    @property
    def beginning(self) -> list[str]:
        """The sentences of the tl;dr that come before the notes."""
        return beginning(self.report)

    @property
    def tldr(self) -> list[Passage]:
        """The tl;dr behind its beginning."""
        return passages(self.report)

    @cached_property
    def overview(self) -> tuple[Row, ...]:
        """The columns of a table of contenders by tests, for more contenders than tests."""
        many = len(self.others) > MOST_IN_ONE_FOREST
        return self.rows if many and len(self.rows) <= MOST_IN_OVERVIEW else ()

    @cached_property
    def tallies(self) -> Mapping[str, Mapping[str, int]]:
        """Contender -> verdict -> the number of steps that ended with it."""
        cells = [cell for row in self.rows for cell in row.cells if cell is not None]
        verdicts = {
            name: Counter(cell.verdict for cell in cells if cell.contender == name)
            for name in self.others
        }
        return {
            name: {word: counts[word] for word in _VERDICTS if word in counts}
            for name, counts in verdicts.items()
        }

    @cached_property
    def work_tallies(self) -> Mapping[str, Mapping[Amount, int]]:
        """Contender -> verdict on work -> the number of steps that ended with it."""
        verdicts = {
            name: Counter(
                result.work.verdict
                for result in self.report.results
                if result.contender == name and result.work is not None
            )
            for name in self.others
        }
        return {
            name: {amount: counts[amount] for amount in _AMOUNTS if counts[amount]}
            for name, counts in verdicts.items()
        }

    @cached_property
    def sizes(self) -> Mapping[str, Mapping[str, str]]:
        """Contender -> faster or slower -> how many are so beyond the margin, in words."""
        margin = self.report.margin
        sizes: dict[str, dict[str, str]] = {name: {} for name in self.others}
        for name in self.others:
            for verdict in DIFFERENT:
                changed = [
                    result
                    for result in self.report.results
                    if result.contender == name and result.verdict == verdict
                ]
                if changed:
                    beyond = sum(result.lies_beyond(margin) for result in changed)
                    sizes[name][verdict] = beyond_margin(beyond, len(changed), margin)
        return sizes

    @cached_property
    def host_line(self) -> str:
        """The first facts about the host."""
        facts = [
            f"{value} CPUs" if label == "CPUs" else value
            for label, value in self.report.host.items()
        ]
        return " · ".join(facts[:HOST_FACTS_IN_LINE])


def page_of(report: Report) -> Page:
    """Return the page of a report."""
    rows = rows_of(report)
    return Page(
        report=report,
        runs=runs_of(report),
        rows=tuple(rows),
        marks=marks_of(report.contenders, report.base),
        names=matrix_labels(report.contenders) or {name: name for name in report.contenders},
        short_names=short_names(report.contenders),
        failures=failures_of(report.failed_steps, rows),
    )
