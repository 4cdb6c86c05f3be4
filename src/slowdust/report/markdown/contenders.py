"""The contenders in Markdown: what they are, and what they were set to."""

from __future__ import annotations

from slowdust.analysis.model import ContenderInfo, Report
from slowdust.analysis.results.contenders import unknown_settings
from slowdust.report.markdown.table import ABSENT, table

_MB = 1 << 20


def contenders_section(report: Report) -> list[str]:
    """Versions and where they are from; of measured ones binaries and settings, else configs."""
    infos = report.contender_info
    particular = [
        (title, values)
        for title, values in (
            ("engine", [info.engine for info in infos]),
            ("environment", ["+".join(info.environment) or None for info in infos]),
            ("allocator", [info.allocator for info in infos]),
        )
        if any(values)
    ]
    rows = [
        [
            info.name,
            info.version,
            *([] if report.imported else [_binary(info)]),
            info.source,
            *(values[place] or ABSENT for _, values in particular),
            info.config if report.imported else _settings(info),
        ]
        for place, info in enumerate(infos)
    ]
    titles = [title for title, _ in particular]
    header = ["contender", "version", "binary", "source", *titles, "settings unlike the base's"]
    if report.imported:
        header = ["contender", "version", "source", *titles, "config"]
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
