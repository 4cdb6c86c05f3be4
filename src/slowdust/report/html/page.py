"""The content of a page: its rows, failures, metrics and marks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from slowdust.analysis.metrics import (
    COMPARED,
    ESSENTIAL,
    Metric,
    Percentile,
    shown_metrics,
)
from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.latency import shown_times
from slowdust.analysis.results.results import by_step
from slowdust.analysis.story.bands import has_no_interval
from slowdust.analysis.work import WORK_MARGIN, has_work
from slowdust.benchmarks import measured_in_steps
from slowdust.benchmarks.steps import StepBenchmark
from slowdust.report.answer import other_warnings
from slowdust.report.charts.curves import as_json
from slowdust.report.charts.marks import Mark, marks_of
from slowdust.report.document import Code, Section, text
from slowdust.report.html import cells
from slowdust.report.html.blocks import Look, drawn
from slowdust.report.report import opening
from slowdust.report.sections.measured import sla_failure
from slowdust.report.sections.reading import step_benchmarks
from slowdust.stats.blocks import Step
from slowdust.units import known
from slowdust.wording import (
    LONGEST_UNBROKEN,
    listing,
    matrix_labels,
    matrix_points,
)

LONG_STEPS = "steps"


@dataclass(frozen=True)
class Row:
    """One step across all contenders; `cells` follow the columns of the table."""

    step: Step
    label: str
    """The test, and the number of clients where it is not the usual one: `point-query c8`."""
    anchor: str
    group: str
    order: int
    base: Result | None
    cells: tuple[Result | None, ...]
    long: bool

    @property
    def results(self) -> list[Result]:
        return [result for result in (self.base, *self.cells) if result is not None]

    @property
    def verdicts(self) -> list[str]:
        return sorted({cell.verdict for cell in self.cells if cell is not None and cell.verdict})

    @property
    def open(self) -> bool:
        """Whether its section starts unfolded: where something got slower or went wrong."""
        return "slower" in self.verdicts or any(
            result.errors or sla_failure(result.writers) for result in self.results
        )


@dataclass(frozen=True)
class TableGroup:
    """Rows under one heading of the results table."""

    name: str
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        return self.name[:1].upper() + self.name[1:]


def rows_of(report: Report) -> list[Row]:
    """Return rows grouped by benchmark and group, both in their order of appearance.

    Long steps depend on earlier steps, so they are one group in their order.
    """
    others = [name for name in report.contenders if name != report.base]
    steps = by_step(report.results)
    usual = usual_clients(steps)
    taken: set[str] = set()
    rows = [
        Row(
            step=step,
            label=step.test if step.clients == usual else f"{step.test} c{step.clients}",
            anchor=_anchor(step, taken),
            group=LONG_STEPS if long else next(iter(results.values())).group,
            order=order,
            base=results.get(report.base),
            cells=tuple(results.get(name) for name in others),
            long=long,
        )
        for order, (step, results) in enumerate(steps.items())
        for long in (measured_in_steps(step.benchmark),)
    ]
    places: dict[tuple[str, str], int] = {}
    for row in rows:
        places.setdefault((row.step.benchmark, row.group), len(places))
    return sorted(rows, key=lambda row: places[row.step.benchmark, row.group])


def usual_clients(steps: Collection[Step]) -> int | None:
    """Return the number of clients of most tests; None where a test has several numbers."""
    if len({(step.benchmark, step.test) for step in steps}) < len(steps):
        return None
    usual = Counter(step.clients for step in steps).most_common(1)
    return usual[0][0] if usual else None


def table_groups(rows: Sequence[Row]) -> tuple[TableGroup, ...]:
    several = len({row.step.benchmark for row in rows}) > 1
    return tuple(
        TableGroup(f"{benchmark}: {group}" if several else group, tuple(members))
        for (benchmark, group), members in groupby(
            rows, lambda row: (row.step.benchmark, row.group)
        )
    )


def _anchor(step: Step, taken: set[str]) -> str:
    """Return an `id` for a step's section that is not taken yet: `test-point-query-c1`."""
    plain = re.sub(r"[^a-z0-9.]+", "-", step.test.lower()).strip("-")
    anchor = wanted = f"test-{plain}-c{step.clients}"
    copies = 1
    while anchor in taken:
        copies += 1
        anchor = f"{wanted}-{copies}"
    taken.add(anchor)
    return anchor


