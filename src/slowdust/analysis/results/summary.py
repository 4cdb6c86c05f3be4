"""Summary: the classic three tables of the Insert Benchmark, contenders by steps, as data.

    absolute      the rate of each step, shaded by its rank in its column
    relative      rqps; the first row is the base
    insert rate   the rate of the background writers; the last row is their target

If a transaction was held open, a fourth table shows its cost for each contender:

    with a hold   the rate of each step / the contender's own rate without a hold

Colours follow the classic reports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from slowdust.analysis.model import Report, Result
from slowdust.analysis.sla import missed_its_sla
from slowdust.benchmarks import measured_in_steps
from slowdust.stats.verdict import DIFFERENT
from slowdust.store.step import split_hold
from slowdust.units import Second
from slowdust.wording import clients

SHARE_OF_RANGE = 0.25
"""Values within this share of a column's range from its ends are its worst and best."""
CLOSE = 0.8
"""Smallest ratio of a column's lowest to its highest value that marks no value as worst."""
CLEARLY_SLOWER = 0.95
"""Relative rates up to this are shaded, after rounding to the printed digits."""
CLEARLY_FASTER = 1.05
"""Relative rates from this are shaded, after rounding to the printed digits."""
TARGET = "target"
"""Name of the last row of the insert rates."""


class Shade(StrEnum):
    """Emphasis of a cell."""

    PLAIN = "plain"
    WORST = "worst"
    """One of the lowest of its column; classic red."""
    BEST = "best"
    """One of the highest of its column; classic green."""
    SLOWER = "slower"
    FASTER = "faster"
    SLA_MISSED = "sla-missed"
    """Classic grey for a query rate; classic red for the insert rate itself."""
    UNSURE = "unsure"
    """Grey: the difference that a classic colour would show is unsure."""


@dataclass(frozen=True)
class SummaryColumn:
    """A step."""

    test: str
    unit: str
    """Unit of its values: 'inserts/s', 'range queries/s'; 'x the base' if relative."""


@dataclass(frozen=True)
class SummaryCell:
    """A value; None if it does not exist or must not be compared."""

    value: float | None
    shade: Shade = Shade.PLAIN
    missed_sla: bool = False
    """Whether the step's writers missed their SLA, independent of the shade."""
    unsure: bool = False
    """Whether its difference from the base is unsure."""


@dataclass(frozen=True)
class SummaryRow:
    """A contender, or `TARGET`."""

    name: str
    cells: tuple[SummaryCell, ...]
    """The cells, one for each column."""


@dataclass(frozen=True)
class SummaryTable:
    """Contenders by steps; the first row is the base."""

    title: str
    caption: str
    """Explanation of the values."""
    legend: tuple[tuple[Shade, str], ...]
    """Meaning of each shade that can occur."""
    columns: tuple[SummaryColumn, ...]
    rows: tuple[SummaryRow, ...]


@dataclass(frozen=True)
class Summary:
    """The tables of one number of clients and one hold."""

    clients: int
    hold: Second
    """Time for which a transaction was held open concurrently; 0 without one."""
    absolute: SummaryTable
    relative: SummaryTable
    insert_rate: SummaryTable | None
    """None if no step had background writers."""
    with_hold: SummaryTable | None
    """None without a hold, or if the same steps were not measured without one."""

    @property
    def tables(self) -> tuple[SummaryTable, ...]:
        """The existing tables, in order."""
        return tuple(filter(None, (self.absolute, self.relative, self.insert_rate, self.with_hold)))


class _Captions(NamedTuple):
    """Text below each table."""

    absolute: str
    relative: str
    insert_rate: str


_MEASURED = _Captions(
    absolute="Median over the starts of the servers.",
    relative="Paired within each start of the servers; the verdict says whether a difference is "
    "significant.",
    insert_rate="Of the worst start; the last row is the target for all clients.",
)
_SINGLE_RUNS = _Captions(
    absolute="From one run each.",
    relative="From one run each: the noise is unknown.",
    insert_rate="The last row is the target for all clients.",
)
_CLASSIC = (Shade.WORST, Shade.BEST)
_UNSURE = "unsure"
_MISSED = "not compared: the writers missed their SLA"

