"""What servers waited for, as Markdown: the events of each contender beside the base's."""

from __future__ import annotations

from slowdust.analysis.model import ContenderWaits, Difference, Report
from slowdust.report.markdown.table import ABSENT, or_absent, pale, table
from slowdust.report.waits import change, facts
from slowdust.wording import amount, clients, counted, share

_HEADER = ["waits for", "kind", "base µs", "µs", "of the time", "change, 99%", "times"]


def waits(report: Report) -> list[str]:
    """Return what each contender waited for in each step, per operation."""
    if not report.waits:
        return []
    lines = [
        "## Waits",
        "",
        "Per operation, of all sessions, in windows of their own that are not timed: observing",
        "costs, so shares and differences count. A wait may contain another one.",
    ]
    for each in report.waits:
        lines += ["", *_of_contender(each)]
    return lines


def _of_contender(waits: ContenderWaits) -> list[str]:
    rows = [
        [
            f"`{cost.event}`",
            cost.kind,
            ABSENT if cost.beside is None else amount(cost.beside.base),
            amount(cost.us),
            share(cost.us / waits.time_us),
            _change(cost.beside),
            or_absent(cost.times, amount),
        ]
        for cost in waits.waits
    ]
    if waits.others:
        part = share(waits.others_us / waits.time_us)
        name = counted(waits.others, "other")
        rows.append([name, "", ABSENT, amount(waits.others_us), part, ABSENT, ABSENT])
    lines = [f"### {waits.test}, {clients(waits.clients)}: {waits.contender}", ""]
    lines += [sentence for sentence in (waits.words, *facts(waits)) if sentence]
    return [*lines, "", *table(_HEADER, rows, left=2)] if rows else lines


def _change(beside: Difference | None) -> str:
    """Return a change with its interval; one that is not certain is in parentheses."""
    if beside is None:
        return ABSENT
    return change(beside) if beside.is_certain else pale(change(beside))
