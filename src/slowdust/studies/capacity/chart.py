"""Response times over the offered rate: the trials of all contenders, with what meets the SLA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup

from slowdust.report import numbers
from slowdust.report.charts import svg
from slowdust.report.charts.marks import Mark
from slowdust.report.charts.scale import Logarithmic, few_ticks, ratio_ticks
from slowdust.studies.capacity.outcome import Capacity, Outcome
from slowdust.studies.capacity.rungs import Rung, rungs
from slowdust.studies.capacity.sla import Term, format_time

HEIGHT = 280.0
_EDGE = 20.0
"""Drawing units that are free beside the first trial and the last."""
_FREE = 1.3
"""Space above and below the trials, as a ratio."""
_MOST_TICKS = 7
_BAND = 9.0
"""Height of the interval of a capacity, in pixels."""


def capacity_chart(outcome: Outcome, term: Term, marks: Mapping[str, Mark]) -> Markup:
    """Return a dot for each trial, a curve of their medians and each capacity with its interval.

    `term` is the one whose response time is shown. Nothing where no trial has one.
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
        behind=(
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
    """Return the interval of each capacity at the bottom, and a line up from its middle."""
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
    words = "; ".join(_words(rung, term) for rung in medians)
    return Markup('<g class="{}"><title>{}</title>{}{}</g>').format(
        mark.css_class,
        f"{contender}: {words}",
        svg.path("course", svg.lines((*a, *b) for a, b in pairwise(course))),
        svg.path("dot", svg.dots(placed)),
    )


def _words(rung: Rung, term: Term) -> str:
    return f"{numbers.short(rung.rate)}/s: {format_time(rung.times[term.name])}"
