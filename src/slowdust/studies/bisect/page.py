"""The outcome of a search as a page."""

from __future__ import annotations

from markupsafe import Markup

from slowdust.ratios import work_ratio
from slowdust.report.html.charts.forest import ForestGroup, ForestPoint, ForestRow, forest
from slowdust.report.html.charts.marks import Mark
from slowdust.report.html.environment import environment, shipped
from slowdust.studies.bisect.metrics import words_for
from slowdust.studies.bisect.outcome import Level, Outcome
from slowdust.studies.bisect.words import certainty, in_words, name_of, summary
from slowdust.studies.engine import STEPS

_FUNCTIONS = 12
"""Functions of a change that are listed."""


def render(outcome: Outcome) -> str:
    """Return the whole page."""
    answer, *_ = summary(outcome)
    template = environment().get_template("bisection.html")
    return template.render(
        outcome=outcome,
        answer=answer,
        changes=[
            (f"change-{place}", name_of(change), in_words(change, outcome.metric), change)
            for place, change in enumerate(outcome.changes, start=1)
        ],
        certainty=certainty(outcome),
        cost=words_for(outcome.metric),
        chart=_chart(outcome),
        digits=work_ratio,
        most_functions=_FUNCTIONS,
        steps=STEPS,
        style=shipped("page.css", "charts.css"),
        script=shipped("save.js"),
    )


def _chart(outcome: Outcome) -> Markup:
    """Return the costs of the measured candidates, in the order of the range."""
    changed = {change.candidate.name for change in outcome.changes}
    rows = tuple(_row(level, changed) for level in outcome.levels if level.place)
    words = f"{words_for(outcome.metric)} of each measured candidate, relative to the first"
    return forest([ForestGroup(outcome.test, rows)], outcome.margin, words)


def _row(level: Level, changed: set[str]) -> ForestRow:
    candidate, cost = level.candidate, level.cost
    # As everywhere, what changed has a colour, and the rest the grey of a base.
    is_change = candidate.name in changed
    verdict = ("slower" if cost.ratio.value > 1 else "faster") if is_change else "same"
    point = ForestPoint(
        *(cost.ratio.value, cost.ratio.low, cost.ratio.high),
        contender=candidate.name,
        mark=Mark("k1" if is_change else "k0", "circle"),
        verdict=verdict,
    )
    return ForestRow(candidate.name, "levels", (point,))
