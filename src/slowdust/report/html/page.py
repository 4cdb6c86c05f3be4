"""What the page shows, arranged: rows of the results table, one section per test, contenders.

Pure arrangement of a `Report` and its slices; templates print it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from slowdust.analysis.model import ContenderInfo, PlanDifference, Report, Result
from slowdust.benchmarks import micro
from slowdust.report.html.blocks_chart import Compared, layout, rate_chart, ratio_chart
from slowdust.report.html.forest import ForestGroup, ForestPoint, ForestRow, forest
from slowdust.report.html.marks import Mark, marks_of
from slowdust.report.html.metrics import Metric, columns_for
from slowdust.report.html.numbers import TimeUnit, time_unit
from slowdust.report.html.seconds_chart import seconds_chart
from slowdust.store.records import Schedule, Slice

MOST_IN_ONE_FOREST = 4
"""With more contenders than this, each gets a forest plot of its own."""

HOST_FACTS_IN_LINE = 4


@dataclass(frozen=True, order=True)
class Step:
    """A test at one number of clients."""

    benchmark: str
    test: str
    clients: int


@dataclass(frozen=True)
class Row:
    """One step across all contenders; `cells` follow the columns of the table."""

    step: Step
    anchor: str
    group: str
    order: int
    base: Result | None
    cells: tuple[Result | None, ...]

    @property
    def results(self) -> list[Result]:
        """Whatever was measured, the base first."""
        return [one for one in (self.base, *self.cells) if one is not None]

    @property
    def verdicts(self) -> list[str]:
        """Verdicts of the contenders, each once."""
        return sorted({one.verdict for one in self.cells if one is not None and one.verdict})

    @property
    def open(self) -> bool:
        """Whether its section starts unfolded: where something got slower or went wrong."""
        return "slower" in self.verdicts or any(one.errors for one in self.results)


@dataclass(frozen=True)
class OpenLoop:
    """How a contender kept the schedule of an open-loop run, over all its slices."""

    contender: str
    rate: float
    arrivals: str
    operations: int
    late_operations: int
    mean_lag_us: float
    max_lag_us: float


@dataclass(frozen=True)
class Section:
    """Everything about one step."""

    row: Row
    latency_unit: TimeUnit
    metrics: tuple[Metric, ...]
    rate_chart: Markup
    ratio_chart: Markup
    seconds_chart: Markup
    open_loop: tuple[OpenLoop, ...]
    plans: tuple[PlanDifference, ...]


@dataclass(frozen=True)
class TableGroup:
    """Rows under one heading of the results table."""

    name: str
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        """The name as a heading."""
        return self.name[:1].upper() + self.name[1:]


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
    marks: Mapping[str, Mark]
    groups: tuple[TableGroup, ...]
    sections: tuple[Section, ...]
    forests: tuple[Forest, ...]
    tallies: tuple[Tally, ...]
    failed: tuple[ContenderInfo, ...]
    several_clients: bool
    host_line: str
    differing_settings: tuple[str, ...]
    all_settings: tuple[str, ...]


def page_of(report: Report, slices: Sequence[Slice]) -> Page:
    """The page of `report`, its charts drawn from `slices`."""
    rows = _rows(report)
    marks = marks_of(report.contenders, report.base)
    several_clients = len({row.step.clients for row in rows}) > 1
    groups = _table_groups(rows)
    others = tuple(name for name in report.contenders if name != report.base)
    return Page(
        report=report,
        others=others,
        marks=marks,
        groups=groups,
        sections=_sections(report, rows, slices, marks),
        forests=_forests(report, groups, others, marks, several_clients),
        tallies=tuple(_tally(name, rows) for name in others),
        failed=tuple(info for info in report.contender_info if info.failed),
        several_clients=several_clients,
        host_line=" · ".join(list(report.host.values())[:HOST_FACTS_IN_LINE]),
        differing_settings=_names(info.differing for info in report.contender_info),
        all_settings=_names(info.settings for info in report.contender_info),
    )


def _names(settings: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """Names of settings, each once, sorted."""
    return tuple(sorted({name for some in settings for name in some}))


def _rows(report: Report) -> list[Row]:
    """Rows grouped by benchmark and group, both in the order in which they first appear."""
    others = [name for name in report.contenders if name != report.base]
    by_step: dict[Step, dict[str, Result]] = {}
    for result in report.results:
        step = Step(result.benchmark, result.test, result.clients)
        by_step.setdefault(step, {})[result.contender] = result
    taken: set[str] = set()
    rows = [
        Row(
            step=step,
            anchor=_anchor(step, taken),
            group=next(iter(results.values())).group,
            order=order,
            base=results.get(report.base),
            cells=tuple(results.get(name) for name in others),
        )
        for order, (step, results) in enumerate(by_step.items())
    ]
    places: dict[tuple[str, str], int] = {}
    for row in rows:
        places.setdefault((row.step.benchmark, row.group), len(places))
    return sorted(rows, key=lambda row: places[row.step.benchmark, row.group])


def _table_groups(rows: Sequence[Row]) -> tuple[TableGroup, ...]:
    several = len({row.step.benchmark for row in rows}) > 1
    return tuple(
        TableGroup(f"{benchmark}: {group}" if several else group, tuple(members))
        for (benchmark, group), members in groupby(
            rows, lambda row: (row.step.benchmark, row.group)
        )
    )


def _anchor(step: Step, taken: set[str]) -> str:
    """The `id` of a step's section: `test-point-query-c1`; each only once."""
    name = step.test if step.benchmark == micro.BENCHMARK else f"{step.benchmark}-{step.test}"
    plain = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
    anchor = wanted = f"test-{plain}-c{step.clients}"
    copies = 1
    while anchor in taken:
        copies += 1
        anchor = f"{wanted}-{copies}"
    taken.add(anchor)
    return anchor


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
    several_clients: bool,
) -> tuple[Forest, ...]:
    together = len(others) <= MOST_IN_ONE_FOREST
    panels: list[tuple[str | None, Sequence[str]]] = (
        [(None, others)] if together else [(name, [name]) for name in others]
    )
    drawn = []
    for contender, names in panels:
        title = f"Rate of {contender or 'each contender'} relative to {report.base}, by test"
        rows = [
            ForestGroup(group.title, tuple(_forest_rows(group, names, marks, several_clients)))
            for group in groups
        ]
        chart = forest([group for group in rows if group.rows], report.margin, title)
        if chart:
            drawn.append(Forest(contender, chart))
    return tuple(drawn)


