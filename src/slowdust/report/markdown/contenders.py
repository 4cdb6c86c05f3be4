"""The contenders, the hosts and the use of the storage in Markdown."""

from __future__ import annotations

import textwrap

from slowdust.analysis.model import ContenderInfo, Report
from slowdust.analysis.results.contenders import unknown_settings
from slowdust.report.document import ABSENT
from slowdust.report.markdown.table import or_absent, table
from slowdust.report.tables import (
    HEAD_OF_HOSTS,
    Row,
    rows_of_hosts,
    table_by_host,
    tables_of_storage,
)

_MB = 1 << 20


def contenders(report: Report) -> list[str]:
    """Return versions and their sources, with binaries and settings where these are known."""
    known = report.repeated
    infos = report.contender_info
    particulars = {
        "engine": [info.engine for info in infos],
        "environment": ["+".join(info.environment) or None for info in infos],
        "allocator": [info.allocator for info in infos],
    }
    particulars = {title: values for title, values in particulars.items() if any(values)}
    rows = [
        [
            info.name,
            info.version,
            *([or_absent(info.binary_bytes, _megabytes)] if known else []),
            info.source,
            *(values[place] or ABSENT for values in particulars.values()),
            _settings(info) if known else info.config,
        ]
        for place, info in enumerate(infos)
    ]
    header = ["contender", "version", *(["binary"] if known else []), "source", *particulars]
    header.append("settings that differ from the base's" if known else "config")
    failed = [
        line
        for info in infos
        if info.failed
        for line in (
            "",
            f"{info.name} failed:",
            "",
            *textwrap.indent(info.failed, "    ", lambda _: True).splitlines(),
        )
    ]
    unknown = unknown_settings(infos)
    return [
        "## Contenders",
        "",
        *table(header, rows, left=len(header)),
        *(["", *(f"- {sentence}" for sentence in unknown)] if unknown else []),
        *failed,
    ]


def _megabytes(size: float) -> str:
    return f"{size / _MB:.1f} MB"


def _settings(info: ContenderInfo) -> str:
    return ", ".join(f"{name}={value}" for name, value in info.differing.items()) or ABSENT


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]


_COLUMNS = 100
_STEP = ("test", "clients", "contender")


def by_host(report: Report) -> list[str]:
    if not report.hosts:
        return []
    lines = ["## By host", "", *table(HEAD_OF_HOSTS, rows_of_hosts(report), left=4)]
    if (results := table_by_host(report)) is not None:
        rows = [[*_step(row), *(cell.text for cell in row.cells)] for row in results.rows]
        marked = any(cell.odd for row in results.rows for cell in row.cells)
        explained = results.explained
        explained += " A host with ! disagrees with the others." if marked else ""
        lines += ["", *textwrap.wrap(explained, _COLUMNS)]
        lines += ["", *table([*_STEP, *results.head], rows, left=1)]
    return lines


def storage(report: Report) -> list[str]:
    """Return what tests beyond the page caches took of the storage, beside what it gives."""
    lines = []
    for part in tables_of_storage(report):
        rows = [[*_step(row), *(cell.pale_text for cell in row.cells)] for row in part.rows]
        explained = textwrap.wrap(part.explained, _COLUMNS)
        lines += ["", f"### {part.title}", "", *explained, ""]
        lines += table([*_STEP, *part.head], rows, left=1)
    return ["## Storage", *lines] if lines else []


def _step(row: Row) -> list[str]:
    return [row.test, str(row.clients), row.contender]
