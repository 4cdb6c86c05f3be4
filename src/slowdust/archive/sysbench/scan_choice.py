"""Which of the two rules an archive's rates of scan were made by, run by run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.archive.sysbench.run_directory import ArchivedTest, RunDirectory
from slowdust.formats.sysbench.rates import (
    SCAN,
    ScanRule,
    doubted,
    rule_in_name,
    rule_of_day,
    rule_that_reproduces,
)
from slowdust.formats.text import readable
from slowdust.store.slice import Slice

_FAR = 10
"""A ratio of two scans that is another unit rather than another speed: of some 40 threads one."""


@dataclass(frozen=True)
class ScanChoice:
    """The rule of scan's rate, and how it was found."""

    rule: ScanRule
    why: str
    sure: bool
    """Whether the user or the run itself says so."""


@dataclass(frozen=True)
class ScanChoices:
    """Those of an experiment, whose runs may be of different times."""

    by_run: Mapping[str, ScanChoice]
    """Name of a run -> its own."""
    otherwise: ScanChoice
    """Of runs that say nothing."""

    def of(self, run: str) -> ScanChoice:
        """That of a run, by its name."""
        return self.by_run.get(run, self.otherwise)

    def rule(self, run: str) -> ScanRule:
        """The same without its reason."""
        return self.of(run).rule


def choose_scan_rules(
    directories: Sequence[Path], runs: Sequence[RunDirectory], wanted: ScanRule | None
) -> ScanChoices:
    """By what the user says, by what reproduces a run's published rates, else by its date.

    A run of which neither is known goes with the others; where there are none that tell,
    `directories` may have a date in their names, the experiment's first.
    """
    if wanted is not None:
        return ScanChoices({}, ScanChoice(wanted, "as asked for", sure=True))
    by_run = {run.name: choice for run in runs if (choice := _told_by(run)) is not None}
    return ScanChoices(by_run, _of_others(by_run) or _by_name(directories))


def _told_by(run: RunDirectory) -> ScanChoice | None:
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
    """That of most of those that tell; None where there are as many of each rule."""
    told = Counter(choice.rule for choice in by_run.values())
    most = [rule for rule, count in told.items() if 2 * count > told.total()]
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


def part_units(records: Sequence[Slice], order: Sequence[str], choices: ScanChoices) -> list[str]:
    """Take the units from scans of runs that cannot be in those that were assumed; a sentence each.

    They are `_FAR` from scans of the same test that are sure, or else from the first of `order`,
    which are the contenders, the base first.
    """
    scans = [record for record in records if record.place.test.startswith(f"{SCAN}.")]
    by_test: dict[tuple[str, int, str], list[Slice]] = {}
    for record in sorted(scans, key=lambda one: order.index(one.place.contender)):
        by_test.setdefault((record.place.test, record.place.clients, record.unit), []).append(
            record
        )
    told: dict[str, str] = {}
    for (test, _, unit), several in by_test.items():
        known = [one for one in several if choices.of(_run(one)).sure] or several[:1]
        for one in several:
            if one not in known and not any(_is_near(one.qps, other.qps) for other in known):
                told.setdefault(
                    _run(one),
                    f"{test}: {one.qps:g} of {_run(one)} and {known[0].qps:g} of {_run(known[0])} "
                    f"cannot both be {unit}: not compared (--scan says what they are)",
                )
    for record in scans:
        if _run(record) in told:
            record.unit = doubted(record.unit)
    return list(told.values())


def _is_near(rate: float, other: float) -> bool:
    return max(rate, other) <= _FAR * min(rate, other)


def _run(record: Slice) -> str:
    return record.archived.classic.run if record.archived is not None else record.place.contender
