"""The state of a watch as Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slowdust import __version__
from slowdust.ratios import work_ratio
from slowdust.report.markdown.table import escaped, table
from slowdust.studies.watch import words
from slowdust.studies.watch.alarms import Change, Fate, State
from slowdust.studies.watch.levels import Levels, levels_of
from slowdust.studies.watch.series import Night
from slowdust.wording import counted

_NIGHTS = 14
"""The last nights, which are listed."""


def render(name: str, state: State, nights: Sequence[Night]) -> str:
    """Return the whole note: the alarms that are there, what else has changed, the last nights."""
    state, nights = escaped(state), [escaped(night) for night in nights]
    there = state.alarms
    lines = [
        f"# {name}",
        "",
        f"{counted(len(there), 'alarm')} after {counted(len(nights), 'night')}",
    ]
    lines += _listed("Alarms", there)
    lines += _listed("Other changes", [each for each in state.changes if not each.is_open])
    lines += ["", *words.in_doubt(state)] if state.doubts else []
    lines += ["", "## Nights", "", *_nights(nights, levels_of(nights))]
    return "\n".join([*lines, "", f"Slowdust {__version__}", ""])


def _listed(title: str, changes: Sequence[Change]) -> list[str]:
    if not changes:
        return []
    lines = ["", f"## {title}", ""]
    for change in changes:
        lines.append(f"- {words.with_fate(change)}")
        if change.bisect and change.fate is Fate.OPEN:
            lines += ["", f"      {change.bisect}", ""]
    return lines


def _nights(nights: Sequence[Night], series: Sequence[Levels]) -> list[str]:
    """Return the costs relative to the base in the last nights."""
    costs = {(each.name, point.night): point.level for each in series for point in each.points}
    header = ["night", "date", "subject", *(each.name for each in series)]
    rows = []
    for night in nights[-_NIGHTS:]:
        cells = [
            work_ratio(math.exp(costs[each.name, night.number]))
            if (each.name, night.number) in costs
            else "-"
            for each in series
        ]
        subject = night.plan.subject.name + (" (failed)" if night.failed is not None else "")
        rows.append([str(night.number), night.plan.date[:10], subject, *cells])
    return [*table(header, rows, left=3), "", "Costs relative to the base: above 1, more."]
