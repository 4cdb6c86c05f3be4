"""Where clean numbers differ from the published ones, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from slowdust.archive.sysbench.choices import Mode
from slowdust.archive.sysbench.reading import Cpu
from slowdust.archive.sysbench.run_directory import RunDirectory
from slowdust.archive.sysbench.scan_choice import ScanChoices
from slowdust.archive.sysbench.slices import Reading
from slowdust.formats.sysbench import perf_stat
from slowdust.formats.sysbench.rates import SCAN, ScanRule, clean_scan_rate, published_rate
from slowdust.wording import counted


def differences_of(
    probed: Sequence[tuple[str, Cpu]], runs: Sequence[RunDirectory], reading: Reading
) -> list[str]:
    """Sentences; those of numbers that these runs do not have are left out.

    `probed` are the tests, one for each result, whose clean CPU counts, or would count.
    """
    return [
        *_vmstat(probed, reading.mode),
        *_scan(runs, reading.scan, reading.mode),
        *_counters(runs),
    ]


def _vmstat(probed: Sequence[tuple[str, Cpu]], mode: Mode) -> list[str]:
    cpu, switches = (
        [
            getattr(one.clean, name) / getattr(one.published, name)
            for _, one in probed
            if getattr(one.published, name)
        ]
        for name in ("cpu_percent", "switches_per_second")
    )
    if not cpu or not switches:
        return []
    tests = counted(len({test for test, _ in probed}), "test")
    told = (
        f"cpu/o {_typically(cpu)} and cs/o {_typically(switches)} in {tests}, because vmstat's "
        f"repeated headers count as idle seconds in the published means"
    )
    if mode is Mode.COMPAT:
        return [f"clean numbers would be higher: {told}"]
    return [f"higher than published: {told}"]


def _scan(runs: Sequence[RunDirectory], scan: ScanChoices, mode: Mode) -> list[str]:
    ratios = []
    of_one_thread = [run for run in runs if scan.rule(run.name) is ScanRule.ONE_THREAD]
    for run in of_one_thread:
        for test in run.tests.values():
            if test.file.test == SCAN and test.output is not None:
                published = published_rate(SCAN, test.output, ScanRule.ONE_THREAD)
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
