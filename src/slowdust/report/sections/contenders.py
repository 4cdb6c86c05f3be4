"""The contenders, the state of the host, and how and where they were measured."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.model import ContenderInfo, Report
from slowdust.analysis.results.contenders import unknown_settings
from slowdust.analysis.story.bands import changes_after_summary
from slowdust.report import answer
from slowdust.report.document import (
    ABSENT,
    Block,
    Cell,
    Cells,
    Code,
    Column,
    Facts,
    Folded,
    Heads,
    Items,
    Line,
    Literal,
    Medium,
    Section,
    Table,
    named,
    table,
    text,
)
from slowdust.report.markdown.table import or_absent
from slowdust.report.numbers import size

_MB = 1 << 20


def contenders(report: Report) -> Section:
    """Return versions and their sources, with binaries and settings if these are known."""
    known = report.repeated
    infos = report.contender_info
    particulars = {
        "engine": [info.engine for info in infos],
        "environment": ["+".join(info.environment) or None for info in infos],
        "allocator": [info.allocator for info in infos],
    }
    particulars = {title: values for title, values in particulars.items() if any(values)}
    of_page: dict[str, list[str | None]] = {
        "SHA-256": [info.sha256[:12] if info.sha256 else None for info in infos],
        "stripped": [_size(info.stripped_bytes) for info in infos],
        "data files": [_size(info.data_bytes) for info in infos],
        "config": [info.config if known else None for info in infos],
    }
    of_page = {title: values for title, values in of_page.items() if any(values)}
    rows: list[Cells] = [
        [
            named(info.name),
            info.version,
            *([or_absent(info.binary_bytes, _megabytes)] if known else []),
            info.source,
            *(values[place] or ABSENT for values in particulars.values()),
            _settings(info) if known else info.config,
            *(values[place] or ABSENT for values in of_page.values()),
        ]
        for place, info in enumerate(infos)
    ]
    heads: Heads = ["contender", "version", *(["binary"] if known else []), "source", *particulars]
    settings = "settings that differ from the base" if known else "config"
    # A page has a table of all settings.
    last = Column(settings, media=Medium.TEXT if known else Medium.ALL)
    columns: Heads = [*heads, last, *(Column(title, media=Medium.HTML) for title in of_page)]
    unknown = unknown_settings(infos)
    failed: list[Block] = [
        block
        for info in infos
        if info.failed
        for block in (
            text(f"{info.name} failed:", media=Medium.TEXT),
            Code(info.failed.splitlines(), media=Medium.TEXT),
        )
    ]
    return Section(
        "Contenders",
        [
            table(columns, rows, left=len(columns), name="Contenders"),
            *([Items(unknown)] if unknown else []),
            *failed,
            *_all_settings(report),
        ],
        "contenders",
        "Contenders",
    )


def _size(value: float | None) -> str | None:
    return None if value is None else size(value)


def _megabytes(value: float) -> str:
    return f"{value / _MB:.1f} MB"


def _settings(info: ContenderInfo) -> str:
    return ", ".join(f"{name}={value}" for name, value in info.differing.items()) or ABSENT


def _all_settings(report: Report) -> list[Section]:
    """Return the settings that differ from the base, and all settings, for a page."""
    infos = report.contender_info
    differing = sorted({name for info in infos for name in info.differing})
    names = sorted({name for info in infos for name in info.settings})
    if not report.repeated:
        same = "Unknown: archives contain the names of configs, not their settings."
    else:
        same = "The same for every contender." if len(infos) > 1 else "Only one contender."
    title = f"All settings ({len(names)})"
    blocks: list[Block] = [
        text("Settings that differ from the base:" if differing else same, role="lead"),
        *([_settings_table(infos, differing, "Settings that differ")] if differing else []),
        *([Folded(title, [_settings_table(infos, names, "All settings")])] if names else []),
    ]
    return [Section("Settings", blocks, media=Medium.HTML)]


def _settings_table(infos: Sequence[ContenderInfo], names: Sequence[str], name: str) -> Table:
    """Return a row for each setting, or for each contender if these are more."""
    heads: Heads = ["setting", *(Column(info.name, contender=info.name) for info in infos)]
    rows: list[Cells] = [
        [Cell(each, is_code=True), *(_setting(info, each) for info in infos)] for each in names
    ]
    if len(names) < len(infos):
        heads = ["contender", *names]
        rows = [[named(info.name), *(_setting(info, each) for each in names)] for info in infos]
    return table(heads, rows, left=len(heads), name=name)


def _setting(info: ContenderInfo, name: str) -> Cell:
    shade = "differs" if name in info.differing else ""
    if name in info.settings:
        return Cell(info.settings[name], is_code=True, shade=shade)
    return Cell(info.differing.get(name, ABSENT), shade=shade)


def state_of_host(report: Report) -> Section | None:
    """Return the problems of the host, with commands that correct them."""
    if not report.findings:
        return None
    bad: list[Line] = []
    for finding in answer.bad(report.findings):
        words = f"{finding.check} ({finding.severity}): {answer.finding_in_words(finding)}"
        remedy = [" Run ", Literal(finding.remedy), "."] if finding.remedy else []
        bad.append([words, *remedy])
    others = text(answer.others(report.findings), role="lead")
    return Section("State of the host", [*([Items(bad)] if bad else []), others], "host", "Host")


def group_changes(report: Report) -> Section | None:
    """Return the changes of each group of tests from version to version."""
    if not (changes := changes_after_summary(report)):
        return None
    sizes = "Sizes of changes, without significance."
    if report.repeated:
        sizes = "Sizes of changes, with the number of unsure tests."
    about = f"{sizes} The common result is the result of the median test."
    return Section(
        "Version by version" if changes[0].line else "Group by group",
        [text(about, role="lead"), Items(answer.titled(changes))],
        "versions",
    )


def method(report: Report) -> Section | None:
    """Return the method."""
    facts = Facts([*report.method.items()])
    return Section("Method", [facts], "method", "Method") if report.method else None


def host(report: Report) -> Section | None:
    """Return the facts about the host."""
    facts = Facts([*report.host.items()])
    return Section("Host", [facts], "hardware", "Hardware") if report.host else None
