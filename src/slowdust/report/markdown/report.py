"""The report as Markdown that also reads well in a terminal: its tables are aligned."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.model import Report
from slowdust.analysis.story.changes import changes_beside_tldr
from slowdust.report import answer, calibration, findings
from slowdust.report.markdown import (
    beside,
    contenders,
    effects,
    functions,
    hardware,
    hosts,
    parts,
    rates,
    searches,
    steps,
    storage,
    waits,
)
from slowdust.report.markdown.foreign import escaped
from slowdust.report.markdown.table import table
from slowdust.report.plans import EXPLAINED, differences_in_words, plain_lines
from slowdust.report.tldr import beginning, list_of_changes, passages
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.wording import MOST_LISTED, clients


def render(report: Report, _slices: Sequence[Slice] = (), _profiles: Sequence[Profile] = ()) -> str:
    """Return all sections that have content."""
    report = escaped(report)
    sections = (section(report) for section in SECTIONS)
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def title(report: Report) -> list[str]:
    """Return the experiment's name, its time and its base."""
    base = f"he base is {report.base}."
    when = f"Measured {report.started}; t" if report.started else "T"
    return [f"# {report.experiment}", "", f"{when}{base}"]


def calibrated(report: Report) -> list[str]:
    """Return what a calibration shows of the host."""
    if report.calibration is None:
        return []
    return ["## Calibration", "", *calibration.lines([report.calibration])]


def answered(report: Report) -> list[str]:
    """Return the answer as a list, below the warning that the experiment is not finished."""
    unfinished = [f"**{report.unfinished}**", ""] if report.unfinished else []
    return [*unfinished, *(f"- **{line.label}**: {line.text}" for line in answer.lines(report))]


def undecided(report: Report) -> list[str]:
    """Return the sentences that come before the notes, each a paragraph."""
    return "\n\n".join(beginning(report)).splitlines()


def notes(report: Report) -> list[str]:
    """Return the notes about the comparison as quotations."""
    return "\n\n".join(f"> {note}" for note in report.notes).splitlines()


def tldr(report: Report) -> list[str]:
    """Return the sentences of the tl;dr and the changes of its groups as a list."""
    lines = ["## tl;dr", ""]
    for passage in passages(report):
        lines += [f"- {passage}"] if isinstance(passage, str) else list_of_changes(passage)
    return lines


def group_changes(report: Report) -> list[str]:
    """Return the changes of a report that are not in its tl;dr."""
    if not (changes := changes_beside_tldr(report)):
        return []
    how_sure = "How large changes are, not how sure."
    if report.repeated:
        how_sure = "How large changes are; those whose verdict is unsure are counted."
    return [
        f"## {'Version by version' if changes[0].line else 'Group by group'}",
        "",
        f"{how_sure} The common result is the median test's.",
        "",
        *list_of_changes(changes),
    ]


def warnings(report: Report) -> list[str]:
    """Return the warnings of the experiment and the notes about its results."""
    lines = [f"- {warning}" for warning in report.warnings]
    places: dict[str, list[str]] = {}
    for result in report.results:
        place = f"{result.test}, {clients(result.clients)}, {result.contender}"
        for note in result.notes:
            places.setdefault(note, []).append(place)
    for note, noted in places.items():
        if len(noted) > MOST_LISTED:
            lines.append(f"- {len(noted)} results: {note}")
        else:
            lines += [f"- {place}: {note}" for place in noted]
    return ["## Warnings", "", *lines] if lines else []


def state_of_host(report: Report) -> list[str]:
    """Return the bad states of the host, each with the command to run."""
    if not report.findings:
        return []
    bad = [
        f"- {finding.check} ({finding.severity}): {findings.finding_in_words(finding)}"
        + (f" Run `{finding.remedy}`." if finding.remedy else "")
        for finding in findings.bad(report.findings)
    ]
    others = findings.others(report.findings)
    return ["## State of the host", "", *bad, *([""] if bad else []), others]


def plans(report: Report) -> list[str]:
    """Return each statement whose plans differ, with the plans."""
    lines: list[str] = []
    for difference in report.plan_differences:
        lines += ["", f"{difference.test}: `{difference.statement}`"]
        for name, words in difference.differences.items():
            lines += ["", f"{name}: {differences_in_words(words)}"]
        for name, plan in difference.plans.items():
            differing = difference.differing_lines.get(name, ())
            lines += ["", name, "", *(f"    {line}" for line in plain_lines(plan, differing))]
    return ["## Plans that differ", "", EXPLAINED, *lines] if lines else []


def method(report: Report) -> list[str]:
    """Return the facts about the method as a table."""
    return ["## Method", "", *_facts(report.method)] if report.method else []


def host(report: Report) -> list[str]:
    """Return the facts about the host as a table."""
    return ["## Host", "", *_facts(report.host)] if report.host else []


def _facts(facts: dict[str, str]) -> list[str]:
    return table(["", ""], [[label, value] for label, value in facts.items()], left=2)


SECTIONS = (
    title,
    answered,
    undecided,
    notes,
    calibrated,
    tldr,
    steps.summaries,
    rates.throughput,
    effects.effects,
    rates.system_calls,
    rates.unsure,
    hosts.by_host,
    group_changes,
    rates.response_times,
    parts.of_changes,
    searches.searches,
    searches.indexes,
    rates.concurrency,
    beside.mixed_load,
    beside.frontier,
    hardware.memory,
    storage.storage,
    hardware.per_operation,
    hardware.counters,
    hardware.latency,
    waits.waits,
    functions.function_changes,
    steps.failed_steps,
    steps.writers,
    steps.roles,
    steps.buckets,
    steps.sizes,
    steps.stalls,
    state_of_host,
    warnings,
    plans,
    contenders.contenders,
    method,
    host,
)
"""The sections in their order: functions from a report to lines; one without content has none."""
