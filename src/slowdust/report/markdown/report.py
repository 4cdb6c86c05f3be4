"""The report as Markdown that also reads well in a terminal, whole or in short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.results import by_step
from slowdust.analysis.work import has_work
from slowdust.ratios import interval, ratio, work_ratio
from slowdust.report.document import ABSENT
from slowdust.report.markdown import document as markdown
from slowdust.report.markdown.document import lines
from slowdust.report.markdown.table import escaped, table
from slowdust.report.report import answered, document, notes, reasons, warnings
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.wording import counted, short_names


def render(report: Report, _slices: Sequence[Slice] = (), _profiles: Sequence[Profile] = ()) -> str:
    return markdown.render(document(escaped(report)))


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
    head = [f"### {report.experiment}: {_compared(report)}", "", *lines(answered(report))]
    alone = len(report.contenders) == 1
    outcome = _causes(report) if alone else _tallies(report)
    sections = ["\n".join(lines) for lines in (head, lines(notes(report)), outcome) if lines]
    tests = counted(len(by_step(report.results)), "test")
    comparisons = [("What changed, and why", _causes(report)), (f"All {tests}", _tests(report))]
    warned = warnings(report)
    folded = [
        *([] if alone else comparisons),
        ("Warnings", lines(warned.blocks) if warned is not None else []),
    ]
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
    return lines([reasons(report)])


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