def _forest_rows(
    group: TableGroup, names: Sequence[str], marks: Mapping[str, Mark], several_clients: bool
) -> list[ForestRow]:
    rows = []
    for row in group.rows:
        points = tuple(
            ForestPoint(
                cell.contender, marks[cell.contender], cell.rqps, cell.low, cell.high,
                cell.verdict or "not judged",
            )
            for cell in row.cells
            if cell is not None and cell.rqps and cell.contender in names
        )
        if points:
            clients = f" · {row.step.clients} cl" if several_clients else ""
            rows.append(ForestRow(row.step.test + clients, row.anchor, points))
    return rows


def _sections(
    report: Report, rows: Sequence[Row], slices: Sequence[Slice], marks: Mapping[str, Mark]
) -> tuple[Section, ...]:
    by_step: dict[Step, list[Slice]] = {}
    for one in slices:
        by_step.setdefault(Step(one.benchmark, one.test, one.clients), []).append(one)
    origin = min((one.started for one in slices), default=0.0)
    return tuple(
        _section(report, row, by_step.get(row.step, []), origin, marks) for row in rows
    )


def _section(
    report: Report, row: Row, slices: Sequence[Slice], origin: float, marks: Mapping[str, Mark]
) -> Section:
    results = row.results
    present = {one.contender for one in slices}
    shown = {name: mark for name, mark in marks.items() if name in present}
    unit = results[0].unit
    rates = ratios = seconds = Markup()
    if shown:
        plan = layout(slices)
        compared = {
            one.contender: Compared(one.rqps, one.low, one.high)
            for one in row.cells
            if one is not None and one.rqps
        }
        rates = rate_chart(plan, shown, report.base, unit)
        ratios = ratio_chart(plan, shown, report.base, report.margin, compared)
        seconds = seconds_chart(slices, origin, shown, unit)
    return Section(
        row=row,
        latency_unit=time_unit(one.latency_us.p50 for one in results),
        metrics=columns_for([one.per_op for one in results]),
        rate_chart=rates,
        ratio_chart=ratios,
        seconds_chart=seconds,
        open_loop=tuple(_open_loop(shown, slices)),
        plans=tuple(plan for plan in report.plan_differences if plan.test == row.step.test),
    )


def _open_loop(names: Mapping[str, Mark], slices: Sequence[Slice]) -> list[OpenLoop]:
    found = []
    for name in names:
        kept: list[tuple[Schedule, int]] = [
            (one.schedule, one.operations)
            for one in slices
            if one.contender == name and one.schedule is not None
        ]
        operations = sum(count for _, count in kept)
        if operations:
            lag = sum(schedule.mean_lag_ns * count for schedule, count in kept)
            found.append(
                OpenLoop(
                    contender=name,
                    rate=kept[0][0].rate,
                    arrivals=kept[0][0].arrivals,
                    operations=operations,
                    late_operations=sum(schedule.late_operations for schedule, _ in kept),
                    mean_lag_us=lag / operations / 1e3,
                    max_lag_us=max(schedule.max_lag_ns for schedule, _ in kept) / 1e3,
                )
            )
    return found
