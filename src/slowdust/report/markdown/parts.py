"""Parts of the changes of the time per operation, as Markdown: changed tests by parts."""

from __future__ import annotations

import math

from slowdust.analysis.model import Explanation, Part, Report
from slowdust.analysis.story.reasons import TITLES
from slowdust.ratios import interval, ratio
from slowdust.report.markdown.table import ABSENT, table


def of_changes(report: Report) -> list[str]:
    """Return the parts of each result that is faster or slower, with their intervals."""
    changed = [
        (result, explanation)
        for result in report.results
        if (explanation := result.explanation) is not None and explanation.words
    ]
    names = [name for name in TITLES if any(each.part(name) for _, each in changed)]
    rows = [
        [
            result.test,
            str(result.clients),
            result.contender,
            _factor(explanation),
            *(_cell(explanation.part(name)) for name in names),
        ]
        for result, explanation in changed
    ]
    if not rows:
        return []
    header = ["test", "clients", "contender", "time", *(TITLES[name] for name in names)]
    return [
        "## Parts of the change",
        "",
        "Time per operation relative to the base's, with its 95% interval; the parts behind it",
        "multiply to it.",
        "",
        *table(header, rows, left=1),
    ]


def _cell(part: Part | None) -> str:
    return ABSENT if part is None else _factor(part)


def _factor(change: Part | Explanation) -> str:
    factor = f"{ratio(math.exp(change.change))}x"
    if change.low is None or change.high is None:
        return factor
    return factor + interval(math.exp(change.low), math.exp(change.high))
