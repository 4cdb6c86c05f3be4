"""The hosts of a joined experiment and results by host, which Markdown and the page share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.analysis.model import GroupResult, HostInfo, HostResult, Report, Result
from slowdust.ratios import interval, ratio
from slowdust.report.markdown.table import ABSENT, or_absent
from slowdust.wording import counted, shortened

MOST_COLUMNS = 8
"""The most hosts that have a column each; of more the lowest and the highest are shown."""
EXPLAINED = (
    "Each host's own rqps with its 95% interval; all hosts together have what differs from host "
    "to host in theirs."
)
HEAD_OF_HOSTS = ("Host", "CPU", "CPUs", "Experiments", "Starts", "Slices", "Tests")


@dataclass(frozen=True)
class HostCell:
    """A ratio on one host, or on several, and what is known about it."""

    value: str
    interval: str = ""
    verdict: str = ""
    odd: str = ""
    """Why the host is said to disagree; empty where it is not."""

    @property
    def text(self) -> str:
        mark = "!" if self.odd else ""
        return " ".join(filter(None, (f"{self.value}{mark}", self.interval, self.verdict)))


@dataclass(frozen=True)
class HostRow:
    """One test on one contender."""

    test: str
    clients: int
    contender: str
    cells: tuple[HostCell, ...]


@dataclass(frozen=True)
class HostTable:
    """Results by host."""

    head: tuple[str, ...]
    """The columns behind test, clients and contender."""
    rows: Sequence[HostRow]


def rows_of_hosts(report: Report) -> list[tuple[str, ...]]:
    return [
        (
            host.name,
            host.group,
            or_absent(host.cpus, lambda cpus: f"{cpus:.0f}"),
            shortened([each.experiment for each in host.experiments]),
            f"{host.incarnations:,}",
            f"{host.slices:,}",
            f"{host.tests:,}",
        )
        for host in report.hosts
    ]


def table_by_host(report: Report) -> HostTable | None:
    """Return the results by host; None unless several hosts measured."""
    results = [result for result in report.results if result.verdict and result.hosts]
    if len(report.hosts) < 2 or not results:
        return None
    groups = list(dict.fromkeys(host.group for host in report.hosts))
    several = groups if len(groups) > 1 else []
    few = len(report.hosts) <= MOST_COLUMNS
    names = [host.name for host in report.hosts]
    head = ("all hosts", *several, *(names if few else ("lowest", "highest")))
    rows = []
    for result in results:
        by_group = {group.group: group for group in result.groups}
        cells = [_whole(result), *(_of_group(by_group.get(group)) for group in several)]
        cells += _by_name(report, result, names) if few else _extremes(result)
        rows.append(HostRow(result.test, result.clients, result.contender, tuple(cells)))
    return HostTable(head, rows)


def overview(report: Report) -> list[str]:
    width = max((len(host.name) for host in report.hosts), default=0)
    return [f"{host.name:<{width}}  {_in_line(host)}" for host in report.hosts]


def _in_line(host: HostInfo) -> str:
    starts, slices = counted(host.incarnations, "start"), counted(host.slices, "slice")
    return f"{host.group}: {starts}, {slices}, {counted(host.tests, 'test')}"


def _whole(result: Result) -> HostCell:
    if len(result.hosts) == 1:
        return HostCell("on one host only", verdict="")
    return HostCell(
        or_absent(result.judged_rqps, ratio),
        interval(*result.judged_interval).strip(),
        result.verdict or "",
    )


def _of_group(group: GroupResult | None) -> HostCell:
    if group is None:
        return HostCell(ABSENT)
    return HostCell(
        or_absent(group.rqps, ratio), interval(group.low, group.high).strip(), group.verdict
    )


def _by_name(report: Report, result: Result, names: Sequence[str]) -> list[HostCell]:
    by_name = {host.host: host for host in result.hosts}
    return [_of_host(report, result, by_name.get(name)) for name in names]


def _of_host(report: Report, result: Result, host: HostResult | None) -> HostCell:
    if host is None:
        return HostCell(ABSENT)
    odd = [
        f"{ratio(each.ratio)} times that of {shortened(each.others)}"
        for each in report.host_disagreements
        if each.host == host.host
        and each.contender == result.contender
        and each.test in (None, result.test)
    ]
    return HostCell(
        or_absent(host.rqps, ratio),
        interval(host.low, host.high).strip(),
        (result.verdict or "") if len(result.hosts) == 1 else "",
        "; ".join(odd),
    )


def _extremes(result: Result) -> list[HostCell]:
    measured = sorted(
        (host for host in result.hosts if host.rqps is not None), key=lambda host: host.rqps or 0.0
    )
    if not measured:
        return [HostCell(ABSENT), HostCell(ABSENT)]
    return [
        HostCell(or_absent(host.rqps, ratio), interval(host.low, host.high).strip(), host.host)
        for host in (measured[0], measured[-1])
    ]
