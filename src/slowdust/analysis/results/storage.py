"""Storage use of tests whose data exceeds the page cache: reads relative to the disk, and writes.

A server's share of the disk's speed varies with the machine, for all contenders alike. So shares
are compared block by block like rates, and the interval of a single share allows for variation
between starts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from slowdust.analysis.comparison import block_ratios, hosts_of, slices_by_place
from slowdust.analysis.model import Result, StorageUse
from slowdust.benchmarks import known_test
from slowdust.ratios import Margins, Ratio
from slowdust.stats.blocks import BlockRatios, Step
from slowdust.stats.estimate import estimate_all
from slowdust.stats.hosts import Hosts
from slowdust.stats.posterior import Expectation
from slowdust.stats.relative import Estimate
from slowdust.stats.verdict import Judgement, judge_cells
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.store.measured import DISK, SERVER, STORAGE
from slowdust.store.preparation import LOG_BYTES, WRITTEN_BYTES, ServerCounters
from slowdust.store.slice import Slice
from slowdust.units import Second
from slowdust.wording import counted

FEW_TIMES = 2.0
"""Data / page cache up to which a note reports this ratio."""
MOSTLY_FROM_DEVICE = 0.9
"""Share of reads from storage below which a note reports it."""
FEW_IDLE = 0.1
"""Share of blocks without a read from storage that is accepted without a note."""
MOMENTS = Expectation(scale=0.2, prior_freedom=3.0, borrowed_freedom=0.0, outsider_share=0.0)
"""Prior of a server's share of the disk's speed: it varies by 3% to 20% between starts of any
server. Nothing is borrowed, since the contenders shared the same moments."""
_KB = 1024
_MB = 1 << 20

_Place = tuple[Step, str]
"""Step and contender."""


def add_storage(
    results: Sequence[Result],
    manifest: Manifest,
    slices: Sequence[Slice],
    contenders: Sequence[str],
) -> None:
    """Set `storage` for tests with data beyond the page cache; `contenders[0]` is the base."""
    by_place = slices_by_place(slices)
    facts = {each.name: each for each in manifest.contenders}
    written = _Written(manifest, contenders)
    measured: dict[_Place, Result] = {}
    for result in results:
        test = known_test(result.benchmark, result.test)
        if test is None or not test.beyond_pool:
            continue
        place = Step.of(result), result.contender
        measured[place] = result
        result.storage = StorageUse(
            data_per_pool=data_per_pool(facts[result.contender]),
            from_device=_from_device(by_place[place]),
            reads_per_s=_per_second(
                [
                    (pages, record.measured.seconds)
                    for record in by_place[place]
                    if (pages := _pages(record)) is not None
                ]
            ),
            disk_reads_per_s=_reads_of_disk(by_place[place]),
        )
        if test.writes:
            written.add(result.storage, result)
        result.notes += _notes(result.storage, facts[result.contender])
    paired = {
        place: [
            record
            for record in by_place[place]
            if DISK in record.measured.uses and _pages(record) is not None
        ]
        for place in measured
    }
    hosts = hosts_of(manifest)
    for estimate in _shares(paired, hosts):
        result = measured[estimate.place]
        result.notes += _notes_about_idle_blocks(estimate)
        use = result.storage
        if use is not None and estimate.interval is not None:
            use.of_disk = estimate.judged()
    for judgement in _compared_shares(paired, contenders, manifest.method.margins, hosts):
        estimate = judgement.estimate
        use = measured[estimate.place].storage
        if use is not None and estimate.interval is not None:
            use.share = judgement.ratio_of_amounts


def data_per_pool(facts: ContenderFacts) -> float | None:
    """Return the size of a contender's tables and indexes / the size of its page cache."""
    if facts.table_bytes is None or not facts.buffer_pool_bytes:
        return None
    return (facts.table_bytes + (facts.index_bytes or 0)) / facts.buffer_pool_bytes


def small_data(facts: ContenderFacts) -> str | None:
    """Return a warning if the data is hardly larger than the page cache; else None."""
    factor = data_per_pool(facts)
    if factor is None or factor > FEW_TIMES:
        return None
    pool = f"the page cache of {(facts.buffer_pool_bytes or 0) / _MB:,.0f} MB"
    if factor <= 1:
        return f"data not larger than the page cache: {factor:.2g} times {pool}"
    return f"data hardly larger than the page cache: {factor:.2g} times {pool}"


def _notes(use: StorageUse, facts: ContenderFacts) -> list[str]:
    notes = [small] if (small := small_data(facts)) else []
    if use.from_device is not None and use.from_device < MOSTLY_FROM_DEVICE:
        notes.append(
            f"{use.from_device:.0%} of the server's reads came from the disk, the rest from the "
            "kernel's page cache"
        )
    return notes


def _notes_about_idle_blocks(estimate: Estimate) -> list[str]:
    """Return a note if many blocks have no read and are excluded from the share of the disk."""
    idle = estimate.with_zero
    if idle <= FEW_IDLE * (idle + estimate.blocks):
        return []
    blocks = counted(idle + estimate.blocks, "block")
    rest = (
        "server / disk is from the other blocks" if estimate.blocks else "server / disk is unknown"
    )
    return [f"in {idle:,} of {blocks} the server did not read from the disk: {rest}"]


