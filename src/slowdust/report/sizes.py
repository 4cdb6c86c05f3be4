"""Sizes of builds and of build trees as a page, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec
from markupsafe import Markup

from slowdust.analysis.sizes import Growth, SizedBuild, SizesReport
from slowdust.report.html.charts.bars import SizeBar, size_bars
from slowdust.report.html.environment import environment, shipped
from slowdust.report.markdown.table import ABSENT, escaped, table
from slowdust.store.sizes import ObjectFolder, ServerSizes, TreeSizes
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


def columns_of(builds: Sequence[SizedBuild]) -> list[Column]:
    return [
        column
        for column in _COLUMNS
        if any(column.cell(build) not in (ABSENT, "") for build in builds)
    ]


def name_of(build: SizedBuild) -> str:
    return f"{build.sizes.dbms}@{build.sizes.version}"


def has_other_sources(builds: Sequence[SizedBuild]) -> bool:
    return any(not growth.same_source for growth in known(build.growth for build in builds))


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
        ratio = getattr(build.growth, field, None)
        return ABSENT if ratio is None else _percent(ratio) + _sign(build.growth)

    return cell


def _percent(ratio: float) -> str:
    return f"{ratio - 1:+.1%}" if ratio < 2 else f"{ratio:.2f}X"


def _sign(growth: Growth | None) -> str:
    return "" if growth is None or growth.same_source else OTHER_SOURCE


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


@dataclass(frozen=True)
class FamilyView:
    """The builds of a DBMS."""

    dbms: str
    builds: tuple[SizedBuild, ...]
    columns: tuple[Column, ...]
    chart: Markup
    notes: tuple[str, ...]


def render_page(report: SizesReport) -> str:
    families = groupby(report.builds, key=lambda build: build.sizes.dbms)
    return (
        environment()
        .get_template("sizes.html")
        .render(
            families=[_view(dbms, tuple(builds)) for dbms, builds in families],
            trees=report.trees,
            parts=PARTS,
            megabytes=megabytes,
            style=shipped("page.css", "steps.css", "charts.css", "sizes.css"),
            script=shipped("save.js"),
        )
    )


def _view(dbms: str, builds: tuple[SizedBuild, ...]) -> FamilyView:
    title = f"Size of the stripped server of {dbms} by version: {', '.join(PARTS)}"
    return FamilyView(
        dbms=dbms,
        builds=builds,
        columns=tuple(columns_of(builds)),
        chart=size_bars([_bar(build) for build in builds], title),
        notes=(EXPLANATION, *([ABOUT_SOURCES] if has_other_sources(builds) else [])),
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


_FOLDERS = ("directory", "objects", "MB", "libraries", "MB")
_MOST_FOLDERS = 20


def render_markdown(report: SizesReport) -> str:
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
