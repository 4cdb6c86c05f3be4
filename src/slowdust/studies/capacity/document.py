"""The outcome of a search for capacities as a document, ready for a mailing list."""

from __future__ import annotations

from functools import partial

from slowdust import __version__, ratios
from slowdust.report.charts.marks import marks_of
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
from slowdust.studies.capacity.chart import capacity_chart
from slowdust.studies.capacity.outcome import Capacity, Outcome
from slowdust.studies.capacity.rungs import Rung, rungs
from slowdust.studies.capacity.sla import KEPT_UP, format_time
from slowdust.studies.capacity.words import certainty, number, summary, value_of
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
        cells[1] = Cell("none", note=f"{closest.term} {value_of(closest.term, closest.value)}")
    if ratio is not None:
        cells[3:] = [
            Cell(ratios.ratio(ratio.value), shade=ratio.verdict or ""),
            "-".join(map(ratios.ratio, ratio.interval or ())),
            ratio.verdict or "",
        ]
    return cells


def _trials(outcome: Outcome) -> Section:
    """Return the trials at nearly the same rate, with the medians of their response times."""
    names = [term.name for term in outcome.sla.times]
    about = (
        "A dot is a trial, the line joins their medians. The rate offered is from left to right "
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
    """Return the terms of the page."""
    return {
        "capacity": (
            f"The rate at which {share(outcome.share)} of the trials meet the SLA, without those "
            "that a stall of the machine spoils at any rate."
        ),
        "trial": (
            f"{format_duration(outcome.length)} in which operations are due at random times at the "
            "offered rate, whatever the server answers. Response times count from when an "
            "operation was due. A trial meets the SLA if all its terms hold and "
            f"{share(KEPT_UP)} of the offered rate was done."
        ),
        "relative": (
            f"The capacity divided by that of {outcome.base}, whose trials were made in turn with "
            "the others'."
        ),
        "interval": (
            "It holds the capacity with a probability of 95%, given the restarts of the servers "
            "and the drift of the machine that were seen."
        ),
    }