_ByTest = Mapping[str, Mapping[str, Result]]
"""Test -> contender -> its result, in the report's order."""


def summary_tables(report: Report) -> list[Summary]:
    """Return a `Summary` for each number of clients and hold; empty without long steps."""
    captions = _MEASURED if report.imported is None else _SINGLE_RUNS
    levels: dict[tuple[int, Second], dict[str, dict[str, Result]]] = {}
    for result in report.results:
        if measured_in_steps(result.benchmark):
            by_test = levels.setdefault((result.clients, split_hold(result.test)[1]), {})
            by_test.setdefault(result.test, {})[result.contender] = result
    return [
        Summary(
            clients=level,
            hold=hold,
            absolute=_absolute(by_test, report.contenders, captions),
            relative=_relative(by_test, report.contenders, captions),
            insert_rate=_insert_rate(by_test, report.contenders, captions),
            with_hold=(
                _with_hold(by_test, levels.get((level, 0.0), {}), report.contenders)
                if hold
                else None
            ),
        )
        for (level, hold), by_test in sorted(levels.items())
    ]


def titles_of(summaries: Sequence[Summary]) -> list[str]:
    """Return distinguishing titles: '8 clients, hold 60 s'; '' for a single summary."""
    several_clients = len({summary.clients for summary in summaries}) > 1
    has_holds = any(summary.hold for summary in summaries)
    return [
        ", ".join(
            [
                *([clients(summary.clients)] if several_clients else []),
                *([f"hold {summary.hold:g} s" if summary.hold else "no hold"] if has_holds else []),
            ]
        )
        for summary in summaries
    ]


def _absolute(by_test: _ByTest, contenders: Sequence[str], captions: _Captions) -> SummaryTable:
    columns = {
        SummaryColumn(test, next(iter(results.values())).unit): _shaded(results)
        for test, results in by_test.items()
    }
    return SummaryTable(
        title="Rates",
        caption=captions.absolute,
        legend=(
            (Shade.BEST, "in the highest quarter of the range of the step's rates"),
            (Shade.WORST, "in the lowest quarter, unless all are within a fifth of the highest"),
            (Shade.SLA_MISSED, _MISSED),
            *(((Shade.UNSURE, _UNSURE),) if _has_unsure(by_test) else ()),
        ),
        columns=tuple(columns),
        rows=_rows(columns.values(), contenders),
    )


def _has_unsure(by_test: _ByTest) -> bool:
    return any(r.verdict == "unsure" for results in by_test.values() for r in results.values())


def _shaded(results: Mapping[str, Result]) -> dict[str, SummaryCell]:
    missed = {name for name, result in results.items() if missed_its_sla(result)}
    shades = shade_column({name: round(result.qps) for name, result in results.items()}, missed)
    verdicts = {result.verdict for result in results.values()}
    if "unsure" in verdicts:
        decided = bool(verdicts & {*DIFFERENT})
        for name, result in results.items():
            if result.verdict == "unsure" or (not decided and shades[name] in _CLASSIC):
                shades[name] = Shade.UNSURE
    return {
        name: SummaryCell(result.qps, shades[name], name in missed, result.verdict == "unsure")
        for name, result in results.items()
    }


def shade_column(rates: Mapping[str, int], missed: Collection[str]) -> dict[str, Shade]:
    """Shade a column of whole rates by the classic rule; those in `missed` missed their SLA.

    The range is from the lowest of all rows to the highest of those that met the SLA. The lowest
    value is marked as worst even if its SLA was missed.
    """
    met = [rate for name, rate in rates.items() if name not in missed]
    lowest, highest = min(rates.values()), max(met, default=max(rates.values()))
    quarter = int(SHARE_OF_RANGE * (highest - lowest))

    def shade(name: str) -> Shade:
        if lowest < CLOSE * highest and rates[name] <= lowest + quarter:
            return Shade.WORST
        if name in missed:
            return Shade.SLA_MISSED
        return Shade.BEST if rates[name] >= highest - quarter else Shade.PLAIN

    return {name: shade(name) for name in rates}


