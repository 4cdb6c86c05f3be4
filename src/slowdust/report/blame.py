"""The costs of releases as a document."""

from __future__ import annotations

from functools import partial
from itertools import accumulate

from slowdust.analysis.blame import (
    SINGLE,
    Blame,
    LineBlame,
    Part,
    RatioKind,
    Step,
    StepFunctions,
    StepRatio,
    is_sure,
)
from slowdust.ratios import Verdict, ratio, speed, work_in_words, work_ratio
from slowdust.report.charts.waterfall import Row as Bar
from slowdust.report.charts.waterfall import falling
from slowdust.report.document import (
    ABSENT,
    Cell,
    Cells,
    Chart,
    Column,
    Document,
    Items,
    Row,
    Section,
    Strong,
    Table,
    columns,
    glossary,
    table,
    text,
)
from slowdust.report.history import CHAINED
from slowdust.report.sections.evidence import cost_per_operation, own_costs
from slowdust.wording import amount

KINDS: tuple[RatioKind, ...] = ("time", "work")
HEADS = {"time": "rqps", "work": "work"}
"""The head of a column of each kind."""
SHORT_TITLES = {"range with aggregation": "aggregation", "write": "writes"}
MARKS: dict[RatioKind, dict[str | None, str]] = {
    "time": {"faster": "+", "slower": "-", "same": "=", "unsure": "?", None: " "},
    "work": {"faster": "-", "slower": "+", "same": "=", "unsure": "?", None: " "},
}
LEGEND = (
    "rqps: throughput relative to the previous release, + faster, - slower, = the same, ? unsure; "
    "work: instructions per operation relative to it, + more, - less."
)
CHAINED_LEGEND = f"{CHAINED}: chained over releases that experiments share."
_FUNCTIONS = 8
"""Functions listed for a step."""
_WHAT: dict[RatioKind, str] = {"time": "time per operation", "work": "instructions per operation"}
_TERMS = {
    "a step": (
        "A release compared with the release before it in one experiment. A bar begins at the end "
        "of the bar above it; a bar to the right is a cost. The last bar compares the last release "
        "with the first one, and is measured, not multiplied."
    ),
    "evidence": (
        "Time, if every step of a group has a verdict in time; otherwise work, the counted "
        "instructions per operation, which other programs on the machine do not affect."
    ),
}


def document(blame: Blame) -> Document:
    """Return the steps of each line of releases, sentences on its groups, and functions."""
    subject = ", ".join(f"{line.line} {line.whole.label}" for line in blame.lines)
    return Document(
        "The cost of each release",
        [
            *(text(each, role="strong") for each in blame.unfinished),
            *(_line(line, f"line-{place}") for place, line in enumerate(blame.lines)),
            *(text(note) for note in blame.notes),
            glossary(_TERMS),
        ],
        brand="Slowdust: releases",
        subject=[Strong(subject)],
        has_title=False,
        first=("line-0", "steps"),
    )


def _line(line: LineBlame, anchor: str) -> Section:
    facts = [
        f"benchmark {line.benchmark}",
        *([line.data] if line.data else []),
        f"measured in {', '.join(line.experiments)}",
        ", ".join(f"{label} {words}" for label, words in line.host.items())
        or "the host was not recorded",
    ]
    tests: list[Cells] = [
        [
            Cell(step.label, is_whole=True),
            _largest(step, "slower", line),
            _largest(step, "faster", line),
        ]
        for step in line.steps
    ]
    heads = ("step", "cost the most", "gained the most")
    is_chained = any(
        cell is not None and cell.chained
        for group, kind in _columns(line)
        for step in (*line.steps, line.whole)
        for cell in [_ratio_at(group, step, kind)]
    )
    return Section(
        f"{line.line}: {line.whole.label}",
        [
            text(f"{'; '.join(facts)}.", role="lead"),
            _steps(line),
            text(LEGEND, role="lead"),
            *([text(CHAINED_LEGEND, role="lead")] if is_chained else []),
            Items([" ".join(group.sentences) for group in line.groups]),
            *_charts(line),
            Section(
                f"{_largest_title(line)}:",
                [table(heads, tests, left=3, name=f"Largest changes of {line.line}")],
                is_plain=True,
            ),
            *(_functions(each) for each in line.functions),
            *(text(note) for note in line.notes),
        ],
        anchor,
        line.line,
    )


def _columns(line: LineBlame) -> list[tuple[Part, RatioKind]]:
    """Return a column for each group and kind of evidence that any step has."""
    rows = [*line.steps, line.whole]
    return [
        (group, kind)
        for group in line.whole.groups
        for kind in KINDS
        if any((part := row.change_of(group)) and part.by(kind) for row in rows)
    ]


