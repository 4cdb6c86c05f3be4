"""The columns of the table of builds, which Markdown, the terminal and the page share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowdust.analysis.sizes import Growth, SizedBuild
from slowdust.report.markdown.table import ABSENT
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
    """Return the columns in which any build has a value, the most important first."""
    return [
        column
        for column in _COLUMNS
        if any(column.cell(build) not in (ABSENT, "") for build in builds)
    ]


def name_of(build: SizedBuild) -> str:
    """Return the build's name: postgres@17.6."""
    return f"{build.sizes.dbms}@{build.sizes.version}"


def has_other_sources(builds: Sequence[SizedBuild]) -> bool:
    """Return whether any growth is over a build of other people."""
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
