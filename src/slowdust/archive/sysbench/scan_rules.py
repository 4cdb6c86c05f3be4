"""The rules by which an archive's rates of scan were made, run by run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.archive.classic import run_of
from slowdust.archive.sysbench.output import (
    SCAN,
    ScanRule,
    doubted,
    rule_in_name,
    rule_of_day,
    rule_that_reproduces,
)
from slowdust.archive.sysbench.run_directory import ArchivedTest, RunDirectory
from slowdust.formats.text import readable
from slowdust.store.slice import Slice

_FAR = 10
"""A ratio of two scans that means another unit, not another speed: one of some 40 threads."""


@dataclass(frozen=True)
class ScanChoice:
    """The rule of scan's rate, and the reason for it."""

    rule: ScanRule
    why: str
    sure: bool
    """Whether the rule is from the user or the run itself."""


@dataclass(frozen=True)
class ScanRules:
    """The rules of an experiment, whose runs may be of different times."""

    by_run: Mapping[str, ScanChoice]
    """Name of a run -> its own rule."""
    otherwise: ScanChoice
    """The rule of runs that say nothing."""

    def of(self, run: str) -> ScanChoice:
        return self.by_run.get(run, self.otherwise)

    def rule(self, run: str) -> ScanRule:
        return self.of(run).rule


def choose_scan_rules(
    directories: Sequence[Path], runs: Sequence[RunDirectory], wanted: ScanRule | None
) -> ScanRules:
    """Choose by the user's option, by the published rates that a rule gives, else by the date.

    A run of which neither is known goes with the others; where there are none that tell,
    `directories` may have a date in their names, the experiment's first.
    """
    if wanted is not None:
        return ScanRules({}, ScanChoice(wanted, "as asked for", sure=True))
    by_run = {run.name: choice for run in runs if (choice := _choice_of(run)) is not None}
    return ScanRules(by_run, _of_others(by_run) or _by_name(directories))


def _choice_of(run: RunDirectory) -> ScanChoice | None:
    scans = [
        (test.output, published)
        for test in run.tests.values()
        if test.file.test == SCAN and test.output is not None and (published := _published(test))
    ]
    if rule := rule_that_reproduces(scans):
        return ScanChoice(rule, "which reproduces the published rates", sure=True)
    days = sorted(probe.day for probe in run.probes if probe.day)
    return ScanChoice(rule_of_day(days[0]), "by the date of the run", sure=True) if days else None


def _of_others(by_run: Mapping[str, ScanChoice]) -> ScanChoice | None:
    """Return the rule of most runs that tell; None where there are as many of each rule."""
    counts = Counter(choice.rule for choice in by_run.values())
    most = [rule for rule, count in counts.items() if 2 * count > counts.total()]
    return ScanChoice(most[0], "as those of the other runs", sure=False) if most else None


def _by_name(directories: Sequence[Path]) -> ScanChoice:
    for directory in directories:
        if rule := rule_in_name(directory.name):
            why = f"by the date of the directory {readable(directory.name)}"
            return ScanChoice(rule, why, sure=False)
    why = "assumed: neither a published rate nor a date tells"
    return ScanChoice(ScanRule.ALL_THREADS, why, sure=False)


def _published(test: ArchivedTest) -> str | None:
    if test.met is not None:
        return test.met.rate
    printed = test.rates.get("r.qps")
    return printed.number if printed else None


def part_units(records: Sequence[Slice], order: Sequence[str], rules: ScanRules) -> list[str]:
    """Take the unit from scans that cannot be in the one assumed; return a sentence for each run.

    They are `_FAR` from scans of the same test that are sure, or else from the first of `order`,
    which are the contenders, the base first.
    """
    scans = [record for record in records if record.place.test.startswith(f"{SCAN}.")]
    by_test: dict[tuple[str, int, str], list[Slice]] = {}
    for record in sorted(scans, key=lambda record: order.index(record.place.contender)):
        place = record.place
        by_test.setdefault((place.test, place.clients, record.unit), []).append(record)
    sentences: dict[str, str] = {}
    for (test, _, unit), several in by_test.items():
        known = [record for record in several if rules.of(run_of(record)).sure] or several[:1]
        for record in several:
            if record not in known and not any(_is_near(record.qps, other.qps) for other in known):
                run, sure = run_of(record), known[0]
                sentences.setdefault(
                    run,
                    f"{test}: {record.qps:g} of {run} and {sure.qps:g} of {run_of(sure)} "
                    f"cannot both be {unit}: not compared (--scan says what they are)",
                )
    for record in scans:
        if run_of(record) in sentences:
            record.unit = doubted(record.unit)
    return list(sentences.values())


def _is_near(rate: float, other: float) -> bool:
    return max(rate, other) <= _FAR * min(rate, other)
