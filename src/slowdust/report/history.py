"""The history of versions as a document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from slowdust.analysis.history.change_points import BY_SIZE_ALONE
from slowdust.analysis.history.model import ChangePoint, History, LineHistory, Point, Series
from slowdust.ratios import distance, interval, ratio, work_ratio
from slowdust.report.answer import titled
from slowdust.report.charts.marks import marks_of
from slowdust.report.charts.ratio_lines import RatioLine, RatioPoint, Sign, history_chart
from slowdust.report.document import (
    Block,
    Cell,
    Cells,
    Chart,
    Column,
    Document,
    Heads,
    Items,
    Medium,
    Panel,
    Panels,
    Row,
    Section,
    Table,
    columns,
    glossary,
    text,
)
from slowdust.report.markdown.table import PALE
from slowdust.report.numbers import band
from slowdust.store.step import split_hold
from slowdust.wording import GROUP_TITLES, clients, counted, shortened, with_hold

MARKS_ABOVE_NOISE = "▲ ▼"
"""Signs of change points to a higher and to a lower throughput."""
MARKS_BY_SIZE_ALONE = "△ ▽"
"""Signs of change points without significance."""
CHAINED = "*"
NEW_LEVEL = "a new level of throughput begins here"
MEAN_AND_MEDIAN = (
    "The table has the geometric mean over the tests of a group that all versions have; the common "
    "result, in the sentences, is the result of the median test."
)
MOST_UNFOLDED = 4
"""The most groups whose tests are all unfolded."""


def document(history: History) -> Document:
    """Return the groups, the change points and the tests of each line of versions."""
    lines: list[Block] = [_line(line, f"line-{place}") for place, line in enumerate(history.lines)]
    none = "There is no history yet: it needs two versions of one DBMS in one experiment."
    return Document(
        "History of versions",
        [
            *(lines or [text(none, media=Medium.HTML)]),
            *([text(*history.notes)] if history.notes else []),
            glossary(_words(history)),
        ],
        brand="Slowdust history",
        heading="From version to version",
        subject="Throughput of each version relative to an older one",
        has_title=False,
        first=("line-0", "first history"),
    )


def _line(line: LineHistory, anchor: str) -> Section:
    facts = [
        f"benchmark {line.benchmark}",
        *([line.data] if line.data else []),
        f"{counted(len(line.versions), 'version')} in "
        f"{counted(len(line.experiments), 'experiment')}: {shortened(line.experiments)}",
        ", ".join(f"{label} {value}" for label, value in line.host.items())
        or "the host was not recorded",
    ]
    changes = [Items(titled(line.changes))] if line.changes else []
    return Section(
        line.line,
        [
            text("; ".join(facts) + ".", role="lead"),
            *(_groups(line, anchor) if line.groups else []),
            *([text(MEAN_AND_MEDIAN)] if line.changes and line.groups else []),
            *changes,
            *_change_points_by_version(line),
            *(text(note) for note in line.notes),
            _tests(line, anchor),
        ],
        anchor,
        f"{line.line}, {line.benchmark}, {line.versions[0].label} to {line.versions[-1].label}",
    )


def _groups(line: LineHistory, anchor: str) -> list[Block]:
    mean = (
        f"Throughput relative to {line.base}: geometric mean of the tests that all versions have."
    )
    panel = _panel(line, "Groups of tests", f"{anchor}-groups", line.groups)
    return [
        text(mean),
        Panels(_table(line, line.groups, [panel], "group", _cell), [panel]),
        *_legend(line.groups),
        *_work(line, line.groups, "group"),
    ]


def _tests(line: LineHistory, anchor: str) -> Section:
    by_group: dict[str, list[Series]] = {}
    for series in line.tests:
        by_group.setdefault(series.group, []).append(series)
    panels = [
        _panel(line, group, f"{anchor}-{place}", tests)
        for place, (group, tests) in enumerate(by_group.items())
    ]
    several = _several_clients(line)
    changes = [
        f"{series.name}{f' at {clients(series.clients)}' if several else ''}: "
        f"{', '.join(change.words for change in series.change_points)}"
        for series in line.tests
        if series.change_points
    ]
    return Section(
        "Tests",
        [
            text(f"Throughput relative to {line.base}."),
            Panels(_table(line, line.tests, panels, "test", _cell), panels),
            *_legend(line.tests),
            *_work(line, line.tests, "test"),
            *([Items(changes)] if changes else []),
        ],
        media=Medium.FILE,
    )


@dataclass(frozen=True)
class Course:
    """A line of a chart, and the places of its change points."""

    label: str
    points: tuple[RatioPoint, ...]
    signs: tuple[tuple[int, bool, str], ...] = ()
    """Place, whether it improves there, and its sign."""


def panel_of(
    title: str, anchor: str, places: Sequence[str], courses: Sequence[Course], words: str
) -> Panel:
    """Return the panel with the chart of courses over places; `words` describe the chart."""
    marks = marks_of(["", *(course.label for course in courses)], "")
    lines = [RatioLine(course.label, marks[course.label], course.points) for course in courses]
    signs = [Sign(*sign, marks[course.label]) for course in courses for sign in course.signs]
    shown = {course.label: marks[course.label].css_class for course in courses}
    chart = Chart(
        partial(history_chart, places, lines, signs, words),
        legend=[(mark, label) for label, mark in shown.items()],
        is_wide=True,
    )
    return Panel(title, anchor, title, [chart], marks=shown)


def _panel(line: LineHistory, group: str, anchor: str, all_series: Sequence[Series]) -> Panel:
    """Return the panel of the groups, or of the tests of one group."""
    versions = [version.label for version in line.versions]
    courses = [
        Course(
            _label(line, series),
            tuple(
                RatioPoint(point.ratio, versions.index(point.version)) for point in series.points
            ),
            tuple(
                (versions.index(change.version), change.ratio > 1, _sign(change))
                for change in series.change_points
            ),
        )
        for series in all_series
    ]
    title = GROUP_TITLES.get(group, group)
    words = f"{title} of {line.line}: throughput relative to {line.base}, by version"
    few = len({series.group for series in line.tests}) <= MOST_UNFOLDED
    panel = panel_of(title, anchor, versions, courses, words)
    return replace(panel, is_open=few or anchor.endswith("-groups"))


def _label(line: LineHistory, series: Series) -> str:
    label = label_of(series)
    return f"{label}, {clients(series.clients)}" if _several_clients(line) else label


def label_of(series: Series) -> str:
    """Return a group with its number of tests, or the name of a test."""
    if not series.tests:
        return series.name
    title = GROUP_TITLES.get(series.group, series.group)
    return f"{title}{with_hold(split_hold(series.name)[1])} ({len(series.tests)})"


def _several_clients(line: LineHistory) -> bool:
    return len({series.clients for series in line.tests}) > 1


def _table(
    line: LineHistory,
    all_series: Sequence[Series],
    panels: Sequence[Panel],
    kind: str,
    cell_of: Callable[[Series, str], Cell],
) -> Table:
    """Return a row for each series, in the colours of the charts."""
    several = _several_clients(line)
    versions = [Column(each.label, hint=", ".join(each.experiments)) for each in line.versions]
    rows = []
    for series in all_series:
        label = _label(line, series)
        panel = next((each for each in panels if label in each.marks), None)
        cells: Cells = [
            Cell(label_of(series), mark=panel.marks[label] if panel else ""),
            *([str(series.clients)] if several else []),
            *(cell_of(series, version.title) for version in versions),
        ]
        rows.append(Row(cells, panel.group if panel else ""))
    heads: Heads = [kind, *(["clients"] if several else []), *versions]
    return Table(columns(*heads, left=1), rows, f"{kind}s by version")


def _point_at(series: Series, version: str) -> Point | None:
    return next((point for point in series.points if point.version == version), None)


def change_at(series: Series, version: str) -> ChangePoint | None:
    """Return the change of a series with a version."""
    return next((change for change in series.change_points if change.version == version), None)


def _sign(change: ChangePoint) -> str:
    """Return the arrow of a change point; it is hollow without significance."""
    faster, slower = (MARKS_BY_SIZE_ALONE if change.by_size_alone else MARKS_ABOVE_NOISE).split()
    return faster if change.ratio > 1 else slower


def _cell(series: Series, version: str) -> Cell:
    point = _point_at(series, version)
    if point is None:
        return Cell()
    change = change_at(series, version)
    hints = [
        *([change.words] if change else []),
        *(["unsure"] if point.unsure else []),
        *([f"95% interval{interval(point.ratio, 3)}"] if point.ratio.interval else []),
        *([f"chained through {', '.join(point.through)}"] if point.through else []),
        f"from {', '.join(point.experiments)}",
    ]
    return Cell(
        ratio(point.ratio.value),
        end=CHAINED if point.through else "",
        sign=_sign(change) if change else "",
        shade=band(point.ratio.value),
        is_pale=bool(point.unsure),
        hint="; ".join(hints),
    )


def _work_cell(series: Series, version: str) -> Cell:
    point = _point_at(series, version)
    if point is None or point.work is None:
        return Cell()
    return Cell(work_ratio(point.work.ratio.value) + (CHAINED if point.work.through else ""))


def _work(line: LineHistory, all_series: Sequence[Series], kind: str) -> list[Block]:
    """Return a table of the series whose work was counted for a version other than the base."""
    counted_series = [
        series
        for series in all_series
        if any(point.work and point.version != line.base for point in series.points)
    ]
    if not counted_series:
        return []
    return [
        text(f"Work: instructions per operation relative to {line.base}."),
        _table(line, counted_series, [], kind, _work_cell),
    ]


def _legend(all_series: Sequence[Series]) -> list[Block]:
    kinds = {change.by_size_alone for series in all_series for change in series.change_points}
    chained = any(point.through for series in all_series for point in series.points)
    signs = [
        *([f"{MARKS_ABOVE_NOISE}: {NEW_LEVEL}."] if False in kinds else []),
        *([f"{MARKS_BY_SIZE_ALONE}: {NEW_LEVEL}, {BY_SIZE_ALONE}."] if True in kinds else []),
        *([PALE] if any(point.unsure for s in all_series for point in s.points) else []),
        *([f"{CHAINED}: chained over versions that experiments share."] if chained else []),
    ]
    return [text(" ".join(signs), media=Medium.TEXT)] if signs else []


def _change_points_by_version(line: LineHistory) -> list[Block]:
    """Return lines such as '5.7.10: 24 tests slower (5% to 12%), 5 tests faster (77% to 2.9X)'."""
    titles = {
        False: "Change points, the first version of the new level:",
        True: f"Change points {BY_SIZE_ALONE}:",
    }
    blocks: list[Block] = []
    for by_size_alone, title in titles.items():
        versions = []
        for version in line.versions[1:]:
            ratios = [
                change.ratio
                for series in line.tests
                if (change := change_at(series, version.label)) is not None
                and change.by_size_alone == by_size_alone
            ]
            slower = sorted((ratio for ratio in ratios if ratio < 1), reverse=True)
            faster = sorted(ratio for ratio in ratios if ratio > 1)
            parts = [_span(slower, "slower"), _span(faster, "faster")]
            if ratios:
                versions.append(f"{version.label}: {', '.join(filter(None, parts))}")
        blocks += [text(title), Items(versions)] if versions else []
    return blocks


def _span(ratios: Sequence[float], word: str) -> str:
    if not ratios:
        return ""
    ends = list(dict.fromkeys(distance(ratio) for ratio in (ratios[0], ratios[-1])))
    return f"{counted(len(ratios), 'test')} {word} ({' to '.join(ends)})"


def _words(history: History) -> dict[str, str]:
    """Return the terms of the page."""
    all_series = [series for line in history.lines for series in (*line.groups, *line.tests)]
    kinds = {change.by_size_alone for series in all_series for change in series.change_points}
    unsure = any(point.unsure for series in all_series for point in series.points)
    words = {
        "0.82": (
            "Throughput of the version relative to the first version, in the same experiment. Red: "
            "0.95 and less. Green: 1.05 and more." + (" Pale: unsure." if unsure else "")
        ),
        CHAINED: (
            "Chained: no experiment has both versions, so ratios of several experiments are "
            "multiplied over the versions that these share. Rates of two experiments are never "
            "compared."
        ),
    }
    if False in kinds:
        words[MARKS_ABOVE_NOISE] = (
            "Change point: a new level of throughput begins with this version, by more than noise. "
            "The chance of a false one in the whole history is 5%."
        )
    if True in kinds:
        words[MARKS_BY_SIZE_ALONE] = (
            "Change point by size alone: a new level of throughput begins with this version. It "
            "comes from single runs, which are too few to estimate their noise."
        )
    return words | {
        "group of tests": "Geometric mean over the tests of the group that all versions have.",
        "common result": (
            "The result of the median test of a group, if more than half of its tests are on the "
            "same side: slower, similar or faster."
        ),
        "\N{EN DASH}": "Not measured, or not comparable. Never zero.",
    }
