"""The notes of an import on groups of tests, and on the differences from published numbers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from slowdust.archive.importing import Mode
from slowdust.archive.sysbench import slices
from slowdust.archive.sysbench.reading import Cpu
from slowdust.archive.sysbench.run_directory import RunDirectory
from slowdust.archive.sysbench.scan_rules import ScanRules
from slowdust.archive.sysbench.slices import Reading
from slowdust.archive.sysbench.tables import joined_counters, table_slices
from slowdust.formats.sysbench import perf_stat
from slowdust.formats.sysbench.names import test_of
from slowdust.formats.sysbench.rates import (
    SCAN,
    ScanRule,
    clean_scan_rate,
    is_relative,
    published_rate,
)
from slowdust.formats.text import beginning
from slowdust.store.slice import Slice
from slowdust.wording import counted

_MOST_LISTED = 4
_OF_GROUPS = (
    slices.FROM_MET,
    slices.FROM_RATE,
    table_slices.FROM_TABLE,
    table_slices.FROM_RELATIVE,
    joined_counters.FROM_JOINED,
    joined_counters.RELATIVE,
    slices.RATE_OF_ONE_THREAD,
    slices.COUNTERS_OF_ALL_THREADS,
)


def notes_of_scan(records: Sequence[Slice], rules: ScanRules) -> list[str]:
    """Return the rules by which rates of scan were published, and the units they have here."""
    scans = [record for record in records if record.place.test.startswith(f"{SCAN}.")]
    absolute = [record for record in scans if not is_relative(record.unit)]
    if not absolute:
        return []
    runs = [record.archived.classic.run for record in absolute if record.archived is not None]
    by_rule: dict[ScanRule, list[str]] = {}
    for run in dict.fromkeys(runs):
        by_rule.setdefault(rules.rule(run), []).append(run)
    clauses = []
    for rule, same in by_rule.items():
        of_runs = f" of {beginning(same, _MOST_LISTED)}" if len(by_rule) > 1 else ""
        why = max((rules.of(run) for run in same), key=lambda choice: choice.sure).why
        clauses.append(f"published rates{of_runs} are of {rule.value}, {why}")
    units = sorted({record.unit for record in absolute})
    return [f"scan: {'; '.join(clauses)}; here in {' and '.join(units)}"]


def notes_of_groups(records: Sequence[Slice]) -> list[str]:
    """Return each note that several results may have, with their number and their tests."""
    lines = []
    for note in _OF_GROUPS:
        tests = [
            record.place.test
            for record in records
            if record.archived and note in record.archived.notes
        ]
        if tests:
            shown = beginning(sorted(set(tests)), _MOST_LISTED)
            lines.append(f"{note}: {counted(len(tests), 'result')}, {shown}")
    return lines


def notes_of_files(runs: Sequence[RunDirectory]) -> list[str]:
    """Return what is remarkable about files that are used, with their names."""
    by_remark: dict[str, list[str]] = {}
    for run in runs:
        for remark, name in run.remarks:
            by_remark.setdefault(remark, []).append(f"{run.name}/{name}")
    return [
        f"{remark}: {beginning(names, _MOST_LISTED)}" for remark, names in sorted(by_remark.items())
    ]


def notes_of_ignored_errors(runs: Sequence[RunDirectory]) -> list[str]:
    """Return a sentence on the errors that sysbench ignored, if it did."""
    ignored = {
        (run.name, *key): test.output.ignored
        for run in runs
        for key, test in run.tests.items()
        if test.output is not None and test.output.ignored
    }
    if not ignored:
        return []
    tests = beginning(sorted({test_of(test) for _, test, _ in ignored}), _MOST_LISTED)
    errors = counted(sum(ignored.values()), "error")
    return [
        f"sysbench ignored {errors} (deadlocks, for instance, after which it repeats the "
        f"transaction) in {counted(len(ignored), 'result')}: {tests}"
    ]


def differences_of(
    probed: Sequence[tuple[str, Cpu]], runs: Sequence[RunDirectory], reading: Reading
) -> list[str]:
    """Return sentences on clean numbers that differ from the published, and by how much.

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
            getattr(sums.clean, name) / getattr(sums.published, name)
            for _, sums in probed
            if getattr(sums.published, name)
        ]
        for name in ("cpu_percent", "switches_per_second")
    )
    if not cpu or not switches:
        return []
    tests = counted(len({test for test, _ in probed}), "test")
    claim = "clean numbers would be higher" if mode is Mode.COMPAT else "higher than published"
    return [
        f"{claim}: cpu/o {_typically(cpu)} and cs/o {_typically(switches)} "
        f"in {tests}, because vmstat's repeated headers count as idle seconds in the published "
        "means"
    ]


def _scan(runs: Sequence[RunDirectory], rules: ScanRules, mode: Mode) -> list[str]:
    ratios = []
    of_one_thread = [run for run in runs if rules.rule(run.name) is ScanRule.ONE_THREAD]
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
    """Return the median and the range: '4.7% (3.8% to 5.5%)'."""
    low, middle, high = min(ratios) - 1, median(ratios) - 1, max(ratios) - 1
    return f"{middle:.1%} ({low:.1%} to {high:.1%})"
