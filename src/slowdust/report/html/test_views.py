"""The section of tests: charts and tables of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from slowdust.analysis.comparison import step_of
from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.notes import ONE_RUN
from slowdust.report.charts.blocks import layout, rate_chart, ratio_chart, static_ratio_chart
from slowdust.report.charts.seconds import seconds_chart
from slowdust.report.document import Section
from slowdust.report.html.blocks import drawn
from slowdust.report.html.flames import FlameGraphs, flame_graphs
from slowdust.report.html.page import Page, Row
from slowdust.report.html.steps import StepView, step_view
from slowdust.report.sections.evidence import exact_evidence, same_plans
from slowdust.report.sections.measured import Kept, open_loop, rates
from slowdust.stats.blocks import Step
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.units import Second, known

Named = Mapping[str, object]
"""Name -> value of a part of the template."""


@dataclass(frozen=True)
class TestView:
    """Everything about one step."""

    row: Row
    rates: Markup
    charts: Named | None
    """The charts of a test that was measured in slices: of rates, ratios, seconds.

    A large page has only the chart of ratios, since the others would be most of the file.
    """
    notes: tuple[Named, ...]
    """Notes with the contenders that they are about; without names all that were compared."""
    step: StepView | None
    """The view of a long step, which has no charts of slices."""
    flames: FlameGraphs | None
    """Flame graphs; None where there are no profiles."""
    sections: str = ""
    """The parts of the report's sections that are about it."""


Describe = Callable[[Report, Sequence[Result]], Section | None]


def test_views(
    page: Page,
    slices: Sequence[Slice],
    profiles: Sequence[Profile],
    sections: Sequence[Describe],
) -> list[TestView]:
    """Return a view for every row of the page, in their order, its charts and graphs drawn."""
    by_step: dict[Step, list[Slice]] = {}
    for record in slices:
        by_step.setdefault(step_of(record), []).append(record)
    origin = min(known(record.measured.started for record in slices), default=0.0)
    flames = flame_graphs(profiles, page.report.contenders)
    return [
        replace(
            _test_view(page, row, by_step.get(row.step, []), origin, flames.get(row.step)),
            sections=_sections(page, row, sections, by_step.get(row.step, [])),
        )
        for row in page.rows
    ]


def _test_view(
    page: Page,
    row: Row,
    slices: Sequence[Slice],
    origin: Second,
    flames: FlameGraphs | None,
) -> TestView:
    results = row.results
    step = step_view(page, row, slices)
    timed = [record for record in slices if record.printed is None]
    return TestView(
        row=row,
        rates=drawn([rates(page.report, results)], page.look),
        charts=_charts(page, row, timed, origin) if timed and step is None else None,
        notes=_notes(row),
        step=step,
        flames=flames,
    )


def _sections(
    page: Page, row: Row, sections: Sequence[Describe], slices: Sequence[Slice]
) -> Markup:
    results = row.results
    blocks = [
        *(section for result in results for section in exact_evidence(result)),
        *known(describe(page.report, results) for describe in sections),
        *same_plans(page.report, row.step.test),
        *known([open_loop(_open_loop(page.marks, slices))]),
    ]
    return drawn(blocks, replace(page.look, anchor=row.anchor), level=4)


def _charts(page: Page, row: Row, slices: Sequence[Slice], origin: Second) -> Named:
    present = {record.place.contender for record in slices}
    marks = {name: mark for name, mark in page.marks.items() if name in present}
    plan = layout(slices)
    compared = {
        cell.contender: cell.ratio
        for cell in row.cells
        if cell is not None and cell.ratio and cell.ratio.value
    }
    base, unit = page.report.base, row.results[0].unit
    margin = page.report.margin
    if page.has_many_cells:
        ratios = static_ratio_chart(plan, marks, base, margin, compared)
        return {"rates": None, "ratios": ratios, "seconds": None}
    return {
        "rates": rate_chart(plan, marks, base, unit),
        "ratios": ratio_chart(plan, marks, base, margin, compared),
        "seconds": seconds_chart(slices, origin, marks, unit),
    }


def _notes(row: Row) -> tuple[Named, ...]:
    noted: dict[str, list[str]] = {}
    for result in row.results:
        for words in result.notes:
            if words != ONE_RUN:  # the head of the page says so of all
                noted.setdefault(words, []).append(result.contender)
    compared = {cell.contender for cell in row.cells if cell is not None}
    return tuple(
        {"words": words, "contenders": () if compared and compared <= set(names) else names}
        for words, names in noted.items()
    )


def _open_loop(names: Collection[str], slices: Sequence[Slice]) -> list[Kept]:
    return [
        Kept(
            name,
            [
                (record.measured.schedule, record.measured.operations)
                for record in slices
                if record.place.contender == name
                and record.measured.schedule is not None
                and record.measured.operations is not None
            ],
        )
        for name in names
    ]
