"""Results: one test on one contender, relative to the base."""

from __future__ import annotations

import msgspec

from slowdust.analysis.metrics import PerOperation
from slowdust.analysis.model.beside import BesideResult
from slowdust.analysis.model.evidence import Evidence
from slowdust.analysis.model.explanation import Explanation
from slowdust.analysis.model.hosts import GroupResult, HostResult
from slowdust.analysis.model.storage import StorageUse
from slowdust.analysis.model.verdict import Amount, Basis, Verdict
from slowdust.store.count import Source
from slowdust.store.latency import LatencyUs
from slowdust.store.printed import Counters
from slowdust.units import Microsecond, Second


def bound_nearer_1(low: float | None, high: float | None) -> float | None:
    """Return the bound nearer 1 of the interval of a ratio.

    None without an interval, and for one that includes 1.
    """
    if low is None or high is None or low <= 1 <= high:
        return None
    return low if low > 1 else high


class MetricComparison(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A metric, or a percentile of response times, relative to the base's: paired by blocks."""

    ratio: float
    """The typical ratio of a block; that of the totals is in `per_op_relative`."""
    low: float | None = None
    high: float | None = None
    """95% interval of `ratio`; absent with fewer than two blocks."""
    verdict: Amount


class ResponseTime(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Mean response time, relative to the base's as rqps is: paired by blocks."""

    mean_us: Microsecond
    """Mean over all operations of all slices."""
    relative: float | None = None
    """Ratio, above 1 if answers take longer; 1 for the base; absent if no block could be paired."""
    low: float | None = None
    high: float | None = None
    """95% interval of `relative`; absent for the base and with fewer than two blocks."""


class Writers(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Rates that the writers beside the queries of an Insert Benchmark step kept.

    The worst of several incarnations counts.
    """

    target: float
    """Rows per second that the inserters, and the deleters, of all clients had to keep."""
    inserts: float
    """Rows inserted per second."""
    deletes: float | None = None
    insert_backlog: int | None = None
    """Rows that were due by the end of the step and not written by then."""
    delete_backlog: int | None = None
    max_lag_s: Second | None = None
    """Longest time that a write began behind its schedule."""
    sla_met: bool
    """Whether both rates reached 95% of the target; else the step's query rate is not compared."""


class Needed(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Forecast of what would decide an unsure result, if its ratio stays about where it is.

    In two of three such results the verdict is then another one.
    """

    factor: float
    """Multiple of the time that was measured, in as many times the incarnations."""
    more: bool = False
    """Whether more than `factor` is needed, which is as far as the forecast looks."""
    incarnations: int
    """Incarnations that the forecast spreads it over: as many times as there were."""
    extra_s: Second | None = None
    """Time to add: of the budget for this test alone; of long steps, the time of all of them."""


class AllTimeRatio(msgspec.Struct, kw_only=True):
    """Relative throughput as the ratio of totals: operations over time, silent slices included."""

    rqps: float
    low: float
    high: float
    """95% interval."""


class Work(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Counted work per operation, relative to the base's."""

    source: Source
    """`valgrind` or `pmu`: two sources are never compared."""
    clients: int
    """Number of clients with which it was counted."""
    instructions: float
    """Instructions in user mode per operation, of the session's own process or thread; of all of
    the server's where a PMU could not tell the session apart."""
    ratio: float | None = None
    """Contender / base, as the geometric mean over what both did; 1 for the base."""
    low: float | None = None
    high: float | None = None
    """95% interval of `ratio`; absent for the base."""
    verdict: Amount | None = None
    """`more`, `less` or `same` work (margin 1%), else `unsure`; absent for the base."""
    background: float | None = None
    """Instructions per operation of the server's other threads and processes; absent where they
    were not counted apart."""
    events: PerOperation = {}
    """Other events per operation: `system_calls`, `kernel_instructions`, ..."""
    repeats: int
    """Number of counts, over all incarnations."""
    incarnations: int

    @property
    def background_share(self) -> float | None:
        """Instructions of the background / the session's; None where nobody counted them."""
        if self.background is None:
            return 0.0 if self.source == "pmu" else None
        return self.background / self.instructions

    @property
    def bound(self) -> float | None:
        """The bound nearer 1 of its interval; None without an interval that excludes 1."""
        return bound_nearer_1(self.low, self.high)


class Failures(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Executions that failed, or had a wrong result."""

    executions: int
    """All executions, those that failed too."""
    failed: int
    state: str
    """SQLSTATE of the most frequent error, or `wrong-row-count`."""
    text: str | None = None
    """The text of the first such error; absent where an earlier version measured."""

    @property
    def wholly(self) -> bool:
        """Whether no execution succeeded."""
        return self.failed >= self.executions


class AmountDifference(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An exact amount per operation in which a contender differs from the base."""

    statement: str | None = None
    """The statement to which it belongs; absent for the sum over all statements of the test."""
    amount: str
    """`rows_read`, `pages`, ...: analysis/evidence/rows_and_pages.py has the names."""
    base: float
    contender: float
    ratio: float | None = None
    """Contender / base; absent where the base's is 0."""


class Result(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One test at one number of clients on one contender, relative to the base."""

    benchmark: str
    test: str
    group: str
    """point, range, range with aggregation, write."""
    clients: int
    contender: str
    unit: str
    qps: float
    """Total over total time of all slices, in `unit`; the median rate of long steps and of single
    runs, which have no totals. 0 where no execution had the right result."""
    rqps: float | None = None
    """Relative throughput of typical blocks, 1 for the base; absent if no block has that of both
    contenders. The verdict is about it, unless `basis` is 'all time'."""
    low: float | None = None
    high: float | None = None
    """95% interval of rqps; absent for the base and with fewer than two blocks."""
    verdict: Verdict | None = None
    """None for the base, where nothing could be compared, and for single runs: one run does not
    say how far another would be from it."""
    all_time: AllTimeRatio | None = None
    """The ratio of totals; absent for the base, long steps and single runs."""
    basis: Basis | None = None
    """The ratio that the verdict is about: rqps, or that of `all_time` where stalls make the two
    differ; absent without a verdict."""
    slices: int
    outlasts_slices: bool = False
    """Whether an operation, of it or of the base, takes longer than a slice: each client executes
    one in each slice, and no slice shows a stall."""
    incarnations: int
    silent_incarnations: list[int] = []
    """Numbers of the incarnations in which no slice of it had any throughput."""
    measured_s: Second | None = None
    errors: int | None = None
    """Failed operations; like retries, absent for single runs."""
    errors_by_state: dict[str, int] = {}
    failures: Failures | None = None
    """Executions that failed or had a wrong result; absent where there are none. From 1% on, the
    test has no verdict."""
    retries: int | None = None
    latency_us: LatencyUs | None = None
    """Percentiles of response times; absent if no operation succeeded."""
    storage: StorageUse | None = None
    """Use of the storage, of a test of data beyond the page cache; absent for every other."""
    response_time: ResponseTime | None = None
    """Headline of some results: benchmark slap, and every open loop."""
    per_op: PerOperation
    """Totals over slices / operations; analysis/metrics.py has the keys."""
    per_op_relative: PerOperation | None = None
    """Each value / the base's; None for the base; absent where the base's is 0 or absent."""
    compared: dict[str, MetricComparison] = {}
    """Metrics with an interval and a verdict, by their keys; analysis/metrics.py has those in
    `COMPARED`. Empty for the base, and for single runs."""
    peak_vsz_gb: float | None = None
    peak_rss_gb: float | None = None
    work: Work | None = None
    """Counted work; absent where nothing was counted."""
    explanation: Explanation | None = None
    """What the change of the time per operation consists of; absent for the base, long steps, open
    loops and single runs, and where CPU time was not measured."""
    amounts: dict[str, float] = {}
    """Exact amounts per operation, counted in a few operations: rows read, pages, ...; empty where
    none were executed."""
    amount_differences: list[AmountDifference] = []
    """The exact amounts, of the operation and of its statements, that differ from the base's."""
    evidence: list[Evidence] = []
    """Exact evidence of a difference, in the order in which it is told; empty for the base."""
    counters: Counters | None = None
    counters_relative: dict[str, float] | None = None
    """Each counter / the base's, per operation, and ratios such as GHz as they are; None for the
    base, and where one of the two has no counters."""
    client_busiest_thread: float | None = None
    """Median over slices of the busiest client thread's CPU share; above 0.9 it was the limit."""
    idle_cpu_share: float | None = None
    """CPU of the contenders that should have been idle / window, mean over the slices."""
    backends_changed: int | None = None
    """Server processes that came or went inside the windows."""
    writers: Writers | None = None
    """Writers beside the queries of the Insert Benchmark."""
    beside: BesideResult | None = None
    """The work that ran beside it; absent where none did."""
    history_length: float | None = None
    """Undo logs in InnoDB's history list at the end of the step, before any maintenance: median of
    the incarnations; absent where the engine has no such list."""
    dead_rows: float | None = None
    """Dead rows in all tables at that time, likewise; absent where the server counts none."""
    late_operations: int | None = None
    """Operations of an open loop that started later than scheduled."""
    recall: float | None = None
    """Share of the exact answers that an approximate search finds, mean over the incarnations;
    absent of all other tests."""
    doubt: str | None = None
    """Why it is unsure although its interval excludes 1: 'unsure after the correction for 8 tests'.
    Absent where the interval has 1 in it, and where there is a verdict."""
    needed: Needed | None = None
    """Forecast of what would decide it; absent unless the verdict is `unsure`."""
    hosts: list[HostResult] = []
    """The result on each host that measured it; empty unless the experiment was joined."""
    groups: list[GroupResult] = []
    """The result on the hosts of each model of CPU; empty unless there are several models."""
    notes: list[str] = []
    """Notes in words: 'client was the limit', 'errors', 'retries', ..."""

    @property
    def judged_rqps(self) -> float | None:
        """The ratio that the verdict is about: what reports print, colour and rank."""
        return self.rqps if self._all_time is None else self._all_time.rqps

    @property
    def typical_beside(self) -> float | None:
        """The typical ratio, to be told where stalls make the verdict one about all time."""
        return self.rqps if self.has_stalls else None

    @property
    def has_stalls(self) -> bool:
        """Whether stalls, its own or the base's, make the verdict one about all time."""
        return self._all_time is not None and not self.outlasts_slices

    @property
    def has_other_plan(self) -> bool:
        """Whether it executes a statement in another way than the base."""
        return any(each.kind == "plan" for each in self.evidence)

    @property
    def bound(self) -> float | None:
        """The bound nearer 1 of the interval that the verdict is about.

        None without an interval that excludes 1.
        """
        return bound_nearer_1(*self.judged_interval)

    def lies_beyond(self, margin: float) -> bool:
        """Return whether all of the interval is beyond the margin, on one side of 1."""
        return self.bound is not None and not 1 / (1 + margin) <= self.bound <= 1 + margin

    @property
    def _all_time(self) -> AllTimeRatio | None:
        return self.all_time if self.basis == "all time" else None

    @property
    def judged_interval(self) -> tuple[float | None, float | None]:
        """The bounds of the 95% interval of `judged_rqps`; None without one."""
        judged = self if self._all_time is None else self._all_time
        return judged.low, judged.high
