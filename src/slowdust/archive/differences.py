"""Where clean numbers differ from the published ones, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from slowdust.archive import perf_stat
from slowdust.archive.choices import Mode
from slowdust.archive.rates import SCAN, ScanRule, clean_scan_rate, published_rate
from slowdust.archive.run_directory import RunDirectory


def differences_of(runs: Sequence[RunDirectory], scan: ScanRule, mode: Mode) -> list[str]:
    """Sentences; those of numbers that these runs do not have are left out."""
    return [*_vmstat(runs, mode), *_scan(runs, scan, mode), *_counters(runs)]


def _vmstat(runs: Sequence[RunDirectory], mode: Mode) -> list[str]:
    probes = [test.cpu for run in runs for test in run.tests.values() if test.cpu]
    cpu, switches = (
        [
            getattr(one.clean, name) / getattr(one.published, name)
            for one in probes
            if getattr(one.published, name)
        ]
        for name in ("cpu_percent", "switches_per_second")
    )
    if not cpu or not switches:
        return []
    told = (
        f"cpu/o {_typically(cpu)} and cs/o {_typically(switches)} in {len(probes)} tests, because "
        f"vmstat's repeated headers count as idle seconds in the published means"
    )
    if mode is Mode.COMPAT:
        return [f"clean numbers would be higher: {told}"]
    return [f"higher than published: {told}"]


def _scan(runs: Sequence[RunDirectory], scan: ScanRule, mode: Mode) -> list[str]:
    if scan is ScanRule.ALL_THREADS:
        return []
    ratios = []
    for run in runs:
        for test in run.tests.values():
            if test.file.test == SCAN and test.output is not None:
                published = published_rate(SCAN, test.output, scan)
                clean = clean_scan_rate(test.output)
                if published is not None and clean and published.value > 0:
                    ratios.append(clean / published.value)
    if not ratios:
        return []
    would_be = "would be" if mode is Mode.COMPAT else "is"
    return [
        f"the rate of scan {would_be} of all threads: {median(ratios):.1f} times the published "
        f"one, which is of one thread"
    ]


def _counters(runs: Sequence[RunDirectory]) -> list[str]:
    missing = sorted(
        {
            name
            for run in runs
            for test in run.tests.values()
            for values in test.counters.values()
            for name, value in values.items()
            if value == perf_stat.NOT_SUPPORTED
        }
    )
    if not missing:
        return []
    return [
        f"counters of -1, which the machine does not have and whose published ratio of 1.000 says "
        f"nothing, are left out: {', '.join(missing)}"
    ]


def _typically(ratios: Sequence[float]) -> str:
    """'4.7% (3.8% to 5.5%)'."""
    low, middle, high = min(ratios) - 1, median(ratios) - 1, max(ratios) - 1
    return f"{middle:.1%} ({low:.1%} to {high:.1%})"