OFFERED = ("server_cpu_us", "p50_us", "p99_us", "read_kb", "write_kb")
"""The keys of the metrics that can be chosen, after work."""

Shown = tuple[str, str, str]
"""A ratio, its interval and its verdict: less, more, same or unsure."""


class SwitchedMetric(NamedTuple):
    """A metric with a comparison in some row."""

    key: str
    label: str
    cells: Mapping[str, tuple[Shown | None, ...]]
    """Anchor of a row -> its cells; None where the metric was not compared."""


def switched_metrics(rows: Sequence[Row]) -> tuple[SwitchedMetric, ...]:
    """Return the metrics with a ratio in any row, work first."""
    known = {metric.key: metric for metric in COMPARED}
    metrics = [SwitchedMetric("work", "work", {row.anchor: _works(row) for row in rows})]
    for metric in (known[key] for key in OFFERED):
        label = metric.field if isinstance(metric, Percentile) else metric.label
        shown = {row.anchor: _comparisons(row, metric.key) for row in rows}
        metrics.append(SwitchedMetric(metric.key, label, shown))
    return tuple(metric for metric in metrics if any(map(any, metric.cells.values())))


def _works(row: Row) -> tuple[Shown | None, ...]:
    works = (None if cell is None else cell.work for cell in row.cells)
    return tuple(
        None
        if work is None or work.ratio is None
        else (
            str(cells.work_ratio(work.ratio.value)),
            str(cells.work_interval(work)),
            work.verdict or "",
        )
        for work in works
    )


def _comparisons(row: Row, key: str) -> tuple[Shown | None, ...]:
    all_compared = (None if cell is None else cell.compared.get(key) for cell in row.cells)
    return tuple(
        None
        if each is None
        else (str(cells.ratio(each.value)), str(cells.interval(each)), each.verdict or "")
        for each in all_compared
    )


MOST_IN_ONE_FOREST = 4
"""The number of contenders beyond which each gets a forest plot of its own."""

MOST_IN_OVERVIEW = 10
"""The most tests that are columns of a table whose rows are contenders."""

MOST_CELLS = 200
"""The number of results beyond which details are drawn when they are unfolded."""