def _relative(by_test: _ByTest, contenders: Sequence[str], captions: _Captions) -> SummaryTable:
    columns = {
        SummaryColumn(test, "x the base"): {
            name: SummaryCell(
                result.ratio and result.ratio.value,
                _band(result),
                missed_its_sla(result),
                result.verdict == "unsure",
            )
            for name, result in results.items()
        }
        for test, results in by_test.items()
    }
    return SummaryTable(
        title="Relative to the first row",
        caption=captions.relative,
        legend=(
            (Shade.FASTER, f"at least {CLEARLY_FASTER:.2f}"),
            (Shade.SLOWER, f"at most {CLEARLY_SLOWER:.2f}"),
            (Shade.SLA_MISSED, _MISSED),
            *(((Shade.UNSURE, _UNSURE),) if _has_unsure(by_test) else ()),
        ),
        columns=tuple(columns),
        rows=_rows(columns.values(), contenders),
    )


def _band(result: Result) -> Shade:
    if missed_its_sla(result):
        return Shade.SLA_MISSED
    if result.ratio is None:
        return Shade.PLAIN
    if result.verdict == "unsure":
        return Shade.UNSURE
    printed = round(result.ratio.value, 2)
    if printed <= CLEARLY_SLOWER:
        return Shade.SLOWER
    return Shade.FASTER if printed >= CLEARLY_FASTER else Shade.PLAIN


def _insert_rate(
    by_test: _ByTest, contenders: Sequence[str], captions: _Captions
) -> SummaryTable | None:
    columns: dict[SummaryColumn, dict[str, SummaryCell]] = {}
    for test, results in by_test.items():
        writers_of = {name: r.writers for name, r in results.items() if r.writers}
        if not writers_of:
            continue
        target = next(iter(writers_of.values())).target
        columns[SummaryColumn(test, "inserts/s")] = {
            name: SummaryCell(
                writers.inserts,
                Shade.PLAIN if writers.sla_met else Shade.SLA_MISSED,
                missed_sla=not writers.sla_met,
            )
            for name, writers in writers_of.items()
        } | {TARGET: SummaryCell(target)}
    if not columns:
        return None
    return SummaryTable(
        title="Insert rate during the queries",
        caption=captions.insert_rate,
        legend=((Shade.SLA_MISSED, "inserts or deletes below 95% of the target"),),
        columns=tuple(columns),
        rows=_rows(columns.values(), [*contenders, TARGET]),
    )


def _with_hold(
    by_test: _ByTest, without: _ByTest, contenders: Sequence[str]
) -> SummaryTable | None:
    columns: dict[SummaryColumn, dict[str, SummaryCell]] = {}
    for test, results in by_test.items():
        alone = without.get(split_hold(test)[0], {})
        cells = {
            name: SummaryCell(result.qps / alone[name].qps)
            for name, result in results.items()
            if name in alone
            and alone[name].qps
            and not (missed_its_sla(result) or missed_its_sla(alone[name]))
        }
        if cells:
            columns[SummaryColumn(test, "x without a hold")] = cells
    if not columns:
        return None
    return SummaryTable(
        title="Relative to the same contender without a hold",
        caption="Rate / rate of the same step without a transaction held open. The two were "
        "measured one after the other and not in turns: the ratio includes drift of the machine, "
        "and has no verdict.",
        legend=(),
        columns=tuple(columns),
        rows=_rows(columns.values(), contenders),
    )


def _rows(
    columns: Collection[Mapping[str, SummaryCell]], names: Sequence[str]
) -> tuple[SummaryRow, ...]:
    """Return columns of cells by name as rows; names without any cell are skipped."""
    return tuple(
        SummaryRow(name, tuple(column.get(name, SummaryCell(None)) for column in columns))
        for name in names
        if any(name in column for column in columns)
    )
