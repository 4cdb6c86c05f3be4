"""The cells of what releases cost, and their titles, which all formats share."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.blame import SINGLE, LineBlame, Part, RatioKind, Step, StepRatio, is_sure
from slowdust.ratios import Verdict, ratio, speed, work_in_words, work_ratio
from slowdust.report.history import CHAINED
from slowdust.report.markdown.table import ABSENT

KINDS: tuple[RatioKind, ...] = ("time", "work")
HEADS = {"time": "rqps", "work": "work"}
"""The head of a column of each kind."""
SHORT_TITLES = {"range with aggregation": "aggregation", "write": "writes"}
MARKS: dict[RatioKind, dict[str | None, str]] = {
    "time": {"faster": "+", "slower": "-", "same": "=", "unsure": "?", None: " "},
    "work": {"faster": "-", "slower": "+", "same": "=", "unsure": "?", None: " "},
}
LEGEND = (
    "rqps: throughput relative to the release before, + faster, - slower, = the same, ? unsure; "
    "work: instructions per operation relative to it, + more, - less."
)
CHAINED_LEGEND = f"{CHAINED}: chained over releases that experiments share."


def columns(line: LineBlame) -> list[tuple[Part, RatioKind]]:
    """Return a column for each group and kind of evidence that any step has."""
    rows = [*line.steps, line.whole]
    return [
        (group, kind)
        for group in line.whole.groups
        for kind in KINDS
        if any((part := part_of(group, row)) and part.by(kind) for row in rows)
    ]


def head(group: Part, line: LineBlame) -> str:
    """Return the short title of a group, with its clients where there are several numbers."""
    title = SHORT_TITLES.get(group.name, group.name)
    several = len({each.clients for each in line.whole.groups}) > 1
    return f"{title} x{group.clients}" if several else title


def part_of(group: Part, step: Step) -> Part | None:
    """Return what a step did to a group."""
    wanted = group.name, group.clients
    return next((part for part in step.groups if (part.name, part.clients) == wanted), None)


def ratio_at(group: Part, step: Step, kind: RatioKind) -> StepRatio | None:
    """Return the ratio of a cell; None where there is none."""
    part = part_of(group, step)
    return None if part is None else part.by(kind)


def value(cell: StepRatio | None, kind: RatioKind) -> str:
    """Return a ratio as a cell has it: '0.95 -', '1.024 +*'."""
    if cell is None:
        return ABSENT
    number = ratio(cell.ratio.value) if kind == "time" else work_ratio(cell.ratio.value)
    return f"{number} {MARKS[kind][cell.ratio.verdict]}{CHAINED if cell.chained else ''}".rstrip()


def is_chained(line: LineBlame) -> bool:
    """Return whether any cell is chained."""
    return any(
        cell is not None and cell.chained
        for group, kind in columns(line)
        for step in (*line.steps, line.whole)
        for cell in [ratio_at(group, step, kind)]
    )


def largest_title(line: LineBlame) -> str:
    """Return the title of the largest changes, which says which changes are among them."""
    verdicts = {
        cell.ratio.verdict
        for step in line.steps
        for test in step.tests
        for cell in [test.by(_deciding(test, line))]
        if cell is not None
    }
    sure = ["of those that are sure"] if verdicts - {None} else []
    single = [f"of {SINGLE:.0%} or more in single runs"] if None in verdicts else []
    which = " or ".join([*sure, *single])
    return f"The largest change of a test in each step{which and f', {which}'}"


def largest(step: Step, side: Verdict, line: LineBlame) -> str:
    """Return the test in which a step surely changed the most to a side, in words.

    What decides is what decides of the test's group. The sign that there is none without one.
    """
    sign = 1 if side == "slower" else -1
    found: list[tuple[float, str]] = []
    for test in step.tests:
        kind = _deciding(test, line)
        cost, cell = test.cost(kind), test.by(kind)
        if cost is None or cell is None:
            continue
        if is_sure(cell.ratio, sign * cost, side):
            words = speed(cell.ratio.value) if kind == "time" else work_in_words(cell.ratio.value)
            found.append((sign * cost, f"{test.name}, {words}"))
    _, words = max(found, default=(0.0, ABSENT))
    return words


def _deciding(test: Part, line: LineBlame) -> RatioKind:
    """Return what decides of a test's group."""
    evidence = {(each.group, each.clients): each.evidence for each in line.groups}
    return evidence.get((test.group, test.clients), "time")


def facts(line: LineBlame) -> Sequence[str]:
    """Return what was measured where, as parts of a sentence."""
    return [
        f"benchmark {line.benchmark}",
        *([line.data] if line.data else []),
        f"measured in {', '.join(line.experiments)}",
        ", ".join(f"{label} {text}" for label, text in line.host.items())
        or "the host was not recorded",
    ]
