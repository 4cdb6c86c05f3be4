"""The outcome of a search for capacities as a document, for a page or a mailing list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

from markupsafe import Markup

from slowdust import __version__, ratios
from slowdust.report import numbers
from slowdust.report.charts import svg
from slowdust.report.charts.marks import Mark, marks_of
from slowdust.report.charts.scale import Logarithmic, few_ticks, ratio_ticks
from slowdust.report.document import (
    ABSENT,
    Cell,
    Cells,
    Chart,
    Code,
    Column,
    Document,
    Group,
    Items,
    Medium,
    Section,
    Strong,
    glossary,
    table,
    text,
)
from slowdust.studies.capacity.outcome import Capacity, Outcome, Rung, rungs
from slowdust.studies.capacity.sla import KEPT_UP, Term, format_time
from slowdust.studies.capacity.words import certainty, format_value, number, summary
from slowdust.units import format_duration
from slowdust.wording import counted, listing, share


def document(outcome: Outcome) -> Document:
    """Return the answer, the capacities, and the response times by rate."""
    answer, *sentences = summary(outcome)
    names = [each.contender for each in outcome.capacities]
    marks = {name: mark.css_class for name, mark in marks_of(names, outcome.base).items()}
    return Document(
        f"{outcome.test}: capacities",
        [
            Group("tldr", "Summary", [text(answer), Items(sentences)]),
            _capacities(outcome),
            _trials(outcome),
            text(*certainty(outcome), f"Measured: {outcome.conditions}", role="note"),
            Code([outcome.command]),
            text(f"Slowdust {__version__}", media=Medium.MARKDOWN),
            glossary(_words(outcome)),
        ],
        brand="Slowdust: a search for capacities",
        heading=f"The highest rate of {outcome.test} that meets {outcome.sla.text}",
        subject=[Strong(listing(names))],
        first=("capacities", "capacities"),
        marks=marks,
        styles=("capacity.css",),
    )


def _capacities(outcome: Outcome) -> Section:
    trials = Column("trials", media=Medium.HTML)
    heads = ["contender", outcome.unit, "95% interval", "relative", "95% interval", "verdict"]
    rows = [
        [*_row(each), Cell(str(each.trials), note=counted(each.starts, "start"))]
        for each in outcome.capacities
    ]
    shown = table([*heads, trials], rows, left=1, name="Capacities")
    return Section("", [shown], "capacities", "Capacities")


def _row(capacity: Capacity) -> Cells:
    low, high, ratio = capacity.low, capacity.high, capacity.ratio
    name = Cell(capacity.contender, contender=capacity.contender)
    cells: Cells = [name, *[ABSENT] * 5]
    if capacity.rate is not None and low is not None and high is not None:
        cells[1:3] = [number(capacity.rate), f"{number(low)}-{number(high)}"]
    elif capacity.at_least is not None:
        cells[1] = f"at least {number(capacity.at_least)}"
    elif (closest := capacity.closest) is not None:
        cells[1] = Cell("none", note=f"{closest.term} {format_value(closest.term, closest.value)}")
    if ratio is not None:
        cells[3:] = [
            Cell(ratios.ratio(ratio.value), shade=ratio.verdict or ""),
            "-".join(map(ratios.ratio, ratio.interval or ())),
            ratio.verdict or "",
        ]
    return cells


def _trials(outcome: Outcome) -> Section:
    """Return the trials grouped by rate, with the medians of their response times."""
    names = [term.name for term in outcome.sla.times]
    about = (
        "Each dot is a trial; the line connects the medians. The x axis is the offered rate "
        f"({outcome.unit}). The bar at the bottom is the interval of a capacity."
    )
    marks = marks_of([each.contender for each in outcome.capacities], outcome.base)
    charts = [
        Chart(
            partial(capacity_chart, outcome, term, marks),
            caption=about if place == 0 else term.name,
            legend=[(mark.css_class, name) for name, mark in marks.items()],
        )
        for place, term in enumerate(outcome.sla.times)
    ]
    heads = ("contender", "offered rate", "trials", "met the SLA", *names)
    rows = [_rung(rung, names) for rung in rungs(outcome)]
    return Section(
        "Response times by offered rate",
        [*charts, table(heads, rows, left=1, name="Trials")],
        "trials",
        "Response times by rate",
    )


def _rung(rung: Rung, names: list[str]) -> Cells:
    times = [format_time(rung.times[name]) if name in rung.times else ABSENT for name in names]
    rates = f"{number(rung.low)}-{number(rung.high)}" if rung.high > rung.low else number(rung.low)
    name = Cell(rung.contender, contender=rung.contender)
    return [name, rates, str(rung.trials), share(rung.met / rung.trials), *times]


def _words(outcome: Outcome) -> dict[str, str]:
    """Return the glossary of the page."""
    return {
        "capacity": (
            f"The rate at which {share(outcome.share)} of the trials meet the SLA. Trials that a "
            "stall of the machine spoils at any rate do not count."
        ),
        "trial": (
            f"For {format_duration(outcome.length)} operations are due at random times at the "
            "offered rate, however slow the server is. Response times count from when an operation "
            f"was due. A trial meets the SLA if all terms hold and at least {share(KEPT_UP)} of "
            "the offered rate was completed."
        ),
        "relative": (
            f"The capacity divided by the capacity of {outcome.base}, whose trials alternated with "
            "the others."
        ),
        "interval": (
            "It contains the capacity with a probability of 95%, given the observed variation "
            "between starts of the servers and the observed drift of the machine."
        ),
    }


HEIGHT = 280.0
_EDGE = 20.0
"""Free drawing units left of the first trial and right of the last one."""
_FREE = 1.3
"""Space above and below the trials, as a ratio."""
_MOST_TICKS = 7
_BAND = 9.0
"""Height of the interval of a capacity, in pixels."""


def capacity_chart(outcome: Outcome, term: Term, marks: Mapping[str, Mark]) -> Markup:
    """Return a dot for each trial, a curve of the medians and each capacity with its interval.

    The y axis is the response time of `term`. Empty if no trial has it.
    """
    trials = [trial for trial in outcome.trials if term.name in trial.times]
    if not trials:
        return Markup()
    times = [trial.times[term.name] for trial in trials] + [term.limit]
    rates = [trial.rate for trial in trials]
    rates += [end for each in outcome.capacities for end in (each.low, each.high) if end]
    x = Logarithmic(min(rates) / 1.05, max(rates) * 1.05, _EDGE, svg.WIDTH - _EDGE)
    y = Logarithmic(min(times) / _FREE, max(times) * _FREE, HEIGHT, 0.0)
    y_ticks = [(y(tick), format_time(tick)) for tick in few_ticks(y.low, y.high)]
    x_ticks = ratio_ticks(x.low, x.high, _MOST_TICKS)
    return svg.Frame(
        title=f"{term.name} of {outcome.test} over the offered rate, by contender",
        height=HEIGHT,
        css_class="clients capacity",
        background=(
            *(svg.level(place, "grid") for place, _ in y_ticks),
            *(svg.upright(x(tick), 0, HEIGHT, "grid") for tick in x_ticks),
            *_bands(outcome.capacities, marks, x),
            svg.level(y(term.limit), "limit"),
        ),
        marks=tuple(
            _curve(outcome, capacity.contender, term, marks[capacity.contender], (x, y))
            for capacity in outcome.capacities
        ),
        labels=(
            svg.text("0", y(term.limit) - 4, "tick", f"SLA: {term.text}", dx=4),
            *(
                svg.text(svg.share(x(tick)), HEIGHT + 15, "tick middle", numbers.short(tick))
                for tick in x_ticks
            ),
        ),
        axis=tuple(svg.text("100%", place + 4, "tick end", text, dx=-8) for place, text in y_ticks),
    ).markup()


def _bands(
    capacities: Sequence[Capacity], marks: Mapping[str, Mark], x: Logarithmic
) -> list[Markup]:
    """Return the interval of each capacity at the bottom, and a vertical line at the capacity."""
    drawn = []
    for place, each in enumerate(capacities):
        if each.rate is None or each.low is None or each.high is None:
            continue
        bottom = HEIGHT - place * (_BAND + 2)
        band = svg.band(x(each.low), x(each.high), bottom - _BAND, bottom, "interval")
        line = svg.upright(x(each.rate), 0, HEIGHT, "at")
        words = f"{each.contender}: {each.rate:,.0f} [{each.low:,.0f}, {each.high:,.0f}]"
        drawn.append(
            Markup('<g class="{}"><title>{}</title>{}{}</g>').format(
                marks[each.contender].css_class, words, band, line
            )
        )
    return drawn


def _curve(
    outcome: Outcome, contender: str, term: Term, mark: Mark, axes: tuple[Logarithmic, Logarithmic]
) -> Markup:
    x, y = axes
    own = [t for t in outcome.trials if t.contender == contender and term.name in t.times]
    placed = [(x(trial.rate), y(trial.times[term.name])) for trial in own]
    medians = [
        rung for rung in rungs(outcome) if rung.contender == contender and term.name in rung.times
    ]
    course = [(x(rung.rate), y(rung.times[term.name])) for rung in medians]
    words = "; ".join(_point_words(rung, term) for rung in medians)
    return Markup('<g class="{}"><title>{}</title>{}{}</g>').format(
        mark.css_class,
        f"{contender}: {words}",
        svg.path("course", svg.lines((*a, *b) for a, b in pairwise(course))),
        svg.path("dot", svg.dots(placed)),
    )


def _point_words(rung: Rung, term: Term) -> str:
    return f"{numbers.short(rung.rate)}/s: {format_time(rung.times[term.name])}"