@dataclass(frozen=True)
class Page:
    """A page: its report, and the arrangement of it that templates share."""

    report: Report
    rows: tuple[Row, ...]
    marks: Mapping[str, Mark]
    names: Mapping[str, str]
    """Contender -> its name, without what a matrix leaves the same for all."""
    short_names: Mapping[str, str]
    """Contender -> its name where there is little room."""

    @cached_property
    def others(self) -> tuple[str, ...]:
        return tuple(name for name in self.report.contenders if name != self.report.base)

    @cached_property
    def compared(self) -> tuple[str, ...]:
        """The contenders that have a relative rate in any test."""
        rated = {result.contender for result in self.report.results if result.ratio is not None}
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
    def look(self) -> Look:
        """The marks and names of contenders in tables."""
        names = {}
        for name, head in self.heads.items():
            shown = cells.contender_name(head)
            whole = Markup('<span title="{}">{}</span>').format(name, shown)
            names[name] = shown if head == self.names[name] else whole
        marks = {name: mark.css_class for name, mark in self.marks.items()}
        anchors = {(row.step.test, row.step.clients): row.anchor for row in self.rows}
        return Look(marks, names, self.report.base, anchors=anchors)

    @cached_property
    def axes(self) -> Mapping[str, Mapping[str, str]]:
        """Axis of a matrix -> contender, the base first -> its value; empty without a matrix."""
        points = matrix_points((self.report.base, *self.others))
        axes = points[self.report.base] if points else {}
        return {axis: {name: point[axis] for name, point in points.items()} for axis in axes}

    @cached_property
    def groups(self) -> tuple[TableGroup, ...]:
        return table_groups(self.rows)

    @cached_property
    def failed_in(self) -> Mapping[str, Mapping[str, int]]:
        """Anchor of a row -> contender -> the number of starts with a failed step."""
        failed = self.report.failed_steps
        return {
            row.anchor: dict(
                Counter(
                    each.contender
                    for each in failed
                    if row.long and (each.test, each.clients) == (row.step.test, row.step.clients)
                )
            )
            for row in self.rows
        }

    @cached_property
    def has_many_cells(self) -> bool:
        """Whether details are drawn only when they are expanded, because there are many."""
        return len(self.rows) * len(self.report.contenders) > MOST_CELLS

    @cached_property
    def switched(self) -> tuple[SwitchedMetric, ...]:
        return switched_metrics(self.rows)

    @property
    def switched_cells(self) -> Markup:
        """The cells of each such metric by its key, fit to stand in a script element."""
        return as_json({metric.key: metric.cells for metric in self.switched})

    @cached_property
    def metrics(self) -> list[Metric]:
        """The metrics of hardware in the table that stands for the details without scripts."""
        results = [result.per_op for row in self.rows for result in row.results]
        shown = shown_metrics(results, ESSENTIAL if self.report.repeated else ())
        return [metric for metric in shown if metric.key in OFFERED]

    @cached_property
    def latencies(self) -> tuple[str, ...]:
        return shown_times(self.report, [r for row in self.rows for r in row.results])

    @cached_property
    def several_clients(self) -> bool:
        return len({row.step.clients for row in self.rows}) > 1

    @cached_property
    def usual_clients(self) -> int | None:
        """The number of clients of the tests that do not say theirs."""
        return usual_clients([row.step for row in self.rows])

    @cached_property
    def single_runs(self) -> bool:
        """Whether no comparison has an interval."""
        return has_no_interval(self.report.results)

    @cached_property
    def step_benchmarks(self) -> list[StepBenchmark]:
        """The benchmarks of its long steps."""
        return step_benchmarks(self.report)

    @property
    def long(self) -> bool:
        """Whether any result is of a long step."""
        return bool(self.step_benchmarks)

    @property
    def origin(self) -> str:
        """The sentence about imported runs in the head; empty for measured ones."""
        if self.report.repeated:
            return ""
        titles = {benchmark.name: benchmark.title for benchmark in self.step_benchmarks}
        named = [titles.get(name, name) for name in self.report.benchmarks]
        return f"Archived runs of {listing(named)}, one of each contender"

    @property
    def rate_heading(self) -> str:
        """The unit of the base's column; 'rate' where each row has its own."""
        return "operations/s" if self.report.repeated and not self.long else "rate"

    @property
    def heading_of_intervals(self) -> str:
        return "Relative rates" if self.single_runs else "Intervals"

    @cached_property
    def has_response_times(self) -> bool:
        return any(result.response_time for result in self.report.results)

    @cached_property
    def has_work(self) -> bool:
        return has_work(self.report.results)

    @property
    def work_margin(self) -> float:
        """The largest change of instructions per operation that counts as the same work."""
        return WORK_MARGIN

    @cached_property
    def opening(self) -> Markup:
        """The answer, the notes, the summary, failed contenders and the warnings, as HTML."""
        warnings = other_warnings(self.report)
        failed = [
            Section(f"{info.name} failed", [Code(info.failed.splitlines())])
            for info in self.report.contender_info
            if info.failed
        ]
        listed = Section("Warnings", [text(*warnings, role="note")]) if warnings else None
        return drawn(known([*opening(self.report), *failed, listed]), self.look)

    @cached_property
    def overview(self) -> tuple[Row, ...]:
        """The columns of a table of contenders by tests, for more contenders than tests."""
        many = len(self.others) > MOST_IN_ONE_FOREST
        return self.rows if many and len(self.rows) <= MOST_IN_OVERVIEW else ()


def page_of(report: Report) -> Page:
    rows = rows_of(report)
    return Page(
        report=report,
        rows=tuple(rows),
        marks=marks_of(report.contenders, report.base),
        names=matrix_labels(report.contenders) or {name: name for name in report.contenders},
        short_names=report.short_names,
    )
