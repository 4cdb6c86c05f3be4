"""The history as Markdown that also reads well in a terminal: versions are its columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slowdust.analysis.history.change_points import BY_SIZE_ALONE
from slowdust.analysis.history.model import History, LineHistory, Series
from slowdust.ratios import distance, ratio, work_ratio
from slowdust.report.answer import list_of_changes
from slowdust.report.history import (
    CHAINED,
    MARKS_ABOVE_NOISE,
    MARKS_BY_SIZE_ALONE,
    MEAN_AND_MEDIAN,
    change_at,
    label_of,
    mark_of,
    point_at,
    several_clients,
)
from slowdust.report.markdown.table import ABSENT, PALE, escaped, pale, table
from slowdust.wording import clients, counted, shortened

NEW_LEVEL = "from here on throughput is at another level"


def brief(history: History) -> str:
    """Return groups of tests, their changes, and the change points, for the terminal."""
    return _render(history, BRIEF)


def render(history: History) -> str:
    return _render(escaped(history), (*BRIEF, _tests, _change_points_by_test))


def _render(history: History, sections: Sequence[Callable[[LineHistory], list[str]]]) -> str:
    parts = [
        "\n".join(text for section in sections for text in section(line)) for line in history.lines
    ]
    if history.notes:
        parts.append("\n".join(history.notes))
    return "\n\n".join(parts) + "\n"


def _head(line: LineHistory) -> list[str]:
    facts = [
        f"benchmark {line.benchmark}",
        *([line.data] if line.data else []),
        f"{counted(len(line.versions), 'version')} in "
        f"{counted(len(line.experiments), 'experiment')}: {shortened(line.experiments)}",
        ", ".join(f"{label} {value}" for label, value in line.host.items())
        or "the host was not recorded",
    ]
    return [f"# {line.line}", "", "; ".join(facts) + ".", ""]


def _groups(line: LineHistory) -> list[str]:
    if not line.groups:
        return []
    mean = (
        f"Throughput relative to {line.base}: geometric mean of the tests that all versions have."
    )
    return [
        mean,
        "",
        *_table(line, line.groups, "group", _cell),
        "",
        *_legend(line.groups),
        *_work(line, line.groups, "group"),
    ]


def _changes(line: LineHistory) -> list[str]:
    changes = list_of_changes(line.changes)
    return [MEAN_AND_MEDIAN, "", *changes] if changes and line.groups else changes


def _tests(line: LineHistory) -> list[str]:
    head = ["", "## Tests", "", f"Throughput relative to {line.base}.", ""]
    return [
        *head,
        *_table(line, line.tests, "test", _cell),
        "",
        *_legend(line.tests),
        *_work(line, line.tests, "test"),
    ]


def _work(line: LineHistory, all_series: Sequence[Series], kind: str) -> list[str]:
    """Return a table of work, of the series in which any version but the base has some."""
    counted = [
        series
        for series in all_series
        if any(point.work and point.version != line.base for point in series.points)
    ]
    if not counted:
        return []
    head = [f"Work: instructions per operation relative to {line.base}.", ""]
    return [*head, *_table(line, counted, kind, _work_cell), ""]


def _table(
    line: LineHistory,
    all_series: Sequence[Series],
    kind: str,
    cell_of: Callable[[Series, str], str],
) -> list[str]:
    several = several_clients(line)
    labels = [version.label for version in line.versions]
    header = [kind, *(["clients"] if several else []), *labels]
    rows = [
        [
            label_of(series),
            *([str(series.clients)] if several else []),
            *(cell_of(series, label) for label in labels),
        ]
        for series in all_series
    ]
    return table(header, rows, left=1)


def _cell(series: Series, version: str) -> str:
    point = point_at(series, version)
    if point is None:
        return ABSENT
    change = change_at(series, version)
    mark = f"{mark_of(change)} " if change else ""
    rqps = ratio(point.ratio.value)
    rqps = pale(rqps) if point.unsure else rqps
    return f"{mark}{rqps}{CHAINED if point.through else ''}"


def _work_cell(series: Series, version: str) -> str:
    point = point_at(series, version)
    if point is None or point.work is None:
        return ABSENT
    return f"{work_ratio(point.work.ratio.value)}{CHAINED if point.work.through else ''}"


def _legend(all_series: Sequence[Series]) -> list[str]:
    kinds = {change.by_size_alone for series in all_series for change in series.change_points}
    chained = any(point.through for series in all_series for point in series.points)
    signs = [
        *([f"{MARKS_ABOVE_NOISE}: {NEW_LEVEL}."] if False in kinds else []),
        *([f"{MARKS_BY_SIZE_ALONE}: {NEW_LEVEL}, {BY_SIZE_ALONE}."] if True in kinds else []),
        *([PALE] if any(point.unsure for s in all_series for point in s.points) else []),
        *([f"{CHAINED}: chained over versions that experiments share."] if chained else []),
    ]
    return [" ".join(signs), ""] if signs else []


def _change_points_by_version(line: LineHistory) -> list[str]:
    """Return lines such as '5.7.10: 24 tests slower (5% to 12%), 5 tests faster (77% to 2.9X)'."""
    return [
        *_counted(line, "Change points, the first version of the new level:", by_size_alone=False),
        *_counted(line, f"Change points {BY_SIZE_ALONE}:", by_size_alone=True),
    ]


def _counted(line: LineHistory, title: str, *, by_size_alone: bool) -> list[str]:
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
            versions.append(f"- {version.label}: {', '.join(filter(None, parts))}")
    return ["", title, "", *versions] if versions else []


def _span(ratios: Sequence[float], word: str) -> str:
    if not ratios:
        return ""
    ends = list(dict.fromkeys(distance(ratio) for ratio in (ratios[0], ratios[-1])))
    return f"{counted(len(ratios), 'test')} {word} ({' to '.join(ends)})"


def _change_points_by_test(line: LineHistory) -> list[str]:
    several = several_clients(line)
    return [
        f"- {series.name}{f' at {clients(series.clients)}' if several else ''}: "
        f"{', '.join(change.words for change in series.change_points)}"
        for series in line.tests
        if series.change_points
    ]


def _notes(line: LineHistory) -> list[str]:
    return [text for note in line.notes for text in ("", note)]


BRIEF = (_head, _groups, _changes, _change_points_by_version, _notes)
"""The sections of a line's brief form, in order."""
