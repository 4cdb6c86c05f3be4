"""Which of the two rules an archive's rates of scan were made by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.archive.rates import SCAN, ScanRule, rule_in_name, rule_of_day, rule_that_reproduces
from slowdust.archive.run_directory import ArchivedTest, RunDirectory
from slowdust.archive.text import readable


@dataclass(frozen=True)
class ScanChoice:
    """The rule of scan's rate, and how it was found."""

    rule: ScanRule
    why: str


def choose_scan_rule(
    directories: Sequence[Path], runs: Sequence[RunDirectory], wanted: ScanRule | None
) -> ScanChoice:
    """By what the user says, by what reproduces the published rates, else by date.

    `directories` are those whose names may have the date, the experiment's first.
    """
    if wanted is not None:
        return ScanChoice(wanted, "as asked for")
    scans = [
        (test.output, published)
        for run in runs
        for test in run.tests.values()
        if test.file.test == SCAN and test.output is not None and (published := _published(test))
    ]
    if rule := rule_that_reproduces(scans):
        return ScanChoice(rule, "which reproduces the published rates")
    days = sorted(probe.day for run in runs for probe in run.probes if probe.day)
    if days:
        return ScanChoice(rule_of_day(days[0]), "by the date of the run")
    for directory in directories:
        if rule := rule_in_name(directory.name):
            return ScanChoice(rule, f"by the date of the directory {readable(directory.name)}")
    return ScanChoice(ScanRule.ALL_THREADS, "assumed: neither a published rate nor a date tells")


def _published(test: ArchivedTest) -> str | None:
    if test.met is not None:
        return test.met.rate
    printed = test.rates.get("r.qps")
    return printed.number if printed else None
