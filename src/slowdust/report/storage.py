"""The tables of the storage's use, which Markdown and the page share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowdust.analysis.model import Report, Result, StorageUse
from slowdust.ratios import interval, ratio
from slowdust.report.markdown.table import or_absent, pale, rate


@dataclass(frozen=True)
class StorageCell:
    """A number, and what is known about it: an interval, a verdict."""

    value: str
    interval: str = ""
    verdict: str = ""

    @property
    def text(self) -> str:
        text = f"{self.value} {self.interval}" if self.interval else self.value
        if self.verdict == "unsure":
            text = pale(text)
        return f"{text} {self.verdict}" if self.verdict else text


@dataclass(frozen=True)
class StorageRow:
    """One test on one contender; `cells` are those below the table's `head`."""

    test: str
    clients: int
    contender: str
    cells: tuple[StorageCell, ...]


@dataclass(frozen=True)
class StorageTable:
    """What was read, or written."""

    title: str
    explained: str
    head: tuple[str, ...]
    """The columns behind test, clients and contender."""
    rows: Sequence[StorageRow]


def tables_of_storage(report: Report) -> list[StorageTable]:
    """Return what has rows, in the order of the results; nothing without tests beyond the cache."""
    used = [result for result in report.results if result.storage is not None]
    written = [r for r in used if r.storage is not None and r.storage.written_kb is not None]
    tables = (
        ("Read", _EXPLAINED_READS, _HEAD_OF_READS, _rows(used, _reads)),
        ("Written", _EXPLAINED_WRITES, _HEAD_OF_WRITES, _rows(written, _writes)),
    )
    return [StorageTable(*parts) for parts in tables if parts[-1]]


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
    results: Sequence[Result], cells: Callable[[Result, StorageUse], tuple[StorageCell, ...]]
) -> list[StorageRow]:
    return [
        StorageRow(result.test, result.clients, result.contender, cells(result, result.storage))
        for result in results
        if result.storage is not None
    ]


def _reads(result: Result, use: StorageUse) -> tuple[StorageCell, ...]:
    return (
        _number(use.data_per_pool, ratio),
        _number(use.from_device, _share),
        _number(result.per_op.get("pages_read"), ratio),
        _number(result.per_op.get("read_amplification"), ratio),
        _number(use.reads_per_s, rate),
        _number(use.disk_reads_per_s, rate),
        _judged(use.of_disk, use.of_disk_low, use.of_disk_high),
        _judged(use.share_ratio, use.share_low, use.share_high, use.share_verdict),
    )


def _writes(result: Result, use: StorageUse) -> tuple[StorageCell, ...]:
    del result
    return (
        _number(use.written_kb, ratio),
        _number(use.log_kb, ratio),
        _judged(use.written_ratio, use.written_low, use.written_high, use.written_verdict),
    )


def _share(value: float) -> str:
    return f"{value:.0%}"


def _number(value: float | None, form: Callable[[float], str]) -> StorageCell:
    return StorageCell(or_absent(value, form))


def _judged(
    value: float | None, low: float | None, high: float | None, verdict: str | None = None
) -> StorageCell:
    return StorageCell(or_absent(value, ratio), interval(low, high).strip(), verdict or "")
