"""The contenders and the hosts in Markdown."""

from __future__ import annotations

import textwrap

from slowdust.analysis.model import ContenderInfo, Report
from slowdust.analysis.results.contenders import unknown_settings
from slowdust.report.absent import runs_of
from slowdust.report.hosts import EXPLAINED, HEAD_OF_HOSTS, rows_of_hosts, table_by_host
from slowdust.report.markdown.table import ABSENT, table

_MB = 1 << 20


def contenders(report: Report) -> list[str]:
    """Return versions and their sources, with binaries and settings where these are known."""
    known = runs_of(report).settings_known
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
            *([_binary(info)] if known else []),
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
        for line in ("", f"{info.name} failed:", "", *_indented(info.failed))
    ]
    unknown = unknown_settings(infos)
    return [
        "## Contenders",
        "",
        *table(header, rows, left=len(header)),
        *(["", *(f"- {sentence}" for sentence in unknown)] if unknown else []),
        *failed,
    ]


def _binary(info: ContenderInfo) -> str:
    return ABSENT if info.binary_bytes is None else f"{info.binary_bytes / _MB:.1f} MB"


def _settings(info: ContenderInfo) -> str:
    return ", ".join(f"{name}={value}" for name, value in info.differing.items()) or ABSENT


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]


_COLUMNS = 100


def by_host(report: Report) -> list[str]:
    if not report.hosts:
        return []
    lines = ["## By host", "", *table(HEAD_OF_HOSTS, rows_of_hosts(report), left=4)]
    if (results := table_by_host(report)) is not None:
        header = ["test", "clients", "contender", *results.head]
        rows = [
            [row.test, str(row.clients), row.contender, *(cell.text for cell in row.cells)]
            for row in results.rows
        ]
        marked = any(cell.odd for row in results.rows for cell in row.cells)
        explained = f"{EXPLAINED} A host with ! disagrees with the others." if marked else EXPLAINED
        lines += ["", *textwrap.wrap(explained, _COLUMNS), "", *table(header, rows, left=1)]
    return lines
