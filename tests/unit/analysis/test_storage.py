from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report, StorageUse
from slowdust.analysis.stored import analyse
from slowdust.ratios import Ratio
from slowdust.report.sections.hosts import storage
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.unit.disks import (
    PAGE,
    PEAK,
    ROW,
    UPDATE,
    Moments,
    counted_writes,
    experiment_on_disk,
)
from tests.unit.ratios import interval_of, value_of
from tests.unit.report.media import tables_in
from tests.unit.synthetic import synthetic_experiment

A, B = "postgres@15.8", "postgres@17.6"
EXPERIMENTS = 20
CALM = Moments(incarnation=0.0, start=0.0, slice=0.02)
SHARE = {A: 0.6, B: 0.75}
"""The share of the disk that each server truly gets."""
WRITTEN = {A: 20_000.0, B: 30_000.0}
"""Bytes that an update truly writes."""


def experiment() -> tuple[Manifest, list[Slice]]:
    """Two servers on a calm disk, with the bytes that they wrote."""
    manifest, slices = experiment_on_disk(SHARE, moments=CALM, seed=7)
    for facts in manifest.contenders:
        facts.buffer_pool_bytes, facts.table_bytes, facts.index_bytes = 8 << 20, 72 << 20, 8 << 20
    manifest.counters = counted_writes(WRITTEN)
    return manifest, slices


def storage_of(report: Report, test: str, contender: str) -> StorageUse:
    (result,) = [r for r in report.results if (r.test, r.contender) == (test, contender)]
    assert result.storage is not None
    return result.storage


def verdict_of(ratio: Ratio | None) -> str | None:
    return ratio and ratio.verdict


def notes_of(report: Report, test: str, contender: str) -> list[str]:
    return next(r.notes for r in report.results if (r.test, r.contender) == (test, contender))


@pytest.mark.parametrize("contender", [A, B])
def test_the_share_of_the_disk_matches_neighbouring_slices(contender: str) -> None:
    use = storage_of(analyse(*experiment()), PEAK, contender)
    assert value_of(use.of_disk) == pytest.approx(SHARE[contender], rel=0.02)
    low, high = interval_of(use.of_disk)
    assert low < SHARE[contender] < high
    assert use.data_per_pool == 10.0
    assert use.from_device == 1.0
    assert use.written_kb is None


def test_shares_are_compared_block_by_block() -> None:
    report = analyse(*experiment())
    base, other = (storage_of(report, PEAK, name) for name in (A, B))
    assert base.share is None
    assert value_of(other.share) == pytest.approx(1.25, rel=0.02)
    assert interval_of(other.share)[0] > 1.15
    assert verdict_of(other.share) == "more"


def test_equal_servers_agree_though_moments_differ() -> None:
    """Shares that move by a tenth from incarnation to incarnation, for both contenders alike."""
    held = wrong = 0
    for seed in range(EXPERIMENTS):
        manifest, slices = experiment_on_disk(
            {A: 0.5, B: 0.5}, (PEAK,), moments=Moments(), incarnations=3, seed=seed
        )
        report = analyse(manifest, slices)
        base, other = (storage_of(report, PEAK, name) for name in (A, B))
        wrong += verdict_of(other.share) not in {"same", "unsure"}
        bounds = [interval_of(use.of_disk) for use in (base, other)]
        held += sum(low < 0.5 < high for low, high in bounds)
        assert max(low for low, _ in bounds) < min(high for _, high in bounds)
    assert held >= 0.85 * 2 * EXPERIMENTS
    assert wrong <= 0.05 * EXPERIMENTS


def test_written_bytes_are_compared_by_start() -> None:
    report = analyse(*experiment())
    base, other = (storage_of(report, UPDATE, name) for name in (A, B))
    assert base.written_kb == pytest.approx(WRITTEN[A] / 1024, rel=0.01)
    assert base.log_kb == pytest.approx(8.0)
    assert base.written == Ratio(1.0)
    assert value_of(other.written) == pytest.approx(1.5, rel=0.02)
    assert interval_of(other.written)[0] > 1.2
    assert verdict_of(other.written) == "more"
    assert base.of_disk is None


def test_a_start_that_wrote_nothing_counts_without_a_ratio() -> None:
    manifest, slices = experiment()
    last = [each for each in manifest.counters if each.incarnation == 4]
    for each in last:
        each.amounts["written_bytes"] = 0.0
    report = analyse(manifest, slices)
    base, other = (storage_of(report, UPDATE, name) for name in (A, B))
    # 6,000 of the 10,000 updates wrote something.
    assert base.written_kb == pytest.approx(0.6 * WRITTEN[A] / 1024, rel=0.01)
    assert value_of(other.written) == pytest.approx(1.5, rel=0.02)


