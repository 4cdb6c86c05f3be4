"""Sizes as one self-contained page: a chart and a table for each DBMS, tables for build trees."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from slowdust.analysis.sizes import SizedBuild, SizesReport
from slowdust.report.html.charts.bars import SizeBar, size_bars
from slowdust.report.html.environment import environment, shipped
from slowdust.report.sizes.columns import (
    ABOUT_SOURCES,
    EXPLANATION,
    Column,
    columns_of,
    has_other_sources,
    megabytes,
)

PARTS = ("code", "constants", "data", "not loaded")


@dataclass(frozen=True)
class FamilyView:
    """The builds of a DBMS."""

    dbms: str
    builds: tuple[SizedBuild, ...]
    columns: tuple[Column, ...]
    chart: Markup
    notes: tuple[str, ...]


def render(report: SizesReport) -> str:
    """Return the whole page."""
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
