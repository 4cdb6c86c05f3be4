"""Results in tables by test, clients and contender, which Markdown and the page share.

There are those by host, of a joined experiment, and those of the storage's use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from slowdust.analysis.model import HostResult, Report, Result, StorageUse
from slowdust.ratios import Ratio, interval, ratio
from slowdust.report.markdown.table import ABSENT, or_absent, pale, rate
from slowdust.wording import counted, shortened

MOST_COLUMNS = 8
"""The most hosts that have a column each; of more the lowest and the highest are shown."""
EXPLAINED = (
    "Each host's own rqps with its 95% interval; all hosts together have what differs from host "
    "to host in theirs."
)
HEAD_OF_HOSTS = ("Host", "CPU", "CPUs", "Experiments", "Starts", "Slices", "Tests")


@dataclass(frozen=True)
class Cell:
    """A number, and what is known about it: an interval, a verdict."""

    value: str
    interval: str = ""
    verdict: str = ""
    odd: str = ""
    """Why the host is said to disagree; empty where it is not."""

    @property
    def text(self) -> str:
        mark = "!" if self.odd else ""
        return " ".join(filter(None, (f"{self.value}{mark}", self.interval, self.verdict)))

    @property
    def pale_text(self) -> str:
        """The text, whose number is in parentheses where it is unsure."""
        if self.verdict != "unsure":
            return self.text
        return f"{pale(Cell(self.value, self.interval).text)} {self.verdict}"


@dataclass(frozen=True)
class Row:
    """One test on one contender."""

    test: str
    clients: int
    contender: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A title and an explanation, the columns behind test, clients and contender, and the rows."""

    title: str
    explained: str
    head: tuple[str, ...]
    rows: Sequence[Row]


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


def table_by_host(report: Report) -> Table | None:
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
        whole = _judged(result.ratio)
        cells = [Cell("on one host only") if len(result.hosts) == 1 else whole]
        of_group = {each.group: each for each in result.groups}
        cells += [
            _judged(each.ratio) if (each := of_group.get(group)) else Cell(ABSENT)
            for group in several
        ]
        by_name = {host.host: host for host in result.hosts}
        if few:
            cells += [_of_host(report, result, by_name.get(name)) for name in names]
        else:
            cells += _extremes(result)
        rows.append(Row(result.test, result.clients, result.contender, tuple(cells)))
    return Table("By host", EXPLAINED, head, rows)


def overview(report: Report) -> list[str]:
    """Return a line about each host, as a terminal shows it."""
    width = max((len(host.name) for host in report.hosts), default=0)
    return [
        f"{host.name:<{width}}  {host.group}: {counted(host.incarnations, 'start')}, "
        f"{counted(host.slices, 'slice')}, {counted(host.tests, 'test')}"
        for host in report.hosts
    ]


def _of_host(report: Report, result: Result, host: HostResult | None) -> Cell:
    if host is None:
        return Cell(ABSENT)
    odd = [
        f"{ratio(each.ratio)} times that of {shortened(each.others)}"
        for each in report.host_disagreements
        if each.host == host.host
        and each.contender == result.contender
        and each.test in (None, result.test)
    ]
    verdict = result.verdict if len(result.hosts) == 1 else None
    return replace(_judged(host.ratio), verdict=verdict or "", odd="; ".join(odd))


def _extremes(result: Result) -> list[Cell]:
    measured = sorted(
        ((host.ratio, host.host) for host in result.hosts if host.ratio is not None),
        key=lambda own: own[0].value,
    )
    ends = (measured[0], measured[-1]) if measured else ()
    return [replace(_judged(ratio), verdict=host) for ratio, host in ends] or [
        Cell(ABSENT),
        Cell(ABSENT),
    ]


def tables_of_storage(report: Report) -> list[Table]:
    """Return what has rows, in the order of the results; nothing without tests beyond the cache."""
    used = [result for result in report.results if result.storage is not None]
    written = [r for r in used if r.storage is not None and r.storage.written_kb is not None]
    tables = (
        ("Read", _EXPLAINED_READS, _HEAD_OF_READS, _rows(used, _reads)),
        ("Written", _EXPLAINED_WRITES, _HEAD_OF_WRITES, _rows(written, _writes)),
    )
    return [Table(*parts) for parts in tables if parts[-1]]


_EXPLAINED_READS = (
    "Data is the size of tables and indexes over that of the page cache. Pages and bytes are those "
    "read from storage in the slices, by all processes of the server; amplification is bytes read "
    "over bytes of the row that an operation reads or changes. The disk's reads are direct ones of "
    "the same file by as many threads as there are clients, beside the slices. The interval of "
    "server / disk says how far it moves from one incarnation to another, for all contenders "
    "alike; beside the base's it is compared block by block."
)
_HEAD_OF_READS = (
    "data / cache",
    "from the disk",
    "pages/o",
    "read amplification",
    "pages/s",
    "the disk's",
    "server / disk",
    "relative to the base's",
)
_EXPLAINED_WRITES = (
    "KB written are those of the whole step until nothing was left to be written, over all of its "
    "updates."
)
_HEAD_OF_WRITES = ("KB written/o", "of these log", "relative to the base's")


def _rows(
    results: Sequence[Result], cells: Callable[[Result, StorageUse], tuple[Cell, ...]]
) -> list[Row]:
    return [
        Row(result.test, result.clients, result.contender, cells(result, result.storage))
        for result in results
        if result.storage is not None
    ]


def _reads(result: Result, use: StorageUse) -> tuple[Cell, ...]:
    return (
        Cell(or_absent(use.data_per_pool, ratio)),
        Cell(or_absent(use.from_device, "{:.0%}".format)),
        Cell(or_absent(result.per_op.get("pages_read"), ratio)),
        Cell(or_absent(result.per_op.get("read_amplification"), ratio)),
        Cell(or_absent(use.reads_per_s, rate)),
        Cell(or_absent(use.disk_reads_per_s, rate)),
        _judged(use.of_disk),
        _judged(use.share),
    )


def _writes(_: Result, use: StorageUse) -> tuple[Cell, ...]:
    return (
        Cell(or_absent(use.written_kb, ratio)),
        Cell(or_absent(use.log_kb, ratio)),
        _judged(use.written),
    )


def _judged(of: Ratio | None) -> Cell:
    if of is None:
        return Cell(ABSENT)
    return Cell(ratio(of.value), interval(of).strip(), of.verdict or "")
