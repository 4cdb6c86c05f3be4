"""The history as Markdown that also reads well in a terminal: versions are its columns."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.history.change_points import BY_SIZE_ALONE
from slowdust.analysis.history.model import ChangePoint, History, LineHistory, Series
from slowdust.report.markdown.changes import told_changes
from slowdust.report.markdown.table import ABSENT, ratio, table
from slowdust.wording import GROUP_TITLES, clients, counted, distance

MARKS_ABOVE_NOISE = "▲ ▼"
MARKS_BY_SIZE_ALONE = "△ ▽"
"""Of change points: where the new level is faster, and where it is slower."""
CHAINED = "*"
NEW_LEVEL = "from here on throughput is at another level"
MEAN_AND_MEDIAN = (
    "The table has the geometric mean of a group's tests, of those that all versions have; the "
    "common result, in the sentences, is that of its median test."
)


def brief(history: History) -> str:
    """Groups of tests, what changed, and where: for the terminal."""
    lines = [
        [
            *_head(line),
            *_groups(line),
            *_changes(line),
            *_by_version(line),
            *_notes(line),
        ]
        for line in history.lines
    ]
    return _written(history, lines)


def render(history: History) -> str:
    """The same with every test."""
    lines = [
        [
            *_head(line),
            *_groups(line),
            *_changes(line),
            *_by_version(line),
            *_notes(line),
            *_tests(line),
            *_by_test(line),
        ]
        for line in history.lines
    ]
    return _written(history, lines)


def _written(history: History, lines: Sequence[Sequence[str]]) -> str:
    parts = ["\n".join(line) for line in lines]
    if history.notes:
        parts.append("\n".join(history.notes))
    return "\n\n".join(parts) + "\n"


def _head(line: LineHistory) -> list[str]:
    facts = [
        f"benchmark {line.benchmark}",
        *([line.data] if line.data else []),
        f"{counted(len(line.versions), 'version')} in "
        f"{counted(len(line.experiments), 'experiment')}",
        ", ".join(f"{label} {value}" for label, value in line.host.items())
        or "the host was not recorded",
    ]
    return [f"# {line.line}", "", "; ".join(facts) + ".", ""]


def _groups(line: LineHistory) -> list[str]:
    if not line.groups:
        return []
    return [
        f"Throughput relative to {line.base}: geometric mean of the tests that all versions have.",
        "",
        *_table(line, line.groups, "group"),
        "",
        *_legend(line.groups),
    ]


def _changes(line: LineHistory) -> list[str]:
    told = told_changes(line.changes)
    return [MEAN_AND_MEDIAN, "", *told] if told and line.groups else told


def _tests(line: LineHistory) -> list[str]:
    return [
        "",
        "## Tests",
        "",
        f"Throughput relative to {line.base}.",
        "",
        *_table(line, line.tests, "test"),
        "",
        *_legend(line.tests),
    ]


def _table(line: LineHistory, all_series: Sequence[Series], kind: str) -> list[str]:
    several = len({series.clients for series in line.tests}) > 1
    header = [kind, *(["clients"] if several else []), *(one.label for one in line.versions)]
    rows = [
        [
            label_of(series),
            *([str(series.clients)] if several else []),
            *(_cell(series, version.label) for version in line.versions),
        ]
        for series in all_series
    ]
    return table(header, rows, left=1)


def label_of(series: Series) -> str:
    """A group with its number of tests, or a test."""
    if not series.tests:
        return series.name
    return f"{GROUP_TITLES.get(series.name, series.name)} ({len(series.tests)})"


def change_at(series: Series, version: str) -> ChangePoint | None:
    """The change of level that begins at a version."""
    return next((one for one in series.change_points if one.version == version), None)


def mark_of(change: ChangePoint) -> str:
    """Its arrow: hollow where size alone tells of it."""
    faster, slower = (MARKS_BY_SIZE_ALONE if change.by_size_alone else MARKS_ABOVE_NOISE).split()
    return faster if change.ratio > 1 else slower


def _cell(series: Series, version: str) -> str:
    point = next((point for point in series.points if point.version == version), None)
    if point is None:
        return ABSENT
    change = change_at(series, version)
    mark = f"{mark_of(change)} " if change else ""
    return f"{mark}{ratio(point.rqps)}{CHAINED if point.through else ''}"


def _legend(all_series: Sequence[Series]) -> list[str]:
    told = []
    kinds = {change.by_size_alone for series in all_series for change in series.change_points}
    if False in kinds:
        told.append(f"{MARKS_ABOVE_NOISE}: {NEW_LEVEL}.")
    if True in kinds:
        told.append(f"{MARKS_BY_SIZE_ALONE}: {NEW_LEVEL}, {BY_SIZE_ALONE}.")
    if any(point.through for series in all_series for point in series.points):
        told.append(f"{CHAINED}: chained over versions that experiments share.")
    return [" ".join(told), ""] if told else []


def _by_version(line: LineHistory) -> list[str]:
    """'5.7.10: 24 tests slower (5% to 12%), 5 tests faster (77% to 2.9X)'."""
    return [
        *_counted(line, "Change points, the first version of the new level:", by_size_alone=False),
        *_counted(line, f"Change points {BY_SIZE_ALONE}:", by_size_alone=True),
    ]


def _counted(line: LineHistory, title: str, *, by_size_alone: bool) -> list[str]:
    told = []
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
            told.append(f"- {version.label}: {', '.join(filter(None, parts))}")
    return ["", title, "", *told] if told else []


def _span(ratios: Sequence[float], word: str) -> str:
    if not ratios:
        return ""
    ends = list(dict.fromkeys(distance(ratio) for ratio in (ratios[0], ratios[-1])))
    return f"{counted(len(ratios), 'test')} {word} ({' to '.join(ends)})"


def _by_test(line: LineHistory) -> list[str]:
    several = len({series.clients for series in line.tests}) > 1
    return [
        f"- {series.name}{f' at {clients(series.clients)}' if several else ''}: "
        f"{', '.join(change.words for change in series.change_points)}"
        for series in line.tests
        if series.change_points
    ]


def _notes(line: LineHistory) -> list[str]:
    return [text for note in line.notes for text in ("", note)]
