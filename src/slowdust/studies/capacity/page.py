"""The outcome of a search for capacities as a page."""

from __future__ import annotations

from slowdust.report.html.charts.marks import marks_of
from slowdust.report.html.environment import environment, shipped
from slowdust.studies.capacity.chart import capacity_chart
from slowdust.studies.capacity.outcome import Outcome
from slowdust.studies.capacity.rungs import rungs
from slowdust.studies.capacity.sla import KEPT_UP, format_time
from slowdust.studies.capacity.words import certainty, number, summary, value_of
from slowdust.wording import share


def render(outcome: Outcome) -> str:
    """Return the whole page."""
    answer, *sentences = summary(outcome)
    marks = marks_of([each.contender for each in outcome.capacities], outcome.base)
    terms = outcome.sla.times
    template = environment().get_template("capacity.html")
    return template.render(
        outcome=outcome,
        answer=answer,
        sentences=sentences,
        certainty=certainty(outcome),
        marks=marks,
        charts=[(term, capacity_chart(outcome, term, marks)) for term in terms],
        rungs=rungs(outcome),
        kept_up=share(KEPT_UP),
        rate=number,
        value_of=value_of,
        time=format_time,
        as_share=share,
        style=shipped("page.css", "charts.css", "capacity.css"),
        script=shipped("save.js"),
    )
