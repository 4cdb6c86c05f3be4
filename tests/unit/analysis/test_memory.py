from __future__ import annotations

import pytest

from slowdust.analysis.model import Memory
from slowdust.analysis.stored import analyse
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.unit.synthetic import QUIET, synthetic_experiment

GLIBC, JEMALLOC = "mariadb@11.4/rocksdb", "mariadb@11.4/rocksdb+jemalloc"
GB = 1 << 30


def allocators() -> tuple[Manifest, list[Slice]]:
    manifest, slices = synthetic_experiment(
        [GLIBC, JEMALLOC],
        ["point-query", "scan", "insert"],
        shifts={JEMALLOC: {"point-query": 1.1, "scan": 1.2, "insert": 0.9}},
        noise=QUIET,
        blocks=5,
    )
    manifest.contenders[1].environment = ["jemalloc"]
    for facts, allocator in zip(manifest.contenders, ("glibc", "jemalloc"), strict=True):
        facts.engine, facts.allocator, facts.buffer_pool_bytes = "rocksdb", allocator, 2 * GB
    for record in slices:
        more = 3 if record.place.contender == GLIBC else 1
        record.measured.uses["server"] |= {"rss_bytes": more * GB, "vsz_bytes": (more + 1) * GB}
    slices[-1].measured.uses["server"]["rss_bytes"] = 5 * GB
    return manifest, slices


def of(memory: list[Memory], name: str) -> Memory:
    [entry] = [entry for entry in memory if entry.contender == name]
    return entry


def test_peaks_are_of_all_slices_and_relative_to_the_buffer_pool() -> None:
    manifest, slices = allocators()
    highest = slices[-1].place.contender
    memory = analyse(manifest, slices).memory

    assert of(memory, highest).peak_rss_gb == 5
    assert of(memory, highest).rss_per_buffer_pool == 2.5
    other = GLIBC if highest == JEMALLOC else JEMALLOC
    assert of(memory, other).peak_rss_gb == (3 if other == GLIBC else 1)
    assert [of(memory, GLIBC).peak_vsz_gb, of(memory, JEMALLOC).peak_vsz_gb] == [4, 2]


def test_throughput_is_summarised_over_the_tests() -> None:
    memory = analyse(*allocators()).memory

    jemalloc = of(memory, JEMALLOC)
    assert jemalloc.rqps_median == pytest.approx(1.1, abs=0.01)
    assert jemalloc.rqps_lowest == pytest.approx(0.9, abs=0.01)
    assert jemalloc.rqps_highest == pytest.approx(1.2, abs=0.01)
    assert of(memory, GLIBC).rqps_median is None


def test_contenders_that_allocate_alike_have_no_table() -> None:
    manifest, slices = allocators()
    manifest.contenders[1].environment, manifest.contenders[1].allocator = [], "glibc"
    assert analyse(manifest, slices).memory == []


@pytest.mark.parametrize("field", ["engine", "environment"])
def test_engines_and_environments_make_a_table_too(field: str) -> None:
    manifest, slices = allocators()
    manifest.contenders[1].environment, manifest.contenders[1].allocator = [], "glibc"
    other = {"engine": "innodb", "environment": ["MALLOC_ARENA_MAX=1"]}[field]
    setattr(manifest.contenders[1], field, other)
    assert len(analyse(manifest, slices).memory) == 2


def test_unmeasured_values_are_absent() -> None:
    manifest, slices = allocators()
    manifest.contenders[1].buffer_pool_bytes = None
    for record in slices:
        if record.place.contender == GLIBC:
            record.measured.uses.pop("server", None)
    memory = analyse(manifest, slices).memory

    assert of(memory, JEMALLOC).rss_per_buffer_pool is None
    assert of(memory, JEMALLOC).peak_rss_gb is not None
    assert (of(memory, GLIBC).peak_rss_gb, of(memory, GLIBC).rss_per_buffer_pool) == (None, None)


def test_a_contender_without_results_is_not_in_the_table_and_does_not_make_one() -> None:
    names = [GLIBC, JEMALLOC, "mariadb@11.4/innodb"]
    manifest, slices = synthetic_experiment(names, ["scan"], blocks=3)
    manifest.contenders[1].allocator = "jemalloc"
    without = {
        name: [record for record in slices if record.place.contender != name] for name in names
    }

    assert [entry.contender for entry in analyse(manifest, without[names[2]]).memory] == names[:2]
    assert analyse(manifest, without[JEMALLOC]).memory == []