def _ratio_at(group: Part, step: Step, kind: RatioKind) -> StepRatio | None:
    part = step.change_of(group)
    return None if part is None else part.by(kind)


def _steps(line: LineBlame) -> Table:
    chosen = _columns(line)
    several = len({each.clients for each in line.whole.groups}) > 1
    heads = ["step"] + [
        Column(
            SHORT_TITLES.get(group.name, group.name) + (f" x{group.clients}" if several else ""),
            unit=HEADS[kind],
            part=kind,
        )
        for group, kind in chosen
    ]
    rows = [
        Row(
            [
                Cell(step.label, is_whole=True),
                *(_cell(_ratio_at(group, step, kind), kind) for group, kind in chosen),
            ],
            is_total=step is line.whole,
        )
        for step in (*line.steps, line.whole)
    ]
    return Table(columns(*heads, left=1), rows, f"Steps of {line.line}")


def _cell(cell: StepRatio | None, kind: RatioKind) -> Cell:
    """Return a ratio such as '0.95 -' or '1.024 +*'."""
    if cell is None:
        return Cell()
    number = ratio(cell.ratio.value) if kind == "time" else work_ratio(cell.ratio.value)
    value = f"{number} {MARKS[kind][cell.ratio.verdict]}{CHAINED if cell.chained else ''}".rstrip()
    return Cell(value, shade=cell.ratio.verdict or "")


def _charts(line: LineBlame) -> list[Chart]:
    charts = []
    for blame, whole in zip(line.groups, line.whole.groups, strict=True):
        title, _, _ = blame.sentences[0].partition(": ")
        # Work that is known of some steps only has no bars that lead to the last release.
        evidence: RatioKind = blame.evidence if whole.by(blame.evidence) is not None else "time"
        what = _WHAT[evidence]
        charts.append(
            Chart(
                partial(
                    falling,
                    _bars(line, whole, evidence),
                    f"{title}, {what} from release to release",
                ),
                caption=f"{title}: {what}, relative to {line.whole.before}, with 95% intervals",
            )
        )
    return charts


def _bars(line: LineBlame, whole: Part, evidence: RatioKind) -> list[Bar]:
    """Return the steps of a group, each from the end of the step before it, and the whole."""
    steps = [(step.label, step.change_of(whole)) for step in line.steps]
    changes = [0.0 if part is None else part.cost(evidence) or 0.0 for _, part in steps]
    starts = accumulate(changes, initial=0.0)
    begun = [(*step, start) for step, start in zip(steps, starts, strict=False)]
    bars = []
    for label, part, start in (*begun, (line.whole.label, whole, 0.0)):
        if part is None or (cost := part.cost(evidence)) is None or part.by(evidence) is None:
            continue
        bars.append(Bar(label, start, cost, *part.cost_interval(evidence)))
    return bars


def _largest_title(line: LineBlame) -> str:
    """Return the title of the largest changes, with the changes that it includes."""
    verdicts = {
        cell.ratio.verdict
        for step in line.steps
        for test in step.tests
        for cell in [test.by(_deciding(test, line))]
        if cell is not None
    }
    sure = ["among significant changes"] if verdicts - {None} else []
    single = [f"among changes of {SINGLE:.0%} or more in single runs"] if None in verdicts else []
    which = " or ".join([*sure, *single])
    return f"The largest change of a test in each step{which and f', {which}'}"


def _largest(step: Step, side: Verdict, line: LineBlame) -> str:
    """Return the test with the largest significant change of a step to one side, in words.

    The evidence is time or work, as for the test's group. `ABSENT` without such a test.
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
    """Return the evidence used for a test's group."""
    evidence = {(each.group, each.clients): each.evidence for each in line.groups}
    return evidence.get((test.group, test.clients), "time")


def _functions(step: StepFunctions) -> Section:
    changes = step.changes
    rows: list[Cells] = [
        [Cell(name, is_code=bool(fate)), fate, *cells]
        for name, fate, *cells in own_costs(changes, _FUNCTIONS)
    ]
    whole = (
        f"{amount(changes.base_total)} to {amount(changes.total)} "
        f"{cost_per_operation(changes.source, changes.unit)}."
    )
    heads = ("function", "", step.before, step.after, "change", "of it")
    return Section(
        f"{step.after}: {changes.test}",
        [text(whole), table(heads, rows, left=2, name=f"Functions of {changes.test}")],
    )
