"""Hosts, storage and memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from slowdust.analysis.model import HostResult, Memory, Report, Result, StorageUse
from slowdust.ratios import Ratio, ratio
from slowdust.report.document import (
    STEP,
    Block,
    Cell,
    Cells,
    Column,
    Heads,
    Medium,
    Section,
    judged,
    named,
    paragraph,
    table,
    text,
)
from slowdust.report.markdown.table import or_absent, rate
from slowdust.report.numbers import band
from slowdust.units import known
from slowdust.wording import counted, shortened

MOST_COLUMNS = 8
"""The most hosts with a column each; of more hosts the lowest and the highest are shown."""
_EXPLAINED = (
    "rqps of each host with its 95% interval. The interval of all hosts together includes "
    "variation between hosts."
)
_ODD = " A host with ! disagrees with the others."


def by_host(report: Report) -> Section | None:
    """Return the hosts, and the results by host if there are several."""
    if not report.hosts:
        return None
    heads: Heads = (
        *("Host", "CPU", "CPUs", "Experiments"),
        *("Starts", "Slices", "Tests"),
    )
    rows = [
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
    hosts = table(heads, rows, left=4, name="Hosts of the experiment")
    return Section("By host", [hosts, *_results_by_host(report)], "hosts", "By host")


def overview(report: Report) -> list[str]:
    """Return a line about each host for a terminal."""
    width = max((len(host.name) for host in report.hosts), default=0)
    return [
        f"{host.name:<{width}}  {host.group}: {counted(host.incarnations, 'start')}, "
        f"{counted(host.slices, 'slice')}, {counted(host.tests, 'test')}"
        for host in report.hosts
    ]


def _results_by_host(report: Report) -> list[Block]:
    results = [result for result in report.results if result.verdict and result.hosts]
    if len(report.hosts) < 2 or not results:
        return []
    groups = list(dict.fromkeys(host.group for host in report.hosts))
    several = groups if len(groups) > 1 else []
    few = len(report.hosts) <= MOST_COLUMNS
    names = [host.name for host in report.hosts]
    rows = []
    for result in results:
        whole = _plainly(result.ratio)
        cells = [Cell("on one host only") if len(result.hosts) == 1 else whole]
        of_group = {each.group: each for each in result.groups}
        cells += [
            _plainly(each.ratio) if (each := of_group.get(group)) else Cell() for group in several
        ]
        by_name = {host.host: host for host in result.hosts}
        if few:
            cells += [_of_host(report, result, by_name.get(name)) for name in names]
        else:
            cells += _extremes(result)
        rows.append([*_step(result), *cells])
    is_odd = any(cell.hint for row in rows for cell in row if isinstance(cell, Cell))
    heads: Heads = [*STEP, "all hosts", *several, *(names if few else ("lowest", "highest"))]
    shown = table(heads, rows, left=1, name="Results by test, contender and host")
    return [paragraph(_EXPLAINED + (_ODD if is_odd else "")), shown]


def _step(result: Result) -> Cells:
    return [result.test, str(result.clients), named(result.contender)]


def _of_host(report: Report, result: Result, host: HostResult | None) -> Cell:
    if host is None:
        return Cell()
    odd = [
        f"{ratio(each.ratio)} times the ratio of {shortened(each.others)}"
        for each in report.host_disagreements
        if each.host == host.host
        and each.contender == result.contender
        and each.test in (None, result.test)
    ]
    verdict = (result.verdict or "") if len(result.hosts) == 1 else ""
    cell = replace(_plainly(host.ratio), verdict=verdict, hint="; ".join(odd))
    return replace(cell, text=f"{cell.text}!") if odd else cell


def _extremes(result: Result) -> list[Cell]:
    measured = [(host.ratio.value, host) for host in result.hosts if host.ratio is not None]
    measured.sort(key=lambda each: each[0])
    ends = (measured[0][1], measured[-1][1]) if measured else ()
    shown = [replace(_plainly(host.ratio), verdict=host.host) for host in ends]
    return shown or [Cell(), Cell()]


def _plainly(of: Ratio | None) -> Cell:
    """Return a ratio without the parentheses of an unsure one."""
    return replace(judged(of), is_pale=False)


_EXPLAINED_READS = (
    "Data is the size of tables and indexes relative to the page cache. Pages and bytes are read "
    "from storage in the slices, by all processes of the server; amplification is bytes read per "
    "byte of the row that an operation reads or changes. The disk's reads are direct reads of the "
    "same file after slices, with one thread per client. The interval of server / disk is "
    "its variation between starts, for all contenders together; relative to the base it is "
    "compared block by block."
)
_HEADS_OF_READS = (
    Column("data / cache", media=Medium.FILE),
    Column("from the disk", media=Medium.FILE),
    Column("pages/o", media=Medium.FILE),
    Column("read", unit="amplification"),
    "pages/s",
    Column("the disk's", media=Medium.FILE),
    Column("server /", unit="disk", is_brief=True),
    Column("relative to the base's", media=Medium.FILE),
)
_EXPLAINED_WRITES = "KB written per update of the step, until no dirty page is left."
_HEADS_OF_WRITES = (
    Column("KB", unit="written/o"),
    Column("of these log", media=Medium.FILE),
    Column("relative to the base's", media=Medium.FILE),
)


def storage(report: Report) -> Section | None:
    """Return the use of the storage by tests of data larger than the page cache."""
    used = [result for result in report.results if result.storage is not None]
    written = [r for r in used if r.storage is not None and r.storage.written_kb is not None]
    parts = [
        *_use("Read", _EXPLAINED_READS, _HEADS_OF_READS, used, _reads),
        *_use("Written", _EXPLAINED_WRITES, _HEADS_OF_WRITES, written, _writes),
    ]
    return Section("Storage", parts, "storage", "Storage") if parts else None


def _use(
    title: str,
    explained: str,
    heads: Heads,
    results: Sequence[Result],
    cells: Callable[[Result, StorageUse], Sequence[Cell]],
) -> list[Section]:
    rows: list[Cells] = [
        [*_step(result), *cells(result, result.storage)]
        for result in results
        if result.storage is not None
    ]
    test, levels, contender = STEP
    if len({result.clients for result in results}) == 1:
        levels = replace(levels, media=Medium.FILE)
    step = (test, levels, contender)
    name = f"{title} by test and contender"
    shown = replace(table([*step, *heads], rows, left=1, name=name), fits=True)
    about = replace(paragraph(explained), media=Medium.FILE)
    return [Section(title, [about, shown])] if rows else []


def _reads(result: Result, use: StorageUse) -> tuple[Cell, ...]:
    return (
        Cell(or_absent(use.data_per_pool, ratio)),
        Cell(or_absent(use.from_device, "{:.0%}".format)),
        Cell(or_absent(result.per_op.get("pages_read"), ratio)),
        Cell(or_absent(result.per_op.get("read_amplification"), ratio)),
        Cell(or_absent(use.reads_per_s, rate)),
        Cell(or_absent(use.disk_reads_per_s, rate)),
        judged(use.of_disk),
        judged(use.share),
    )


def _writes(_: Result, use: StorageUse) -> tuple[Cell, ...]:
    return (
        Cell(or_absent(use.written_kb, ratio)),
        Cell(or_absent(use.log_kb, ratio)),
        judged(use.written),
    )


def memory(report: Report) -> Section | None:
    """Return the peaks of memory, if contenders differ in engine, environment or allocator."""
    if not report.memory:
        return None
    heads: Heads = (
        Column("contender", is_name=True),
        "median rqps",
        "peak VSZ GB",
        "peak RSS GB",
        Column("buffer pool GB", media=Medium.HTML),
        "RSS / buffer pool",
    )
    about = (
        "Peaks over all tests; rqps is the median over the tests, and its range. VSZ includes\n"
        "address space that was reserved and never used."
    )
    rows = [_peaks(peaks) for peaks in report.memory]
    shown = table(heads, rows, left=1, name="Memory by contender")
    return Section("Memory", [text(about, role="lead"), shown], "memory", "Memory")


def _peaks(peaks: Memory) -> list[Cell | str]:
    rqps = Cell()
    if peaks.rqps_median is not None:
        ends = known((peaks.rqps_lowest, peaks.rqps_highest))
        words = f"{ratio(peaks.rqps_median)} ({' to '.join(map(ratio, ends))})"
        rqps = Cell(words, shade=band(peaks.rqps_median))
    sizes = (
        peaks.peak_vsz_gb,
        peaks.peak_rss_gb,
        peaks.buffer_pool_gb,
        peaks.rss_per_buffer_pool,
    )
    return [named(peaks.contender), rqps, *(or_absent(size, absolute) for size in sizes)]


def absolute(value: float) -> str:
    """Write a value with three digits, or with all digits before the point."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
