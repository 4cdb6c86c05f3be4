"""Sizes as Markdown, and as much of it as fits a terminal."""

from __future__ import annotations

from slowdust.analysis.sizes import SizesReport
from slowdust.report.markdown.table import escaped, table
from slowdust.report.sizes.columns import (
    ABOUT_SOURCES,
    EXPLANATION,
    Column,
    columns_of,
    has_other_sources,
    megabytes,
    name_of,
)
from slowdust.store.sizes import ObjectFolder, TreeSizes

_FOLDERS = ("directory", "objects", "MB", "libraries", "MB")
_MOST_FOLDERS = 20


def render(report: SizesReport) -> str:
    """Return all columns of all builds, and the build trees."""
    report = escaped(report)
    return _rendered(report, columns_of(report.builds))


def brief(report: SizesReport, width: int) -> str:
    """Return the most important columns that fit a terminal, and the build trees."""
    columns = columns_of(report.builds)
    while len(columns) > 1 and max(map(len, _builds(report, columns))) > width:
        columns.pop()
    return _rendered(report, columns)


def _rendered(report: SizesReport, columns: list[Column]) -> str:
    parts = ["\n".join(_tree(tree)) for tree in report.trees]
    if report.builds:
        parts += ["\n".join(_builds(report, columns)), EXPLANATION]
        if has_other_sources(report.builds):
            parts.append(ABOUT_SOURCES)
    return "\n\n".join(parts) + "\n"


def _builds(report: SizesReport, columns: list[Column]) -> list[str]:
    header = ["build", *(column.title for column in columns)]
    rows = [
        [name_of(build), *(column.cell(build) for column in columns)] for build in report.builds
    ]
    return table(header, rows, left=1)


def _tree(tree: TreeSizes) -> list[str]:
    folders = [*tree.folders[:_MOST_FOLDERS], tree.total]
    names = [*(folder.path for folder in folders[:-1]), "all"]
    rows = [[name, *_cells(folder)] for name, folder in zip(names, folders, strict=True)]
    files = [[file.path, megabytes(file.bytes)] for file in tree.largest]
    return [
        f"Object files and static libraries below {tree.directory}",
        "",
        *table(_FOLDERS, rows, left=1),
        "",
        *table(["largest file", "MB"], files, left=1),
    ]


def _cells(folder: ObjectFolder) -> list[str]:
    return [
        f"{folder.objects:,}",
        megabytes(folder.object_bytes),
        f"{folder.libraries:,}",
        megabytes(folder.library_bytes),
    ]