def _from_device(slices: Sequence[Slice]) -> float | None:
    """Return the share of bytes returned by read calls that came from storage."""
    read = called = 0.0
    for record in slices:
        measured = record.measured
        fetched, returned = (measured.used(SERVER, n) for n in ("read_bytes", "called_bytes"))
        if fetched is not None and returned is not None and _pages(record) is not None:
            # Read-ahead and asynchronous reads are not in the calls' bytes.
            read += fetched
            called += max(fetched, returned)
    return read / called if called else None


def _pages(record: Slice) -> float | None:
    return record.measured.used(STORAGE, "pages_read")


def _reads_of_disk(slices: Sequence[Slice]) -> float | None:
    disks = [uses[DISK] for record in slices if DISK in (uses := record.measured.uses)]
    return _per_second([(each["reads"], each["seconds"]) for each in disks])


def _per_second(parts: Sequence[tuple[float, Second | None]]) -> float | None:
    seconds = sum(part or 0.0 for _, part in parts)
    return sum(reads for reads, _ in parts) / seconds if seconds else None


def _shares(paired: Mapping[_Place, Sequence[Slice]], hosts: Hosts) -> list[Estimate]:
    """Estimate pages/s of each server / pages/s of the disk, as if they were two contenders."""
    cells = []
    for (_, contender), own in paired.items():
        sides = [
            msgspec.structs.replace(
                record, place=msgspec.structs.replace(record.place, contender=side)
            )
            for record in own
            for side in (SERVER, DISK)
        ]
        ratios = block_ratios(sides, DISK, [DISK, SERVER], _reads_of_side)
        cells += [dataclasses.replace(cell, contender=contender) for cell in ratios]
    return estimate_all(cells, MOMENTS, hosts)


def _compared_shares(
    paired: Mapping[_Place, Sequence[Slice]],
    contenders: Sequence[str],
    margins: Margins,
    hosts: Hosts,
) -> list[Judgement]:
    """Judge the shares of the disk relative to the base's, block by block."""
    slices = [record for own in paired.values() for record in own]
    cells = block_ratios(slices, contenders[0], contenders, _share)
    return judge_cells([cell for cell in cells if cell.blocks], margins, hosts)


def _share(record: Slice) -> float:
    """Return pages/s of the server / pages/s of the disk paired with it."""
    use = record.measured.uses[DISK]
    return _reads_per_s(record) * use["seconds"] / use["reads"]


def _reads_of_side(record: Slice) -> float:
    """Return pages/s of a slice that stands for either the server or the disk."""
    if record.place.contender == DISK:
        use = record.measured.uses[DISK]
        return use["reads"] / use["seconds"]
    return _reads_per_s(record)


def _reads_per_s(record: Slice) -> float:
    return (_pages(record) or 0.0) / (record.measured.seconds or 1.0)


class _Written:
    """Bytes written by the servers in each step, including pending pages, by start."""

    def __init__(self, manifest: Manifest, contenders: Sequence[str]) -> None:
        self._base = contenders[0]
        self._counters: dict[tuple[str, str], dict[int, ServerCounters]] = {}
        for each in manifest.counters:
            if WRITTEN_BYTES in each.amounts and each.operations:
                own = self._counters.setdefault((each.step, each.contender), {})
                own[each.incarnation] = each
        ratios = [cell for name in contenders[1:] for cell in self._ratios(name)]
        judged = judge_cells(ratios, manifest.method.margins, hosts_of(manifest))
        self._judged = {each.estimate.place: each for each in judged}

    def add(self, use: StorageUse, result: Result) -> None:
        """Set the amount written per operation, and its ratio to the base's."""
        own = self._counters.get((f"{result.test}@{result.clients}", result.contender), {})
        use.written_kb = _kb_per_operation(own, WRITTEN_BYTES)
        use.log_kb = _kb_per_operation(own, LOG_BYTES)
        if result.contender == self._base:
            use.written = None if use.written_kb is None else Ratio(1.0)
            return
        step = Step("", result.test, result.clients)
        if (judgement := self._judged.get((step, result.contender))) is not None:
            use.written = judgement.ratio_of_amounts

    def _ratios(self, contender: str) -> list[BlockRatios]:
        """Return the log ratios of each step of a contender, one for each start.

        A start during which either wrote nothing has no ratio.
        """
        cells = []
        for (key, name), own in self._counters.items():
            base = self._counters.get((key, self._base), {})
            both = sorted(own.keys() & base.keys())
            numbers = [n for n in both if _bytes_each(own[n]) > 0 and _bytes_each(base[n]) > 0]
            if name != contender or not numbers:
                continue
            test, _, clients = key.rpartition("@")
            ratios = [_bytes_each(own[n]) / _bytes_each(base[n]) for n in numbers]
            cells.append(
                BlockRatios(
                    step=Step("", test, int(clients)),
                    contender=contender,
                    by_incarnation=tuple(np.log([[ratio]]) for ratio in ratios),
                    numbers=tuple(numbers),
                    parts="steps",
                )
            )
        return cells


def _bytes_each(counters: ServerCounters) -> float:
    return counters.amounts[WRITTEN_BYTES] / counters.operations


def _kb_per_operation(counters: Mapping[int, ServerCounters], quantity: str) -> float | None:
    known = [each for each in counters.values() if quantity in each.amounts]
    operations = sum(each.operations for each in known)
    total = sum(each.amounts[quantity] for each in known)
    return total / operations / _KB if operations else None
