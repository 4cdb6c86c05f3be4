"""The contenders in Markdown: what they are, and what they were set to."""

from __future__ import annotations

from slowdust.analysis.model import ContenderInfo, Report
from slowdust.analysis.results.contenders import unknown_settings
from slowdust.report.markdown.table import ABSENT, table

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
