"""The report as Markdown that also reads well in a terminal, whole or in short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.results import by_step
from slowdust.analysis.story.changes import changes_beside_tldr
from slowdust.analysis.work import has_work
from slowdust.ratios import interval, ratio, work_ratio
from slowdust.report import answer, calibration
from slowdust.report.answer import beginning, list_of_changes, passages
from slowdust.report.evidence import MARK_EXPLAINED, differences_in_words, plain_lines
from slowdust.report.markdown import contenders, evidence, hardware, results, steps
from slowdust.report.markdown.table import ABSENT, escaped, table
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.wording import MOST_LISTED, clients, counted, short_names


def render(report: Report, _slices: Sequence[Slice] = (), _profiles: Sequence[Profile] = ()) -> str:
    report = escaped(report)
    sections = (section(report) for section in SECTIONS)
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def title(report: Report) -> list[str]:
    base = f"he base is {report.base}."
    when = f"Measured {report.started}; t" if report.started else "T"
    return [f"# {report.experiment}", "", f"{when}{base}"]


def calibrated(report: Report) -> list[str]:
    if report.calibration is None:
        return []
    return ["## Calibration", "", *calibration.lines([report.calibration])]


def answered(report: Report) -> list[str]:
    unfinished = [f"**{report.unfinished}**", ""] if report.unfinished else []
    return [*unfinished, *(f"- **{line.label}**: {line.text}" for line in answer.lines(report))]


def undecided(report: Report) -> list[str]:
    return "\n\n".join(beginning(report)).splitlines()


def notes(report: Report) -> list[str]:
    return "\n\n".join(f"> {note}" for note in report.notes).splitlines()


def tldr(report: Report) -> list[str]:
    lines = ["## tl;dr", ""]
    for passage in passages(report):
        lines += [f"- {passage}"] if isinstance(passage, str) else list_of_changes(passage)
    return lines


def group_changes(report: Report) -> list[str]:
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
    if not report.findings:
        return []
    bad = [
        f"- {finding.check} ({finding.severity}): {answer.finding_in_words(finding)}"
        + (f" Run `{finding.remedy}`." if finding.remedy else "")
        for finding in answer.bad(report.findings)
    ]
    others = answer.others(report.findings)
    return ["## State of the host", "", *bad, *([""] if bad else []), others]


def plans(report: Report) -> list[str]:
    lines: list[str] = []
    for difference in report.plan_differences:
        lines += ["", f"{difference.test}: `{difference.statement}`"]
        for name, words in difference.differences.items():
            lines += ["", f"{name}: {differences_in_words(words)}"]
        for name, plan in difference.plans.items():
            differing = difference.differing_lines.get(name, ())
            lines += ["", name, "", *(f"    {line}" for line in plain_lines(plan, differing))]
    return ["## Plans that differ", "", MARK_EXPLAINED, *lines] if lines else []


def method(report: Report) -> list[str]:
    return ["## Method", "", *_facts(report.method)] if report.method else []


def host(report: Report) -> list[str]:
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
    results.throughput,
    results.effects,
    results.system_calls,
    results.unsure,
    contenders.by_host,
    group_changes,
    results.response_times,
    evidence.of_changes,
    results.searches,
    results.indexes,
    results.concurrency,
    results.mixed_load,
    results.frontier,
    hardware.memory,
    contenders.storage,
    hardware.per_operation,
    hardware.counters,
    hardware.latency,
    evidence.waits,
    evidence.function_changes,
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


MOST = 60_000
"""Bytes of a comment."""
MOST_WITH_INTERVALS = 3
"""The most contenders beside the base whose ratios have their intervals."""
_MARKS = {"faster": " +", "slower": " -", "same": " =", "unsure": " ?"}
_MARKS_OF_WORK = {"more": " +", "less": " -", "same": " =", "unsure": " ?"}
_LEFT_OUT = "\nSections that do not fit into a comment are left out.\n"


def render_short(
    report: Report, _slices: Sequence[Slice] = (), _profiles: Sequence[Profile] = ()
) -> str:
    report = escaped(report)
    head = [f"### {report.experiment}: {_compared(report)}", "", *answered(report)]
    alone = len(report.contenders) == 1
    outcome = _causes(report) if alone else _tallies(report)
    sections = ["\n".join(lines) for lines in (head, notes(report), outcome) if lines]
    tests = counted(len(by_step(report.results)), "test")
    comparisons = [("What changed, and why", _causes(report)), (f"All {tests}", _tests(report))]
    folded = [*([] if alone else comparisons), ("Warnings", warnings(report)[2:])]
    sections += [_folded(title, lines) for title, lines in folded if lines]
    return _fitted(sections)


def _compared(report: Report) -> str:
    names = short_names(report.contenders)
    others = report.contenders[1:]
    if not others:
        return f"{names[report.base]}, an absolute measurement"
    who = names[others[0]] if len(others) == 1 else counted(len(others), "contender")
    return f"{who} against {names[report.base]}"


def _fitted(sections: list[str]) -> str:
    text = "\n\n".join(sections) + "\n"
    if len(text.encode()) <= MOST:
        return text
    while len(sections) > 1 and len(("\n\n".join(sections) + _LEFT_OUT).encode()) > MOST:
        sections.pop()
    return "\n\n".join(sections) + "\n" + _LEFT_OUT


def _folded(title: str, lines: Sequence[str]) -> str:
    """Return a section that a reader unfolds; Markdown inside needs the empty lines."""
    body = "\n".join(lines)
    return f"<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>"


def _tallies(report: Report) -> list[str]:
    names = short_names(report.contenders)
    counts = has_work(report.results)
    header = ["contender", "slower", "faster", "same", "unsure"]
    rows = []
    for name in report.contenders[1:]:
        own = [result for result in report.results if result.contender == name]
        verdicts = Counter(result.verdict for result in own)
        row = [names[name], *(str(verdicts[v]) for v in ("slower", "faster", "same", "unsure"))]
        if counts:
            works = Counter(r.work.verdict for r in own if r.work is not None)
            row += [str(works["more"]), str(works["less"])]
        rows.append(row)
    return table([*header, *(["more work", "less work"] if counts else [])], rows, left=1)


def _causes(report: Report) -> list[str]:
    lines: list[str] = []
    for passage in passages(report):
        lines += [f"- {passage}"] if isinstance(passage, str) else list_of_changes(passage)
    return lines


def _tests(report: Report) -> list[str]:
    names = short_names(report.contenders)
    others = report.contenders[1:]
    counts = has_work(report.results)
    several = len({result.clients for result in report.results}) > 1
    header = ["test", *(["clients"] if several else [])]
    for name in others:
        header += [names[name], *(["work"] if counts else [])]
    rows = []
    for step, found in by_step(report.results).items():
        row = [step.test, *([str(step.clients)] if several else [])]
        for name in others:
            row.append(_rate(found.get(name), whole=len(others) <= MOST_WITH_INTERVALS))
            if counts:
                row.append(_work(found.get(name)))
        rows.append(row)
    legend = f"rqps relative to {names[report.base]}: + faster, - slower, = the same, ? unsure."
    if counts:
        legend += " Work, instructions per operation: + more, - less."
    return [legend, "", *table(header, rows, left=1)]


def _rate(result: Result | None, *, whole: bool) -> str:
    if result is None or result.ratio is None:
        return ABSENT
    bounds = interval(result.ratio) if whole else ""
    return f"{ratio(result.ratio.value)}{bounds}{_MARKS.get(result.verdict or '', '')}"


def _work(result: Result | None) -> str:
    work = None if result is None else result.work
    if work is None or work.ratio is None:
        return ABSENT
    return f"{work_ratio(work.ratio.value)}{_MARKS_OF_WORK.get(work.verdict or '', '')}"