def test_writes_of_many_contenders_are_judged_together() -> None:
    """Eleven equal servers and a slower one, known to 3%: by chance another looks different."""
    names = [A, *(f"postgres@17.{number}" for number in range(12))]
    other, by_chance = names[1], names[10]
    manifest, slices = experiment_on_disk(
        dict.fromkeys(names, 0.5), (UPDATE,), moments=CALM, blocks=2
    )
    counters = counted_writes({n: 24e3 if n == other else 20e3 for n in names}, noise=0.03)

    def different(contenders: list[str]) -> list[str]:
        manifest.counters = [each for each in counters if each.contender in contenders]
        report = analyse(manifest, slices)
        known = {n: verdict_of(storage_of(report, UPDATE, n).written) for n in contenders[1:]}
        return [name for name, verdict in known.items() if verdict in {"more", "less"}]

    assert different([A, by_chance]) == [by_chance]
    assert different(names) == [other]


def test_reads_from_the_kernels_memory_are_noted() -> None:
    manifest, slices = experiment()
    for record in slices:
        if record.place.contender == B:
            server = record.measured.uses["server"]
            server["read_bytes"] = server["called_bytes"] * 0.25
    report = analyse(manifest, slices)
    assert storage_of(report, PEAK, B).from_device == pytest.approx(0.25)
    assert any("25%" in note and "kernel" in note for note in notes_of(report, PEAK, B))
    assert not [text for text in notes_of(report, PEAK, A) if "kernel" in text]


@pytest.mark.parametrize(
    ("megabytes", "times"), [(4, ["0.5 times"]), (12, ["1.5 times"]), (17, [])]
)
def test_data_that_are_not_beyond_the_cache_are_noted(megabytes: int, times: list[str]) -> None:
    manifest, slices = experiment()
    for facts in manifest.contenders:
        facts.table_bytes, facts.index_bytes = (megabytes - 1) << 20, 1 << 20
    notes = notes_of(analyse(manifest, slices), PEAK, A)
    found = [re.search(r"[\d.]+ times(?= the page cache of 8 MB)", note) for note in notes]
    assert [match[0] for match in found if match] == times


def test_unmeasured_values_are_absent() -> None:
    manifest, slices = experiment()
    manifest.counters = []
    for record in slices:
        for use in ("disk", "storage"):
            record.measured.uses.pop(use, None)
        del record.measured.uses["server"]["called_bytes"]
    for facts in manifest.contenders:
        facts.buffer_pool_bytes = None
    report = analyse(manifest, slices)
    assert storage_of(report, PEAK, B) == storage_of(report, UPDATE, B) == StorageUse()
    ((_, *rows),) = tables_in(storage(report))
    assert all({*row[3:]} == {"-"} for row in rows)


@pytest.mark.parametrize(
    ("idle", "notes"),
    [(1, 0), (8, 1), (32, 1)],
)
def test_slices_without_a_read_count(idle: int, notes: int, snapshot: SnapshotAssertion) -> None:
    manifest, slices = experiment()
    peak = [record for record in slices if record.place.test == PEAK]
    places = sorted({(record.place.incarnation, record.place.block) for record in peak})
    pages = seconds = 0.0
    for record in peak:
        if record.place.contender != B:
            continue
        storage = record.measured.uses["storage"]
        if (record.place.incarnation, record.place.block) in places[:idle]:
            storage["pages_read"] = 0.0
        pages += storage["pages_read"]
        seconds += record.measured.seconds or 0.0
    report = analyse(manifest, slices)
    use = storage_of(report, PEAK, B)
    assert use.reads_per_s == pytest.approx(pages / seconds)
    assert (use.of_disk is None) == (idle == 32)
    if use.of_disk is not None:
        assert use.of_disk.value == pytest.approx(SHARE[B], rel=0.02)
    told = [text for text in notes_of(report, PEAK, B) if text.startswith(f"in {idle} of 32 ")]
    assert len(told) == notes
    assert told == snapshot


def test_pages_and_amplification_have_verdicts() -> None:
    manifest, slices = experiment()
    for record in slices:
        if record.place.contender == B:
            for quantity in ("pages_read", "rows_read"):
                record.measured.uses["storage"][quantity] *= 1.3
    report = analyse(manifest, slices)
    (result,) = [r for r in report.results if (r.test, r.contender) == (PEAK, B)]
    for key in ("pages_read", "read_amplification"):
        assert result.compared[key].verdict == "more"
        assert result.compared[key].value == pytest.approx(1.3, rel=0.01)
    assert result.per_op["read_amplification"] == pytest.approx(1.3 * 0.9 * PAGE / ROW)


def test_other_tests_have_no_storage() -> None:
    manifest, slices = synthetic_experiment([A, B], ["point-query"], blocks=4)
    report = analyse(manifest, slices)
    assert all(result.storage is None for result in report.results)
    assert storage(report) is None


def test_sentences_and_rows_agree(snapshot: SnapshotAssertion) -> None:
    report = analyse(*experiment())
    assert report.tldr == snapshot
    (_, *read), (_, *written) = tables_in(storage(report))
    assert [(row[0], row[2]) for row in read] == [
        (PEAK, A), (PEAK, B), (UPDATE, A), (UPDATE, B),
    ]  # fmt: skip
    assert [(row[0], row[2]) for row in written] == [(UPDATE, A), (UPDATE, B)]
    assert read[1][-1].endswith("] more")
    assert written[1][-1].endswith("] more")
