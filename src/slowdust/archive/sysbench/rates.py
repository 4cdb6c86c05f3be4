"""Published rates of tests, and their units.

The published rate of a test is in queries/s, and for scan in thousands of rows/s. Until the middle
of 2025 a scan's rate was over all threads, afterwards for one thread on one table. The unit is kept
with the number, and rates in different units are never compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from slowdust.archive.classic import run_of
from slowdust.archive.sysbench.names import SCAN
from slowdust.archive.sysbench.run_directory import ArchivedTest, RunDirectory
from slowdust.archive.sysbench.run_files import Output
from slowdust.store.slice import Slice
from slowdust.text import readable

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = "|".join(_MONTHS)
_MONTH_AND_YEAR = re.compile(rf"(?:^|[^a-z])(?:({_MONTH})(\d\d)|(\d\d)({_MONTH}))(?:[^a-z0-9]|$)")
_FIRST_OF_ONE_THREAD = (2025, 7)
"""Year and month, between verified periods, since when scan's rate is assumed to be for one
thread."""
_FAR = 10
"""Ratio of two scans that means different units, not different speeds: runs have some 40
threads."""
_RELATIVE = "relative to "


class Unit(StrEnum):
    """The unit of a published rate."""

    QUERIES = "queries/s"
    ROWS = "rows/s"
    THOUSAND_ROWS = "thousand rows/s"
    THOUSAND_ROWS_OF_ONE_THREAD = "thousand rows/s of one thread"
    UNKNOWN = "unknown units"
    """The unit if a rate of scan follows neither rule: both rules round to integers."""


def relative_to(run: str) -> str:
    """Return the unit of rates that are only known relative to the rates of `run`."""
    return f"{_RELATIVE}{run}"


def is_relative(unit: str) -> bool:
    return unit.startswith(_RELATIVE)


def doubted(unit: str) -> str:
    """Return the unit of a rate that cannot be in the assumed `unit`."""
    return f"{unit}, {Unit.UNKNOWN}" if is_relative(unit) else Unit.UNKNOWN.value


class ScanRule(StrEnum):
    """The formula of a rate of scan."""

    ALL_THREADS = "all threads"
    ONE_THREAD = "one thread"

    @property
    def unit(self) -> Unit:
        of_one = self is ScanRule.ONE_THREAD
        return Unit.THOUSAND_ROWS_OF_ONE_THREAD if of_one else Unit.THOUSAND_ROWS


def scan_unit(test: str, rate: str, scan: ScanRule) -> Unit:
    if test != SCAN:
        return Unit.QUERIES
    return scan.unit if float(rate).is_integer() else Unit.UNKNOWN


@dataclass(frozen=True)
class Rate:
    """A published rate; the text is the divisor of later formulas."""

    text: str
    unit: Unit

    @property
    def value(self) -> float:
        """The number, in `unit`."""
        return float(self.text)

    @property
    def whole(self) -> str:
        """The rate as in tables: an integer, unless its unit is unknown."""
        return self.text if self.unit is Unit.UNKNOWN else f"{self.value:.0f}"


def published_rate(test: str, output: Output, scan: ScanRule) -> Rate | None:
    """Return the divisor of the published numbers per operation; None if unknown."""
    if test != SCAN:
        return Rate(output.queries, Unit.QUERIES)
    if output.table_size is None:
        return None
    if scan is ScanRule.ALL_THREADS:
        return Rate(f"{output.table_size * float(output.queries) / 1000:.0f}", scan.unit)
    if output.average_ms is None or float(output.average_ms) == 0:
        return None
    thousands = (output.table_size / 1000) / (float(output.average_ms) / 1000)
    return Rate(f"{thousands:.0f}", scan.unit)


def clean_scan_rate(output: Output) -> float | None:
    """Return thousands of rows/s over all threads, independent of the published rule; None if
    unknown.

    A scan takes long, so queries per second with two decimals are precise only to 0.1%. The number
    of queries and the elapsed time are exact.
    """
    if output.table_size is None:
        return None
    exact = output.count / output.elapsed if output.elapsed else float(output.queries)
    return output.table_size * exact / 1000


def rate_of(test: ArchivedTest, scan: ScanRule) -> Rate | None:
    """Return the published rate from the remaining sources; None without any."""
    if test.load is not None:
        return Rate(test.load.inserts, Unit.ROWS)
    name = test.file.test
    if test.output is not None:
        computed = published_rate(name, test.output, scan)
        if computed is not None and computed.value > 0:
            return computed
    if test.met is not None:
        rate = test.met["o/s"]
        return Rate(rate, Unit.ROWS if test.is_load else scan_unit(name, rate, scan))
    printed = test.rates.get("r.qps")
    if printed is None or float(printed) <= 0:
        return None
    return Rate(printed, scan_unit(name, printed, scan))


def rule_that_reproduces(scans: Iterable[tuple[Output, str]]) -> ScanRule | None:
    """Return the rule that reproduces most published rates of scans from sysbench's output.

    Single rates may have been edited. None if the rules reproduce equally many.
    """
    reproduced = dict.fromkeys(ScanRule, 0)
    for output, published in scans:
        for rule in ScanRule:
            rate = published_rate(SCAN, output, rule)
            reproduced[rule] += rate is not None and rate.text == published
    best = [rule for rule, count in reproduced.items() if count == max(reproduced.values())]
    return best[0] if len(best) == 1 else None


def rule_of_day(day: str) -> ScanRule:
    late = (int(day[:4]), int(day[5:7])) >= _FIRST_OF_ONE_THREAD
    return ScanRule.ONE_THREAD if late else ScanRule.ALL_THREADS


def rule_in_name(name: str) -> ScanRule | None:
    """Return the rule for the month in a name: `mar25.pg.workmem`, `25apr.c48`; None without
    one."""
    if match := _MONTH_AND_YEAR.search(name.lower()):
        month, year = match[1] or match[4], match[2] or match[3]
        return rule_of_day(f"20{year}-{_MONTHS.index(month) + 1:02}")
    return None


@dataclass(frozen=True)
class ScanChoice:
    """The rule for scan's rate, and the reason for it."""

    rule: ScanRule
    why: str
    sure: bool = False
    """Whether the rule is from the user or the run itself."""


