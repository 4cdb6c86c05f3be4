"""Kinds of runs, what is absent from each, and the words for it.

Archived runs have no intervals, incarnations or settings. This is the one module of the reports
that tells them from the runs that Slowdust measured; all others ask it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from slowdust.analysis.metrics import ESSENTIAL, PERCENTILES, Metric
from slowdust.analysis.model import Report, Result
from slowdust.benchmarks import measured_in_steps
from slowdust.benchmarks.archived import IIBENCH, SYSBENCH
from slowdust.store.slice import Slice
from slowdust.units import known

_MEASURED_TIMES = (*(percentile.field for percentile in PERCENTILES), "max")


@dataclass(frozen=True)
class Runs:
    """The runs of one report."""

    archive: str | None
    """The kind of archive that they are from; None where Slowdust measured them."""
    long: bool
    """Whether they are of long steps."""

    @property
    def repeated(self) -> bool:
        """Whether each contender has several runs, so that there are intervals and verdicts."""
        return self.archive is None

    @property
    def settings_known(self) -> bool:
        """Whether binaries and settings are known; archives have the names of configs."""
        return self.archive is None

    @property
    def host_alone(self) -> bool:
        """Whether hardware per operation is that of the whole host, its client included."""
        return self.archive is not None

    @property
    def rates_count_queries(self) -> bool:
        """Whether rates count queries, and response times are of whole transactions."""
        return self.archive == SYSBENCH.name

    @property
    def essential_metrics(self) -> Collection[Metric]:
        """The metrics that have a column even where none was measured."""
        return ESSENTIAL if self.archive is None else ()

    @property
    def origin(self) -> str:
        """The sentence about an archive in the head of the page; empty without one."""
        benchmark = "the Insert Benchmark" if self.archive == IIBENCH else self.archive
        return f"Archived runs of {benchmark}, one of each contender" if benchmark else ""

    @property
    def rate_heading(self) -> str:
        """The unit of the base's column; 'rate' where each row has its own."""
        return "rate" if self.archive or self.long else "operations/s"

    @property
    def rates(self) -> list[str]:
        """The lines above the Markdown table of throughput."""
        if self.archive:
            return ["Rate of the base, then relative rate: one run of each, so without intervals."]
        if self.long:
            return [
                "Rate of the base (median of the incarnations), then relative rate with its 95% "
                "interval:",
                "an incarnation has one pair of each step.",
            ]
        return ["QPS of the base (total over time), then relative QPS with its 95% interval."]

    def column(self, items: Iterable[object], field: str) -> bool:
        """Return whether a table of `items` has a column for a field of theirs.

        A reader shall see what was not measured. But archives lack so much that only what some of
        them have is shown.
        """
        return self.archive is None or any(getattr(item, field) is not None for item in items)

    def columns_of_latency(self, results: Sequence[Result]) -> tuple[str, ...]:
        """Return the fields of `LatencyUs` for a table: those measured, or those an archive has."""
        if self.archive is None:
            return _MEASURED_TIMES
        times = known(result.latency_us for result in results)
        names = ("mean", *_MEASURED_TIMES)
        return tuple(name for name in names if self.column(times, name))


def runs_of(report: Report) -> Runs:
    """Return what kind of runs a report has."""
    return Runs(
        report.imported, any(measured_in_steps(result.benchmark) for result in report.results)
    )


def timed_slices(slices: Iterable[Slice]) -> list[Slice]:
    """Return the slices that Slowdust measured; nobody knows when an archived one began."""
    return [record for record in slices if record.archived is None]
