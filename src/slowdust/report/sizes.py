"""Sizes of builds and of build trees as a document and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

import msgspec

from slowdust.analysis.sizes import Growth, SizedBuild, SizesReport
from slowdust.report.charts.bars import SizeBar, size_bars
from slowdust.report.document import ABSENT, Chart, Document, Section, table, text
from slowdust.store.sizes import ServerSizes, TreeSizes
from slowdust.units import known

OTHER_SOURCE = "*"
"""The sign of a growth over a build of other people."""
EXPLANATION = (
    "MB are 1,000,000 bytes. As is: the size of the server's binary, with the symbols and debug "
    "information that it came with. Code: executable sections. Text: code and constants, as "
    "size(1) counts. Libraries: shared libraries of the build that the server is linked with. "
    "Growth: over the build before."
)
ABOUT_SOURCES = (
    "With an asterisk (*): the version before was built by others, so the difference may be one of "
    "compilers and options, not of the server."
)


@dataclass(frozen=True)
class Column:
    """A column: its title, and the text of its cells."""

    title: str
    cell: Callable[[SizedBuild], str]


def megabytes(size: float) -> str:
    """Write bytes in MB: '75.87', '313.8'."""
    value = size / 1e6
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def _bytes(field: str) -> Callable[[SizedBuild], str]:
    return lambda build: megabytes(getattr(build.sizes.server, field))


def _count(field: str) -> Callable[[SizedBuild], str]:
    def cell(build: SizedBuild) -> str:
        count: int | None = getattr(build.sizes.server, field)
        return ABSENT if count is None else f"{count:,}"

    return cell


def _growth(field: str) -> Callable[[SizedBuild], str]:
    def cell(build: SizedBuild) -> str:
        growth = build.growth
        ratio = getattr(growth, field, None)
        if growth is None or ratio is None:
            return ABSENT
        percent = f"{ratio - 1:+.1%}" if ratio < 2 else f"{ratio:.2f}X"
        return percent + ("" if growth.same_source else OTHER_SOURCE)

    return cell


def _libraries(build: SizedBuild) -> str:
    libraries = build.sizes.libraries
    return megabytes(sum(libraries.values())) if libraries else ABSENT


def _plugins(build: SizedBuild) -> str:
    if not build.sizes.plugins:
        return ABSENT
    return f"{megabytes(build.sizes.plugin_bytes)} ({build.sizes.plugins})"


_COLUMNS = (
    Column("stripped MB", _bytes("stripped_bytes")),
    Column("growth", _growth("stripped")),
    Column("code MB", _bytes("code_bytes")),
    Column("growth of code", _growth("code")),
    Column("as is MB", _bytes("file_bytes")),
    Column("text MB", _bytes("text_bytes")),
    Column("data MB", _bytes("data_bytes")),
    Column("bss MB", _bytes("bss_bytes")),
    Column("functions", _count("functions")),
    Column("growth of functions", _growth("functions")),
    Column("symbols", _count("symbols")),
    Column("libraries MB", _libraries),
    Column("plugins MB", _plugins),
    Column("source", lambda build: build.sizes.source.partition(" ")[0]),
)


def render_csv(report: SizesReport) -> str:
    """Return the table; what is not known is an empty cell."""
    of_server, of_growth = ServerSizes.__struct_fields__, Growth.__struct_fields__
    header = [
        *("dbms", "version", "source"),
        *of_server,
        *("library_bytes", "plugins", "plugin_bytes"),
        *(f"growth_{name}" for name in of_growth),
    ]
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(header)
    for build in report.builds:
        sizes = build.sizes
        growth = {} if build.growth is None else msgspec.structs.asdict(build.growth)
        cells = [
            *(sizes.dbms, sizes.version, sizes.source),
            *(getattr(sizes.server, name) for name in of_server),
            *(sum(sizes.libraries.values()), sizes.plugins, sizes.plugin_bytes),
            *(growth.get(name) for name in of_growth),
        ]
        writer.writerow(["" if cell is None else cell for cell in cells])
    return output.getvalue()


PARTS = ("code", "constants", "data", "not loaded")
_FOLDERS = ("directory", "objects", "MB", "libraries", "MB")
_MOST_FOLDERS = 20


def document(report: SizesReport) -> Document:
    """Return the build trees, and the builds with a chart of each DBMS."""
    trees = [_tree(tree, f"tree-{place}") for place, tree in enumerate(report.trees, start=1)]
    return Document(
        "Sizes of builds",
        [*trees, *([_builds(report)] if report.builds else [])],
        brand="Slowdust sizes",
        heading="Sizes of the binaries",
        has_title=False,
        first=("builds" if report.builds else "tree-1", "sizes"),
        styles=("steps.css", "sizes.css"),
    )


def _builds(report: SizesReport) -> Section:
    builds = report.builds
    columns = [
        column
        for column in _COLUMNS
        if any(column.cell(build) not in (ABSENT, "") for build in builds)
    ]
    rows = [
        [f"{each.sizes.dbms}@{each.sizes.version}", *(column.cell(each) for column in columns)]
        for each in builds
    ]
    charts = [
        _chart(dbms, [*of_dbms])
        for dbms, of_dbms in groupby(builds, key=lambda build: build.sizes.dbms)
    ]
    heads = ["build", *(column.title for column in columns)]
    sizes = replace(table(heads, rows, left=1, name="Sizes by version"), fits=True)
    about = [text(EXPLANATION)]
    if any(not growth.same_source for growth in known(build.growth for build in builds)):
        about.append(text(ABOUT_SOURCES))
    return Section("", [*charts, sizes, *about], anchor="builds", link="Builds")


def _chart(dbms: str, builds: Sequence[SizedBuild]) -> Chart:
    title = f"Size of the stripped server of {dbms} by version: {', '.join(PARTS)}"
    return Chart(
        partial(size_bars, [_bar(build) for build in builds], title),
        caption=f"The stripped server of each version of {dbms}",
        legend=[(f"part-{place}", part) for place, part in enumerate(PARTS)],
        is_wide=True,
    )


def _bar(build: SizedBuild) -> SizeBar:
    server = build.sizes.server
    loaded = server.text_bytes + server.data_bytes
    return SizeBar(
        label=build.sizes.version,
        value=f"{megabytes(server.stripped_bytes)} MB",
        parts=(
            server.code_bytes,
            server.text_bytes - server.code_bytes,
            server.data_bytes,
            max(0, server.stripped_bytes - loaded),
        ),
    )


def _tree(tree: TreeSizes, anchor: str) -> Section:
    folders = [*tree.folders[:_MOST_FOLDERS], tree.total]
    rows = [
        [
            "all" if folder is tree.total else folder.path,
            f"{folder.objects:,}",
            megabytes(folder.object_bytes),
            f"{folder.libraries:,}",
            megabytes(folder.library_bytes),
        ]
        for folder in folders
    ]
    files = [[file.path, megabytes(file.bytes)] for file in tree.largest]
    return Section(
        f"Object files and static libraries below {tree.directory}",
        [
            table(_FOLDERS, rows, left=1, name="Directories of the build tree"),
            table(("largest file", "MB"), files, left=1, name="Largest files"),
        ],
        anchor=anchor,
        link=tree.directory,
        is_plain=True,
    )