ScanRules = Callable[[str], ScanChoice]
"""Name of a run -> its rule; the runs of an experiment may be from different times."""


def choose_scan_rules(
    directories: Sequence[Path], runs: Sequence[RunDirectory], wanted: ScanRule | None
) -> ScanRules:
    """Choose by the user's option, by the published rates that a rule reproduces, else by the date.

    A run without either gets the rule of most other runs, or else of a date in the names of
    `directories`, which begin with the experiment's.
    """
    if wanted is not None:
        asked = ScanChoice(wanted, "as requested", sure=True)
        return lambda _: asked
    by_run = {}
    for run in runs:
        scans = [
            (test.output, published)
            for test in run.tests.values()
            if test.file.test == SCAN
            and test.output is not None
            and (published := test.met["o/s"] if test.met else test.rates.get("r.qps"))
        ]
        days = sorted(probe.day for probe in run.probes if probe.day)
        if rule := rule_that_reproduces(scans):
            by_run[run.name] = ScanChoice(rule, "which reproduces the published rates", sure=True)
        elif days:
            by_run[run.name] = ScanChoice(rule_of_day(days[0]), "by the date of the run", sure=True)
    counts = Counter(choice.rule for choice in by_run.values())
    others = [rule for rule, count in counts.items() if 2 * count > counts.total()]
    dated = [path for path in directories if rule_in_name(path.name)]
    otherwise = ScanChoice(ScanRule.ALL_THREADS, "an assumption without a published rate or a date")
    if others:
        otherwise = ScanChoice(others[0], "as in the other runs")
    elif dated and (rule := rule_in_name(dated[0].name)):
        otherwise = ScanChoice(rule, f"by the date of the directory {readable(dated[0].name)}")
    return lambda run: by_run.get(run, otherwise)


def part_units(records: Sequence[Slice], order: Sequence[str], rules: ScanRules) -> list[str]:
    """Remove the unit from scans that cannot have it; return a sentence for each run.

    Their rates are `_FAR` from scans of the same test with a sure rule, or else from the first of
    `order`, the contenders with the base first.
    """
    scans = [record for record in records if record.place.test.startswith(f"{SCAN}.")]
    by_test: dict[tuple[str, int, str], list[Slice]] = {}
    for record in sorted(scans, key=lambda record: order.index(record.place.contender)):
        place = record.place
        by_test.setdefault((place.test, place.clients, record.unit), []).append(record)
    sentences: dict[str, str] = {}
    for (test, _, unit), several in by_test.items():
        known = [record for record in several if rules(run_of(record)).sure] or several[:1]
        for record in several:
            rate, rates = record.qps, [other.qps for other in known]
            near = any(max(rate, other) <= _FAR * min(rate, other) for other in rates)
            if record not in known and not near:
                run = run_of(record)
                sentences.setdefault(
                    run,
                    f"{test}: {rate:g} of {run} and {rates[0]:g} of {run_of(known[0])} "
                    f"cannot both be {unit}: not compared (--scan sets their unit)",
                )
    for record in scans:
        if run_of(record) in sentences:
            record.unit = doubted(record.unit)
    return list(sentences.values())
